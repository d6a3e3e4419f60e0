package sqlite

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/cairnrun/cairn/memory"
)

func vectorPlace(r *record, model string) place {
	at := r.place()
	at.name += "\x00" + model
	return at
}

// PutVectors stores vectors, over those of the same items and models, in one transaction. A vector of an item that is gone is
// left away: stored is how many were not.
func (s *Store) PutVectors(ctx context.Context, vectors []memory.Vector) (stored int, err error) {
	for _, v := range vectors {
		if err := memory.CheckName("a model", v.Model); err != nil {
			return 0, err
		}
		if len(v.Values) == 0 || len(v.Values) > 1<<14 {
			return 0, contradictory(fmt.Sprintf("a vector of %d dimensions", len(v.Values)), "give 1 to 16384")
		}
	}
	err = s.write(ctx, func(c *change) error {
		for _, v := range vectors {
			r, err := c.referred(v.Ref)
			if err != nil {
				return err
			}
			if r == nil {
				continue
			}
			value := make([]byte, 0, 4*len(v.Values))
			for _, f := range v.Values {
				value = binary.LittleEndian.AppendUint32(value, math.Float32bits(f))
			}
			_, err = c.tx.Exec(`INSERT INTO mem_vectors (item, model, seal, hash, dim, value) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (item, model)
				DO UPDATE SET seal = excluded.seal, hash = excluded.hash, dim = excluded.dim, value = excluded.value`,
				r.no, v.Model, c.ring.current, append([]byte{}, v.Hash...), len(v.Values), c.ring.seal(value, vectorPlace(r, v.Model), "vector"))
			if err != nil {
				return err
			}
			stored++
		}
		return nil
	})
	return stored, err
}

// Vectors hands the vectors of a model to fn, of items in the scope alone, and leaves out those that are stale. fn must not
// keep Values. An error of fn ends it and is returned.
func (s *Store) Vectors(ctx context.Context, scope memory.Scope, model string, fn func(memory.Vector) error) error {
	return s.read(ctx, func(l *look) error { return l.vectors(scope, model, nil, fn) })
}

func (l *look) vectors(scope memory.Scope, model string, among []int64, fn func(memory.Vector) error) error {
	where, args, err := l.within(scope)
	if err != nil {
		return err
	}
	if among != nil {
		numbers, err := json.Marshal(among)
		if err != nil {
			return err
		}
		where, args = "i.no IN (SELECT value FROM json_each(?)) AND "+where, slices.Insert(args, 0, any(string(numbers)))
	}
	rows, err := l.Query(`SELECT i.no, i.lane, p.kind, p.id, i.thread, iif(i.thread = 0, '', (SELECT h.name FROM mem_items h WHERE h.no = i.thread)), i.name,
			v.seal, v.hash, v.value
		FROM mem_items i JOIN mem_spaces p ON p.no = i.space JOIN mem_vectors v ON v.item = i.no AND v.hash = i.hash AND v.model = ?
		WHERE `+where, append([]any{model}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var values []float32
	for rows.Next() {
		r := &record{}
		v := memory.Vector{Model: model}
		var seal string
		var value []byte
		if err := rows.Scan(&r.no, &r.lane, &r.ns.Kind, &r.ns.ID, &r.thread, &r.within, &r.name, &seal, &v.Hash, &value); err != nil {
			return err
		}
		if value, err = l.ring.open(seal, value, vectorPlace(r, model), "vector"); err != nil {
			return err
		}
		values = values[:0]
		for i := 0; i+4 <= len(value); i += 4 {
			values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(value[i:])))
		}
		v.Ref, v.No, v.Values = r.ref(), r.no, values
		if err := fn(v); err != nil {
			return err
		}
	}
	return rows.Close()
}

// Unembedded returns up to limit items of a scope that have no vector of the model, or a stale one, the oldest first.
func (s *Store) Unembedded(ctx context.Context, scope memory.Scope, model string, limit int) (list []memory.Item, err error) {
	err = s.read(ctx, func(l *look) error {
		where, args, err := l.within(scope)
		if err != nil {
			return err
		}
		records, err := l.records("WHERE "+where+` AND NOT EXISTS (SELECT 1 FROM mem_vectors v WHERE v.item = i.no AND v.hash = i.hash AND v.model = ?)
			ORDER BY i.no LIMIT ?`, slices.Concat(args, []any{model, limit})...)
		for _, r := range records {
			list = append(list, r.item(0))
		}
		return err
	})
	return list, err
}
