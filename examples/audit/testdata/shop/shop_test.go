package shop_test

import "testing"

// FIXME cover the closing of the shop
func TestShop(t *testing.T) {}

func Undocumented() {}
