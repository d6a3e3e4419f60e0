package hindsight

import (
	"crypto/sha1"
	"encoding/hex"
)

// space is the namespace of the ids below. It is fixed: another one would make every record that is on its way a new one.
var space = [16]byte{0x8a, 0x1f, 0x3c, 0x52, 0x6e, 0x0b, 0x5d, 0x47, 0x9c, 0x21, 0x7b, 0x4e, 0xd3, 0x60, 0xaf, 0x18}

// uuid is the UUID version 5 of the parts, which can't run into one another.
func uuid(parts ...string) string {
	h := sha1.New()
	h.Write(space[:])
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	sum := h.Sum(nil)[:16]
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	s := hex.EncodeToString(sum)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
