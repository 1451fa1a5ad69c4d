package build

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/informer/informertest"
)

// The answer to the first attempt comes when the Lease should have been renewed already. That
// begins no term; the next attempt does.
func TestAnswerThatComesTooLateBeginsNoTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		server.Inject(informertest.Fault{Verb: "create", Resource: "leases", Effect: informertest.Delay(RenewDeadline)})
		client, err := NewClient(server.Config(), "default")
		require.NoError(t, err)
		e := &Elector{client: client, name: LeaseName, identity: "one"}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var terms []time.Duration
		var group sync.WaitGroup
		defer group.Wait()
		defer cancel()
		group.Go(func() {
			e.Run(ctx, func(ctx context.Context) {
				terms = append(terms, time.Since(began))
				<-ctx.Done()
			})
		})
		<-time.After(time.Minute)
		synctest.Wait()
		assert.Equal(t, []time.Duration{RenewDeadline + RetryPeriod}, terms)
	})
}
