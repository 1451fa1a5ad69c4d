package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

var seed = flag.Uint64("seed", 0, "seed of the random bursts; 0 draws one, which the test prints")

// burst is a lot of concurrent creates, updates and deletes of ConfigMaps, seeded
// but for the order in which the server happens to execute them. Its workers share
// names, so that they contend and objects are recreated under the names of others.
type burst struct {
	client     kubernetes.Interface
	namespaces []string
	labels     map[string]string
	names      int // per namespace
	workers    int
	writes     int // per worker
}

// run makes the writes and returns when all are done. Outcomes that contention
// explains (a name that is taken, an object that is gone) are as good as any.
func (b burst) run(t *testing.T) {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("burst with -seed=%d", s)
	var wg sync.WaitGroup
	for w := range b.workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(s, uint64(w)))
			for i := range b.writes {
				err := b.write(t, r, fmt.Sprintf("%d-%d", w, i))
				if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
					assert.NoError(t, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// write makes one random write that carries the given text.
func (b burst) write(t *testing.T, r *rand.Rand, text string) error {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("object-%d", r.IntN(b.names)),
			Labels: b.labels,
		},
		Data: map[string]string{"written": text},
	}
	configMaps := b.client.CoreV1().ConfigMaps(b.namespaces[r.IntN(len(b.namespaces))])
	var err error
	switch n := r.IntN(10); {
	case n < 5:
		_, err = configMaps.Create(t.Context(), object, metav1.CreateOptions{})
	case n < 8:
		_, err = configMaps.Update(t.Context(), object, metav1.UpdateOptions{})
	default:
		err = configMaps.Delete(t.Context(), object.Name, metav1.DeleteOptions{})
	}
	return err
}
