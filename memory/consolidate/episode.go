package consolidate

import (
	"context"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/task"
)

// Episode is one thing that happened, as the distiller is shown it.
type Episode struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	Tags []string  `json:"tags,omitempty"`
	Text string    `json:"text"`
}

// Episodes are what is distilled, oldest first.
type Episodes struct {
	Given []Episode `json:"given"`
	// Rejected are rules that people did not want.
	Rejected []string `json:"rejected,omitempty"`
}

// Bounds of what is put before the distiller, in bytes: of an episode, of all of them, and how many rejected rules.
const (
	maxEpisode  = memory.MaxDigest
	maxEpisodes = 96 << 10
	maxRejected = 20
)

// store is the memory that the engine was given.
func store(ctx context.Context) (memory.Store, error) {
	if s, ok := memory.From(ctx); ok {
		return s, nil
	}
	return nil, task.Permanent(&cairn.Error{Code: NoMemory, Message: "there is no memory to consolidate",
		Next: "put memory.Runtime's Middleware into the engine's configuration, as engine/cli does"})
}

// read lists the episodes that a task with these tags would be shown.
func read(ctx context.Context, in Input) (Episodes, error) {
	s, err := store(ctx)
	if err != nil {
		return Episodes{}, err
	}
	if err := memory.CheckTags(in.Tags); err != nil {
		return Episodes{}, task.Permanent(err)
	}
	scope := memory.Scope{Bank: in.Bank, Namespace: in.Namespace, Tags: memory.RecallFilter(in.Bank, in.Tags, nil)}
	waiting, rejected, err := judged(ctx, s, scope)
	if err != nil {
		return Episodes{}, err
	}
	scope.Types, scope.Since = []memory.Type{memory.Episodic, memory.Semantic}, in.Since
	notes, err := s.Notes(ctx, scope)
	if err != nil {
		return Episodes{}, err
	}
	notes = slices.DeleteFunc(notes, func(n memory.Note) bool {
		written := n.Type == memory.Semantic && n.Origin.Run == "" // knowledge that a person has put there is no episode
		return written || waiting[n.ID]
	})
	slices.SortStableFunc(notes, func(a, b memory.Note) int { return b.Time.Compare(a.Time) })
	limit := in.Max
	if limit == 0 {
		limit = DefaultMax
	}
	out, room := Episodes{Given: []Episode{}, Rejected: rejected}, maxEpisodes
	for _, n := range notes[:min(limit, len(notes))] {
		text := n.Body
		if n.Title != "" {
			text = n.Title + ": " + text
		}
		text = grapheme.Cut(text, maxEpisode)
		if room -= len(text); room < 0 {
			break
		}
		out.Given = append(out.Given, Episode{n.ID, n.Time, n.Tags, text})
	}
	slices.Reverse(out.Given)
	return out, nil
}

// judged returns the notes whose rule waits for a person, and the newest rules that were rejected.
func judged(ctx context.Context, s memory.Store, scope memory.Scope) (waiting map[string]bool, rejected []string, err error) {
	scope.Types, scope.Statuses = []memory.Type{memory.Procedural}, []memory.Status{memory.Proposed, memory.Rejected}
	notes, err := s.Notes(ctx, scope)
	waiting = map[string]bool{}
	for _, n := range notes {
		if n.Status == memory.Rejected {
			rejected = append(rejected, grapheme.Cut(n.Body, maxEpisode))
			continue
		}
		for _, id := range n.Supersedes {
			waiting[id] = true
		}
	}
	return waiting, rejected[max(0, len(rejected)-maxRejected):], err
}
