package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cairnrun/cairn/engine"
)

// The model keeps the rules too, or it would prove nothing about a store.
func TestModel(t *testing.T) {
	Test(t, func(testing.TB) Open {
		m := &model{}
		return func(_ testing.TB, clock func() time.Time) engine.Store {
			m.clock = clock
			return m
		}
	})
}

func TestFaulty(t *testing.T) {
	ctx := context.Background()
	for when, there := range map[Moment]bool{Before: false, After: true} {
		inner := &model{clock: time.Now}
		store := Faulty(inner, 2, when, errFault)
		create := func(id string) error {
			lease, err := store.Create(ctx, engine.NewRun{ID: id}, frame(id, 1, ""), claimBy("me"))
			if err != nil && lease != (engine.Lease{}) {
				t.Errorf("a failed call returned %v", lease)
			}
			return err
		}
		if err := create("a"); err != nil || store.Reached() {
			t.Fatalf("call 1: %v", err)
		}
		if err := create("b"); err != errFault || !store.Reached() {
			t.Fatalf("call 2: %v", err)
		}
		if _, err := inner.Run(ctx, "b"); errors.Is(err, engine.RunNotFound) == there {
			t.Errorf("moment %d: %v", when, err)
		}
		if err := create("c"); err != nil || store.Calls() != 3 {
			t.Fatalf("call 3: %v", err)
		}
	}
}
