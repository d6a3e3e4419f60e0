package handoff_test

import (
	"encoding/json"
	"fmt"

	"github.com/cairnrun/cairn/handoff"
)

type Learning struct {
	Text   string `json:"text"`
	Weight int    `json:"weight"`
}

// Distilled is what a long migration carries into its next run.
type Distilled struct {
	Goal      string     `json:"goal"`
	Done      int        `json:"done"`
	Open      []string   `json:"open"`
	Learnings []Learning `json:"learnings"`
	Log       []string   `json:"log"`
	Forgotten int        `json:"forgotten"`
}

// A run that hands over carries its open work first, then what it has learned, by weight, then as much of the log's end
// as there is room for.
func ExampleDistil() {
	s := Distilled{
		Goal: handoff.Cut("Move the billing service to the new queue, one consumer at a time, without losing a message", 48),
		Done: 31,
		Open: []string{"refunds", "dunning"},
		Learnings: []Learning{
			{"The queue drops messages over 256 KB", 9},
			{"Tests need TZ=UTC", 3},
			{"Consumers ack twice on shutdown; drain first", 8},
		},
		Log: []string{"moved invoices", "moved payouts", "moved receipts"},
	}
	left, err := handoff.Distil(&s, 300,
		handoff.Newest(&s.Open),
		handoff.ByPriority(&s.Learnings, func(l Learning) int { return l.Weight }).Count(&s.Forgotten),
		handoff.Newest(&s.Log),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	raw, _ := json.Marshal(s)
	fmt.Println(s.Goal)
	fmt.Println(s.Done, "done, open:", s.Open)
	for _, l := range s.Learnings {
		fmt.Println("-", l.Text)
	}
	fmt.Println("log:", s.Log)
	fmt.Println(s.Forgotten, "forgotten, left out:", left, "bytes:", len(raw))
	// Output:
	// Move the billing service to the new queue, on…
	// 31 done, open: [refunds dunning]
	// - The queue drops messages over 256 KB
	// - Consumers ack twice on shutdown; drain first
	// log: [moved payouts moved receipts]
	// 1 forgotten, left out: [0 1 1] bytes: 293
}

func ExampleCut() {
	fmt.Println(handoff.Cut("A naïve summary", 10))
	// Output: A naïv…
}
