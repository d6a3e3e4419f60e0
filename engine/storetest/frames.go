package storetest

import (
	"errors"
	"fmt"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

var frameRules = []rule{
	{"a run is created once", func(f *fixture) {
		r := f.create("r")
		before := f.everything("r")
		for _, token := range []string{"me", "other"} {
			_, err := f.Create(f.ctx, engine.NewRun{ID: "r", Workflow: "another"}, frame("r", 1, "", effects("e")), claimBy(token))
			f.refused(err, engine.RunExists, "r")
		}
		f.equal(f.everything("r"), before)
		f.equal(f.due(), []string(nil))
		r.commit()
	}},
	{"a first frame is number 1 and follows nothing", func(f *fixture) {
		for _, first := range []engine.Commit{frame("r", 2, ""), frame("r", 1, "h")} {
			_, err := f.Create(f.ctx, engine.NewRun{ID: "r"}, first, claimBy("me"))
			f.refused(err, engine.FrameConflict, "r")
		}
		_, err := f.Run(f.ctx, "r")
		f.refused(err, engine.RunNotFound, "r")
	}},
	{"a run may end with its first frame", func(f *fixture) {
		r := f.create("r", status(core.Finished))
		f.equal([]any{r.info().Status, r.info().Owner}, []any{core.Finished, engine.Owner{}})
		f.fenced(r, r.lease)
		_, err := f.Append(f.ctx, "r", engine.Item{})
		f.refused(err, engine.RunEnded, "r")
	}},
	{"frames come back in order, from any number on", func(f *fixture) {
		r, other := f.create("r"), f.create("other")
		want := []string{string(frame("r", 1, "").Body)}
		for range 20 {
			other.commit()
			want = append(want, string(r.commit().Body))
		}
		for n := int64(-1); n < 23; n++ {
			got, err := bodies(f.ctx, f, "r", n)
			f.ok(err)
			f.equal(got, append([]string(nil), want[min(max(n, 1)-1, 21):]...))
		}
	}},
	{"an error of the reader ends the reading and comes back as it is", func(f *fixture) {
		r := f.create("r")
		r.commit()
		r.commit()
		stop, seen := errors.New("enough"), 0
		err := f.Frames(f.ctx, "r", 1, func(n int64, _ []byte) error {
			if seen++; n == 2 {
				return stop
			}
			return nil
		})
		if err != stop || seen != 2 {
			f.t.Errorf("error %v after %d frames", err, seen)
		}
		r.commit()
	}},
	{"frames are as of one moment, and their bytes are the reader's", func(f *fixture) {
		r := f.create("r")
		r.commit()
		var kept [][]byte
		f.ok(f.Frames(f.ctx, "r", 1, func(n int64, body []byte) error {
			kept = append(kept, body)
			r.commit()
			return nil
		}))
		f.equal(len(kept), 2)
		for i, b := range kept {
			f.equal(string(b), fmt.Sprintf(`{"n":%d,"run":"r"}`, i+1))
		}
		f.equal(r.info().Head, int64(4))
	}},
	{"a frame that does not follow is FRAME_CONFLICT and writes nothing", func(f *fixture) {
		r := f.create("r")
		_, err := f.Append(f.ctx, "r", engine.Item{Event: core.Event{Kind: core.PauseAsked}})
		f.ok(err)
		r.commit()
		before := f.everything("r")
		more := []func(*engine.Commit){effects("e"), consumed(1), extend(ttl)}
		for _, c := range []engine.Commit{
			frame("r", 1, "", more...),
			frame("r", 2, r.hash, append(more, body([]byte("another second")))...),
			frame("r", 4, r.hash, more...),
			frame("r", 3, "", more...),
			frame("r", 3, "another", more...),
			frame("r", 3, "another", append(more, status(core.Finished))...),
		} {
			f.refused(f.Commit(f.ctx, r.lease, c), engine.FrameConflict, "r")
		}
		f.equal(f.everything("r"), before)
		f.equal(f.due(), []string(nil))
	}},
	{"repeating the last commit is success and does nothing twice", func(f *fixture) {
		r := f.create("r")
		_, err := f.Append(f.ctx, "r", engine.Item{})
		f.ok(err)
		c := r.commit(effects("e"), consumed(1))
		before := f.everything("r")
		f.ok(f.Commit(f.ctx, r.lease, c))
		f.equal(f.everything("r"), before)
		f.equal(f.due(), []string{"e"})
		r.commit()
		f.refused(f.Commit(f.ctx, r.lease, c), engine.FrameConflict, "r")
	}},
	{"repeating the commit that ended the run is success", func(f *fixture) {
		r := f.create("r")
		c := r.commit(status(core.Finished), effects("e"))
		before := f.everything("r")
		f.ok(f.Commit(f.ctx, r.lease, c))
		f.equal(f.everything("r"), before)
	}},
	{"a commit that was written is LEASE_LOST to repeat once another has claimed", func(f *fixture) {
		r := f.create("r")
		c, old := r.commit(), r.lease
		f.clock.Advance(ttl)
		r.claim(claimBy("other"))
		f.refused(f.Commit(f.ctx, old, c), engine.LeaseLost, "r")
	}},
	{"a frame without bytes, hash or a known status is refused", func(f *fixture) {
		r := f.create("r")
		before := f.everything("r")
		empty, unhashed, odd := r.next(), r.next(), r.next(status("odd"))
		empty.Body, unhashed.Hash = nil, ""
		for _, c := range []engine.Commit{empty, unhashed, odd} {
			if err := f.Commit(f.ctx, r.lease, c); err == nil {
				f.t.Errorf("took %+v", c)
			}
		}
		f.equal(f.everything("r"), before)
	}},
}

var importRules = []rule{
	{"an imported run is whole, nobody's, and goes on", func(f *fixture) {
		frames := chain("r", 30)
		frames[11].Consumed, frames[29].Status = 7, core.Blocked
		entries := []engine.Entry{{Path: "a", Name: "x", Attempt: 1, Value: []byte("1")}, {Path: "b", Name: "", Attempt: 2, Value: []byte("2")}}
		created := f.clock.Now().Add(-ttl)
		f.ok(f.Import(f.ctx, engine.NewRun{ID: "r", Workflow: "flow", Version: "v", Created: created}, frames, entries))
		info, err := f.Run(f.ctx, "r")
		f.ok(err)
		f.equal(info, engine.RunInfo{ID: "r", Workflow: "flow", Version: "v", Status: core.Blocked, Head: 30, Hash: frames[29].Hash,
			Created: created, Updated: f.clock.Now()})
		got, err := bodies(f.ctx, f, "r", 30)
		f.ok(err)
		f.equal(got, []string{string(frames[29].Body)})
		kept, err := f.Entries(f.ctx, "r", "")
		f.ok(err)
		f.equal(kept, entries)

		r := &run{f: f, id: "r", n: 30, hash: frames[29].Hash}
		r.claim(claimBy("me"))
		f.equal(r.lease.Epoch, int64(1))
		seq, err := f.Append(f.ctx, "r", engine.Item{})
		f.ok(err)
		f.equal(seq, int64(8)) // numbers its frames have consumed are not given again
		r.commit()
	}},
	{"effects of an imported run stay where they were", func(f *fixture) {
		f.ok(f.Import(f.ctx, engine.NewRun{ID: "r"}, []engine.Commit{frame("r", 1, "", effects("e"))}, nil))
		f.equal(f.due(), []string(nil))
	}},
	{"frames that are no chain are refused whole", func(f *fixture) {
		for name, spoil := range map[string]func([]engine.Commit) []engine.Commit{
			"gap":     func(l []engine.Commit) []engine.Commit { return append(l[:3], l[4:]...) },
			"hash":    func(l []engine.Commit) []engine.Commit { l[4].Prev = "x"; return l },
			"start":   func(l []engine.Commit) []engine.Commit { return l[1:] },
			"twice":   func(l []engine.Commit) []engine.Commit { return append(l, l[len(l)-1]) },
			"swapped": func(l []engine.Commit) []engine.Commit { l[2], l[3] = l[3], l[2]; return l },
		} {
			err := f.Import(f.ctx, engine.NewRun{ID: name}, spoil(chain(name, 8)), nil)
			f.refused(err, engine.FrameConflict, name)
			_, err = f.Run(f.ctx, name)
			f.refused(err, engine.RunNotFound, name)
		}
		if err := f.Import(f.ctx, engine.NewRun{ID: "empty"}, nil, nil); err == nil {
			f.t.Error("took a run without frames")
		}
	}},
	{"a run that is there is RUN_EXISTS and stays as it is", func(f *fixture) {
		f.create("r")
		before := f.everything("r")
		f.refused(f.Import(f.ctx, engine.NewRun{ID: "r"}, chain("r", 3), []engine.Entry{{Path: "p", Value: []byte("1")}}), engine.RunExists, "r")
		f.equal(f.everything("r"), before)
	}},
	{"an ended run can be imported and has ended", func(f *fixture) {
		frames := chain("r", 2)
		frames[1].Status, frames[1].Result = core.Finished, []byte(`1`)
		f.ok(f.Import(f.ctx, engine.NewRun{ID: "r"}, frames, nil))
		_, err := f.Claim(f.ctx, "r", claimBy("me"))
		f.refused(err, engine.RunEnded, "r")
	}},
}

// chain builds frames 1 to n.
func chain(run string, n int) []engine.Commit {
	var frames []engine.Commit
	prev := ""
	for i := range n {
		c := frame(run, int64(i)+1, prev)
		frames, prev = append(frames, c), c.Hash
	}
	return frames
}
