package price

import "testing"

func TestOf(t *testing.T) {}
