package core_test

import (
	"fmt"
	"testing"

	"github.com/cairnrun/cairn/engine/core"
)

// BenchmarkDecode and BenchmarkFold measure what each frame of a run costs when it is resumed.
func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"n":123,"t":1790000000000,"prev":"2fc9f8d54d37400fdeb6b87c53b992b7","ev":[{"k":"done","p":"t122","a":1,"o":"` + fmt.Sprintf("%098d", 1) + `"}],"do":[{"k":"start","p":"t123","a":1,"s":"6782be896f5b8bc8"}]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := core.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
