package engine

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/engine/core"
)

// meters are the budgets of a run as its attempts see them: what is committed, and what running attempts have used since.
// A limit that an attempt alone, or several together, have reached is seen before their next model call, not after their end.
type meters struct {
	models aspects.Models
	// mu guards what follows, with all that meters have in common.
	mu sync.Mutex
	// open holds the budgets below which something runs, by address.
	open map[string]*account
}

// account is a budget: its ledger as of the last step, and what has been used since by attempts that still run.
type account struct {
	core.Ledger
	loose core.Spent
}

func newMeters(models aspects.Models) *meters {
	return &meters{models: models, open: map[string]*account{}}
}

// meter is one attempt's cairn.Meter.
type meter struct {
	all  *meters
	path string
	// before is what earlier attempts of the task have used, began when this one started, in Unix milliseconds.
	before core.Spent
	began  int64
	// around are the budgets that the attempt is booked on, the outermost first. The last governing may refuse it something.
	around    []*account
	addresses []string
	governing int

	usage   []cairn.Usage
	loose   core.Spent
	refused *cairn.Breach
}

// start makes the meter of an attempt, as of the step that has started it.
func (ms *meters) start(s core.Start, state *core.State) *meter {
	t := state.Tasks[s.Path]
	m := &meter{all: ms, path: s.Path, before: t.Spent, began: t.Since, addresses: s.Budgets, governing: s.Governing}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, address := range s.Budgets {
		a := ms.open[address]
		if a == nil {
			a = &account{}
			ms.open[address] = a
		}
		a.Ledger = *state.Ledgers[address]
		m.around = append(m.around, a)
	}
	return m
}

// settle takes the ledgers of a step that an attempt has ended in: what it has used is committed now.
func (ms *meters) settle(m *meter, state *core.State) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for i, address := range m.addresses {
		a := m.around[i]
		a.Ledger = *state.Ledgers[address]
		a.loose.Tokens -= m.loose.Tokens
		a.loose.Cost -= m.loose.Cost
		if a.Running == 0 && ms.open[address] == a {
			delete(ms.open, address)
		}
	}
}

// Admit says whether another model call may begin.
func (m *meter) Admit() error {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	now := time.Now().UnixMilli()
	for i := len(m.around) - m.governing; i < len(m.around); i++ {
		a := m.around[i]
		if f := m.unpriced(i, a); f != nil {
			return f
		}
		for _, measure := range cairn.Measures {
			limit := a.Limits.Of(measure)
			if limit.OnExceeded == cairn.WarnExceeded {
				continue
			}
			b := cairn.Breach{Budget: m.addresses[i], Measure: measure, Path: m.path, Limit: limit.Max, Spent: a.SpentAt(now).Of(measure) + a.loose.Of(measure)}
			if b.Limit > 0 && b.Spent >= b.Limit {
				return m.refuse(b, cairn.BudgetExceeded)
			}
			b.PerTask, b.Limit, b.Spent = true, limit.PerTask, m.before.Of(measure)+m.loose.Of(measure)
			if measure == cairn.Latency {
				b.Spent += max(0, now-m.began)
			}
			if b.Limit > 0 && b.Spent >= b.Limit {
				return m.refuse(b, cairn.BudgetExceeded)
			}
		}
	}
	return nil
}

// unpriced refuses to go on where a limited cost is unknown.
func (m *meter) unpriced(i int, a *account) error {
	if !a.Limits.Cost.Limits() || a.Limits.AllowUnpriced {
		return nil
	}
	for _, u := range m.usage {
		if u.Unpriced {
			return m.refuse(cairn.Breach{Budget: m.addresses[i], Measure: cairn.Cost, Path: m.path, Limit: a.Limits.Cost.Max, Spent: a.Spent.Cost}, cairn.UnpricedModel)
		}
	}
	return nil
}

// refuse remembers which limit it was: the attempt has not failed by itself.
func (m *meter) refuse(b cairn.Breach, code cairn.Code) error {
	m.refused = &b
	f := &cairn.Failure{Code: code, Path: m.path, Permanent: true, Message: b.String()}
	if detail, err := json.Marshal(b); err == nil {
		f.Detail = detail
	}
	return f
}

// Spend books a model call that has ended.
func (m *meter) Spend(u cairn.Usage) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.spend(u)
}

func (m *meter) spend(u cairn.Usage) {
	cost, priced := m.all.models.Cost(u)
	u.Cost, u.Unpriced, u.Window = cost, !priced, 0
	if model, known := m.all.models.Find(u.Model); known && 2*u.Context() > model.Window {
		u.Window = model.Window
	}
	m.usage = append(m.usage, u)
	m.loose.Use(u)
	for _, a := range m.around {
		a.loose.Use(u)
	}
}

// close books what a result brings and returns all that the attempt has used.
func (m *meter) close(rest []cairn.Usage) []cairn.Usage {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	for _, u := range rest {
		m.spend(u)
	}
	return m.usage
}

// refusal is the limit that an attempt ends because of, if its error says so.
func (m *meter) refusal(err error) *cairn.Breach {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	if errors.Is(err, cairn.BudgetExceeded) || errors.Is(err, cairn.UnpricedModel) {
		return m.refused
	}
	return nil
}
