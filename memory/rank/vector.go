package rank

import "math"

// Cosine returns the cosine of the angle between two vectors, and 0 when their lengths differ or one of them is all
// zeros.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	// Four sums at once: the processor need not wait for one addition before the next.
	var dot, aa, bb [4]float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		for k := range 4 {
			dot[k] += x[k] * y[k]
			aa[k] += x[k] * x[k]
			bb[k] += y[k] * y[k]
		}
	}
	for ; i < len(a); i++ {
		dot[0] += a[i] * b[i]
		aa[0] += a[i] * a[i]
		bb[0] += b[i] * b[i]
	}
	d, x, y := sum(dot), sum(aa), sum(bb)
	if x == 0 || y == 0 {
		return 0
	}
	return d / math.Sqrt(x*y)
}

func sum(v [4]float32) float64 {
	return float64(v[0]) + float64(v[1]) + float64(v[2]) + float64(v[3])
}
