package informertest

import (
	"fmt"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nameAlphabet is what generated names end with; like the API server's it has
// no vowels and no look-alikes, so that it spells no words.
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"

const (
	maxNameLength   = 63
	nameSuffixChars = 5
)

// identity makes UIDs and name suffixes from a seed, so that two runs of a
// test see the same ones. Guarded by the store's lock.
type identity struct{ random *rand.Rand }

// newIdentity returns the same sequence for the same seed. The second half of the
// generator's seed is fixed, and may be anything.
func newIdentity(seed uint64) *identity {
	return &identity{rand.New(rand.NewPCG(seed, 0x696e666f726d6572))}
}

// uid returns a fresh version 4 UUID.
func (i *identity) uid() types.UID {
	a, b := i.random.Uint64(), i.random.Uint64()
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x",
		a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff))
}

// name completes a generateName.
func (i *identity) name(base string) string {
	base = base[:min(len(base), maxNameLength-nameSuffixChars)]
	suffix := make([]byte, nameSuffixChars)
	for k := range suffix {
		suffix[k] = nameAlphabet[i.random.IntN(len(nameAlphabet))]
	}
	return base + string(suffix)
}

// now is the present time as metadata states it, in whole seconds.
func now() metav1.Time { return metav1.Now().Rfc3339Copy() }
