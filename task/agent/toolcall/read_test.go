package toolcall_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/task/agent/toolcall"
)

// TestRead: of all that a journal holds the calls of tools are listed, in their order.
func TestRead(t *testing.T) {
	entries := map[string]json.RawMessage{
		"l.1.turn.1":                json.RawMessage(`{"value":{"attempt":1,"blocks":[]}}`),
		"l.1.turn.1.intent":         json.RawMessage(`{"key":"r/p#l.1.turn.1","attempt":1}`),
		"l.1.turn.1.tool.2.intent":  json.RawMessage(`{"key":"r/p#l.1.turn.1.tool.2","attempt":2,"tool":"b"}`),
		"l.1.turn.1.tool.10.intent": json.RawMessage(`{"key":"r/p#l.1.turn.1.tool.10","attempt":1,"tool":"c","sideEffect":true}`),
		"l.1.turn.1.tool.1":         json.RawMessage(`{"value":{"tool":"a","text":"x","key":"r/p#l.1.turn.1.tool.1","idempotent":true,"sideEffect":true}}`), // its intent was lost
		"l.1.turn.1.tool.3":         json.RawMessage(`{"value":{"tool":"nothing","text":"There is no tool","error":true}}`),
		"mine":                      json.RawMessage(`{"value":{"tool":"hammer","key":"of the door"}}`),
		"memory":                    json.RawMessage(`{"block":"x"}`),
		"text":                      json.RawMessage(`{"value":"x"}`),
		"":                          json.RawMessage(`7`),
	}
	made, err := toolcall.Read(entries)
	var got []string
	for _, r := range made {
		got = append(got, fmt.Sprint(r.Tool, " ", r.State, " ", r.Attempt, r.SideEffect, r.Idempotent))
	}
	if want := "a done 0 true true; b begun 2 false false; c begun 1 true false"; err != nil || strings.Join(got, "; ") != want {
		t.Errorf("%q, %v", strings.Join(got, "; "), err)
	}
	for name, damage := range map[string]string{"l.1.turn.1.tool.2.intent": `{"key":`, "l.1.turn.1.tool.2": `{"value":7}`} {
		was, had := entries[name]
		entries[name] = json.RawMessage(damage)
		if _, err := toolcall.Read(entries); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if entries[name] = was; !had {
			delete(entries, name)
		}
	}
}
