package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// turns is how long the work is where nothing has to be looked up twice: so many calls of tools but one, and an answer.
const turns = 100

// A fact is something that the agent finds out and must still know at the end: a decision, a bug, a path.
type fact struct {
	// evidence is the line from which the agent learns it, says what it makes of that.
	evidence, says string
	// words must all be in a window in which a question about it can be answered.
	words []string
}

// facts are ten decisions, ten bugs and ten paths.
func facts() (all []fact) {
	for i := range 10 {
		all = append(all,
			fact{fmt.Sprintf("note: the broker loses message%d when it restarts", i),
				fmt.Sprintf("We decided to keep the queue%d in Postgres because the broker loses message%d.", i, i),
				[]string{fmt.Sprintf("queue%d", i), fmt.Sprintf("message%d", i)}},
			fact{fmt.Sprintf("\tm.counter = (m.counter + 1) %% %d // module%d", 1000+i, i),
				fmt.Sprintf("There is a bug in module%d: the counter wraps at %d and nobody notices.", i, 1000+i),
				[]string{fmt.Sprintf("module%d", i), fmt.Sprint(1000 + i)}},
			fact{fmt.Sprintf("services/part%d/handler_%d.go:12: func Handle(ctx context.Context)", i, i),
				fmt.Sprintf("The handler is in services/part%d/handler_%d.go, next to its test.", i, i),
				[]string{fmt.Sprintf("services/part%d/handler_%d.go", i, i)}})
	}
	return all
}

// A need is a line that the agent must have in view before it goes on, and the call whose result has it.
type need struct {
	tool, target, line string
}

// A step is one call of a tool, and what the agent makes of the result.
type step struct {
	tool, target string
	input        json.RawMessage
	needs        []need
	// says is the fact that the agent states once it has seen the result.
	says string
}

// world is what the tools find, by tool and target.
type world struct {
	steps   []step // the first is step 1
	results map[[2]string]string
	fails   map[[2]string]string
	facts   []fact
}

// Sizes of what tools answer with, in bytes. Files have those of Go's net/http (1.26) from 2 KB on, the bundle of HTTP/2 left out; logs,
// pages and hits are chosen to be of that order.
var (
	fileSizes = []int{35371, 13844, 3130, 15739, 7095, 3226, 3694, 33226, 7832, 10324, 15469, 50447, 11362, 4269, 12473, 4048, 7710, 5920, 131179, 8094,
		13213, 7629, 31864, 100272, 3299}
	logSizes  = []int{12 << 10, 30 << 10, 48 << 10}
	pageSizes = []int{24 << 10, 40 << 10, 64 << 10, 96 << 10}
	hitSizes  = []int{1 << 10, 3 << 10, 6 << 10, 10 << 10}
)

// A work is what the n-th step calls, the size of what it brings, and why it fails, "" if it does not. read are the targets of
// earlier ones of its reader.
type work struct {
	reader string
	step   func(n int, read []string) (tool, target string, size int, fails string)
}

func cycle(sizes []int, n int) int { return sizes[n%len(sizes)] }

// coding reads files in four of ten steps and one again that was just read, searches twice, runs the tests, fetches a page and writes.
// Every other run of the tests fails, and one read in eight.
var coding = work{"read_file", func(n int, read []string) (tool, target string, size int, fails string) {
	switch n % 10 {
	case 1, 2, 4, 8:
		tool, target, size = "read_file", fmt.Sprintf("internal/area%d/file_%d.go", n%7, n), cycle(fileSizes, len(read))
		if n%20 == 8 {
			fails = "open " + target + ": no such file or directory"
		}
	case 6:
		tool, target = "read_file", read[len(read)-1-n/10%2]
	case 3, 0:
		tool, target, size = "grep", fmt.Sprintf("Handle_%d", n), cycle(hitSizes, n/5)
	case 5:
		tool, target, size = "run_tests", fmt.Sprintf("./internal/area%d", n/10), cycle(logSizes, n/10)
		if n/10%2 == 1 {
			fails = "exit status 1\n" + noise("failure "+target, 3<<10)
		}
	case 7:
		tool, target, size = "fetch", fmt.Sprintf("https://docs.example/page/%d", n), cycle(pageSizes, n/10)
	case 9:
		tool, target = "write_file", fmt.Sprintf("internal/area%d/change_%d.go", n%7, n)
	}
	return tool, target, size, fails
}}

// searching fetches pages in six of ten steps and one again that was just fetched, searches twice and writes. One page in twelve is not there.
var searching = work{"fetch", func(n int, read []string) (tool, target string, size int, fails string) {
	switch n % 10 {
	case 1, 2, 4, 5, 6, 8:
		tool, target, size = "fetch", fmt.Sprintf("https://docs.example/page/%d", n), cycle(pageSizes, len(read))
		if n%20 == 8 {
			fails = target + ": 404 Not Found"
		}
	case 7:
		tool, target = "fetch", read[len(read)-1-n/10%2]
	case 3, 0:
		tool, target, size = "grep", fmt.Sprintf("Handle_%d", n), cycle(hitSizes, n/5)
	case 9:
		tool, target = "write_file", fmt.Sprintf("notes/part_%d.md", n)
	}
	return tool, target, size, fails
}}

