package core

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// digest identifies a set of things: the sum of their hashes. A sum, so that a plan of ten thousand nodes in which one
// changes costs one subtraction and one addition. It tells accidents apart, not adversaries.
type digest [2]uint64

// digestOf hashes one thing; parts are delimited, so that none can run into the next.
func digestOf(parts ...string) digest {
	var buf [256]byte
	b := buf[:0]
	for _, part := range parts {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return digest{binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])}
}

func (d *digest) add(x digest) { d[0] += x[0]; d[1] += x[1] }
func (d *digest) sub(x digest) { d[0] -= x[0]; d[1] -= x[1] }

func (d digest) String() string {
	if d == (digest{}) {
		return "0"
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], d[0])
	binary.LittleEndian.PutUint64(b[8:], d[1])
	return hex.EncodeToString(b[:])
}

// parseDigest reads what String wrote; anything else is the empty set's.
func parseDigest(s string) (d digest) {
	if b, err := hex.DecodeString(s); err == nil && len(b) == 16 {
		d[0], d[1] = binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])
	}
	return d
}
