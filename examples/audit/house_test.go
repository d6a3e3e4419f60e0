package audit

import "testing"

// This repository passes its own audit: every exported name says what it is.
func TestTheHouseIsDocumented(t *testing.T) {
	listing, err := List(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range listing.Packages {
		a, err := Analyse(t.Context(), "../..", p)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(a.Undocumented.Kept, a.ParseErrors.Kept...) {
			t.Errorf("%s:%d: %s %s", f.File, f.Line, f.Name, f.Text)
		}
	}
}
