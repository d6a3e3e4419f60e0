package hindsight_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn/memory/hindsight"
	"github.com/cairnrun/cairn/memory/hindsight/hindsighttest"
)

// A site is a server that the cases run against: the fake one, or a real one.
type site struct {
	config hindsight.Config
	client *hindsight.Client
	// run makes names unique on a server that others use too.
	run string
	// model puts a mental model into a bank, by the server's name.
	model func(t *testing.T, bank, id string)
}

// await follows an operation to its end.
func (s site) await(t *testing.T, bank, id string) hindsight.Operation {
	t.Helper()
	for range 200 {
		op, there, err := s.client.Operation(t.Context(), bank, id)
		if err != nil || !there {
			t.Fatalf("operation %s of bank %s: there %v, %v", id, bank, there, err)
		}
		if op.State == hindsight.Completed || op.State == hindsight.Failed {
			return op
		}
		<-time.After(100 * time.Millisecond) // a real server only: the fake one is done at once
	}
	t.Fatalf("operation %s of bank %s does not end", id, bank)
	return hindsight.Operation{}
}

func (s site) retain(t *testing.T, bank string, r hindsight.Record) {
	t.Helper()
	id, err := s.client.Retain(t.Context(), bank, r)
	if err != nil {
		t.Fatal(err)
	}
	if op := s.await(t, bank, id); op.State != hindsight.Completed {
		t.Fatalf("the server failed at %s: %s", r.Document, op.Error)
	}
}

func documents(got hindsight.Recalled) []string {
	var out []string
	for _, r := range got.Rows {
		out = append(out, r.Document)
	}
	slices.Sort(out)
	return out
}

