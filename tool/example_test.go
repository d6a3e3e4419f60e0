package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cairnrun/cairn/tool"
)

func ExampleNew() {
	type question struct {
		City string `json:"city" validate:"required" jsonschema_description:"The town's English name."`
		Days int    `json:"days,omitempty" jsonschema:"minimum=1,maximum=7"`
	}
	type report struct {
		Sunny bool `json:"sunny"`
	}
	weather := tool.New("weather", "Tells the weather of the next days.", func(_ context.Context, q question) (report, error) {
		return report{Sunny: q.City == "Rome"}, nil
	})

	answer, err := weather.Call(context.Background(), json.RawMessage(`{"city":"Rome"}`))
	fmt.Println(string(answer), err)
	_, err = weather.Call(context.Background(), json.RawMessage(`{"town":"Rome","days":9}`))
	fmt.Println(err)
	// Output:
	// {"sunny":true} <nil>
	// TOOL_INPUT: weather does not take this input: city is missing; days has to be at most 7; "town" is no field; call it again with all of this put right; its fields are: city (required), days
}
