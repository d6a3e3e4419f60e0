package scripted_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

// auto gives the output of a task of T whose agent knows nothing but the schema.
func auto[T any](t *testing.T) string {
	t.Helper()
	spec := task.Task[T]{ID: "t", Agent: &scripted.Agent{Auto: true}, Prompt: func(*cairn.View) string { return "go\non" }}.Lower().Task
	result, err := spec.Run(t.Context(), &cairn.Call{Input: json.RawMessage(`"go\non"`)})
	if err != nil {
		t.Errorf("%s: %v", reflect.TypeFor[T](), err)
	}
	return string(result.Output)
}

// tree contains itself, in all ways that end.
type tree struct {
	Name string          `json:"name" validate:"required"`
	Sons []tree          `json:"sons"`
	Next *tree           `json:"next"`
	By   map[string]tree `json:"by"`
	Also *branch         `json:"also,omitempty"`
}

type branch struct {
	Up []tree `json:"up"`
	N  int    `json:"n" validate:"gte=3"`
}

// ruled has rules that are in no schema.
type ruled struct {
	Verdict  string   `json:"verdict" validate:"oneof=approve reject"`
	Findings []string `json:"findings" validate:"min=2,max=3,dive,min=12"`
	Score    float64  `json:"score" validate:"gt=2.5,lte=3"`
	Mail     string   `json:"mail,omitempty" validate:"required,email"`
}

// TestAutoAnswers: the same value each time, which the task takes.
func TestAutoAnswers(t *testing.T) {
	for i, c := range []struct{ got, want string }{
		{auto[string](t), `"An answer to: go\non"`},
		{auto[int](t), `1`},
		{auto[bool](t), `true`},
		{auto[[]byte](t), `"dGV4dA=="`},
		{auto[time.Time](t), `"2026-01-02T03:04:05Z"`},
		{auto[netip.Addr](t), `""`}, // reads itself from text, of which it says no more
		{auto[map[int]uint8](t), `{"1":1}`},
		{auto[[3]int8](t), `[1,1,1]`},
		{auto[any](t), `"text"`},
		{auto[*struct {
			A int `json:"a,string"`
		}](t), `{"a":"1"}`},
		{auto[struct {
			E string `json:"e" jsonschema:"enum=b,enum=a"`
			M int    `json:"m" jsonschema:"minimum=7,multipleOf=5"`
			X int    `json:"x" jsonschema:"exclusiveMaximum=1"`
			L string `json:"l" jsonschema:"minLength=3"`
			S string `json:"s" jsonschema:"maxLength=0"`
			U string `json:"u" jsonschema:"format=uuid"`
			P string `json:"p" jsonschema:"pattern=^(v|w)[0-9]{3}[.]?.+$"`
			D int    `json:"d" jsonschema:"default=12"`
		}](t), `{"e":"b","m":10,"x":0,"l":"lxx","s":"","u":"00000000-0000-4000-8000-000000000001","p":"v111x","d":12}`},
		{auto[ruled](t), `{"verdict":"approve","findings":["findingsxxxx","findingsxxxx"],"score":3,"mail":"someone@example.com"}`},
		{auto[tree](t), `{"name":"name","sons":[],"next":null,"by":{},"also":{"up":[],"n":3}}`},
	} {
		if c.got != c.want {
			t.Errorf("%d: %s, want %s", i, c.got, c.want)
		}
	}
}