// cases is what holds against every server.
func cases(t *testing.T, s site) {
	ctx := t.Context()
	bank := "project-" + s.run

	t.Run("it answers, and says its version", func(t *testing.T) {
		if err := errors.Join(s.client.Live(ctx), s.client.Health(ctx)); err != nil {
			t.Fatal(err)
		}
		v, err := s.client.Version(ctx)
		if err != nil || v.API == "" || !v.Features["worker"] {
			t.Fatalf("%+v, %v", v, err)
		}
	})

	t.Run("a bank that is not there recalls nothing", func(t *testing.T) {
		none := "none-" + s.run
		got, err := s.client.Recall(ctx, none, hindsight.Query{Text: "anything"})
		if err != nil || len(got.Rows) != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		_, there, err := s.client.Model(ctx, none, "primer")
		if err != nil || there {
			t.Fatal(there, err)
		}
		_, there, err = s.client.Document(ctx, none, "d")
		if err != nil || there {
			t.Fatal(there, err)
		}
		there, err = s.client.DeleteDocument(ctx, none, "d")
		if err != nil || there {
			t.Fatal(there, err)
		}
		tags, err := s.client.Tags(ctx, none, "")
		if err != nil || len(tags) != 0 {
			t.Fatal(tags, err)
		}
		memories, _, err := s.client.Memories(ctx, none, hindsight.Listing{})
		if err != nil || len(memories) != 0 {
			t.Fatal(memories, err)
		}
		ops, _, err := s.client.Operations(ctx, none, "", 0, 0)
		if err != nil || len(ops) != 0 {
			t.Fatal(ops, err)
		}
		models, err := s.client.Models(ctx, none)
		if err != nil || len(models) != 0 {
			t.Fatal(models, err)
		}
		_, there, err = s.client.Operation(ctx, none, s.client.OperationID(none, "x"))
		if err != nil || there {
			t.Fatal(there, err)
		}
		if up := s.client.Doctor(ctx, none); !up.Healthy || !slices.Equal(up.Missing, []string{none}) || len(up.Problems) == 0 {
			t.Errorf("%+v", up)
		}
	})

	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	records := []hindsight.Record{
		{Operation: s.run + "/1", Document: "main", Content: "The release train leaves on Tuesday.", Context: "digest",
			Tags: []string{"scope:main", "branch:main", "source:run"}, Metadata: map[string]string{"run": "r1"}, Time: at},
		{Operation: s.run + "/2", Document: "run/x#1 ü~2F%2F?", Content: "The release train on the branch leaves on Friday.",
			Tags: []string{"scope:branch", "branch:x", "stream:s"}},
		{Operation: s.run + "/3", Document: "other", Content: "The release train elsewhere leaves never.", Tags: []string{"scope:branch", "branch:y"}},
		{Operation: s.run + "/4", Document: "..", Content: "An untagged release train."},
	}
	t.Run("records are documents", func(t *testing.T) {
		for _, r := range records {
			s.retain(t, bank, r)
		}
		for _, r := range records {
			d, there, err := s.client.Document(ctx, bank, r.Document)
			if err != nil || !there || d.Text != r.Content || d.Memories == 0 || !same(d.Tags, r.Tags) || d.ID != r.Document {
				t.Errorf("document %s: %+v, %v, %v", r.Document, d, there, err)
			}
			if r.Metadata != nil && d.Metadata["run"] != "r1" {
				t.Errorf("metadata of %s: %v", r.Document, d.Metadata)
			}
		}
		banks, err := s.client.Banks(ctx)
		if err != nil || !slices.ContainsFunc(banks, func(b hindsight.Bank) bool { return b.Name == bank }) {
			t.Errorf("banks %v, %v", banks, err)
		}
		if up := s.client.Doctor(ctx, bank); len(up.Problems) != 0 {
			t.Errorf("doctor: %v", up.Problems)
		}
		tags, err := s.client.Tags(ctx, bank, "branch:*")
		if err != nil || len(tags) != 3 {
			t.Errorf("tags %v, %v", tags, err)
		}
	})

	t.Run("filters are strict", func(t *testing.T) {
		for _, tt := range []struct {
			filter [][]string
			want   []string
		}{
			{nil, []string{"..", "main", "other", "run/x#1 ü~2F%2F?"}},
			{[][]string{{"scope:main"}}, []string{"main"}},
			{[][]string{{"scope:main", "branch:x"}}, []string{"main", "run/x#1 ü~2F%2F?"}},
			{[][]string{{"scope:main", "branch:x"}, {"stream:s"}}, []string{"run/x#1 ü~2F%2F?"}},
			{[][]string{{"scope:main", "branch:x"}, {"stream:s"}, {"team:a"}}, nil},
			{[][]string{{"scope"}}, nil},
		} {
			got, err := s.client.Recall(ctx, bank, hindsight.Query{Text: "release train", Filter: tt.filter, Sources: true})
			if err != nil || !slices.Equal(documents(got), tt.want) || got.Dropped != 0 || got.Bank != bank {
				t.Errorf("%q: %+v, %v, want %q", tt.filter, got, err, tt.want)
			}
		}
	})

	t.Run("a row tells where it is from", func(t *testing.T) {
		got, err := s.client.Recall(ctx, bank, hindsight.Query{Text: "Tuesday", Filter: [][]string{{"scope:main"}}, Budget: "low", MaxTokens: 500,
			Types: []string{"world", "experience", "observation"}, At: at})
		if err != nil || len(got.Rows) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		r := got.Rows[0]
		if r.ID == "" || r.Text != records[0].Content || r.Context != "digest" || r.Metadata["run"] != "r1" || r.Score == 0 || r.Type != "world" {
			t.Errorf("%+v", r)
		}
	})

	t.Run("long, odd and empty queries", func(t *testing.T) {
		for _, q := range []string{
			strings.Repeat("release train ", 300), strings.Repeat("é§", 900) + " train", "release \x00 train \xff\xed\xa0\x80",
			strings.Repeat("列車は火曜日", 200) + " train",
		} {
			got, err := s.client.Recall(ctx, bank, hindsight.Query{Text: q})
			if err != nil {
				t.Errorf("%.20q…: %v", q, err)
			}
			if got.QueryBytes > 1500 || len(q) > 1600 != got.Shortened {
				t.Errorf("%.20q…: %d bytes were sent, shortened %v", q, got.QueryBytes, got.Shortened)
			}
		}
		for _, q := range []string{"", "!?…", "\x00", " \n"} {
			if got, err := s.client.Recall(ctx, bank, hindsight.Query{Text: q}); err != nil || len(got.Rows) != 0 || got.QueryBytes != 0 {
				t.Errorf("%q: %+v, %v", q, got, err)
			}
		}
	})

	t.Run("a record replaces its document, once per operation", func(t *testing.T) {
		s.retain(t, bank, hindsight.Record{Operation: s.run + "/5", Document: "other", Content: "The release train \x00is\xff cancelled.", Tags: []string{"branch:y"}})
		s.retain(t, bank, hindsight.Record{Operation: s.run + "/5", Document: "other", Content: "Must not be seen.", Tags: []string{"branch:y"}})
		d, there, err := s.client.Document(ctx, bank, "other")
		if err != nil || !there || d.Text != "The release train is cancelled." || !same(d.Tags, []string{"branch:y"}) {
			t.Fatalf("%+v, %v, %v", d, there, err)
		}
		list, total, err := s.client.Memories(ctx, bank, hindsight.Listing{Document: "other"})
		if err != nil || total != 1 || len(list) != 1 || list[0].Document != "other" {
			t.Fatalf("%+v of %d, %v", list, total, err)
		}
		// The same operation id in another bank is another operation.
		s.retain(t, "user-"+s.run, hindsight.Record{Operation: s.run + "/5", Document: "other", Content: "Likes trains."})
		there, err = s.client.DeleteDocument(ctx, "user-"+s.run, "other")
		if err != nil || !there {
			t.Fatal(there, err)
		}
	})

	t.Run("an invalidated memory is not recalled", func(t *testing.T) {
		list, _, err := s.client.Memories(ctx, bank, hindsight.Listing{Tags: []string{"scope:main", "branch:main"}})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		if done, err := s.client.Invalidate(ctx, bank, list[0].ID, "it leaves on Monday"); err != nil || !done {
			t.Fatal(done, err)
		}
		got, err := s.client.Recall(ctx, bank, hindsight.Query{Text: "release train Tuesday", Filter: [][]string{{"scope:main"}}})
		if err != nil || len(got.Rows) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		list, _, err = s.client.Memories(ctx, bank, hindsight.Listing{Invalid: true})
		if err != nil || len(list) != 1 || !list[0].Invalid || list[0].Reason != "it leaves on Monday" {
			t.Errorf("%+v, %v", list, err)
		}
		if done, err := s.client.Invalidate(ctx, bank, "00000000-0000-4000-8000-999999999999", "x"); err != nil || done {
			t.Error(done, err)
		}
	})

	t.Run("a deleted document is gone", func(t *testing.T) {
		for _, want := range []bool{true, false} {
			if there, err := s.client.DeleteDocument(ctx, bank, records[1].Document); err != nil || there != want {
				t.Fatal(there, err)
			}
		}
		got, err := s.client.Recall(ctx, bank, hindsight.Query{Text: "release train Friday", Filter: [][]string{{"branch:x"}}})
		if err != nil || len(got.Rows) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})

	t.Run("a mental model is there per bank and id", func(t *testing.T) {
		s.model(t, s.config.BankPrefix+bank, "primer")
		m, there, err := s.client.Model(ctx, bank, "primer")
		if err != nil || !there || m.ID != "primer" || m.Name == "" || m.Question == "" {
			t.Fatalf("%+v, %v, %v", m, there, err)
		}
		if _, there, err := s.client.Model(ctx, bank, "another"); err != nil || there {
			t.Error(there, err)
		}
		if list, err := s.client.Models(ctx, bank); err != nil || len(list) != 1 || list[0].ID != "primer" {
			t.Error(list, err)
		}
	})

	t.Run("operations are listed", func(t *testing.T) {
		list, total, err := s.client.Operations(ctx, bank, hindsight.Completed, 2, 0)
		if err != nil || len(list) != 2 || total < 4 || list[0].State != hindsight.Completed || list[0].Type == "" || list[0].ID == "" {
			t.Errorf("%+v of %d, %v", list, total, err)
		}
		if _, there, err := s.client.Operation(ctx, bank, s.client.OperationID(bank, "never")); err != nil || there {
			t.Error(there, err)
		}
		if again, err := s.client.RetryOperation(ctx, bank, s.client.OperationID(bank, "never")); err != nil || again {
			t.Error(again, err)
		}
	})

	t.Run("a projector brings a queue across", func(t *testing.T) {
		var q hindsighttest.Queue
		for v := int64(1); v <= 3; v++ {
			q.Add(hindsight.Item{OperationID: fmt.Sprint(s.run, "/p", v), Bank: bank, Document: "p", Version: v, Op: hindsight.Retain,
				Content: fmt.Sprint("Version ", v, " of a projected lesson.")})
		}
		q.Add(hindsight.Item{OperationID: s.run + "/g1", Bank: bank, Document: "gone", Version: 1, Op: hindsight.Retain, Content: "Soon gone."})
		q.Add(hindsight.Item{OperationID: s.run + "/g2", Bank: bank, Document: "gone", Version: 2, Op: hindsight.Delete})
		p := hindsight.Projector{Client: s.client, Queue: &q, Wait: 20 * time.Second}
		if got, err := p.Drain(ctx); err != nil || got.Done != 5 || q.Waiting() != 0 || got.Last != nil {
			t.Fatalf("%+v, %v, %d waiting", got, err, q.Waiting())
		}
		if d, there, err := s.client.Document(ctx, bank, "p"); err != nil || !there || d.Text != "Version 3 of a projected lesson." || d.Metadata[hindsight.VersionKey] != "3" {
			t.Errorf("%+v, %v, %v", d, there, err)
		}
		if _, there, err := s.client.Document(ctx, bank, "gone"); err != nil || there {
			t.Error(there, err)
		}
	})

	t.Run("what is refused is permanent, a lost server is not", func(t *testing.T) {
		_, err := s.client.Retain(ctx, bank, hindsight.Record{Operation: "x", Document: "d", Content: " \x00 "})
		if !errors.Is(err, hindsight.Invalid) || hindsight.Retryable(err) {
			t.Error(err)
		}
		config := s.config
		config.URL = "http://127.0.0.1:1"
		config.HTTP = nil
		lost, err := hindsight.New(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := lost.Health(ctx); !errors.Is(err, hindsight.Unavailable) || !hindsight.Retryable(err) {
			t.Error(err)
		}
		if up := lost.Doctor(ctx); up.Live || len(up.Problems) != 1 {
			t.Errorf("%+v", up)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := s.client.Health(ended); !errors.Is(err, context.Canceled) || !hindsight.Retryable(err) {
			t.Error(err)
		}
	})
}

func same(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

func newClient(t *testing.T, config hindsight.Config) *hindsight.Client {
	t.Helper()
	c, err := hindsight.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
