// Package proof holds no code. Its tests prove promises that no single package keeps: that a task sees nothing that is not meant for
// it, and that secrets stay where they are.
package proof
