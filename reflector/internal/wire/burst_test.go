package wire

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// work is how long a caller is busy with an event, in these tests.
const work = time.Millisecond

// following starts a watch without initial events and returns the server's end, too.
func following(t *testing.T, mime string) (*Stream[*corev1.Pod], *io.PipeWriter) {
	t.Helper()
	r, w := io.Pipe()
	s, err := pipedSource[*corev1.Pod](t, mime, r).Watch(t.Context(), Request{})
	require.NoError(t, err)
	return s, w
}

// sendPods writes an event of each pod, as fast as they are read.
func sendPods(t *testing.T, mime string, server *io.PipeWriter, pods []corev1.Pod) {
	t.Helper()
	for i := range pods {
		if _, err := server.Write(podFrame(t, mime, watch.Modified, &pods[i])); err != nil {
			return // the stream is closed
		}
	}
}

// takeWorking takes events of the pods and works on each.
func takeWorking(t *testing.T, s *Stream[*corev1.Pod], pods []corev1.Pod) {
	t.Helper()
	for i := range pods {
		ev, err := s.Next()
		require.NoError(t, err)
		require.Equal(t, pods[i].Name, ev.Object.Name)
		time.Sleep(work)
	}
}

func TestABurstIsReadAheadAndKeepsItsOrder(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		s, server := following(t, mime)
		pods := samplePods(1000).Items
		pods[700].Name = "" // unreadable
		go func() {
			sendPods(t, mime, server, pods[:500])
			_, _ = server.Write(podFrame(t, mime, watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "500"}}))
			sendPods(t, mime, server, pods[500:])
			_ = server.Close()
		}()
		takeWorking(t, s, pods[:burstEvents+2])
		require.NotNil(t, s.ahead, "a burst")
		takeWorking(t, s, pods[burstEvents+2:500])
		ev, err := s.Next()
		require.NoError(t, err)
		require.Equal(t, watch.Bookmark, ev.Type)
		require.Equal(t, "500", ev.ResourceVersion)
		takeWorking(t, s, pods[500:700])
		ev, err = s.Next()
		require.NoError(t, err)
		var oe *ObjectError
		require.ErrorAs(t, ev.Err, &oe)
		require.Equal(t, 701, oe.Position, "counted from the beginning of the stream")
		takeWorking(t, s, pods[701:])
		for range 2 {
			_, err = s.Next()
			require.Equal(t, io.EOF, err)
		}
		require.NoError(t, s.Close())
	})
}

func TestEventsThatAreWaitedForAreReadByNextItself(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		s, server := following(t, mime)
		pods := samplePods(100).Items
		go func() {
			for i := range pods {
				time.Sleep(3 * work)
				sendPods(t, mime, server, pods[i:i+1])
			}
		}()
		for i := range pods {
			takeWorking(t, s, pods[i:i+1])
			require.Nil(t, s.ahead)
		}
		require.NoError(t, s.Close())
	})
}

func TestAfterABurstAnEventThatComesAloneIsThereAtOnce(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		s, server := following(t, mime)
		pods := samplePods(200).Items
		go sendPods(t, mime, server, pods[:100])
		takeWorking(t, s, pods[:100])
		require.NotNil(t, s.ahead)
		for i := 100; i < 150; i++ {
			go func() {
				time.Sleep(time.Second)
				sendPods(t, mime, server, pods[i:i+1])
			}()
			start := time.Now()
			ev, err := s.Next()
			require.NoError(t, err)
			require.Equal(t, pods[i].Name, ev.Object.Name)
			require.Equal(t, time.Second, time.Since(start))
		}
		require.Nil(t, s.ahead, "the burst is over")
		// And there may be another one.
		go sendPods(t, mime, server, pods[150:])
		takeWorking(t, s, pods[150:])
		require.NotNil(t, s.ahead)
		require.NoError(t, s.Close())
	})
}

func TestASlowCallerBoundsWhatIsReadAheadOfABurst(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		s, server := following(t, mime)
		event, written := podFrame(t, mime, watch.Modified, &busyPods(1).Items[0]), 0
		go func() {
			for {
				n, err := server.Write(event)
				if written += n; err != nil {
					return
				}
			}
		}()
		for range 2 * burstEvents {
			_, err := s.Next()
			require.NoError(t, err)
			time.Sleep(work)
		}
		synctest.Wait()
		require.NotNil(t, s.ahead)
		require.LessOrEqual(t, written, (cap(s.ahead.queue)+2)*chunkBytes)
		require.NoError(t, s.Close())
	})
}

// The bubble does not end before all goroutines have.
func TestClosingInABurstEndsTheReadingAhead(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		for _, taken := range []int{2 * burstEvents, 100} { // with more to come, and without
			s, server := following(t, mime)
			pods := samplePods(100).Items
			go sendPods(t, mime, server, pods)
			takeWorking(t, s, pods[:taken])
			require.NotNil(t, s.ahead)
			failed := make(chan error)
			if taken == len(pods) {
				go func() { _, err := s.Next(); failed <- err }()
			} else {
				go func() { failed <- context.Canceled }()
			}
			synctest.Wait()
			require.NoError(t, s.Close())
			require.ErrorIs(t, <-failed, context.Canceled)
			_, err := s.Next()
			require.ErrorIs(t, err, context.Canceled)
		}
	})
}

func TestNothingIsReadAheadOfAStreamThatIsClosed(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		s, server := following(t, mime)
		pods := samplePods(100).Items
		go sendPods(t, mime, server, pods)
		takeWorking(t, s, pods[:burstEvents])
		require.Nil(t, s.ahead)
		require.NoError(t, s.Close())
		s.readAhead(s.readBurst)
		require.Nil(t, s.ahead)
	})
}

func TestTheEndOfAWatchInABurstComesInItsTurn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, server := following(t, mimeJSON)
		pods := samplePods(100).Items
		go func() {
			sendPods(t, mimeJSON, server, pods)
			_, _ = io.WriteString(server, `{"type":"ERROR","object":{"code":410,"reason":"Expired"}}`)
		}()
		takeWorking(t, s, pods)
		for range 2 {
			_, err := s.Next()
			require.True(t, apierrors.IsResourceExpired(err), "%v", err)
		}
		require.NoError(t, s.Close())
	})
}
