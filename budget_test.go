package cairn_test

import (
	"math"
	"testing"

	"github.com/cairnrun/cairn"
)

func TestMeasureFormat(t *testing.T) {
	for _, c := range []struct {
		of     cairn.Measure
		amount int64
		want   string
	}{
		{cairn.Tokens, 0, "0"}, {cairn.Tokens, 999, "999"}, {cairn.Tokens, 1000, "1,000"}, {cairn.Tokens, 1_234_567, "1,234,567"},
		{cairn.Tokens, -5000, "-5,000"}, {cairn.Tokens, math.MinInt64, "-9,223,372,036,854,775,807"},
		{cairn.Cost, 0, "$0.00"}, {cairn.Cost, 1, "$0.000001"}, {cairn.Cost, 105_000, "$0.105"}, {cairn.Cost, 2_000_000, "$2.00"},
		{cairn.Cost, 1_234_500_010, "$1,234.50001"}, {cairn.Cost, -20_000, "-$0.02"},
		{cairn.Latency, 0, "0s"}, {cairn.Latency, 250, "250ms"}, {cairn.Latency, 90_000, "1m30s"},
		{cairn.Latency, 60_000, "1m"}, {cairn.Latency, 3_600_000, "1h"}, {cairn.Latency, 5_400_000, "1h30m"}, {cairn.Latency, 36_000_000, "10h"},
		{cairn.Latency, math.MaxInt64, "9,223,372,036,854,775s"},
	} {
		if got := c.of.Format(c.amount); got != c.want {
			t.Errorf("%d of %s is %q, want %q", c.amount, c.of, got, c.want)
		}
	}
}

func TestUsageWrites(t *testing.T) {
	for _, c := range []struct{ all, hour, wantMinutes, wantHour int64 }{{5, 2, 3, 2}, {0, 4, 0, 4}, {-1, -1, 0, 0}, {7, 0, 7, 0}} {
		minutes, hour := cairn.Usage{CacheWrite: c.all, CacheWrite1h: c.hour}.Writes()
		if minutes != c.wantMinutes || hour != c.wantHour {
			t.Errorf("%+v: %d and %d", c, minutes, hour)
		}
	}
}
