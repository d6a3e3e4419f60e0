package research

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// collected is what the report is made of.
type collected struct {
	Title  string `json:"title"`
	Report Report `json:"report"`
}

func collect(v *cairn.View) collected {
	last, _ := checked.Latest(v)
	r := Report{Claims: last.Claims, Sources: []string{}}
	for _, c := range checked.All(v) {
		r.Rounds++
		r.Rejected += len(c.Rejected)
	}
	for _, c := range last.Claims {
		for _, cited := range c.Cites {
			r.Sources = append(r.Sources, cited.Source)
		}
	}
	slices.Sort(r.Sources)
	r.Sources = slices.Compact(r.Sources)
	for _, a := range answers.Must(v) {
		if a.Found == nil {
			r.Open = append(r.Open, a.Part.Name)
		}
	}
	text, _ := draft.Latest(v)
	return collected{text.Title, r}
}

// publish writes the report.
func publish(ctx context.Context, c collected) (r Report, err error) {
	r = c.Report
	r.File, err = task.WriteArtifact(ctx, reportName, "text/markdown; charset=utf-8", strings.NewReader(c.markdown()))
	return r, err
}

func (c collected) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", c.Title)
	for _, claim := range c.Report.Claims {
		fmt.Fprintf(&b, "- %s\n", claim.Text)
	}
	for _, name := range c.Report.Open {
		fmt.Fprintf(&b, "- Nobody has answered the part %s.\n", name)
	}
	b.WriteString("\n## Findings\n\n")
	var listed []Cited
	for _, claim := range c.Report.Claims {
		for _, cited := range claim.Cites {
			if !slices.Contains(listed, cited) {
				listed = append(listed, cited)
				fmt.Fprintf(&b, "- [artifact:%s#%d] %s: %q\n", cited.Artifact[:12], cited.N, cited.Source, cited.Quote)
			}
		}
	}
	fmt.Fprintf(&b, "\nWritten in %d rounds. The check of references has rejected %d claims.\n", c.Report.Rounds, c.Report.Rejected)
	return b.String()
}
