package core

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cairnrun/cairn"
)

// maxLosses is how many attempts of a task may die with their process.
const maxLosses = 5

// retry decides, when an attempt has ended without an outcome, between another one and giving up.
func (m *Machine) retry(path string, lost bool) {
	s := m.state
	t := s.Tasks[path]
	if t.Status != TaskWaiting || t.Refused != nil {
		return
	}
	optional := t.Policy != nil && t.Policy.Optional
	if lost {
		if t.Losses >= maxLosses {
			m.decide(Decision{Kind: GaveUp, Path: path, Yes: optional, Failure: &cairn.Failure{Code: cairn.WorkerLost, Path: path, Attempt: t.Attempt,
				Permanent: true, Message: fmt.Sprintf("the process died under %d attempts of this task", t.Losses)}})
		}
		return
	}
	var retry cairn.RetryPolicy
	if t.Policy != nil {
		retry = t.Policy.Retry
	}
	attempts := retry.Max
	if attempts == 0 {
		attempts = cairn.DefaultAttempts
	}
	at := s.Time + backoff(retry, t.Failures, t.Failure.RetryAfter, s.Run+"\x00"+path).Milliseconds()
	switch {
	case t.Failure.Permanent || attempts != cairn.Unbounded && t.Failures >= attempts:
		m.decide(Decision{Kind: GaveUp, Path: path, Yes: optional})
	case t.Deadline != 0 && at >= t.Deadline:
		m.decide(Decision{Kind: GaveUp, Path: path, Yes: optional, Failure: &cairn.Failure{Code: cairn.TaskTimeout, Path: path, Attempt: t.Attempt,
			Permanent: true, Message: "the time for all attempts is over", Cause: t.Failure}})
	default:
		m.decide(Decision{Kind: Retried, Path: path, At: at})
	}
}

// backoff is the pause after the n-th failure.
func backoff(r cairn.RetryPolicy, n int, asked time.Duration, seed string) time.Duration {
	initial, factor, most := r.Initial, r.Factor, r.Cap
	if initial == 0 {
		initial = cairn.DefaultRetryInitial
	}
	if factor == 0 {
		factor = cairn.DefaultRetryFactor
	}
	if most == 0 {
		most = cairn.DefaultRetryCap
	}
	pause := min(float64(initial)*math.Pow(factor, float64(n-1)), float64(most))
	sum := sha256.Sum256([]byte(seed + "\x00" + strconv.Itoa(n)))
	pause = min(pause*(1+float64(sum[0])/2560), float64(most))
	return max(time.Duration(pause), asked)
}

// ended tells the plan that an attempt is over.
func (m *Machine) ended(path string) {
	n := m.memo.nodes[path]
	if n != nil && n.kind == cairn.KindTask {
		m.bump(n, -1)
	} else {
		n = nil
	}
	m.outcome(path, m.state.Tasks[path], n)
}

// outcome tells the plan what a task has come to: the readers, then what is around it.
func (m *Machine) outcome(path string, t *Task, n *node) {
	if t.Ended() {
		m.touched(path, t)
	}
	if n == nil {
		return
	}
	switch t.Status {
	case TaskGaveUp:
		if t.Tolerated {
			m.settle(n)
			break
		}
		m.raise(n, failure(path, t))
	case TaskFinished, TaskSkipped:
		m.settle(n)
	default:
		m.offer(n)
	}
	m.rearrange(n)
}

// failure is a task's failure with its place.
func failure(path string, t *Task) *cairn.Failure {
	f := cairn.Failure{Code: cairn.TaskFailed}
	if t.Failure != nil {
		f = *t.Failure
	}
	f.Path, f.Attempt = path, t.Attempt
	return &f
}

// touched marks the renders that have read a task's outcome.
func (m *Machine) touched(path string, t *Task) {
	m.memo.touch(read{kind: readTask, path: path})
	if t.Status != TaskFinished {
		return
	}
	scope, key := cairn.Split(path)
	for {
		m.memo.touch(read{kind: readValues, path: scope, key: key})
		if _, _, ok := cairn.CutIteration(scope); !ok {
			return
		}
		scope, _ = cairn.Split(scope)
	}
}
