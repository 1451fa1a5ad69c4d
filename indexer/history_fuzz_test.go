package indexer

import (
	"math/rand/v2"
	"testing"
)

// program makes the choices of a [history] from the bytes of the fuzzer.
type program struct {
	bytes []byte
	read  uint64
}

// Uint64 implements [rand.Source]. The same byte is the same choice wherever it is.
func (p *program) Uint64() uint64 {
	p.read++
	if len(p.bytes) == 0 {
		return rand.NewPCG(p.read, 2).Uint64()
	}
	b := p.bytes[0]
	p.bytes = p.bytes[1:]
	return rand.NewPCG(uint64(b), 1).Uint64()
}

// FuzzAllVersionsAnswerAsAMapDoes compares each version that a history of batches has
// made, some discarded, with a map of its own, when all of them are over.
func FuzzAllVersionsAnswerAsAMapDoes(f *testing.F) {
	f.Add(uint8(0), uint8(3), []byte("a batch adds"))
	f.Add(uint8(1), uint8(40), []byte{0, 255, 1, 254, 2, 253, 3, 252, 4, 251, 5, 250, 6, 249, 7, 248, 8, 247, 9, 246})
	f.Add(uint8(2), uint8(200), []byte("another grows, is discarded, and the next one has its numbers"))
	f.Fuzz(func(t *testing.T, mode, keys uint8, prog []byte) {
		drops := []uint32{0, ^uint32(3), 1<<16 - 1, ^uint32(0)}
		h := newHistory(t, 1+int(keys), 0, drops[mode&3])
		p := &program{bytes: prog[:min(len(prog), 2000)]}
		h.rng = rand.New(p)
		versions := []versioned{h.version()}
		for len(p.bytes) > 0 {
			h.step(t, 3+5*h.rng.IntN(2))
			h.numbersAreRight(t)
			versions = append(versions, h.version())
		}
		for i, v := range versions {
			v.check(t, h.keys)
			checkDiff(t, v, versions[len(versions)-1])
			checkDiff(t, versions[len(versions)-1], v)
			checkDiff(t, versions[max(0, i-1)], v)
		}
	})
}
