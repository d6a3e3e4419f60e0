package aspects_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"pgregory.net/rapid"
)

const million = 1_000_000

func TestCost(t *testing.T) {
	ms := aspects.Models{
		"m":     {Input: 3 * million, Output: 15 * million},
		"odd":   {Input: 1, Output: 1},
		"free":  {Input: 3 * million, CacheRead: aspects.Free, CacheWrite: aspects.Free, CacheWrite1h: aspects.Free},
		"own":   {},
		"set":   {Input: 2 * million, CacheRead: 1 * million, CacheWrite: 7 * million, CacheWrite1h: 9 * million},
		"long":  {Input: 1 * million, Output: 1 * million, Long: &aspects.Long{Above: 100, Input: 5 * million, Output: 7 * million}},
		"dear":  {Input: math.MaxInt64, Output: math.MaxInt64},
		"wrong": {Input: -5, Output: million},
	}
	for name, c := range map[string]struct {
		usage cairn.Usage
		want  int64
	}{
		"input":                            {cairn.Usage{Model: "m", Input: 1000}, 3000},
		"output":                           {cairn.Usage{Model: "m", Output: 1000}, 15000},
		"a read is a tenth":                {cairn.Usage{Model: "m", CacheRead: 1000}, 300},
		"a write is five quarters":         {cairn.Usage{Model: "m", CacheWrite: 1000}, 3750},
		"a write for an hour is two":       {cairn.Usage{Model: "m", CacheWrite: 1000, CacheWrite1h: 1000}, 6000},
		"the hour is a part of the writes": {cairn.Usage{Model: "m", CacheWrite: 1000, CacheWrite1h: 400}, 600*375/100 + 2400},
		"the hour alone is the whole":      {cairn.Usage{Model: "m", CacheWrite1h: 400}, 2400},
		"all of it": {cairn.Usage{Model: "m", Input: 1, Output: 1, CacheRead: 10, CacheWrite: 8, CacheWrite1h: 4},
			3 + 15 + 3 + 15 + 24},
		"half is rounded up":                   {cairn.Usage{Model: "odd", Input: million / 2}, 1},
		"less than half is rounded down":       {cairn.Usage{Model: "odd", Input: million/2 - 1}, 0},
		"halves are added before the rounding": {cairn.Usage{Model: "odd", Input: million / 2, Output: million / 2}, 1},
		"a tenth of the least price counts":    {cairn.Usage{Model: "odd", CacheRead: 5 * million}, 1},
		"free caches":                          {cairn.Usage{Model: "free", Input: 1, CacheRead: 1000, CacheWrite: 1000, CacheWrite1h: 500}, 3},
		"one's own model":                      {cairn.Usage{Model: "own", Input: 1000, Output: 1000, CacheRead: 1000, CacheWrite: 1000}, 0},
		"prices of one's own":                  {cairn.Usage{Model: "set", CacheRead: 1, CacheWrite: 3, CacheWrite1h: 1}, 1 + 14 + 9},
		"negative tokens are none":             {cairn.Usage{Model: "m", Input: -1000, Output: 1, CacheRead: -1, CacheWrite: -1, CacheWrite1h: -1}, 15},
		"negative prices are none":             {cairn.Usage{Model: "wrong", Input: 1000, Output: 1, CacheRead: 10, CacheWrite: 10}, 1},
		"a prompt that is just not long":       {cairn.Usage{Model: "long", Input: 50, CacheRead: 50, Output: 1}, 50 + 5 + 1},
		"a long prompt, by all that was read":  {cairn.Usage{Model: "long", Input: 41, CacheRead: 50, CacheWrite: 10, Output: 1}, 205 + 25 + 63 + 7}, // 62.5
		"more than an int64 holds":             {cairn.Usage{Model: "dear", Input: math.MaxInt64, Output: math.MaxInt64}, math.MaxInt64},
		"more than 128 bits hold":              {cairn.Usage{Model: "dear", CacheWrite: math.MaxInt64, CacheWrite1h: math.MaxInt64}, math.MaxInt64},
		"nothing":                              {cairn.Usage{Model: "m"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := ms.Cost(c.usage); !ok || got != c.want {
				t.Errorf("%d, %v, want %d", got, ok, c.want)
			}
		})
	}
	if got, ok := ms.Cost(cairn.Usage{Model: "unknown", Input: 1}); ok || got != 0 {
		t.Errorf("an unknown model costs %d, %v", got, ok)
	}
}

