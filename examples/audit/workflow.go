package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// Report is what an audit comes to. The findings themselves are in the file.
type Report struct {
	Module       string `json:"module,omitempty"`
	Packages     int    `json:"packages"`
	Files        int    `json:"files"`
	Lines        int    `json:"lines"`
	Undocumented int    `json:"undocumented"`
	Todos        int    `json:"todos"`
	Broken       int    `json:"broken"`
	Untested     int    `json:"untested"`
	// Missing is how many packages could not be analysed; the report names them.
	Missing int `json:"missing"`
	// File is the report in Markdown.
	File cairn.Artifact `json:"file"`
}

const (
	listed   cairn.Key[Listing]  = "list"
	analysed cairn.Key[Analysis] = "analyse"
	reported cairn.Key[Report]   = "report"
)

// patience is for a disk that fails for a moment: what a second look can't mend, the library makes a finding of.
var patience = task.Retry{Max: 3, Initial: 200 * time.Millisecond}

// Workflow audits a directory: it lists the packages, analyses them side by side, and writes the report.
//
// The tree depends on the listing alone. The analyses are read when the report's turn has come and not while
// rendering, so an analysis that finishes renders nothing anew, whether there are ten packages or ten thousand.
var Workflow = cairn.Workflow[Input, Report]{
	Name: "audit", About: "reports what Go code lacks: documentation, tests, finished work", Result: reported,
	Example: new(Input{Dir: "."}),
	Render: func(v *cairn.View, in Input) cairn.Node {
		listing, _ := listed.Get(v) // no packages until there is a listing
		return cairn.Nodes{
			task.Task[Listing]{ID: listed, Retry: patience, Do: func(ctx context.Context) (Listing, error) {
				listing, err := List(ctx, in.Dir)
				if err != nil && isLasting(err) {
					return Listing{}, task.Permanent(err)
				}
				return listing.Limit(in.Max), err
			}},
			cairn.Parallel{Max: 8, Children: cairn.ForEach(listing.Packages, scope, examine(in.Dir))},
			task.Task[Report]{ID: reported, Retry: patience, From: task.From(totals, write)},
		}
	},
}

// examine makes the task of a package. It is optional: one package that can't be read should not cost the report on all
// others, which says that it is missing.
func examine(dir string) func(*cairn.View, Package) cairn.Node {
	return func(_ *cairn.View, p Package) cairn.Node {
		return task.Task[Analysis]{ID: analysed, Optional: true, Retry: patience, From: task.From(
			func(*cairn.View) Package { return p },
			func(ctx context.Context, p Package) (Analysis, error) { return Analyse(ctx, dir, p) },
		)}
	}
}

// totals folds before the task starts, so that what is stored as its input is small.
func totals(v *cairn.View) Totals {
	listing := listed.Must(v)
	var analyses []Analysis
	for _, p := range listing.Packages {
		if a, ok := analysed.Get(v.In(scope(p))); ok {
			analyses = append(analyses, a)
		}
	}
	return Fold(listing, analyses)
}

func write(ctx context.Context, t Totals) (_ Report, err error) {
	if t.Since, err = since(ctx, t); err != nil {
		return Report{}, err
	}
	file, err := task.WriteArtifact(ctx, "audit.md", "text/markdown; charset=utf-8", bytes.NewReader(Markdown(t)))
	return Report{
		Module: t.Module, Packages: t.Packages, Files: t.Counts.Files, Lines: t.Counts.Lines, Undocumented: t.Undocumented,
		Todos: t.Todos.Count, Broken: t.ParseErrors.Count, Untested: len(t.Untested), Missing: len(t.Missing), File: file,
	}, err
}

// scope names a package as a path can hold it: engine/core is engine:core. Different packages have different names:
// what the spelling needs for itself, and what a name can't hold, is escaped as %XX, and a name that is too long ends in
// '~' and its hash, which no other one does.
func scope(p Package) string {
	var b strings.Builder
	for i := range len(p.Path) {
		switch c := p.Path[i]; {
		case c == '/':
			b.WriteByte(':')
		case c < ' ' || c == 0x7f || strings.IndexByte("%:~[]#", c) >= 0:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	name := b.String()
	if cairn.CheckName(name) == nil {
		return name
	}
	sum := sha256.Sum256([]byte(p.Path))
	tail := "~" + hex.EncodeToString(sum[:])
	return strings.ToValidUTF8(name[:min(len(name), cairn.MaxName-len(tail))], "") + tail
}
