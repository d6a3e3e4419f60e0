package engine

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// exportVersion is the format of exports. It is raised when a reader of the format before could misread a file.
const exportVersion = 1

// maxLine bounds a line of an export: a frame with all its results, or an artifact.
const maxLine = 256 << 20

// line is one line of an export; exactly one field is set. The first is the header, the last the end, whose counts
// tell a whole file from a cut one.
type line struct {
	Cairn    *header         `json:"cairn,omitempty"`
	Frame    json.RawMessage `json:"frame,omitempty"`
	Entry    *Entry          `json:"entry,omitempty"`
	Artifact *file           `json:"artifact,omitempty"`
	End      *end            `json:"end,omitempty"`
}

type header struct {
	Version int     `json:"version"`
	Run     RunInfo `json:"run"`
}

type file struct {
	Hash    string `json:"hash"`
	Content []byte `json:"content"`
}

type end struct {
	Frames int64  `json:"frames"`
	Hash   string `json:"hash"`
	Lines  int    `json:"lines"`
}

// Export writes a run as JSON lines: its frames byte for byte, its journal, and the artifacts that its results refer to;
// and after it, in the same way, each successor of its chain.
// The file is whole in itself: a test can replay it, another store import it. Artifacts may be nil; then files stay out.
func Export(ctx context.Context, store Store, artifacts cairn.Artifacts, id string, w io.Writer) error {
	out := exporter{w: bufio.NewWriter(w)}
	for met := map[string]bool{}; id != "" && !met[id]; {
		info, err := store.Run(ctx, id)
		if errors.Is(err, RunNotFound) && len(met) > 0 {
			break // imported without the rest of its chain
		}
		if err == nil {
			err = out.run(ctx, store, artifacts, info)
		}
		if err != nil {
			return err
		}
		met[id], id = true, info.Successor
	}
	return errors.Join(out.err, out.w.Flush())
}

// run writes one run, from its header to its end.
func (x *exporter) run(ctx context.Context, store Store, artifacts cairn.Artifacts, info RunInfo) error {
	out, id := x, info.ID
	out.lines = 0
	// Who held it, and when it was last written to, are matters of the store.
	info = RunInfo{ID: info.ID, Workflow: info.Workflow, Version: info.Version, Status: info.Status, Head: info.Head, Hash: info.Hash,
		Created: info.Created, Updated: info.Created, Result: info.Result, Failure: info.Failure,
		Generation: info.Generation, Parent: info.Parent, Successor: info.Successor}
	out.put(line{Cairn: &header{Version: exportVersion, Run: info}})
	sum, files := end{}, []string{}
	seen := map[string]bool{}
	err := store.Frames(ctx, id, 1, func(n int64, body []byte) error {
		f, err := core.Decode(body)
		if err != nil {
			return corrupt(id, n, err)
		}
		for _, ev := range f.Events {
			refers := ev.Artifacts
			for _, k := range ev.Kept {
				refers = append(refers[:len(refers):len(refers)], k.Artifacts...)
			}
			for _, a := range refers {
				if !seen[a.Hash] {
					seen[a.Hash] = true
					files = append(files, a.Hash)
				}
			}
		}
		sum.Frames, sum.Hash = n, core.Hash(body)
		return out.put(line{Frame: body})
	})
	if err != nil {
		return err
	}
	entries, err := store.Entries(ctx, id, "")
	if err != nil {
		return err
	}
	for i := range entries {
		out.put(line{Entry: &entries[i]})
	}
	if artifacts != nil {
		for _, hash := range files {
			if err := out.file(ctx, artifacts, hash); err != nil {
				return err
			}
		}
	}
	sum.Lines = out.lines + 1
	return out.put(line{End: &sum})
}

// exporter writes lines and keeps the first error.
type exporter struct {
	w     *bufio.Writer
	lines int
	err   error
}

func (x *exporter) put(l line) error {
	raw, err := json.Marshal(l)
	if err == nil && x.err == nil {
		_, err = x.w.Write(append(raw, '\n'))
	}
	if x.err == nil {
		x.err = err
	}
	x.lines++
	return x.err
}

