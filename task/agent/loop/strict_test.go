package loop_test

import (
	"encoding/json"
	"testing"

	"github.com/cairnrun/cairn/task/agent/loop"
)

func TestStrictSchemas(t *testing.T) {
	plain, all := loop.Strictness{}, loop.Strictness{AllRequired: true, Keywords: []string{"minimum"}}
	for _, c := range []struct {
		s        loop.Strictness
		in, want string
	}{
		{plain, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{plain, `{"type":"object","properties":{"a":{"type":"integer","minimum":1,"description":"n"}}}`, `{"additionalProperties":false,"properties":{"a":{"description":"n (minimum: 1)","type":"integer"}},"type":"object"}`},
		{all, `{"type":"object","properties":{"a":{"type":"integer","minimum":1}}}`, `{"additionalProperties":false,"properties":{"a":{"anyOf":[{"minimum":1,"type":"integer"},{"type":"null"}]}},"required":["a"],"type":"object"}`},
		{plain, `{"type":"object","properties":{"a":{"type":"array","items":{"enum":[1,"x"]}}}}`, `{"additionalProperties":false,"properties":{"a":{"items":{"enum":[1,"x"]},"type":"array"}},"type":"object"}`},
		{plain, `{"type":"array","items":{"type":"string"}}`, ``},
		{plain, `{"type":"object","additionalProperties":{"type":"string"}}`, ``},
		{plain, `{"type":"object","properties":{"a":{}}}`, ``},
		{plain, `{"type":"object","properties":{"a":true}}`, ``},
		{plain, `{"type":"object","properties":{"a":{"$ref":"#"}}}`, ``},
		{plain, `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"anyOf":[{}]}}}}}`, ``},
		{plain, `true`, ``},
	} {
		got, ok := c.s.Convert(json.RawMessage(c.in))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s gives %s, want %s", c.in, got, c.want)
		}
	}
}
