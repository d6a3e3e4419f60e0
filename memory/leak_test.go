package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// written is an item as the test knows it: a word that nothing else has, and where it is.
type written struct {
	word      string
	ns        memory.Namespace
	bank      string
	tags      []string
	unsettled bool // proposed, rejected or over: nobody recalls it
}

// leaks writes and reads a store at random.
type leaks struct {
	*rapid.T
	store *lanes.Store
	rt    *memory.Runtime
	items []written
	// check sets the names of one check apart from those of the others, in the one file that they share; ops counts runs.
	check, ops int
}

var (
	leakBanks  = []string{"project-a", "project-ab", "project-A", "user-a", "user-ab", "notes", "note_", "%", "project-a project-ab"}
	leakSpaces = []memory.Namespace{{Kind: memory.WorkflowKind, ID: "w"}, {Kind: memory.WorkflowKind, ID: "w:w"}, {Kind: memory.AgentKind, ID: "w"}, {Kind: memory.WorkflowKind, ID: "%"}}
)

// word is new, and all items share another one: without a filter a search for that finds them all.
func (l *leaks) word() string { return fmt.Sprintf("secret%dx%dx", l.check, len(l.items)) }

func (l *leaks) text(word string) string { return "common knowledge " + word }

func (l *leaks) bank() string { return rapid.SampledFrom(leakBanks).Draw(l.T, "bank") }
func (l *leaks) namespace() memory.Namespace {
	return rapid.SampledFrom(leakSpaces).Draw(l.T, "namespace")
}

