package route

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// hash mixes a string into a seed. It is the same in every process, so that
// two workers send one run to one resource.
func hash(seed uint64, s string) uint64 {
	h := seed ^ 0x9e3779b97f4a7c15 ^ uint64(len(s))
	for len(s) >= 8 {
		h = mix(h ^ binary.LittleEndian.Uint64([]byte(s[:8])))
		s = s[8:]
	}
	var tail uint64
	for i := range len(s) {
		tail |= uint64(s[i]) << (8 * i)
	}
	return mix(mix(h ^ tail))
}

func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0xd6e8feb86659fd93, 0xa0761d6478bd642f)
	x = hi ^ lo
	x ^= x >> 32
	x *= 0xe7037ed1a0b428db
	return x ^ x>>29
}

// score is the weighted rendezvous score of a resource for a key: the highest
// wins, each resource wins in proportion to its weight, and taking one away
// moves only the keys that it had.
func score(key, seed uint64, weight float64) float64 { return -weight / math.Log(uniform(key, seed)) }

// uniform is the score among equal weights: the same order without a logarithm.
// It is in (0,1), never 0, whose logarithm is infinite.
func uniform(key, seed uint64) float64 {
	return (float64(mix(key^seed)>>11) + 0.5) / (1 << 53)
}
