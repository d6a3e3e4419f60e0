//go:build windows

package cart

/*
The window of the shop.

	TODO: show more | show less
*/
func Window() {}
