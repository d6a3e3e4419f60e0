package cli

import (
	"fmt"
	"os"
	"sync"

	"github.com/cairnrun/cairn/engine/core"
)

// progress shows on stderr what happens in a run. The goroutine that owns the run hands frames over and never waits
// for a terminal: a stopped one must not stop the run.
type progress struct {
	a     *app
	quiet bool
	// live: stderr is a terminal, lines have colour and the last one counts.
	live      bool
	projector *projector
	// run is the one that the projector sees: a successor gets its own.
	run      string
	finished int
	cached   int // of those finished

	wake chan struct{}
	done chan struct{}

	// mu guards what follows.
	mu     sync.Mutex
	queue  []any // observed, or string for a note
	closed bool
}

// observed is a frame of a run.
type observed struct {
	run   string
	frame *core.Frame
}

func (a *app) progress(quiet bool) *progress {
	p := &progress{a: a, quiet: quiet, live: !a.json && colours(a.err), projector: newProjector(),
		wake: make(chan struct{}, 1), done: make(chan struct{})}
	return p
}

// colours says whether a stream is a terminal whose owner wants colours.
func colours(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// start begins to show what is put in.
func (p *progress) start() { go p.show() }

// frame takes a durable frame; note takes a line of the command's own.
func (p *progress) frame(run string, f *core.Frame) { p.put(observed{run, f}) }
func (p *progress) note(line string)                { p.put(line) }

func (p *progress) put(item any) {
	p.mu.Lock()
	p.queue = append(p.queue, item)
	p.mu.Unlock()
	p.nudge()
}

func (p *progress) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// close returns when all is shown. Closing twice is fine.
func (p *progress) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.nudge()
	<-p.done
}

func (p *progress) show() {
	defer close(p.done)
	for range p.wake {
		p.mu.Lock()
		queue, closed := p.queue, p.closed
		p.queue = nil
		p.mu.Unlock()
		for _, item := range queue {
			switch item := item.(type) {
			case observed:
				if p.run != item.run && p.run != "" {
					p.projector = newProjector()
				}
				p.run = item.run
				for _, h := range p.projector.project(item.frame) {
					p.line(h)
				}
			case string:
				p.print(item, "")
			}
		}
		if closed {
			p.clear()
			return
		}
		p.status()
	}
}

// line shows one happening. The first of a run says how to resume it.
func (p *progress) line(h happening) {
	if h.Type == taskDone {
		p.finished++
		if h.Cached {
			p.cached++
		}
	}
	if p.quiet && (h.Type != runStarted || h.Generation > 1) {
		return
	}
	if p.a.json {
		_ = encode(p.a.err, h)
		return
	}
	text := h.String()
	if h.Type == runStarted && h.Generation == 0 {
		text += ", resume it with: " + p.a.hint("resume", quote(h.Run))
	}
	p.print(text, shades[h.Type])
}

// shades are the colours of what deserves one.
var shades = map[string]string{
	taskDone: "32", taskFailed: "31", taskRetry: "33", taskLost: "33", tryClosed: "33", tryCatch: "33", taskSettled: "2",
	taskStarted: "2", limitsSet: "2", limitReached: "33", taskRefused: "33", crowded: "33", unpricedModel: "33", "run-finished": "1;32", "run-failed": "1;31", "run-blocked": "1;31", "run-cancelled": "1;33", "run-continued": "1;36", historyLong: "33", handoffRefused: "31",
}

func (p *progress) print(text, shade string) {
	p.clear()
	if p.live && shade != "" {
		text = "\x1b[" + shade + "m" + text + "\x1b[0m"
	}
	fmt.Fprintln(p.a.err, text)
}

// status shows, on a terminal, how many tasks are at work, on a line that the next one takes away.
func (p *progress) status() {
	if p.live && !p.quiet {
		text := fmt.Sprintf("%s running, %d finished", count(len(p.projector.since), "task"), p.finished)
		if p.cached > 0 {
			text += fmt.Sprintf(", %d of them from the cache", p.cached)
		}
		fmt.Fprint(p.a.err, "\r\x1b[K"+text)
	}
}

func (p *progress) clear() {
	if p.live && !p.quiet {
		fmt.Fprint(p.a.err, "\r\x1b[K")
	}
}
