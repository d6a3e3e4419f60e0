// Package aspects puts budgets on what a part of a workflow may use: tokens, money and time.
package aspects
