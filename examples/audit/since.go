package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/task"
)

// maxChanges is how many packages the report compares.
const maxChanges = 100

// Namespace is whose facts an audit remembers its totals in: one for each module, or directory without one.
var Namespace = memory.Namespace{Kind: memory.WorkflowKind, ID: "audit"}

// Figures are what is remembered of a package.
type Figures struct {
	Lines        int `json:"lines,omitempty"`
	Undocumented int `json:"undocumented,omitempty"`
	Todos        int `json:"todos,omitempty"`
	ParseErrors  int `json:"parse_errors,omitempty"`
}

func (f Figures) minus(g Figures) Figures {
	return Figures{f.Lines - g.Lines, f.Undocumented - g.Undocumented, f.Todos - g.Todos, f.ParseErrors - g.ParseErrors}
}

// Comparison is what has changed since an earlier audit.
type Comparison struct {
	// First says that there was none.
	First bool `json:"first,omitempty"`
	// Changes are by package, Omitted is how many more there are.
	Changes []Change `json:"changes,omitempty"`
	Omitted int      `json:"omitted,omitempty"`
	// Trouble is what memory could not do; the audit is none the worse for it.
	Trouble string `json:"trouble,omitempty"`
}

// Change is by how much a package's figures have changed. State is new, gone, or empty for one that was there and is.
type Change struct {
	Package string  `json:"package"`
	State   string  `json:"state,omitempty"`
	By      Figures `json:"by"`
}

// figures are those of all packages.
func figures(analyses []Analysis) map[string]Figures {
	all := make(map[string]Figures, len(analyses))
	for _, a := range analyses {
		all[a.Path] = Figures{a.Counts.Lines, a.Undocumented.Count, a.Todos.Count, a.ParseErrors.Count}
	}
	return all
}

// looked says whether the audit would have seen the package if it were still there.
func (t Totals) looked(pkg string) bool {
	return t.Omitted == 0 && len(t.Unreadable) == 0 && !slices.Contains(t.Missing, pkg)
}

// against compares with what was remembered.
func (t Totals) against(before map[string]Figures) Comparison {
	var c Comparison
	both := maps.Clone(t.Figures)
	maps.Copy(both, before)
	for _, pkg := range slices.Sorted(maps.Keys(both)) {
		then, was := before[pkg]
		now, is := t.Figures[pkg]
		change := Change{Package: pkg, By: now.minus(then)}
		switch {
		case !was:
			change.State = "new"
		case !is && !t.looked(pkg):
			continue
		case !is:
			change.State = "gone"
		case now == then:
			continue
		}
		if len(c.Changes) == maxChanges {
			c.Omitted++
			continue
		}
		c.Changes = append(c.Changes, change)
	}
	return c
}

// after is what is remembered from now on: packages that this audit could not see stay as they were.
func (t Totals) after(before map[string]Figures) map[string]Figures {
	all := map[string]Figures{}
	for pkg, f := range before {
		if !t.looked(pkg) {
			all[pkg] = f
		}
	}
	maps.Copy(all, t.Figures)
	return all
}

// key names the fact.
func (t Totals) key() string {
	subject := t.Module
	if subject == "" {
		subject = t.Dir
	}
	if memory.CheckName("a key", subject) == nil {
		return subject
	}
	sum := sha256.Sum256([]byte(subject))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// glance is a look at what was remembered, which the task's attempts share: once one of them has written, another look
// would compare the audit with itself.
type glance struct {
	Version    int64      `json:"version"`
	Comparison Comparison `json:"comparison"`
	// Blind says that memory could not be looked at. Then nothing is written either.
	Blind bool `json:"blind,omitempty"`
}

// since compares the totals with those of the last audit, and remembers them for the next one. It is nil where there is no
// memory. What memory fails to do is told in the report and fails nothing.
func since(ctx context.Context, t Totals) (*Comparison, error) {
	store, ok := memory.From(ctx)
	if !ok || t.Figures == nil { // the input of a run that began when totals had no figures
		return nil, nil
	}
	seen, err := task.Step(ctx, "since", func(ctx context.Context) (glance, error) {
		before, version, err := remembered(ctx, store, t.key())
		switch {
		case ctx.Err() != nil:
			return glance{}, context.Cause(ctx)
		case err != nil:
			return glance{Version: version, Blind: version == 0, Comparison: Comparison{Trouble: "The last audit can't be read: " + err.Error()}}, nil
		case version == 0:
			return glance{Comparison: Comparison{First: true}}, nil
		}
		return glance{Version: version, Comparison: t.against(before)}, nil
	})
	if err != nil || seen.Blind {
		return &seen.Comparison, err
	}
	if err := t.remember(ctx, store, seen.Version); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		seen.Comparison.Trouble = strings.TrimSpace(seen.Comparison.Trouble + " This audit can't be remembered: " + err.Error())
	}
	return &seen.Comparison, nil
}

// remembered reads a fact; version 0 is none. An error with a version is one of the value.
func remembered(ctx context.Context, store memory.Store, key string) (all map[string]Figures, version int64, err error) {
	fact, err := store.GetFact(ctx, Namespace, key)
	switch {
	case errors.Is(err, memory.NotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	return all, fact.Version, json.Unmarshal(fact.Value, &all)
}

// remember writes the totals over the version that they were compared with. If another version is there by now, an
// earlier attempt has written it, or another audit that is as new as this one: either is a good one to compare with next.
func (t Totals) remember(ctx context.Context, store memory.Store, version int64) error {
	before, at, err := remembered(ctx, store, t.key())
	switch {
	case at != version:
		return nil
	case at == 0 && err != nil:
		return err
	}
	raw, err := json.Marshal(t.after(before)) // of a value that can't be read nothing is kept
	if err != nil {
		return err
	}
	fact := memory.Fact{Place: memory.Place{Namespace: Namespace}, Key: t.key(), Value: raw}
	if call, ok := cairn.CallFrom(ctx); ok {
		fact.Origin = memory.Origin{Run: call.Run, Path: call.Path, Attempt: call.Attempt}
	}
	if _, err = store.SwapFact(ctx, fact, version); errors.Is(err, memory.VersionConflict) {
		return nil
	}
	return err
}
