package memnet_test

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/memnet"
)

func TestADialWaitsUntilItIsAcceptedOrEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen("server.test")
		require.Equal(t, "server.test", l.Addr().String())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := l.Dial(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		go func() {
			c, err := l.Accept()
			if err == nil {
				_, _ = c.Write([]byte("hello"))
			}
		}()
		c, err := l.Dial(t.Context())
		require.NoError(t, err)
		got := make([]byte, 5)
		_, err = c.Read(got)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))

		require.NoError(t, l.Close())
		require.NoError(t, l.Close())
		_, err = l.Dial(t.Context())
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestSoManyDialsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen("server.test")
		go func() {
			for {
				if _, err := l.Accept(); err != nil {
					return
				}
			}
		}()
		dial := func() error { _, err := l.Dial(t.Context()); return err }
		l.Refuse(2)
		require.ErrorIs(t, dial(), syscall.ECONNREFUSED)
		require.ErrorIs(t, dial(), syscall.ECONNREFUSED)
		require.NoError(t, dial())
		l.Refuse(memnet.Always)
		for range 10 {
			require.ErrorIs(t, dial(), syscall.ECONNREFUSED)
		}
		l.Refuse(0)
		require.NoError(t, dial())
		require.Equal(t, 14, l.Dials())
		require.NoError(t, l.Close())
	})
}
