package artifact

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cairnrun/cairn"
)

var _ cairn.Artifacts = (*Dir)(nil)

const writerEnv = "CAIRN_ARTIFACT_WRITER" // makes the test binary a process that puts until it is killed

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		putForEver(dir)
	}
	os.Exit(m.Run())
}

func open(t testing.TB, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func put(t testing.TB, d *Dir, content string) string {
	t.Helper()
	hash, size, err := d.Put(t.Context(), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if size != int64(len(content)) || hash != hashOf(content) {
		t.Fatalf("put %d bytes as %s, %d bytes", len(content), hash, size)
	}
	return hash
}

func read(ctx context.Context, d *Dir, hash string) (string, error) {
	r, err := d.Get(ctx, hash)
	if err != nil {
		return "", err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	return string(content), err
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func files(t testing.TB, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(root, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "below", "artifacts")
	d := open(t, path)
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("Open created something")
	}
	if ok, err := d.Has(t.Context(), hashOf("x")); ok || err != nil {
		t.Fatal("an artifact in a directory that is not there:", ok, err)
	}
	for _, content := range []string{"", "x", strings.Repeat("long ", 100_000)} {
		hash := put(t, d, content)
		for _, d := range []*Dir{d, open(t, path)} {
			if ok, err := d.Has(t.Context(), hash); !ok || err != nil {
				t.Errorf("has %v, %v", ok, err)
			}
			if got, err := read(t.Context(), d, hash); got != content || err != nil {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		}
	}
	before := files(t, path)
	put(t, d, "x")
	put(t, open(t, path), "x")
	if after := files(t, path); len(before) != 3 || len(after) != 3 {
		t.Errorf("files %v became %v", before, after)
	}
	where, err := d.Path(hashOf("x"))
	if content, readErr := os.ReadFile(where); err != nil || readErr != nil || string(content) != "x" {
		t.Errorf("Path leads to %q, %v, %v", content, err, readErr)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", file} {
		if _, err := Open(path); err == nil {
			t.Errorf("opened %q", path)
		}
	}
}

func TestErrors(t *testing.T) {
	d := open(t, t.TempDir())
	hash := put(t, d, "content")
	for _, bad := range []string{"", "..", "../" + hash[3:], hash[:63], hash + "0", strings.ToUpper(hash), hash[:63] + "/", hash[:63] + "g", hash[:62] + "é", hash[:63] + "\x00"} {
		_, pathErr := d.Path(bad)
		_, hasErr := d.Has(t.Context(), bad)
		_, getErr := d.Get(t.Context(), bad)
		for _, err := range []error{pathErr, hasErr, getErr} {
			var e *cairn.Error
			if !errors.As(err, &e) || !errors.Is(err, BadHash) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	_, err := d.Get(t.Context(), hashOf("other"))
	if !errors.Is(err, NotFound) || errors.Is(err, Corrupt) || !strings.Contains(err.Error(), "ARTIFACT_NOT_FOUND") {
		t.Error(err)
	}
}

func TestCorrupt(t *testing.T) {
	d := open(t, t.TempDir())
	content := strings.Repeat("0123456789", 1_000)
	for name, damage := range map[string]string{
		"flipped":   content[:500] + "X" + content[501:],
		"truncated": content[:5_000],
		"extended":  content + "!",
		"emptied":   "",
	} {
		hash := put(t, d, content)
		path, _ := d.Path(hash)
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := d.Get(t.Context(), hash)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, iotest.OneByteReader(r))
		if !errors.Is(err, Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if _, again := r.Read(make([]byte, 1)); !errors.Is(again, Corrupt) {
			t.Errorf("%s: reading on gives %v", name, again)
		}
		r.Close()
		put(t, d, content)
		if got, err := read(t.Context(), d, hash); got != content || err != nil {
			t.Errorf("%s: put again: %v", name, err)
		}
	}
}

func TestPutFails(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	broken := errors.New("broken")
	_, _, err := d.Put(ctx, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	_, _, err = d.Put(ctx, io.MultiReader(strings.NewReader("half"), readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, nil
	})))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left := files(t, root); len(left) != 0 {
		t.Errorf("left %v", left)
	}

	hash := put(t, d, "whole")
	if _, err := d.Get(ctx, hash); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	r, err := d.Get(ctx, hash)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestDirectoryVanishes(t *testing.T) {
	root := filepath.Join(t.TempDir(), "artifacts")
	d := open(t, root)
	put(t, d, "x")
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	put(t, d, "x")
}

// A process that dies between writing and renaming leaves a temporary file and no artifact. The file goes
// when it is old, and only then: until it is, its process may be alive.
func TestCrashBeforeRename(t *testing.T) {
	root := t.TempDir()
	dead := open(t, root)
	if err := dead.prepare(); err != nil {
		t.Fatal(err)
	}
	temp, hash, size, err := dead.write(t.Context(), strings.NewReader("content"))
	if err != nil {
		t.Fatal(err)
	}

	d := open(t, root)
	if ok, err := d.Has(t.Context(), hash); ok || err != nil {
		t.Fatalf("visible before the rename: %v, %v", ok, err)
	}
	if _, err := read(t.Context(), d, hash); !errors.Is(err, NotFound) {
		t.Fatal(err)
	}
	put(t, d, "other")
	if _, err := os.Stat(temp); err != nil {
		t.Fatal("a fresh temporary file was swept:", err)
	}

	// It was not dead after all.
	if err := dead.publish(temp, hash, size); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t.Context(), d, hash); got != "content" || err != nil {
		t.Fatal(got, err)
	}

	temp, hash, size, err = dead.write(t.Context(), strings.NewReader("more"))
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-staleAfter - time.Hour)
	bystander := filepath.Join(root, "notes.txt")
	if err := errors.Join(os.WriteFile(bystander, nil, 0o600), os.Chtimes(bystander, old, old), os.Chtimes(temp, old, old)); err != nil {
		t.Fatal(err)
	}
	put(t, d, "third") // d has swept already
	if _, err := os.Stat(temp); err != nil {
		t.Fatal(err)
	}
	put(t, open(t, root), "fourth")
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("a stale temporary file was not swept:", err)
	}
	if _, err := os.Stat(bystander); err != nil {
		t.Fatal("a file of somebody else was swept:", err)
	}
	// A Put that slept for a day fails; it does not publish something else.
	if err := dead.publish(temp, hash, size); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestConcurrentPuts(t *testing.T) {
	root := filepath.Join(t.TempDir(), "artifacts")
	shared := open(t, root)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			d := shared
			if worker%2 == 0 {
				d, _ = Open(root) // as another process would
			}
			for i := range 10 {
				content := fmt.Sprintf("content %d", (i+worker)%10)
				hash, _, err := d.Put(t.Context(), strings.NewReader(content))
				if err != nil {
					t.Error(err)
					continue
				}
				if got, err := read(t.Context(), d, hash); got != content || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	if all := files(t, root); len(all) != 10 {
		t.Errorf("files %v", all)
	}
}

// Processes put the same contents and are killed at random: whatever one acknowledged is there, and
// whatever is there is whole.
func TestKill(t *testing.T) {
	rounds := 10
	if n, err := strconv.Atoi(os.Getenv("CAIRN_KILL_ROUNDS")); err == nil {
		rounds = n
	}
	if testing.Short() {
		rounds = 2
	}
	root := filepath.Join(t.TempDir(), "artifacts")
	d := open(t, root)
	for round := range rounds {
		var acked [2][]string
		var wg sync.WaitGroup
		for i := range acked {
			wg.Go(func() { acked[i] = killedWriter(t, root, 1+rand.IntN(30)) })
		}
		wg.Wait()
		for _, hash := range append(acked[0], acked[1]...) {
			if _, err := read(t.Context(), d, hash); err != nil {
				t.Fatalf("round %d: acknowledged, then %v", round, err)
			}
		}
		for _, name := range files(t, root) {
			if strings.HasPrefix(name, tempPrefix) {
				continue
			}
			if _, err := read(t.Context(), d, filepath.Base(name)); err != nil {
				t.Fatalf("round %d: %s: %v", round, name, err)
			}
		}
	}
}

// killedWriter runs a writer and kills it as soon as it has acknowledged some artifacts, which is
// while it writes the next. It returns everything acknowledged.
func killedWriter(t *testing.T, root string, after int) (acked []string) {
	exe, err := os.Executable()
	if err != nil {
		t.Error(err)
		return nil
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), writerEnv+"="+root)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if len(lines.Text()) == 2*sha256.Size { // the last line may be torn
			acked = append(acked, lines.Text())
		}
		if len(acked) == after {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait() // killed
	if len(acked) < after {
		t.Errorf("the writer ended by itself after %d", len(acked))
	}
	return acked
}

func putForEver(root string) {
	d, err := Open(root)
	for err == nil {
		var hash string
		content := bytes.Repeat([]byte{byte(rand.IntN(200))}, rand.IntN(3)*100_000)
		if hash, _, err = d.Put(context.Background(), bytes.NewReader(content)); err == nil {
			fmt.Println(hash)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func BenchmarkPut(b *testing.B) {
	d := open(b, b.TempDir())
	for i := 0; b.Loop(); i++ {
		if _, _, err := d.Put(b.Context(), strings.NewReader(strconv.Itoa(i))); err != nil {
			b.Fatal(err)
		}
	}
}
