package sqlite

import (
	"encoding/binary"
	"maps"
	"slices"
)

// count writes how many items the banks have now.
func (c *change) count() error {
	for _, bank := range slices.Sorted(maps.Keys(c.counts)) {
		n := c.counts[bank]
		if bank == "" || n == 0 {
			continue
		}
		result, err := c.tx.Exec("UPDATE mem_banks SET items = items + ? WHERE bank = ?", n, bank)
		if err != nil {
			return err
		}
		there, err := result.RowsAffected()
		switch {
		case err != nil:
			return err
		case n < 0: // the name of a bank that is no more is nowhere
			_, err = c.tx.Exec("DELETE FROM mem_banks WHERE bank = ? AND items <= 0", bank)
		case there == 0:
			_, err = c.tx.Exec("INSERT INTO mem_banks (bank, items) VALUES (?, ?)", bank, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countErasure numbers a transaction that takes something out of the file, see warm; others are 0.
func (c *change) countErasure() (int64, error) {
	if len(c.gone) == 0 && !c.swept {
		return 0, nil
	}
	before, err := column[[]byte](&c.look, "SELECT value FROM mem_meta WHERE name = 'erasures'")
	if err != nil {
		return 0, err
	}
	n := int64(1)
	if len(before) > 0 {
		n = counter(before[0]) + 1
	}
	_, err = c.tx.Exec("INSERT INTO mem_meta (name, value) VALUES ('erasures', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		binary.BigEndian.AppendUint64(nil, uint64(n)))
	return n, err
}

// counter reads a number of mem_meta. In digits it might be taken for residue of a word.
func counter(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(value))
}
