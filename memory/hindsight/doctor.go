package hindsight

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnrun/cairn"
)

// Checkup is what Doctor found.
type Checkup struct {
	// Live and Healthy: the process answers; its database does too.
	Live, Healthy bool
	Version       Version
	// Banks exist under the configured prefix. Missing were asked about and don't.
	Banks   []Bank
	Missing []string
	// Problems are *cairn.Error, what a person should look at, worst first. None: all is well.
	Problems []error
}

// tested are the versions this client ran against.
var tested = []string{"0.9.1", "1.1.0"}

// Doctor asks the server how it is, and whether the banks that are configured exist there: a misspelled bank recalls
// nothing and gives no error. It never fails; what failed is a problem in the Checkup.
func (c *Client) Doctor(ctx context.Context, banks ...string) Checkup {
	var out Checkup
	add := func(code cairn.Code, message, next string) {
		out.Problems = append(out.Problems, &cairn.Error{Code: code, Message: message, Next: next})
	}
	report := func(err error) { out.Problems = append(out.Problems, err) }
	if err := c.Live(ctx); err != nil && !absent(err) { // older servers have no such call
		report(err)
		return out
	}
	out.Live = true
	if err := c.Health(ctx); err != nil {
		report(err)
		add(Unavailable, "Hindsight runs, but is not ready", "give it Postgres 15 or later with the pgvector extension, and see that it answers")
		return out
	}
	out.Healthy = true
	v, err := c.Version(ctx)
	if err != nil {
		report(err)
	}
	out.Version = v
	if err == nil && !slices.ContainsFunc(tested, func(t string) bool { return series(t) == series(v.API) }) {
		add(Answer, "Hindsight "+v.API+" was not tested with this client, which knows "+strings.Join(tested, " and "),
			"run make hindsight-live against it")
	}
	if on, known := v.Features["worker"]; known && !on {
		add(Unavailable, "this Hindsight runs no worker", "start hindsight-worker: without one it takes records and never stores them")
	}
	found, err := c.Banks(ctx)
	if err != nil {
		report(err)
		return out
	}
	out.Banks = found
	for _, b := range banks {
		if !slices.ContainsFunc(found, func(f Bank) bool { return f.Name == b }) {
			out.Missing = append(out.Missing, b)
			add(Refused, "bank "+b+" is not there, so nothing is recalled from it",
				"check its spelling and HINDSIGHT_BANK_PREFIX; it comes into being with the first record")
			continue
		}
		_, failed, err := c.Operations(ctx, b, Failed, 1, 0)
		if err != nil {
			report(err)
		} else if failed > 0 {
			add(OperationFailed, strconv.Itoa(failed)+" operations of bank "+b+" have failed on the server", "read its log, then retry them")
		}
	}
	return out
}

// series is a version without its last part.
func series(v string) string {
	i := strings.LastIndexByte(v, '.')
	return v[:max(i, 0)]
}
