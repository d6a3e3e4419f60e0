package audit

import (
	"cmp"
	"slices"
)

// The report shows this much and says how much more there is. A reader who
// mends all of it can run the audit again.
const (
	maxWorst      = 20
	maxNamesShown = 500
	maxTodosShown = 300
	maxFilesShown = 100
)

// Totals are what all packages come to; the report is written from them alone.
type Totals struct {
	Dir       string `json:"dir" validate:"required"`
	Module    string `json:"module,omitempty"`
	GoVersion string `json:"go_version,omitempty"`
	// Packages is how many packages were analysed, Omitted how many the limit
	// of the input left out.
	Packages int `json:"packages" validate:"gte=0"`
	Omitted  int `json:"omitted" validate:"gte=0"`
	// Missing are packages that were listed and have no analysis.
	Missing []string `json:"missing" validate:"required"`
	// Unreadable are directories that may not be looked into.
	Unreadable []string `json:"unreadable" validate:"required"`
	Counts     Counts   `json:"counts"`
	// Untested are the packages without a test file.
	Untested []string `json:"untested" validate:"required"`
	// Worst are the packages with the most findings, worst first.
	Worst []Standing `json:"worst" validate:"required,dive"`
	// Undocumented is the number of exported names without documentation, and
	// Names are the first of them, by package, the package with most first.
	Undocumented int            `json:"undocumented" validate:"gte=0"`
	Names        []PackageNames `json:"names" validate:"required,dive"`
	Todos        Findings       `json:"todos"`
	ParseErrors  Findings       `json:"parse_errors"`
	// Longest are the longest functions of all packages, longest first.
	Longest []Function `json:"longest" validate:"required,dive"`
	// Figures are those of every package, for the next audit.
	Figures map[string]Figures `json:"figures,omitempty"`
	// Since is what has changed since the last audit; nil where nothing is remembered.
	Since *Comparison `json:"since,omitempty"`
}

// Standing is how a package compares with the others.
type Standing struct {
	Package      string `json:"package" validate:"required"`
	Exported     int    `json:"exported" validate:"gte=0"`
	Undocumented int    `json:"undocumented" validate:"gte=0"`
	Todos        int    `json:"todos" validate:"gte=0"`
	ParseErrors  int    `json:"parse_errors" validate:"gte=0"`
	// Longest is the length in lines of the longest function.
	Longest  int  `json:"longest" validate:"gte=0"`
	HasTests bool `json:"has_tests"`
}

// Findings is the number that packages are ranked by.
func (s Standing) Findings() int {
	return s.Undocumented + s.Todos + s.ParseErrors
}

// PackageNames are the undocumented names of a package.
type PackageNames struct {
	Package  string   `json:"package" validate:"required"`
	Findings Findings `json:"findings"`
}

// Fold adds up the analyses of the packages in a listing. The analyses may come
// in any order. A package that has none is named as missing, so that a report
// on half of the code cannot pass for one on all of it.
func Fold(l Listing, analyses []Analysis) Totals {
	present, missing := match(l, analyses)
	t := Totals{
		Dir:         l.Dir,
		Module:      l.Module,
		GoVersion:   l.GoVersion,
		Packages:    len(present),
		Omitted:     l.Omitted,
		Missing:     missing,
		Unreadable:  sorted(l.Unreadable),
		Untested:    []string{},
		Todos:       newFindings(),
		ParseErrors: newFindings(),
	}
	for _, a := range present {
		t.add(a)
	}
	t.Worst = worst(present)
	t.Names = names(present)
	t.Longest = longestOf(present)
	t.Figures = figures(present)
	return t
}

// match puts the analyses in the order of the listing, under the names that
// programs call the packages by.
func match(l Listing, analyses []Analysis) (present []Analysis, missing []string) {
	byPath := make(map[string]Analysis, len(analyses))
	for _, a := range analyses {
		byPath[a.Path] = a
	}
	missing = []string{}
	for _, p := range l.Packages {
		a, ok := byPath[p.Path]
		if !ok {
			missing = append(missing, l.Name(p.Path))
			continue
		}
		a.Path = l.Name(p.Path)
		present = append(present, a)
	}
	return present, missing
}

func (t *Totals) add(a Analysis) {
	t.Counts = t.Counts.plus(a.Counts)
	t.Undocumented += a.Undocumented.Count
	t.Todos.join(a.Todos, maxTodosShown)
	t.ParseErrors.join(a.ParseErrors, maxFilesShown)
	if !a.HasTests {
		t.Untested = append(t.Untested, a.Path)
	}
}

func worst(analyses []Analysis) []Standing {
	standings := []Standing{}
	for _, a := range analyses {
		if s := standing(a); s.Findings() > 0 {
			standings = append(standings, s)
		}
	}
	slices.SortStableFunc(standings, func(a, b Standing) int {
		return cmp.Or(
			cmp.Compare(b.Findings(), a.Findings()),
			cmp.Compare(a.Package, b.Package),
		)
	})
	return slices.Clip(standings[:min(len(standings), maxWorst)])
}

func standing(a Analysis) Standing {
	s := Standing{
		Package:      a.Path,
		Exported:     a.Counts.Exported,
		Undocumented: a.Undocumented.Count,
		Todos:        a.Todos.Count,
		ParseErrors:  a.ParseErrors.Count,
		HasTests:     a.HasTests,
	}
	if len(a.Longest) > 0 {
		s.Longest = a.Longest[0].Lines
	}
	return s
}

// names hands the room in the report to the packages with most to mend.
func names(analyses []Analysis) []PackageNames {
	ranked := slices.Clone(analyses)
	slices.SortStableFunc(ranked, func(a, b Analysis) int {
		return cmp.Or(
			cmp.Compare(b.Undocumented.Count, a.Undocumented.Count),
			cmp.Compare(a.Path, b.Path),
		)
	})
	room, shown := maxNamesShown, []PackageNames{}
	for _, a := range ranked {
		if a.Undocumented.Count == 0 || room == 0 {
			break
		}
		share := newFindings()
		share.join(a.Undocumented, room)
		room -= len(share.Kept)
		shown = append(shown, PackageNames{Package: a.Path, Findings: share})
	}
	return shown
}

func longestOf(analyses []Analysis) []Function {
	var all []Function
	for _, a := range analyses {
		all = append(all, a.Longest...)
	}
	return longest(all)
}
