package cairn

import (
	"context"
	"encoding/json"
	"io"
	"math"
)

// Call is one attempt of a task, as its body and the middleware around it see it. The engine fills it in.
type Call struct {
	Run      string
	Workflow string
	// Path is the task's path, Key its last name.
	Path, Key string
	// Attempt counts from 1 and never repeats within a run and path.
	Attempt int
	// Booked is the last attempt of the task that is committed with all that it and those before have used; 0 is none. What the
	// ones between it and this one have used was lost with their process: whoever finds it in the journal tells the Meter.
	Booked int
	// IdempotencyKey is the same for all attempts of a task, across resumes. Hand it to outside systems.
	IdempotencyKey string
	// Input is the frozen prompt or input, nil if the task has none.
	Input json.RawMessage
	// Policy is the configuration the attempt was started with.
	Policy Policy
	// Detail is the last heartbeat detail of an earlier attempt, nil if there is none.
	Detail    json.RawMessage
	Journal   Journal
	Artifacts Artifacts
	// Prompted says that Input is a prompt. Memory is what recall puts before it, Tools what an agent can use: a middleware
	// sets them.
	Prompted bool
	Memory   string
	Tools    []Tool
	// History is what was said before in the conversation that the task goes on with.
	History []Message
	// Meter is asked before each model call and told after it. Nil outside of an engine.
	Meter Meter
}

// Journal is the memory of a task's attempts between frames: sub-steps that finished, and the last heartbeat. It is
// safe for concurrent use.
type Journal interface {
	// Lookup returns what an earlier attempt, or this one, recorded under the name.
	Lookup(name string) (json.RawMessage, bool)
	// Record stores a finished sub-step. It returns after the record is durable.
	Record(ctx context.Context, name string, value json.RawMessage) error
	// Heartbeat tells that the attempt lives and what the next one should know. It does not wait.
	Heartbeat(detail json.RawMessage)
}

// Artifacts stores bulk as content-addressed files.
type Artifacts interface {
	// Put stores the bytes and returns after they are durable.
	Put(ctx context.Context, r io.Reader) (hash string, size int64, err error)
	// Get opens a stored file; reading it to the end verifies the hash.
	Get(ctx context.Context, hash string) (io.ReadCloser, error)
}

// Result is what an attempt wants committed, all of it in one frame.
type Result struct {
	// Output is the task's value as JSON, already validated.
	Output json.RawMessage
	// Usage lists the model calls that Call.Meter was not told of.
	Usage []Usage
	// Artifacts are files written by the attempt; they were durable before the frame that refers to them.
	Artifacts []Artifact
	Effects   []Effect
	// Recalls report what memory has contributed; they count for a failed attempt, too.
	Recalls []Recall
}

// Usage is what one model call used, in tokens. Each token is counted in one of Input, Output, CacheRead and CacheWrite;
// an adapter whose provider counts otherwise takes them apart.
type Usage struct {
	Model string `json:"model"`
	// Delegate is the tool by which the call was delegated to a sub-agent; "" for a call of the task's own.
	Delegate string `json:"delegate,omitempty"`
	// Input is the uncached input: neither read from the provider's cache nor written to it. Anthropic reports it so;
	// of what OpenAI and Google report as input, the cached tokens are to be taken off.
	Input int64 `json:"input,omitempty"`
	// Output is all that was generated, thinking included.
	Output int64 `json:"output,omitempty"`
	// CacheRead is the input that the provider had in its cache.
	CacheRead int64 `json:"cacheRead,omitempty"`
	// CacheWrite is all input that was written to the provider's cache, for whatever time.
	CacheWrite int64 `json:"cacheWrite,omitempty"`
	// CacheWrite1h is the part of CacheWrite that was written with an hour's life or more, told apart because it has
	// another price. The rest was written for minutes.
	CacheWrite1h int64 `json:"cacheWrite1h,omitempty"`

	// The engine sets the rest, from its price table, when it books the call.

	// Cost is in micro-dollars. Unpriced says that the model has no price: Cost is 0 then.
	Cost     int64 `json:"cost,omitempty"`
	Unpriced bool  `json:"unpriced,omitempty"`
	// Window is the model's, in tokens, where the call has filled more than half of it; else 0.
	Window int64 `json:"window,omitempty"`
}

// Context is how much of the model's window the call has read: uncached input, input from the provider's cache, and input
// written to it. Negative numbers count as none, and what no int64 holds is the greatest one.
func (u Usage) Context() int64 { return total(u.Input, u.CacheRead, max(u.CacheWrite, u.CacheWrite1h)) }

// Tokens is all that the call has read and written: what a token budget counts.
func (u Usage) Tokens() int64 { return total(u.Context(), u.Output) }

// Writes is the input written to the provider's cache, for minutes and for an hour or more. A provider that reports only
// the latter means at least that much as the whole. Negative numbers count as none.
func (u Usage) Writes() (minutes, hour int64) {
	hour = max(u.CacheWrite1h, 0)
	return max(u.CacheWrite, hour) - hour, hour
}

func total(amounts ...int64) (sum int64) {
	for _, n := range amounts {
		sum += min(max(n, 0), math.MaxInt64-sum)
	}
	return sum
}

// Artifact refers to a content-addressed file.
type Artifact struct {
	Name string `json:"name"`
	// Hash is the SHA-256 of the content in hex, Size its bytes.
	Hash      string `json:"hash"`
	Size      int64  `json:"size"`
	MediaType string `json:"mediaType,omitempty"`
	// Producer is the path of the task that wrote it.
	Producer string `json:"producer,omitempty"`
}

// Effect is work for the outside world that must happen if, and only if, the frame is committed: it goes
// into the outbox in the same transaction and is delivered at least once, by operation id.
type Effect struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

type callKey struct{}

// WithCall returns a context that carries the call, for the engine and for tests of task bodies.
func WithCall(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallFrom returns the call a task body runs under; false outside of a task.
func CallFrom(ctx context.Context) (*Call, bool) {
	call, ok := ctx.Value(callKey{}).(*Call)
	return call, ok
}
