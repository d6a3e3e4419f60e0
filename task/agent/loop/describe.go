package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// Describe is the window.Opening that a conversation about the request would have: what reports look at before anything runs. The
// model is not asked, and what would be put aside is stored nowhere.
func (a *Agent) Describe(req task.Request) (any, error) {
	if a.Model == nil {
		return nil, errors.New("loop: the agent has no Model")
	}
	call := cairn.Call{Artifacts: nowhere{}}
	c := &conversation{agent: a, req: req, call: call, native: a.structures(req.Schema)}
	c.equip()
	opening, err := c.opening(cairn.WithCall(context.Background(), &call))
	if err != nil {
		return nil, err
	}
	return opening, nil
}

// nowhere is a store of artifacts that only tells what they would be called.
type nowhere struct{}

func (nowhere) Put(_ context.Context, r io.Reader) (hash string, size int64, err error) {
	sum := sha256.New()
	size, err = io.Copy(sum, r)
	return hex.EncodeToString(sum.Sum(nil)), size, err
}

func (nowhere) Get(context.Context, string) (io.ReadCloser, error) {
	return nil, errors.New("loop: nothing was stored")
}
