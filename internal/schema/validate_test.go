package schema_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn/internal/schema"
)

type item struct {
	Name  string `json:"name" validate:"required"`
	Count int    `json:"count" validate:"min=1,max=9"`
}

type Shared struct {
	Owner string `json:"owner" validate:"required"`
}

type order struct {
	Shared
	Items  []item          `json:"items" validate:"required,dive"`
	ByKey  map[string]item `json:"byKey" validate:"dive"`
	Sub    *item           `json:"sub"`
	Opaque []item          // no dive: not looked into
	When   time.Time       `json:"when"`
	Plain  string          `validate:"omitempty,oneof=a b"`
	Hidden string          `json:"-" validate:"max=2"`
}

type box[T any] struct {
	Value T      `json:"value"`
	Note  string `json:"note" validate:"required"`
}

func TestValidate(t *testing.T) {
	good := item{"a", 1}
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"nil", nil, ""},
		{"nil pointer", (*item)(nil), ""},
		{"scalar", 7, ""},
		{"bytes", []byte("x"), ""},
		{"time", time.Time{}, ""},
		{"good", good, ""},
		{"struct", item{}, "count: min=1; name: required"},
		{"pointer", &item{Name: "x", Count: 10}, "count: max=9"},
		{"pointer to pointer", new(&item{Name: "x", Count: 10}), "count: max=9"},
		{"slice", []item{good, {}}, "[1].count: min=1; [1].name: required"},
		{"slice of pointers", []*item{nil, {Count: 1}}, "[1].name: required"},
		{"map", map[string]item{"x": {Count: 1}, "a": {Count: 1}}, "[a].name: required; [x].name: required"},
		{"any", []any{1, item{"", 1}}, "[1].name: required"},
		{"nested", order{
			Items:  []item{good, {"", 1}},
			ByKey:  map[string]item{"k.v": {"n", 0}},
			Sub:    &item{},
			Opaque: []item{{}},
			Plain:  "c",
			Hidden: "long",
		}, "Hidden: max=2; Plain: oneof=a b; byKey[k.v].count: min=1; items[1].name: required; owner: required; sub.count: min=1; sub.name: required"},
		{"generic", box[order]{Value: order{Shared: Shared{"o"}, Items: []item{{}}}, Note: "n"}, "value.items[0].count: min=1; value.items[0].name: required"},
		{"generic of generic", box[box[item]]{}, "note: required; value.note: required; value.value.count: min=1; value.value.name: required"},
		{"unnamed", struct {
			A string `json:"a" validate:"required"`
		}{}, "a: required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := schema.Validate(tt.v)
			got := ""
			if err != nil {
				var invalid *schema.ValidationError
				if !errors.As(err, &invalid) {
					t.Fatalf("%T: %v", err, err)
				}
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestValidateBadTag(t *testing.T) {
	type unknownRule struct {
		A string `json:"a" validate:"reqiured"`
	}
	type wrongKind struct {
		A bool `validate:"min=3"`
	}
	for _, v := range []any{unknownRule{}, &wrongKind{}, []unknownRule{{}}} {
		for range 2 { // a panic must not leave the validator locked
			var tagErr *schema.TagError
			if err := schema.Validate(v); !errors.As(err, &tagErr) {
				t.Errorf("%T: %v, want a TagError", v, err)
			} else {
				t.Log(err)
			}
		}
	}
	if err := schema.Validate(item{"a", 1}); err != nil {
		t.Error("after a bad tag:", err)
	}
}

func TestValidateConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := schema.Validate([]item{{}}); err == nil {
					t.Error("nothing found")
				}
			}
		})
	}
	wg.Wait()
}
