package informertest_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer/informertest"
)

// A suite of a thousand parallel tests has as many servers at one time.
func TestAThousandServersLiveBesideEachOther(t *testing.T) {
	t.Parallel()
	const servers, objects = 1000, 20
	// The race detector bounds the number of goroutines, of which connections have many.
	connected := make(chan struct{}, 100)
	var tests, stored sync.WaitGroup
	stored.Add(servers)
	for i := range servers {
		tests.Go(func() {
			s, err := informertest.NewServer(informertest.Options{InMemory: true})
			if !assert.NoError(t, err) {
				stored.Done()
				return
			}
			prefix := fmt.Sprintf("test-%d-", i)
			for k := range objects {
				assert.NoError(t, s.Create(configmap(fmt.Sprint(prefix, k))))
			}
			stored.Done()
			stored.Wait() // all of them are running now
			connected <- struct{}{}
			defer func() { s.Close(); <-connected }()
			var list corev1.ConfigMapList
			assert.NoError(t, core(t, s).Get().Namespace("default").Resource("configmaps").Do(t.Context()).Into(&list))
			assert.Len(t, list.Items, objects)
			for _, item := range list.Items {
				assert.Contains(t, item.Name, prefix)
			}
		})
	}
	tests.Wait()
}
