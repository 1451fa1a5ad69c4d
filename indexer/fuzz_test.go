package indexer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// FuzzStoreConformsToTheModel lets the fuzzer choose the operations that the
// conformance suite chooses at random.
func FuzzStoreConformsToTheModel(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 2, 3, 64, 1, 200, 0, 220, 4, 250, 0})
	f.Add(uint8(3), []byte{0, 1, 0, 2, 0, 3, 0, 4, 100, 5, 130, 1, 210, 9, 240, 0, 0, 7})
	f.Fuzz(func(t *testing.T, mode uint8, prog []byte) {
		drops := []uint32{0, ^uint32(0), ^uint32(3 | 3<<20), 0x1ff}
		k := newKit(t, drops[mode&3])
		k.perWrite, k.restless = mode&4 != 0, mode&8 != 0
		m := &model{pods: map[types.NamespacedName]*pod{}}
		prog = prog[:min(len(prog), 400)]
		var kept []state
		for i := 0; i+1 < len(prog); i += 2 {
			// The second byte seeds whatever the operation needs to choose.
			r := rand.New(rand.NewPCG(uint64(prog[i+1]), 1))
			switch op := prog[i] / 16; {
			case op < 8:
				p := randomPod(r, i)
				m.set(p)
				k.set(p)
			case op < 11:
				key := object.KeyOf(randomPod(r, i))
				m.remove(key)
				k.remove(key)
			case op == 11:
				pods := relist(r, sorted(m.All()), i)
				m.replace(pods)
				k.replace(pods)
			case op == 12:
				pods := slices.DeleteFunc(relist(r, sorted(m.ByNamespace("n1")), i), func(p *pod) bool { return p.Namespace != "n1" })
				m.replaceNamespace("n1", pods)
				k.replaceNamespace("n1", pods)
			case op == 13:
				rv := fmt.Sprint(1 + r.IntN(1000))
				m.resourceVersion(rv)
				k.resourceVersion(rv)
			case op == 14:
				compare(t, m, k.commit())
				k.upset(r)
			case len(kept) < 10:
				kept = append(kept, state{m.commit().(*model), k.commit()})
			}
		}
		kept = append(kept, state{m.commit().(*model), k.commit()})
		for _, st := range kept {
			compare(t, st.want, st.got)
			compareDiff(t, kept[0].want, st.want, kept[0].got.(view).Snapshot, st.got.(view).Snapshot)
		}
	})
}