// reference is the cost in fractions of any size.
func reference(m aspects.Model, u cairn.Usage) int64 {
	if m.Long != nil && u.Context() > m.Long.Above {
		m = aspects.Model{Input: m.Long.Input, Output: m.Long.Output, CacheRead: m.Long.CacheRead,
			CacheWrite: m.Long.CacheWrite, CacheWrite1h: m.Long.CacheWrite1h}
	}
	rat := func(n int64) *big.Rat { return new(big.Rat).SetInt64(max(n, 0)) }
	price := func(p int64, num, den int64) *big.Rat {
		if p == 0 {
			return new(big.Rat).Mul(rat(m.Input), big.NewRat(num, den))
		}
		return rat(p)
	}
	hour := rat(u.CacheWrite1h)
	all := rat(u.CacheWrite)
	if all.Cmp(hour) < 0 {
		all = hour
	}
	sum := big.NewRat(1, 2) // half up
	for _, x := range []struct{ tokens, price *big.Rat }{
		{rat(u.Input), rat(m.Input)}, {rat(u.Output), rat(m.Output)}, {rat(u.CacheRead), price(m.CacheRead, 1, 10)},
		{new(big.Rat).Sub(all, hour), price(m.CacheWrite, 5, 4)}, {hour, price(m.CacheWrite1h, 2, 1)},
	} {
		part := new(big.Rat).Mul(x.tokens, x.price)
		sum.Add(sum, part.Quo(part, big.NewRat(million, 1)))
	}
	whole := new(big.Int).Quo(sum.Num(), sum.Denom())
	if !whole.IsInt64() {
		return math.MaxInt64
	}
	return whole.Int64()
}

// number is small, ordinary, or as large as can be.
func number() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-2, 40), rapid.Int64Range(0, 2*million), rapid.Int64Range(0, 100*million),
		rapid.Int64Range(math.MaxInt64-3, math.MaxInt64), rapid.Int64())
}

func usages() *rapid.Generator[cairn.Usage] {
	return rapid.Custom(func(t *rapid.T) cairn.Usage {
		return cairn.Usage{Model: "m", Input: number().Draw(t, "input"), Output: number().Draw(t, "output"), CacheRead: number().Draw(t, "read"),
			CacheWrite: number().Draw(t, "write"), CacheWrite1h: number().Draw(t, "write1h")}
	})
}

func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := number()
		m := aspects.Model{Input: price.Draw(t, "Input"), Output: price.Draw(t, "Output"), CacheRead: price.Draw(t, "CacheRead"),
			CacheWrite: price.Draw(t, "CacheWrite"), CacheWrite1h: price.Draw(t, "CacheWrite1h")}
		if rapid.Bool().Draw(t, "long") {
			m.Long = &aspects.Long{Above: number().Draw(t, "Above"), Input: price.Draw(t, "Long.Input"), Output: price.Draw(t, "Long.Output"),
				CacheRead: price.Draw(t, "Long.CacheRead")}
		}
		u := usages().Draw(t, "usage")
		got, ok := aspects.Models{"m": m}.Cost(u)
		if want := reference(m, u); !ok || got != want {
			t.Fatalf("%d, %v, want %d", got, ok, want)
		}
	})
}

// By the default prices, a call that used more of anything costs no less.
func TestCostGrows(t *testing.T) {
	ms := aspects.DefaultModels()
	rapid.Check(t, func(t *rapid.T) {
		u := usages().Draw(t, "usage")
		u.Model = rapid.SampledFrom(names(ms)).Draw(t, "model")
		v := u
		for _, n := range []*int64{&v.Input, &v.Output, &v.CacheRead, &v.CacheWrite, &v.CacheWrite1h} {
			*n = max(*n, number().Draw(t, "more"))
		}
		less, _ := ms.Cost(u)
		more, _ := ms.Cost(v)
		if less > more {
			t.Fatalf("%+v costs %d, %+v costs %d", u, less, v, more)
		}
	})
}

