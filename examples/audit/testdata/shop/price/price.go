// Package price knows what things cost.
package price

// Of is the price of a thing.
func Of(thing string) int { return len(thing) }
