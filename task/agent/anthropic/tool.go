package anthropic

import (
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// tools are those of the window. A breakpoint behind them is on the last one.
func tools(of []cairn.Tool, marked, long bool) (out []anthropic.ToolUnionParam, err error) {
	for i, t := range of {
		var control *anthropic.CacheControlEphemeralParam
		if marked && i == len(of)-1 {
			c := breakpoint(long)
			control = &c
		}
		tool := anthropic.ToolParam{Name: t.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](inputSchema(t.Schema))}
		if kind := t.Native[provider]; kind != "" {
			raw, err := schema.Encode(struct {
				Type         string                                `json:"type"`
				Name         string                                `json:"name"`
				CacheControl *anthropic.CacheControlEphemeralParam `json:"cache_control,omitempty"`
			}{kind, t.Name, control})
			if err != nil {
				return nil, wrong("the tool %s can't be sent: %v", t.Name, err)
			}
			// Any struct of the union will do: what is sent is the name of a type, also of one that the SDK does not know.
			tool = param.Override[anthropic.ToolParam](json.RawMessage(raw))
		} else {
			if t.Description != "" {
				tool.Description = param.NewOpt(t.Description)
			}
			if control != nil {
				tool.CacheControl = *control
			}
		}
		out = append(out, anthropic.ToolUnionParam{OfTool: &tool})
	}
	return out, nil
}

// inputSchema is that of a tool; one without takes an object.
func inputSchema(s json.RawMessage) json.RawMessage {
	if len(s) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return s
}
