package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"pgregory.net/rapid"

	"github.com/cairnrun/cairn/internal/schema"
)

type step struct {
	Summary   string   `json:"summary" validate:"required" jsonschema:"description=what was done"`
	Learnings []string `json:"learnings,omitempty"`
	Done      bool     `json:"done"`
}

type node struct {
	Name string  `json:"name"`
	Kids []*node `json:"kids,omitempty"`
}

type leaf struct {
	Name string  `json:"name"`
	Kids []*leaf `json:"kids,omitempty"`
}

type ping struct {
	Pong *pong `json:"pong"`
}

type pong struct {
	Ping *ping             `json:"ping"`
	Box  struct{ P *ping } `json:"box"`
}

type page[T any] struct {
	Items []T      `json:"items"`
	Next  *page[T] `json:"next,omitempty"`
}

type (
	treeList []treeList
	treeMap  map[string]treeMap
	selfPtr  *selfPtr
)

type base struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type color string

func (color) JSONSchema() *jsonschema.Schema { return sharedColor }

var sharedColor = &jsonschema.Schema{Type: "string", Enum: []any{"red", "green"}}

type level int

func (level) MarshalText() ([]byte, error)  { return []byte("x"), nil }
func (*level) UnmarshalText(_ []byte) error { return nil }

type noted struct {
	A int `json:"a"`
}

func (*noted) JSONSchemaExtend(s *jsonschema.Schema) { s.Description = "noted" }

type alias struct{ Hidden int }

func (*alias) JSONSchemaAlias() any { return "" }

type angry struct{}

func (angry) JSONSchema() *jsonschema.Schema { panic("no") }