// tags are a valid configuration.
func (l *leaks) tags() (tags []string) {
	for _, of := range [][]string{{"", "branch:main", "branch:feat", "branch:feat2"}, {"", "stream:s", "stream:t"}, {"", "team:a", "team:b"}} {
		if tag := rapid.SampledFrom(of).Draw(l.T, "tag"); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

func (l *leaks) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// run makes an attempt of a task, with its effects delivered.
func (l *leaks) run(m memory.Memory, workflow, prompt, output string, body func(ctx context.Context, call *cairn.Call)) {
	l.Helper()
	spec := m.Lower()
	if len(spec.Mistakes) > 0 {
		l.Fatal(spec.Mistakes)
	}
	resolved := spec.Memory.Under(cairn.RootMemory)
	l.ops++
	raw, err := json.Marshal(prompt)
	l.must(err)
	out, err := json.Marshal(output)
	l.must(err)
	call := &cairn.Call{Run: fmt.Sprint("r", l.check, ".", l.ops), Workflow: workflow, Path: "step", Attempt: 1, IdempotencyKey: fmt.Sprint("r", l.check, ".", l.ops, "/step"), Prompted: true,
		Input: raw, Policy: cairn.Policy{Memory: &resolved}, Journal: journal{}}
	result, err := l.rt.Middleware(func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
		body(ctx, call)
		return cairn.Result{Output: out}, nil
	})(context.Background(), call)
	l.must(err)
	for i, e := range result.Effects {
		l.must(l.rt.Deliver(context.Background(), fmt.Sprint(call.IdempotencyKey, "#", i), e.Kind, e.Body))
	}
}

// writeByTask leaves a digest, or uses the tool, in one bank or two.
func (l *leaks) writeByTask(*rapid.T) {
	banks := []string{l.bank()}
	if other := l.bank(); rapid.Bool().Draw(l.T, "two banks") && other != banks[0] {
		banks = append(banks, other)
	}
	m := memory.Memory{Banks: banks, Tags: l.tags(), Recall: memory.RecallOff}
	if rapid.Bool().Draw(l.T, "write one") {
		m.WriteBanks = banks[:1]
	}
	word, how := l.word(), rapid.SampledFrom([]string{"retain", "remember", "create", "edit"}).Draw(l.T, "how")
	output := "nothing"
	switch how {
	case "retain":
		m.Retain, output = memory.OnComplete, l.text(word)
	case "remember":
		m.Tools = memory.On
	default: // a file is of one bank
		banks, m.Banks, m.WriteBanks, m.Tools = banks[:1], banks[:1], nil, memory.Files
	}
	ns := l.namespace()
	ns.Kind = memory.WorkflowKind
	drafted := ns
	if how == "edit" { // an edit stays where the file is
		drafted = l.namespace()
	}
	l.run(m, ns.ID, "a prompt", output, func(ctx context.Context, call *cairn.Call) {
		use := func(tool cairn.Tool, in any) {
			raw, err := json.Marshal(in)
			l.must(err)
			_, err = tool.Call(ctx, raw)
			l.must(err)
		}
		path := fmt.Sprint("/memories/", l.check, "/", word)
		switch how {
		case "remember":
			use(call.Tools[1], map[string]string{"text": l.text(word)})
		case "create":
			use(call.Tools[2], map[string]string{"command": "create", "path": path, "file_text": l.text(word)})
		case "edit": // what a person has put there, for whoever sees it
			tags, err := memory.WriteTags(banks[0], m.Tags, nil, "import")
			l.must(err)
			_, _, err = l.store.SaveNote(ctx, memory.Note{Place: memory.Place{Namespace: drafted, Bank: banks[0], Tags: tags}, ID: strings.TrimPrefix(path, "/memories/"), Body: "a draft", Pinned: true})
			l.must(err)
			use(call.Tools[2], map[string]string{"command": "str_replace", "path": path, "old_str": "a draft", "new_str": l.text(word)})
		}
	})
	to := banks
	if m.WriteBanks != nil {
		to = m.WriteBanks
	}
	for _, bank := range to {
		tags, err := memory.WriteTags(bank, m.Tags, nil, "run")
		l.must(err)
		l.items = append(l.items, written{word, drafted, bank, tags, false})
	}
}

// writeByPerson puts a note, a fact or a message somewhere, or into no bank at all.
func (l *leaks) writeByPerson(*rapid.T) {
	ctx, word, bank := context.Background(), l.word(), l.bank()
	tags, err := memory.WriteTags(bank, l.tags(), nil, "import")
	l.must(err)
	if rapid.IntRange(0, 4).Draw(l.T, "no bank") == 0 {
		bank = ""
	}
	item := written{word, l.namespace(), bank, tags, false}
	place := memory.Place{Namespace: item.ns, Bank: bank, Tags: tags}
	switch rapid.SampledFrom([]string{"note", "proposed", "rejected", "retired", "superseded", "fact", "expired", "message"}).Draw(l.T, "what") {
	case "note":
		_, _, err = l.store.SaveNote(ctx, memory.Note{Place: place, Body: l.text(word)})
	case "proposed":
		item.unsettled = true
		_, _, err = l.store.SaveNote(ctx, memory.Note{Place: place, Body: l.text(word), Status: memory.Proposed})
	case "rejected":
		item.unsettled = true
		var n memory.Note
		n, _, err = l.store.SaveNote(ctx, memory.Note{Place: place, Body: l.text(word)})
		l.must(err)
		_, err = l.store.SetStatus(ctx, item.ns, n.ID, memory.Rejected)
	case "retired":
		item.unsettled = true
		_, _, err = l.store.SaveNote(ctx, memory.Note{Place: place, Body: l.text(word), Valid: memory.Span{To: time.Now().Add(-time.Hour)}})
	case "superseded": // by one that only its own readers see: there it must be gone
		var n memory.Note
		n, _, err = l.store.SaveNote(ctx, memory.Note{Place: place, Body: l.text(word)})
		l.must(err)
		item.unsettled = true
		_, _, err = l.store.SaveNote(ctx, memory.Note{Place: place, Body: "something else", Supersedes: []string{n.ID}})
	case "fact":
		_, err = l.store.SetFact(ctx, memory.Fact{Place: place, Key: word, Value: json.RawMessage(`"` + l.text(word) + `"`)})
	case "expired":
		item.unsettled = true
		_, err = l.store.SetFact(ctx, memory.Fact{Place: place, Key: word, Value: json.RawMessage(`"` + l.text(word) + `"`), Expires: time.Now().Add(-time.Minute)})
	case "message":
		_, err = l.store.CreateThread(ctx, memory.Thread{Place: place, ID: word})
		l.must(err)
		_, err = l.store.Append(ctx, item.ns, word, memory.Message{ID: "m", Role: memory.User, Content: l.text(word)})
	}
	l.must(err)
	l.items = append(l.items, item)
}

// shown wants no text to hold a word that a reader of these banks, or of the one that was asked, may not see.
func (l *leaks) shown(text string, banks, configured, asked []string) {
	l.Helper()
	for _, item := range l.items {
		if !strings.Contains(text, item.word) {
			continue
		}
		may := slices.ContainsFunc(l.items, func(same written) bool { // what was written to two banks has one word
			return same.word == item.word && !same.unsettled && slices.Contains(banks, same.bank) && memory.RecallFilter(same.bank, configured, asked).Passes(same.tags)
		})
		if !may {
			l.Fatalf("a reader of %q with %q, asking for %q, is shown %+v in\n%s", banks, configured, asked, item, text)
		}
	}
}

// readByTask is a block, and an answer of the tool.
func (l *leaks) readByTask(*rapid.T) {
	banks := []string{l.bank()}
	if other := l.bank(); rapid.Bool().Draw(l.T, "two banks") && other != banks[0] {
		banks = append(banks, other)
	}
	m := memory.Memory{Banks: banks, Tags: l.tags(), Tools: memory.Files, MaxTokens: 1 << 16, Budget: rapid.SampledFrom([]memory.Budget{memory.Low, memory.Mid, memory.High}).Draw(l.T, "budget")}
	query := "common knowledge"
	if n := len(l.items); n > 0 && rapid.Bool().Draw(l.T, "by name") {
		query = l.items[rapid.IntRange(0, n-1).Draw(l.T, "of")].word
	}
	l.run(m, "reader", query, "nothing", func(ctx context.Context, call *cairn.Call) {
		l.shown(call.Memory, banks, m.Tags, nil)
		var asked []string
		bank := rapid.SampledFrom(banks).Draw(l.T, "asked bank")
		if tag := rapid.SampledFrom([]string{"", "stream:s", "team:b", "branch:feat2", "scope:branch"}).Draw(l.T, "asked"); tag != "" {
			asked = append(asked, tag)
		}
		in, err := json.Marshal(map[string]any{"query": query, "tags": asked, "bank": bank})
		l.must(err)
		out, err := call.Tools[0].Call(ctx, in)
		l.must(err)
		l.shown(string(out), []string{bank}, m.Tags, asked)
		l.look(ctx, call.Tools[2], "/memories", banks, m.Tags)
		for _, bank := range banks {
			l.look(ctx, call.Tools[2], "/memories/"+bank, []string{bank}, m.Tags)
			for _, item := range l.items {
				path := fmt.Sprint("/memories/", l.check, "/", item.word)
				if len(banks) > 1 {
					path = fmt.Sprint("/memories/", bank, "/", l.check, "/", item.word)
				}
				l.look(ctx, call.Tools[2], path, []string{bank}, m.Tags)
			}
		}
	})
}

// look views a path of the tool memory, whether it is there or not. A path has a word in it, and what is wrong says the path.
func (l *leaks) look(ctx context.Context, tool cairn.Tool, path string, banks, tags []string) {
	l.Helper()
	in, err := json.Marshal(map[string]any{"command": "view", "path": path})
	l.must(err)
	if out, err := tool.Call(ctx, in); err == nil {
		l.shown(string(out), banks, tags, nil)
	}
}

// readByName lists a namespace.
func (l *leaks) readByName(*rapid.T) {
	ns := l.namespace()
	var texts []string
	notes, err := l.store.Notes(context.Background(), memory.Scope{Namespace: ns, Statuses: []memory.Status{memory.Accepted, memory.Proposed, memory.Rejected}})
	l.must(err)
	for _, n := range notes {
		texts = append(texts, n.Body)
	}
	facts, err := l.store.Facts(context.Background(), ns)
	l.must(err)
	for _, f := range facts {
		texts = append(texts, string(f.Value))
	}
	text := strings.Join(texts, "\n")
	for _, item := range l.items {
		if item.ns != ns && strings.Contains(text, item.word) {
			l.Fatalf("namespace %s lists %+v", ns, item)
		}
	}
}

// TestNothingLeaks: whatever is written, by tasks and by people, nothing of another bank, of a branch, stream or other tag
// that a reader is not shown, of what does not count, or of no bank is ever recalled, and a namespace lists its own alone.
func TestNothingLeaks(t *testing.T) {
	recalled := 0
	store, err := lanes.Open(context.Background(), lanes.Config{Path: filepath.Join(t.TempDir(), "memory.db"), Synchronous: lanes.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rt, check := &memory.Runtime{Store: store, Timeout: time.Minute}, 0
	rapid.Check(t, func(t *rapid.T) {
		if check++; raced && check > 10 { // races show in few, leaks are looked for without the detector
			return
		}
		l := &leaks{T: t, store: store, rt: rt, check: check}
		for range rapid.IntRange(2, 12).Draw(t, "writes") {
			if rapid.Bool().Draw(t, "by task") {
				l.writeByTask(t)
			} else {
				l.writeByPerson(t)
			}
		}
		for range rapid.IntRange(1, 3).Draw(t, "reads") {
			l.readByTask(t)
			l.readByName(t)
		}
		for _, item := range l.items { // the test would pass on a store that finds nothing
			if item.bank == "" || item.unsettled {
				continue
			}
			found, err := store.Recall(context.Background(), memory.Query{Bank: item.bank, Text: item.word})
			if err != nil || len(found.Rows) == 0 || !strings.Contains(found.Rows[0].Text, item.word) {
				t.Fatalf("%+v is not found in its bank: %+v, %v", item, found, err)
			}
			recalled++
		}
	})
	if recalled == 0 && !testing.Short() {
		t.Error("nothing was recalled at all")
	}
}
