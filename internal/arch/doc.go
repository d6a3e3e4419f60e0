// Package arch holds no code. Its tests keep the direction of imports between the packages of Cairn.
package arch