func of[T any](t testing.TB) *schema.Schema {
	t.Helper()
	s, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOf(t *testing.T) {
	tests := []struct {
		name string
		got  *schema.Schema
		want string
	}{
		{"struct", of[step](t), `{"additionalProperties":false,"properties":{"done":{"type":"boolean"},` +
			`"learnings":{"items":{"type":"string"},"type":"array"},"summary":{"description":"what was done","type":"string"}},` +
			`"required":["summary","done"],"type":"object"}`},
		{"pointer", of[*bool](t), `{"type":"boolean"}`},
		{"any", of[any](t), `true`},
		{"empty struct", of[struct{}](t), `{"additionalProperties":false,"properties":{},"type":"object"}`},
		{"time", of[time.Time](t), `{"format":"date-time","type":"string"}`},
		{"duration", of[time.Duration](t), `{"type":"integer"}`},
		{"bytes", of[[]byte](t), `{"contentEncoding":"base64","type":"string"}`},
		{"array", of[[2]byte](t), `{"items":{"type":"integer"},"maxItems":2,"minItems":2,"type":"array"}`},
		{"raw", of[json.RawMessage](t), `true`},
		{"number", of[json.Number](t), `{"type":"number"}`},
		{"uintptr", of[uintptr](t), `{"type":"integer"}`},
		{"big", of[big.Int](t), `true`},
		{"text", of[[]level](t), `{"items":{"type":"string"},"type":"array"}`},
		{"map", of[map[string]any](t), `{"additionalProperties":true,"type":"object"}`},
		{"int keys", of[map[int8]bool](t), `{"additionalProperties":{"type":"boolean"},"propertyNames":{"pattern":"^-?[0-9]+$"},"type":"object"}`},
		{"text keys", of[map[level]int](t), `{"additionalProperties":{"type":"integer"},"type":"object"}`},
		{"own schema", of[color](t), `{"enum":["red","green"],"type":"string"}`},
		{"alias", of[alias](t), `{"type":"string"}`},
		{"extended", of[struct {
			N noted `json:"n" jsonschema_description:"closer"`
		}](t), `{"additionalProperties":false,"properties":{"n":{"additionalProperties":false,"description":"closer","properties":{"a":{"type":"integer"}},"required":["a"],"type":"object"}},"required":["n"],"type":"object"}`},
		{"recursive", of[node](t), `{"additionalProperties":false,"properties":{"kids":{"items":{"$ref":"#"},"type":"array"},"name":{"type":"string"}},"required":["name"],"type":"object"}`},
		{"recursion below", of[[]node](t), `{"$defs":{"node":{"additionalProperties":false,"properties":{"kids":{"items":{"$ref":"#/$defs/node"},"type":"array"},"name":{"type":"string"}},"required":["name"],"type":"object"}},"items":{"$ref":"#/$defs/node"},"type":"array"}`},
		{"list of itself", of[treeList](t), `{"items":{"$ref":"#"},"type":"array"}`},
		{"map of itself", of[treeMap](t), `{"additionalProperties":{"$ref":"#"},"type":"object"}`},
		{"mutual", of[struct {
			P ping `json:"p"`
		}](t), `{"$defs":{"ping":{"additionalProperties":false,"properties":{"pong":{"additionalProperties":false,"properties":{` +
			`"box":{"additionalProperties":false,"properties":{"P":{"$ref":"#/$defs/ping"}},"required":["P"],"type":"object"},"ping":{"$ref":"#/$defs/ping"}},` +
			`"required":["ping","box"],"type":"object"}},"required":["pong"],"type":"object"}},` +
			`"additionalProperties":false,"properties":{"p":{"$ref":"#/$defs/ping"}},"required":["p"],"type":"object"}`},
		{"generic below", of[[]page[url.URL]](t), ""},
		{"names like keywords", of[struct {
			Title       string   `json:"title"`
			Description string   `json:"description"`
			Ref         string   `json:"$ref"`
			Skipped     chan int `json:"-"`
		}](t), `{"additionalProperties":false,"properties":{"$ref":{"type":"string"},"description":{"type":"string"},"title":{"type":"string"}},"required":["title","description","$ref"],"type":"object"}`},
		{"quoted number", of[struct {
			N int64 `json:"n,string"`
		}](t), `{"additionalProperties":false,"properties":{"n":{"type":"string"}},"required":["n"],"type":"object"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != "" && string(tt.got.JSON) != tt.want {
				t.Errorf("got  %s\nwant %s", tt.got.JSON, tt.want)
			}
			if again, err := schema.Canonical(tt.got.JSON); err != nil || string(again) != string(tt.got.JSON) {
				t.Errorf("not canonical: %s, %v", again, err)
			}
			if len(tt.got.Hash) != 16 {
				t.Errorf("hash %q", tt.got.Hash)
			}
		})
	}
	if len(sharedColor.Version) > 0 || sharedColor.Description != "" {
		t.Error("Of wrote into a schema that belongs to the user")
	}
	if got := string(of[[]page[url.URL]](t).JSON); !strings.Contains(got, `"#/$defs/page_URL"`) {
		t.Errorf("a generic type's definition has no plain name: %s", got)
	}
}

// What Of says about embedding must be what encoding/json does.
func TestOfFollowsEncodingJSON(t *testing.T) {
	type left struct{ Same, Left int }
	type right struct{ Same, Right int }
	type stamped struct{ time.Time }
	type id string
	values := []any{
		struct {
			base
			Extra int
		}{},
		struct {
			Name int `json:"name"`
			base
		}{},
		struct {
			base
			Name int `json:"name"`
		}{},
		struct {
			left
			right
		}{}, // two names on one level hide each other
		struct {
			*base
			Own bool
		}{base: &base{}},
		struct {
			Base base `json:"base"`
		}{},
		struct {
			base `json:"inner"`
		}{},
		struct {
			Base base `json:",inline"` // means nothing to encoding/json
		}{},
		struct {
			A int `json:"b"`
			B int
			b int
		}{},
		struct{ id }{},
		url.URL{},
		// Tags that vet refuses in source text, for good reasons.
		tagged(`json:"-,"`), tagged(`json:"quo\"te"`),
	}
	for i, v := range values {
		raw, err := schema.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		var wrote map[string]any
		if err := json.Unmarshal(raw, &wrote); err != nil {
			t.Fatal(err)
		}
		s, err := schema.Of(reflect.TypeOf(v))
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Properties map[string]any }
		if err := json.Unmarshal(s.JSON, &said); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(keys(wrote)) != fmt.Sprint(keys(said.Properties)) {
			t.Errorf("%d: %T is written with %v, described with %v", i, v, keys(wrote), keys(said.Properties))
		}
	}
	if got := string(of[stamped](t).JSON); got != "true" {
		t.Errorf("a struct that inherits MarshalJSON: %s", got)
	}
}

func tagged(tag reflect.StructTag) any {
	return reflect.New(reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[int](), Tag: tag}})).Elem().Interface()
}

func keys(m map[string]any) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}

func TestHash(t *testing.T) {
	type a struct {
		X int    `json:"x" jsonschema:"title=The X,description=one,example=1,default=2"`
		Y string `json:"y,omitempty"`
	}
	other := func() reflect.Type {
		type a struct { // same name, same package as far as reflect tells
			Y string `json:"y,omitempty" jsonschema_description:"reworded" jsonschema_extras:"x-order=1"`
			X int64  `json:"x"`
		}
		return reflect.TypeFor[a]()
	}
	type wrap struct {
		In struct {
			X int    `json:"x"`
			Y string `json:"y,omitempty"`
		} `json:"in"`
	}
	type wrapNamed struct {
		In *a `json:"in" jsonschema_description:"beside a reference"`
	}
	same := [][]reflect.Type{
		{reflect.TypeFor[a](), other(), reflect.TypeFor[*a]()},
		{reflect.TypeFor[wrap](), reflect.TypeFor[wrapNamed]()},
		{reflect.TypeFor[node](), reflect.TypeFor[leaf]()},
		{reflect.TypeFor[[]node](), reflect.TypeFor[[]leaf](), reflect.TypeFor[[]*leaf]()},
		{reflect.TypeFor[map[string]node](), reflect.TypeFor[map[string]leaf]()},
		{reflect.TypeFor[page[a]](), reflect.TypeFor[page[*a]]()},
	}
	seen := map[string]int{}
	for i, group := range same {
		for _, typ := range group {
			s, err := schema.Of(typ)
			if err != nil {
				t.Fatal(err)
			}
			if first, ok := seen[s.Hash]; ok && first != i {
				t.Errorf("%s has the hash of group %d", typ, first)
			} else if !ok && typ != group[0] {
				t.Errorf("%s has another hash than %s", typ, group[0])
			}
			seen[s.Hash] = i
		}
	}

	different := []reflect.Type{
		reflect.TypeFor[a](),
		reflect.TypeFor[struct {
			X int `json:"x"`
		}](),
		reflect.TypeFor[struct {
			X int    `json:"x"`
			Y string `json:"y"`
		}](),
		reflect.TypeFor[struct {
			X int    `json:"x"`
			Z string `json:"z,omitempty"`
		}](),
		reflect.TypeFor[struct {
			X string `json:"x"`
			Y string `json:"y,omitempty"`
		}](),
		reflect.TypeFor[struct {
			X int    `json:"x"`
			Y string `json:"y,omitempty" jsonschema:"enum=a,enum=b"`
		}](),
		reflect.TypeFor[struct {
			X     int    `json:"x"`
			Y     string `json:"y,omitempty"`
			Title string `json:"title,omitempty"` // a field, no annotation
		}](),
		reflect.TypeFor[map[string]int](), reflect.TypeFor[map[int]int](), reflect.TypeFor[map[uint]int](),
		reflect.TypeFor[[]int](), reflect.TypeFor[[3]int](), reflect.TypeFor[[]byte](), reflect.TypeFor[time.Time](),
		reflect.TypeFor[any](), reflect.TypeFor[node](), reflect.TypeFor[[]node](), reflect.TypeFor[ping](),
		reflect.TypeFor[int](), reflect.TypeFor[float64](), reflect.TypeFor[string](), reflect.TypeFor[bool](),
	}
	hashes := map[string]reflect.Type{}
	for _, typ := range different {
		s, err := schema.Of(typ)
		if err != nil {
			t.Fatal(err)
		}
		if twin := hashes[s.Hash]; twin != nil {
			t.Errorf("%s and %s have one hash", typ, twin)
		}
		hashes[s.Hash] = typ
	}
}

// Stored results outlive releases of Cairn: a hash that changes here blocks every run in the field.
func TestHashIsPinned(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"step", of[step](t).Hash, "9c051249e33ab7ab"},
		{"nodes", of[[]node](t).Hash, "1d68db896a59dc09"},
		{"map", of[map[int]any](t).Hash, "2b5dba4bdf0bd971"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: hash %s, pinned as %s", tt.name, tt.got, tt.want)
		}
	}
}

// Field order, tags that only describe, and embedding don't count, whatever the fields are.
func TestHashIgnoresOrderAndWords(t *testing.T) {
	pool := []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[string](), reflect.TypeFor[[]step](), reflect.TypeFor[map[string]any](),
		reflect.TypeFor[*node](), reflect.TypeFor[time.Time](), reflect.TypeFor[color](),
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "fields")
		fields := make([]reflect.StructField, n)
		for i := range fields {
			optional := rapid.SampledFrom([]string{"", ",omitempty", ",omitzero"}).Draw(t, "optional")
			fields[i] = reflect.StructField{
				Name: fmt.Sprintf("F%d", i),
				Type: rapid.SampledFrom(pool).Draw(t, "type"),
				Tag:  reflect.StructTag(fmt.Sprintf(`json:"f%d%s"`, i, optional)),
			}
		}
		want := hashOf(t, reflect.StructOf(fields))
		shuffled := rapid.Permutation(fields).Draw(t, "order")
		for i := range shuffled {
			words := rapid.StringMatching(`[a-z ]{1,10}`).Draw(t, "words")
			shuffled[i].Tag += reflect.StructTag(fmt.Sprintf(` jsonschema:"title=%s" jsonschema_description:"%s"`, words, words))
		}
		if got := hashOf(t, reflect.StructOf(shuffled)); got != want {
			t.Fatalf("hash %s became %s", want, got)
		}
		if n > 1 {
			if got := hashOf(t, reflect.StructOf(fields[1:])); got == want {
				t.Fatal("a field less, and the same hash")
			}
		}
	})
}

func hashOf(t *rapid.T, typ reflect.Type) string {
	s, err := schema.Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	return s.Hash
}

func TestOfRefuses(t *testing.T) {
	type inner struct {
		Call func() `json:"call"`
	}
	tests := []struct {
		typ  reflect.Type
		want []string // paths
	}{
		{nil, []string{""}},
		{reflect.TypeFor[chan int](), []string{""}},
		{reflect.TypeFor[error](), []string{""}},
		{reflect.TypeFor[selfPtr](), []string{""}},
		{reflect.TypeFor[angry](), []string{""}},
		{reflect.TypeFor[map[float64]int](), []string{""}},
		{reflect.TypeFor[struct {
			Ok      int
			Results []map[string]*inner `json:"results"`
			C       complex64           `json:"c"`
			Keys    map[struct{ X int }]string
			Err     error `json:"err"`
			inner
		}](), []string{"results[][].call", "c", "Keys", "err", "call"}},
	}
	for _, tt := range tests {
		_, err := schema.Of(tt.typ)
		var typeErr *schema.TypeError
		if !errors.As(err, &typeErr) {
			t.Errorf("%v: got %v, want a TypeError", tt.typ, err)
			continue
		}
		var paths []string
		for _, p := range typeErr.Fields {
			paths = append(paths, p.Path)
		}
		if !reflect.DeepEqual(paths, tt.want) {
			t.Errorf("%v: paths %q, want %q", tt.typ, paths, tt.want)
		}
		t.Log(err)
	}
}

type (
	pair[T any]  struct{ A, B T }
	pair4[T any] = pair[pair[pair[pair[T]]]]
)

func TestOfTooLarge(t *testing.T) {
	typ := reflect.TypeFor[pair4[pair4[pair4[pair4[step]]]]]() // 65,536 steps
	if _, err := schema.Of(typ); err == nil || !strings.Contains(err.Error(), "parts") {
		t.Errorf("got %v", err)
	}
}

func TestOfConcurrently(t *testing.T) {
	type fresh struct {
		A []step  `json:"a"`
		B *node   `json:"b"`
		C treeMap `json:"c"`
	}
	var wg sync.WaitGroup
	got := make([]*schema.Schema, 16)
	for i := range got {
		wg.Go(func() { got[i], _ = schema.Of(reflect.TypeFor[fresh]()) })
	}
	wg.Wait()
	for _, s := range got {
		if s == nil || s != got[0] {
			t.Fatal("callers at once got different schemas")
		}
	}
}

func BenchmarkOfFirst(b *testing.B) {
	elem := reflect.TypeFor[step]()
	for b.Loop() {
		// A type never seen before, of six fields with a nested struct.
		b.StopTimer()
		fresh++
		typ := reflect.StructOf([]reflect.StructField{
			{Name: fmt.Sprintf("X%d", fresh), Type: elem},
			{Name: "S", Type: reflect.TypeFor[[]string]()},
			{Name: "T", Type: reflect.TypeFor[time.Time]()},
			{Name: "N", Type: reflect.TypeFor[int]()},
			{Name: "F", Type: reflect.TypeFor[float64]()},
			{Name: "M", Type: reflect.TypeFor[map[string]string]()},
		})
		b.StartTimer()
		if _, err := schema.Of(typ); err != nil {
			b.Fatal(err)
		}
	}
}

var fresh int

func BenchmarkOfAgain(b *testing.B) {
	typ := reflect.TypeFor[step]()
	for b.Loop() {
		if _, err := schema.Of(typ); err != nil {
			b.Fatal(err)
		}
	}
}
