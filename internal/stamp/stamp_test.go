package stamp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn/internal/stamp"
)

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"Now it is 2026-03-01T10:02:03.5Z.":            "time 2026-03-01T10:02:03.5Z",
		"Now it is 2026-03-01 10:02 and late":          "time 2026-03-01 10:02",
		"Sun, 01 Mar 2026 10:02:03 GMT":                "time Sun, 01 Mar 2026 10:02:03 GMT",
		"today: 2026-03-01":                            "date 2026-03-01",
		"on March 1, 2026 we met, and on 2 April 2026": "date March 1, 2026; date 2 April 2026",
		"at 10:02:03":                                  "clock 10:02:03",
		"seed 1767225600 or 1767225600123":             "time 1767225600; time 1767225600123",
		"run 0b9e2c1a-7f3d-4c55-9a21-3f1c2b4d5e6f, trace 01ARZ3NDEKTSV4RRFFQ69G5FAV": "id 0b9e2c1a-7f3d-4c55-9a21-3f1c2b4d5e6f; id 01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8":                            "id 9fceb02d0ae598e95dc970b74767f19372d61af8",
		"You may take 100 steps, at most 3:2 of them in May; see RFC 2119.":          "",
		"The deadbeefcafe of 1234567890123456789012 is no time at all":               "",
	} {
		var got []string
		for _, s := range stamp.Find(text) {
			got = append(got, fmt.Sprintf("%s %s", s.Kind, s.Text))
			if text[s.From:s.To] != s.Text {
				t.Errorf("%q is not at %d", s.Text, s.From)
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

func TestAt(t *testing.T) {
	text := strings.Repeat("x", 500) + " since 2026-03-01T10:02:03Z, they say"
	at := strings.Index(text, "03Z")
	if s, ok := stamp.At(text, at); !ok || s.Text != "2026-03-01T10:02:03Z" || text[s.From:s.To] != s.Text {
		t.Errorf("%+v", s)
	}
	for _, away := range []int{3, at + 10, len(text) + 500, -1} {
		if s, ok := stamp.At(text, away); ok {
			t.Errorf("at %d stands %+v", away, s)
		}
	}
}

func TestNear(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]bool{
		"2026-03-01": true, "2026-03-03": true, "2026-02-20": false, "March 1, 2026": true, "March 1, 2024": false,
		"2026-03-01T10:02:03Z": true, "2026-03-01 10:02": true, "2024-03-01T10:02:03Z": false, "Sun, 01 Mar 2026 10:02:03 UTC": true,
		"1772359200": true, "1772359200123": true, "1672359200": false, "10:02:03": false, "0b9e2c1a-7f3d-4c55-9a21-3f1c2b4d5e6f": false,
	} {
		found := stamp.Find(text)
		if len(found) != 1 || found[0].Near(now, 48*time.Hour) != want {
			t.Errorf("%s: %+v, want near %t", text, found, want)
		}
	}
}
