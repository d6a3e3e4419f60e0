package research

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Claim is a claim of the report that has passed: as it was written, with the findings it refers to.
type Claim struct {
	Text  string  `json:"text"`
	Cites []Cited `json:"cites"`
}

// Cited is a finding that a claim refers to: the N-th of an artifact.
type Cited struct {
	Artifact string `json:"artifact"`
	N        int    `json:"n"`
	Source   string `json:"source"`
	Quote    string `json:"quote"`
}

// Rejection is a claim that has not passed.
type Rejection struct {
	Claim string `json:"claim"`
	Why   string `json:"why"`
}

// Checked is what the check makes of a draft.
type Checked struct {
	Claims   []Claim     `json:"claims"`
	Rejected []Rejection `json:"rejected,omitempty"`
}

// refusals lists what was rejected, for a prompt.
func (c Checked) refusals() (text string) {
	for _, r := range c.Rejected {
		text += fmt.Sprintf("- %q: %s\n", r.Claim, r.Why)
	}
	return text
}

// material is what the check has to go by.
type material struct {
	Draft   Draft    `json:"draft"`
	Answers []Answer `json:"answers"`
}

// check reads the findings of this run's delegates, and the documents once more: they may have changed since.
func (m material) check(ctx context.Context, dir string) (Checked, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Checked{}, err
	}
	defer root.Close()
	known := evidence{findings: map[string][]Finding{}, verify: func(f Finding) error { return f.verify(root) }}
	for _, a := range m.Answers {
		if a.Found == nil {
			continue
		}
		for _, file := range a.Found.Findings {
			if known.findings[file.Hash], err = readFindings(ctx, file); err != nil {
				return Checked{}, err
			}
		}
	}
	return known.judge(m.Draft), nil
}

// evidence is what a claim may refer to.
type evidence struct {
	// findings are by the hash of their artifact.
	findings map[string][]Finding
	verify   func(Finding) error
}

// judge looks at each claim.
func (e evidence) judge(d Draft) Checked {
	out := Checked{Claims: []Claim{}}
	for _, text := range d.Claims {
		c := Claim{Text: strings.TrimSpace(text)}
		if err := e.cite(&c); err != nil {
			out.Rejected = append(out.Rejected, Rejection{c.Text, err.Error()})
			continue
		}
		out.Claims = append(out.Claims, c)
	}
	return out
}

// reference is [artifact:HASH#n], with at least 12 digits of the hash.
var reference = regexp.MustCompile(`\[artifact:([0-9a-f]{12,64})#([0-9]{1,6})\]`)

// cite finds what a claim refers to, and why that is not enough.
func (e evidence) cite(c *Claim) error {
	for _, s := range sentences(c.Text) {
		if !reference.MatchString(s) {
			return fmt.Errorf("%q has no reference [artifact:HASH#n]", s)
		}
	}
	for _, found := range reference.FindAllStringSubmatch(c.Text, -1) {
		cited, err := e.find(found[1], found[2])
		if err != nil {
			return fmt.Errorf("%s: %w", found[0], err)
		}
		c.Cites = append(c.Cites, cited)
	}
	if len(c.Cites) == 0 {
		return errors.New("it is empty")
	}
	return nil
}

// find is the finding with that number in the artifact whose hash begins so.
func (e evidence) find(prefix, number string) (Cited, error) {
	var hashes []string
	for hash := range e.findings {
		if strings.HasPrefix(hash, prefix) {
			hashes = append(hashes, hash)
		}
	}
	if len(hashes) != 1 {
		return Cited{}, fmt.Errorf("%d artifacts of findings have a hash that begins so", len(hashes))
	}
	all := e.findings[hashes[0]]
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(all) {
		return Cited{}, fmt.Errorf("the artifact has %d findings", len(all))
	}
	f := all[n-1]
	return Cited{hashes[0], n, f.Source, f.Quote}, e.verify(f)
}

// stop is where a sentence ends and another one begins: the references behind a full stop belong to what is before it.
var stop = regexp.MustCompile(`([.!?]["”’)]*(?:\s*\[artifact:[^\]\n]*\])*)\s+["“‘(]*[\p{Lu}\p{N}]`)

// sentences takes a claim apart. In doubt there is one more: what is rejected without need can be put in another way, and what
// passes without need can't be taken back.
func sentences(text string) (all []string) {
	for line := range strings.Lines(text) {
		for line = strings.TrimSpace(line); line != ""; {
			end := len(line)
			if at := stop.FindStringSubmatchIndex(line); at != nil {
				end = at[3]
			}
			all, line = append(all, line[:end]), strings.TrimSpace(line[end:])
		}
	}
	return all
}