func TestContext(t *testing.T) {
	for _, c := range []struct {
		usage cairn.Usage
		want  int64
	}{
		{cairn.Usage{}, 0},
		{cairn.Usage{Input: 1, Output: 1000, CacheRead: 20, CacheWrite: 300}, 321},
		{cairn.Usage{Input: 1, CacheWrite: 300, CacheWrite1h: 200}, 301}, // a part of the writes
		{cairn.Usage{Input: 1, CacheWrite1h: 200}, 201},
		{cairn.Usage{Input: -1, CacheRead: -1, CacheWrite: -1, CacheWrite1h: -1}, 0},
		{cairn.Usage{Input: math.MaxInt64, CacheRead: math.MaxInt64, CacheWrite: 1}, math.MaxInt64},
	} {
		if got := c.usage.Context(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.usage, got, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	ms := aspects.DefaultModels()
	ms["azure/gpt-5"] = aspects.Model{Input: 9}
	ms["llama"] = aspects.Model{}
	for model, want := range map[string]string{
		"claude-opus-5-5":                             "claude-opus-5-5",
		"claude-sonnet-4-5-20250929":                  "claude-sonnet-4-5",
		"claude-sonnet-4-20250514":                    "claude-sonnet-4",
		"claude-sonnet-4-5@20250929":                  "claude-sonnet-4-5",
		"claude-opus-4-6@default":                     "claude-opus-4-6",
		"claude-3-5-sonnet-latest":                    "claude-3-5-sonnet",
		"us.anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5",
		"anthropic.claude-haiku-5-5":                  "claude-haiku-5-5",
		"arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5",
		"claude-3-5-sonnet-v2@20241022":         "claude-3-5-sonnet",
		"claude-opus-4-6[1m]":                   "claude-opus-4-6",
		"gpt-5-2025-08-07":                      "gpt-5",
		"gpt-5-mini-2025-08-07":                 "gpt-5-mini",
		"gpt-5-chat-latest":                     "gpt-5-chat",
		"gpt-4o-2024-11-20":                     "gpt-4o",
		"gpt-4o-2024-05-13":                     "gpt-4o-2024-05-13",
		"o1-2024-12-17":                         "o1",
		"openai/gpt-4.1":                        "gpt-4.1",
		"openrouter/openai/gpt-4.1-mini":        "gpt-4.1-mini",
		"azure/gpt-5-2025-08-07":                "azure/gpt-5", // the full name goes before the maker's
		"models/gemini-2.5-pro":                 "gemini-2.5-pro",
		"gemini-2.5-pro-preview-05-06":          "gemini-2.5-pro",
		"gemini-2.5-flash-lite-preview-09-2025": "gemini-2.5-flash-lite",
		"gemini-3-pro-preview":                  "gemini-3-pro",
		"gemini-2.0-flash-001":                  "gemini-2.0-flash",
		"llama":                                 "llama",

		// Variants and successors that nobody has listed.
		"":                              "",
		"gpt-5-ultra":                   "",
		"gpt-5.9":                       "",
		"gpt-4o-realtime-preview":       "",
		"gpt-4o-audio-preview":          "",
		"ft:gpt-4o-mini:acme::1":        "",
		"claude-opus-4-9":               "",
		"claude-opus-4-9-20260101":      "",
		"claude-opus-50":                "",
		"gemini-2.5-flash-image":        "",
		"gemini-2.5-flash-preview-tts":  "",
		"deepseek/deepseek-r1:free":     "",
		"llama-70b":                     "",
		"acme/":                         "",
		"anthropic.":                    "",
		"xclaude-opus-5-5":              "",
		"claude-sonnet-4-5-20250929foo": "",
	} {
		got, ok := ms.Find(model)
		if ok != (want != "") || got != ms[want] {
			t.Errorf("%q: %+v, %v, want %q", model, got, ok, want)
		}
	}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		models aspects.Models
		want   []string
	}{
		"the defaults": {aspects.DefaultModels(), nil},
		"none":         {nil, nil},
		"free":         {aspects.Models{"m": {CacheRead: aspects.Free, CacheWrite: aspects.Free, CacheWrite1h: aspects.Free}}, nil},
		"all that can be wrong": {aspects.Models{
			"":  {},
			"b": {Input: -2, Output: -3, CacheRead: -4, CacheWrite: -5, CacheWrite1h: -6, Window: -7},
			"c": {Long: &aspects.Long{Input: -8}},
		}, []string{"without a model's name", `"b": Input is -2`, `Output is -3`, `CacheRead is -4`, `CacheWrite is -5`, `CacheWrite1h is -6`,
			`Window is -7`, `"c": Long.Input is -8`, `"c": Long.Above is 0`}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.models.Validate()
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			lines := strings.Split(fmt.Sprint(err), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("%d mistakes, want %d: %v", len(lines), len(c.want), err)
			}
			for i, want := range c.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("%q, want %q", lines[i], want)
				}
			}
		})
	}
}