func (x *exporter) file(ctx context.Context, artifacts cairn.Artifacts, hash string) error {
	r, err := artifacts.Get(ctx, hash)
	if err != nil {
		return err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return x.put(line{Artifact: &file{Hash: hash, Content: content}})
}

// recording is a run as read from an export.
type recording struct {
	run     RunInfo
	frames  []*core.Frame
	bodies  [][]byte
	hashes  []string
	entries []Entry
	files   []file
}

// readExport reads a whole export, of a run and its successors. Anything that is not one is BAD_EXPORT with the line, never a panic.
func readExport(r io.Reader) ([]*recording, error) {
	bad := func(n int, why string, err error) error {
		return &cairn.Error{Code: BadExport, Message: fmt.Sprintf("line %d: %s", n, why), Err: err, Next: "export the run again"}
	}
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, 64<<10), maxLine)
	var all []*recording
	rec, sum, n, hash, before := &recording{}, (*end)(nil), 0, "", 0
	for scan.Scan() {
		n++
		var l line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, bad(n, "it is not JSON of an export", err)
		}
		if sum != nil {
			if l.Cairn == nil || l.Cairn.Run.ID != rec.run.Successor {
				return nil, bad(n, "there is more after the end, and it is no successor", nil)
			}
			all = append(all, rec)
			rec, sum, hash, before = &recording{}, nil, "", n-1
		}
		if (n-before == 1) != (l.Cairn != nil) {
			return nil, bad(n, "an export begins with its one header", nil)
		}
		switch {
		case l.Cairn != nil:
			if l.Cairn.Version != exportVersion {
				return nil, bad(n, fmt.Sprintf("the export has version %d, and this program reads %d", l.Cairn.Version, exportVersion), nil)
			}
			rec.run = l.Cairn.Run
		case l.Frame != nil:
			f, err := core.Decode(l.Frame)
			if err != nil {
				return nil, bad(n, "a frame", err)
			}
			if f.Prev != hash || f.N != int64(len(rec.frames))+1 {
				return nil, bad(n, fmt.Sprintf("frame %d does not follow the one before", f.N), nil)
			}
			hash = core.Hash(l.Frame)
			rec.frames, rec.bodies, rec.hashes = append(rec.frames, f), append(rec.bodies, l.Frame), append(rec.hashes, hash)
		case l.Entry != nil:
			rec.entries = append(rec.entries, *l.Entry)
		case l.Artifact != nil:
			rec.files = append(rec.files, *l.Artifact)
		case l.End != nil:
			if sum = l.End; sum.Frames != int64(len(rec.frames)) || sum.Hash != hash || sum.Lines != n-before || len(rec.frames) == 0 {
				return nil, bad(n, "the file is cut off: its end does not fit", nil)
			}
		default:
			return nil, bad(n, "there is nothing known in it", nil)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, bad(n+1, "it can't be read", err)
	}
	if sum == nil {
		return nil, bad(n, "the file is cut off: its end is missing", nil)
	}
	return append(all, rec), nil
}

// CheckExport reads an export as Import does, stores nothing, and returns the id of its first run: BAD_EXPORT.
func CheckExport(r io.Reader) (id string, err error) {
	all, err := readExport(r)
	for _, rec := range all {
		if _, bad := rec.commits(); bad != nil {
			err = errors.Join(err, bad)
		}
	}
	if err != nil {
		return "", err
	}
	return all[0].run.ID, nil
}

// Import stores an exported run and its successors, under their own ids, in a store that has none of them: RUN_EXISTS. It
// returns the id of the first. Frames are folded first;
// what does not fold is BAD_EXPORT, and nothing is written. A run that had not ended can be resumed here; effects that
// were still in the other store's outbox stay there.
func Import(ctx context.Context, store Store, artifacts cairn.Artifacts, r io.Reader) (id string, err error) {
	all, err := readExport(r)
	if err != nil {
		return "", err
	}
	commits := make([][]Commit, len(all))
	for i, rec := range all {
		if commits[i], err = rec.commits(); err != nil {
			return "", err
		}
		if _, err := store.Run(ctx, rec.run.ID); err == nil {
			return "", &cairn.Error{Code: RunExists, Run: rec.run.ID, Message: "the store has a run of this id", Next: "import it into another one"}
		}
	}
	// The first comes last: once it is there, so is all that follows from it.
	for i, rec := range slices.Backward(all) {
		if err := rec.store(ctx, store, artifacts, commits[i]); err != nil {
			return "", err
		}
	}
	return all[0].run.ID, nil
}

func (rec *recording) store(ctx context.Context, store Store, artifacts cairn.Artifacts, commits []Commit) error {
	for _, f := range rec.files {
		if artifacts == nil {
			break
		}
		if _, _, err := artifacts.Put(ctx, bytes.NewReader(f.Content)); err != nil {
			return err
		}
	}
	info := rec.run
	run := NewRun{ID: info.ID, Workflow: info.Workflow, Version: info.Version, Created: info.Created,
		Generation: info.Generation, Parent: info.Parent, Successor: info.Successor}
	return store.Import(ctx, run, commits, rec.entries)
}

// commits folds the frames and makes them ready for a store.
func (rec *recording) commits() ([]Commit, error) {
	bad := func(why string, err error) ([]Commit, error) {
		return nil, &cairn.Error{Code: BadExport, Run: rec.run.ID, Message: why, Err: err, Next: "export the run again"}
	}
	if err := cairn.CheckName(rec.run.ID); err != nil {
		return bad("the run's id", err)
	}
	state := core.NewState()
	commits := make([]Commit, len(rec.frames))
	for i, f := range rec.frames {
		hash := rec.hashes[i]
		if err := state.Fold(f, hash); err != nil {
			return bad("the frames do not fold", err)
		}
		commits[i] = Commit{N: f.N, Body: rec.bodies[i], Hash: hash, Prev: f.Prev, Status: state.Status,
			Consumed: state.Inbox}
	}
	if state.Run != rec.run.ID || state.Workflow != rec.run.Workflow || state.Status != rec.run.Status {
		return bad("the header is of another run than the frames", nil)
	}
	for _, f := range rec.files {
		if sum := sha256.Sum256(f.Content); hex.EncodeToString(sum[:]) != f.Hash {
			return bad(fmt.Sprintf("an artifact's content is not what its hash %s says", f.Hash), nil)
		}
	}
	last := &commits[len(commits)-1]
	last.Result, last.Failure = rec.run.Result, rec.run.Failure
	return commits, nil
}
