// Command shop opens the shop.
package main

func Exported() {}

func main() {
	Exported()
	// FIXME: nobody comes in
}
