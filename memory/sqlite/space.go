package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/cairnrun/cairn/memory"
)

// space returns the number of a namespace, 0 if nothing is in it.
func (l *look) space(ns memory.Namespace) (no int64, err error) {
	err = l.QueryRow("SELECT no FROM mem_spaces WHERE kind = ? AND id = ?", string(ns.Kind), ns.ID).Scan(&no)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return no, err
}

// makeSpace returns the number of a namespace, which it makes if need be.
func (c *change) makeSpace(ns memory.Namespace) (int64, error) {
	if no, ok := c.spaces[ns]; ok {
		return no, nil
	}
	no, err := c.space(ns)
	if err == nil && no == 0 {
		err = c.QueryRow("INSERT INTO mem_spaces (kind, id) VALUES (?, ?) RETURNING no", string(ns.Kind), ns.ID).Scan(&no)
	}
	if err != nil {
		return 0, err
	}
	c.spaces[ns] = no
	return no, nil
}

// Namespaces lists the namespaces that have items, by kind and id.
func (s *Store) Namespaces(ctx context.Context) (list []memory.Namespace, err error) {
	err = s.read(ctx, func(l *look) error {
		rows, err := l.Query(`SELECT kind, id FROM mem_spaces s
			WHERE EXISTS (SELECT 1 FROM mem_items i WHERE i.space = s.no AND i.expires > ?) ORDER BY kind, id`, l.now)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var ns memory.Namespace
			if err := rows.Scan(&ns.Kind, &ns.ID); err != nil {
				return err
			}
			list = append(list, ns)
		}
		return rows.Close()
	})
	return list, err
}