// TestContrary: it is as unlike the sample as the type allows, and the same each time.
func TestContrary(t *testing.T) {
	contrary := func(of reflect.Type) string {
		s, err := schema.Of(of)
		if err != nil {
			t.Fatal(err)
		}
		out, err := scripted.Contrary(s.JSON, func(raw json.RawMessage) error {
			v, err := schema.DecodeType(of, raw)
			if err == nil {
				err = schema.Validate(v)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", of, err)
		}
		return string(out)
	}
	for i, c := range []struct{ got, want string }{
		{contrary(reflect.TypeFor[bool]()), `false`},
		{contrary(reflect.TypeFor[[]string]()), `[]`},
		{contrary(reflect.TypeFor[[2]bool]()), `[false,false]`},
		{contrary(reflect.TypeFor[map[string]int]()), `{}`},
		{contrary(reflect.TypeFor[ruled]()), `{"verdict":"reject","findings":["findingsxxxx","findingsxxxx"],"score":3,"mail":"someone@example.com"}`},
		{contrary(reflect.TypeFor[struct {
			E string `json:"e" jsonschema:"enum=b,enum=a"`
			Q string `json:"q" validate:"oneof='one red' 'two blue'"`
			B bool   `json:"b"`
			D int    `json:"d" jsonschema:"default=12"`
		}]()), `{"e":"a","q":"two blue","b":false,"d":12}`},
	} {
		var got, want any
		if err := errors.Join(json.Unmarshal([]byte(c.got), &got), json.Unmarshal([]byte(c.want), &want)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %s, want %s, %v", i, c.got, c.want, err)
		}
	}
}

// TestAutoGivesUp where a rule is a secret of the program, and says what to do.
func TestAutoGivesUp(t *testing.T) {
	agent := &scripted.Agent{Auto: true}
	_, err := agent.Run(t.Context(), task.Request{Prompt: "x", Schema: json.RawMessage(`{"type":"string"}`),
		Check: func(json.RawMessage) error { return errors.New("the output is refused: word: wonder") }})
	if f := cairn.FailureOf(err); err == nil || !f.Permanent || !strings.Contains(f.Message, "Rule with a Value of its own") || !strings.Contains(f.Message, "word: wonder") {
		t.Errorf("%v", err)
	}
}

// anyType draws a type that JSON can carry, with tags that its kind takes.
func anyType(t *rapid.T, depth int) reflect.Type {
	kinds := []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[float64](),
		reflect.TypeFor[bool](), reflect.TypeFor[time.Time](), reflect.TypeFor[[]byte](), reflect.TypeFor[any](), reflect.TypeFor[json.Number](),
		reflect.TypeFor[json.RawMessage](), reflect.TypeFor[tree](), reflect.TypeFor[ruled](), reflect.TypeFor[time.Duration]()}
	if depth == 0 {
		return rapid.SampledFrom(kinds).Draw(t, "kind")
	}
	switch rapid.IntRange(0, 6).Draw(t, "shape") {
	case 0:
		return reflect.SliceOf(anyType(t, depth-1))
	case 1:
		return reflect.PointerTo(anyType(t, depth-1))
	case 2:
		return reflect.MapOf(rapid.SampledFrom(kinds[:4]).Draw(t, "key"), anyType(t, depth-1))
	case 3:
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "length"), anyType(t, depth-1))
	case 4, 5:
		fields := make([]reflect.StructField, rapid.IntRange(0, 5).Draw(t, "fields"))
		for i := range fields {
			of := anyType(t, depth-1)
			fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: of, Tag: reflect.StructTag(
				fmt.Sprintf(`json:"f%d%s" %s`, i, rapid.SampledFrom([]string{"", "", ",omitempty", ",omitzero"}).Draw(t, "omit"), tags(t, of)))}
		}
		return reflect.StructOf(fields)
	}
	return rapid.SampledFrom(kinds).Draw(t, "kind")
}

func tags(t *rapid.T, of reflect.Type) string {
	all := []string{""}
	switch of.Kind() {
	case reflect.String:
		all = append(all, `jsonschema:"minLength=9"`, `jsonschema:"enum=x,enum=y"`, `jsonschema:"const=c"`, `jsonschema:"format=date"`, `jsonschema:"pattern=^[A-Z]{2}-([0-9]+|none)$"`, `jsonschema:"pattern=^f"`, `jsonschema:"format=ipv4"`,
			`validate:"required"`, `validate:"oneof=up down"`, `validate:"min=20,max=22"`, `validate:"len=4"`, `validate:"uuid"`, `validate:"url"`)
		if of == reflect.TypeFor[json.Number]() {
			return ""
		}
	case reflect.Int, reflect.Int8, reflect.Uint16, reflect.Float64:
		all = append(all, `jsonschema:"minimum=5"`, `jsonschema:"maximum=0"`, `jsonschema:"exclusiveMinimum=1,multipleOf=7"`, `jsonschema:"enum=3,enum=4"`,
			`validate:"required"`, `validate:"gt=1,lt=3"`, `validate:"max=0"`, `validate:"eq=12"`)
		if of.Kind() != reflect.Float64 { // the validator panics
			all = append(all, `validate:"oneof=7 9"`)
		}
	case reflect.Slice:
		if of.Elem().Kind() != reflect.Uint8 {
			all = append(all, `jsonschema:"minItems=2"`, `jsonschema:"maxItems=0"`, `validate:"min=3"`, `validate:"required"`)
		}
	case reflect.Bool:
		all = append(all, `validate:"required"`)
	}
	return rapid.SampledFrom(all).Draw(t, "tag")
}

// TestAutoFitsEveryType: of every type that JSON can carry a value is made that fits the schema, that the type reads, and that
// keeps its validate tags; and it is always the same.
func TestAutoFitsEveryType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := anyType(t, 3)
		s, err := schema.Of(of)
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		req := task.Request{Prompt: "x", Schema: s.JSON, Check: func(raw json.RawMessage) error {
			v := reflect.New(of)
			if err := json.Unmarshal(raw, v.Interface()); err != nil {
				return fmt.Errorf("the agent's answer can't be read as %s: %w; it begins %.200q", of, err, raw)
			}
			if err := schema.Validate(v.Elem().Interface()); err != nil {
				return errors.New("the output is refused: " + err.Error())
			}
			return nil
		}}
		agent := &scripted.Agent{Auto: true}
		resp, err := agent.Run(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		if err := req.Check(resp.Output); err != nil {
			t.Fatalf("%s: %s: %v", of, resp.Output, err)
		}
		again, err := agent.Run(t.Context(), req)
		if err != nil || !bytes.Equal(again.Output, resp.Output) {
			t.Fatalf("%s, then %s, %v", resp.Output, again.Output, err)
		}
		fits(t, s.JSON, resp.Output)
	})
}

// fits compares with the schema itself. That a nil Go pointer is null, and a type that contains itself ends so, is in no schema.
func fits(t *rapid.T, of, value json.RawMessage) {
	if strings.Contains(string(value), "null") {
		return
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(of))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("mem:///s")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err == nil {
		err = compiled.Validate(v)
	}
	if err != nil {
		t.Fatalf("%s does not fit %s: %v", value, of, err)
	}
}
