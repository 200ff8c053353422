package redact

import "math"

// entropy is Shannon's, in bits a byte.
func entropy(b []byte) float64 {
	var n [256]int
	for _, c := range b {
		n[c]++
	}
	bits := 0.0
	for _, k := range n {
		if k > 0 {
			p := float64(k) / float64(len(b))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