// newWorld lays a work out. A fact is in the result of every third step. Before it writes the agent needs a line of something that it
// has read long ago.
func newWorld(k work) *world {
	w := &world{results: map[[2]string]string{}, fails: map[[2]string]string{}, facts: facts()}
	var read []string
	for n := 1; n < turns; n++ {
		tool, target, size, fails := k.step(n, read)
		s, key := step{tool: tool, target: target}, [2]string{tool, target}
		failing := fails != ""
		if failing {
			w.fails[key] = fails
		}
		if tool == k.reader && size > 0 && !failing {
			read = append(read, target)
		}
		var inside []string
		if size > 0 { // what it has asked for: no result is read for nothing
			inside = append(inside, signature(s.target))
		}
		if !failing && s.tool != "write_file" {
			s.needs = append(s.needs, need{s.tool, s.target, signature(s.target)})
		}
		if k := n/3 - 1; n%3 == 0 && k < len(w.facts) {
			s.says = w.facts[k].says
			if size > 0 && !failing { // what it does not read it states of its own
				inside = append(inside, w.facts[k].evidence)
				s.needs = append(s.needs, need{s.tool, s.target, w.facts[k].evidence})
			}
		}
		if n%10 == 8 { // the next one writes
			old := read[len(read)/3]
			s.needs = append(s.needs, need{k.reader, old, signature(old)})
		}
		if size > 0 && !failing {
			w.results[key] = document(key[0]+" "+key[1], size, inside)
		}
		s.input = inputOf(s)
		w.steps = append(w.steps, s)
	}
	return w
}

// argument is what a tool calls its target.
var argument = map[string]string{"read_file": "path", "write_file": "path", "grep": "pattern", "run_tests": "package", "fetch": "url"}

func inputOf(s step) json.RawMessage {
	in := map[string]string{argument[s.tool]: s.target}
	if s.tool == "write_file" {
		in["content"] = noise(s.target, 3<<10)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err) // of strings: it can't fail
	}
	return raw
}

func signature(path string) string {
	return fmt.Sprintf("func Signature_%x(ctx context.Context, in Request) (Reply, error) {", digest(path))
}

func digest(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// call is what a tool does.
func (w *world) call(tool, target string) (string, error) {
	key := [2]string{tool, target}
	if why, fails := w.fails[key]; fails {
		return "", errors.New(why)
	}
	if tool == "write_file" {
		return "written", nil
	}
	out, known := w.results[key]
	if !known {
		return "", fmt.Errorf("%s %s: not in this world", tool, target)
	}
	return out, nil
}

// document is a text of a size with some lines at two thirds of it, where no beginning shows them.
func document(name string, size int, lines []string) string {
	head := noise(name, size*2/3)
	inside := "\n" + strings.Join(lines, "\n") + "\n"
	if len(lines) == 0 {
		inside = "\n"
	}
	return head + inside + noise(name+" tail", max(0, size-len(head)-len(inside)))
}

// Words of made-up code, and of made-up prose.
var (
	codeWords = strings.Fields(`ctx err req resp order customer ledger invoice batch retry cursor stream payload header queue worker lease buffer
		offset commit return range append defer close select switch handler token field value index lookup encode decode`)
	saidWords = []string{
		"The file shows how requests are dispatched to workers and where a lease is taken.",
		"It fits what the search has told: the retry happens one level above.",
		"The tests of this package cover the happy path and little of the rest.",
		"Next I look at who calls it, because the error is swallowed somewhere on the way up.",
		"The payload is decoded twice, which is slow and does no harm.",
		"Nothing here must change for the new header to be passed on.",
		"The comment says that the cursor never goes back, and the code agrees.",
		"One of the callers fails when the batch is empty; I keep that in mind for the plan.",
		"The naming differs between the two packages, so a search has to be done for both.",
		"That is enough to know where the change goes.",
	}
)

// noise is text of a size, the same for a name.
func noise(name string, size int) string {
	r := rand.New(rand.NewPCG(uint64(digest(name)), 7))
	var b strings.Builder
	b.Grow(size + 80)
	for b.Len() < size {
		b.WriteString("\t")
		for range 3 + r.IntN(8) {
			b.WriteString(codeWords[r.IntN(len(codeWords))])
			b.WriteByte(" .(),=:"[r.IntN(7)])
		}
		fmt.Fprintf(&b, "%d\n", r.IntN(10000))
	}
	return b.String()[:max(size, 0)]
}

// remarks is what the agent says beside a step: three to six sentences.
func remarks(n int) string {
	r := rand.New(rand.NewPCG(uint64(n), 11))
	var said []string
	for range 3 + r.IntN(4) {
		said = append(said, saidWords[r.IntN(len(saidWords))])
	}
	return strings.Join(said, " ")
}
