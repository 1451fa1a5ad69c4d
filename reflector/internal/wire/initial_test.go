package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// pipedSource answers every request with body.
func pipedSource[T Object](t *testing.T, mime string, body io.ReadCloser) *Resource[T] {
	lw, err := New[T](scripted.Response(mime, body),
		schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Options{})
	require.NoError(t, err)
	return lw
}

// initialEvents asks for initial events and returns the server's end, too.
func initialEvents[T Object](t *testing.T, mime string) (*Stream[T], *io.PipeWriter) {
	r, w := io.Pipe()
	return initialEventsUntil[T](t.Context(), t, mime, r), w
}

// initialEventsUntil asks for initial events until ctx ends.
func initialEventsUntil[T Object](ctx context.Context, t *testing.T, mime string, body io.ReadCloser) *Stream[T] {
	return initialEventsKnown[T](ctx, t, mime, body, nil)
}

func initialEventsKnown[T Object](ctx context.Context, t *testing.T, mime string, body io.ReadCloser, known func(types.NamespacedName, []byte, []byte) any) *Stream[T] {
	yes := true
	s, err := pipedSource[T](t, mime, body).Watch(ctx, Request{ListOptions: metav1.ListOptions{SendInitialEvents: &yes}, Known: known})
	require.NoError(t, err)
	return s
}

// podFrame encodes an event of a pod as the media type wants it.
func podFrame(t *testing.T, mime string, typ watch.EventType, pod *corev1.Pod) []byte {
	if mime == mimeProto {
		return frame(t, typ, envelope(t, "Pod", pod))
	}
	raw, err := json.Marshal(pod)
	require.NoError(t, err)
	return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", typ, raw)
}

func endOfInitialEvents(t *testing.T, mime string) []byte {
	return podFrame(t, mime, watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "9", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}})
}

// inBothEncodings runs f in a bubble for each.
func inBothEncodings(t *testing.T, f func(t *testing.T, mime string)) {
	t.Parallel()
	for name, mime := range map[string]string{"JSON": mimeJSON, "protobuf": mimeProto} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) { f(t, mime) })
		})
	}
}

func TestInitialEventsKeepTheirOrderAndPlace(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		const n = 3000
		s, server := initialEvents[*corev1.Pod](t, mime)
		pods := samplePods(n).Items
		go func() {
			for i := range pods {
				typ := []watch.EventType{watch.Added, watch.Modified, watch.Deleted}[i%3]
				if i%100 == 50 {
					pods[i].Name = "" // unreadable
				}
				if i%1000 == 500 {
					typ = watch.Bookmark
				}
				_, _ = server.Write(podFrame(t, mime, typ, &pods[i]))
			}
			_, _ = server.Write(endOfInitialEvents(t, mime))
		}()
		for i := range pods {
			ev, err := s.Next()
			require.NoError(t, err)
			require.Equal(t, pods[i].ResourceVersion, ev.ResourceVersion)
			switch {
			case i%1000 == 500:
				require.Equal(t, watch.Bookmark, ev.Type)
			case i%100 == 50:
				var oe *ObjectError
				require.ErrorAs(t, ev.Err, &oe)
				require.Equal(t, i, oe.Position)
			default:
				require.Equal(t, []watch.EventType{watch.Added, watch.Modified, watch.Deleted}[i%3], ev.Type)
				require.Equal(t, pods[i].Name, ev.Object.Name)
			}
		}
		ev, err := s.Next()
		require.NoError(t, err)
		require.True(t, ev.InitialEventsEnd)
		require.NoError(t, s.Close())
	})
}

func TestAfterTheInitialEventsNextReadsForItself(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		s, server := initialEvents[*corev1.Pod](t, mime)
		pods := samplePods(10).Items
		written := 0
		go func() {
			// What comes in one piece with the end is not lost.
			_, _ = server.Write(append(append(podFrame(t, mime, watch.Added, &pods[0]), endOfInitialEvents(t, mime)...),
				podFrame(t, mime, watch.Added, &pods[1])...))
			for i := range pods[2:] {
				_, _ = server.Write(podFrame(t, mime, watch.Added, &pods[2+i]))
				written++
			}
		}()
		for _, rv := range []string{"1", "9", "2"} {
			ev, err := s.Next()
			require.NoError(t, err)
			require.Equal(t, rv, ev.ResourceVersion)
		}
		for i := range pods[2:] {
			synctest.Wait()
			require.Equal(t, i, written, "nothing is read between two calls of Next")
			ev, err := s.Next()
			require.NoError(t, err)
			require.Equal(t, pods[2+i].Name, ev.Object.Name)
		}
		require.NoError(t, server.Close())
		_, err := s.Next()
		require.Equal(t, io.EOF, err)
		require.NoError(t, s.Close())
	})
}

func TestInitialEventsThatComeSlowlyAreNotHeldBack(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		s, server := initialEvents[*corev1.Pod](t, mime)
		pods, start := samplePods(20).Items, time.Now()
		go func() {
			for i := range pods {
				time.Sleep(time.Second)
				_, _ = server.Write(podFrame(t, mime, watch.Added, &pods[i]))
			}
		}()
		for i := range pods {
			_, err := s.Next()
			require.NoError(t, err)
			require.Equal(t, time.Duration(i+1)*time.Second, time.Since(start))
		}
		require.NoError(t, s.Close())
	})
}

func TestTheEndOfAStreamComesBehindItsInitialEvents(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		status := &metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old"}
		expired := frame(t, watch.Error, envelope(t, "Status", status))
		if mime == mimeJSON {
			raw, err := json.Marshal(status)
			require.NoError(t, err)
			expired = fmt.Appendf(nil, `{"type":"ERROR","object":%s}`, raw)
		}
		for name, c := range map[string]struct {
			last  []byte
			close error
			check func(err error)
		}{
			"orderly":  {nil, io.EOF, func(err error) { require.Equal(t, io.EOF, err) }},
			"cut":      {nil, io.ErrUnexpectedEOF, func(err error) { require.ErrorIs(t, err, io.ErrUnexpectedEOF) }},
			"ERROR":    {expired, nil, func(err error) { require.True(t, apierrors.IsResourceExpired(err), "%v", err) }},
			"no event": {[]byte("\x00\x00\x00\x01\xff]"), nil, func(err error) { require.ErrorAs(t, err, new(*DecodeError)) }},
		} {
			s, server := initialEvents[*corev1.Pod](t, mime)
			pods := samplePods(1000).Items
			go func() {
				for i := range pods {
					_, _ = server.Write(podFrame(t, mime, watch.Added, &pods[i]))
				}
				_, _ = server.Write(c.last)
				if c.close != nil {
					_ = server.CloseWithError(c.close)
				}
			}()
			for range pods {
				ev, err := s.Next()
				require.NoError(t, err, name)
				require.NotNil(t, ev.Object)
			}
			for range 2 {
				_, err := s.Next()
				c.check(err)
			}
			require.NoError(t, s.Close())
		}
	})
}

func TestCloseEndsTheReadingAhead(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		for name, taken := range map[string]int{"nothing taken": 0, "some taken": 300, "waiting for more": 1001} {
			s, server := initialEvents[*corev1.Pod](t, mime)
			pods := samplePods(1000).Items
			go func() {
				for i := range pods {
					_, _ = server.Write(podFrame(t, mime, watch.Added, &pods[i]))
				}
			}()
			done := make(chan error, 1)
			go func() {
				for range taken {
					if _, err := s.Next(); err != nil {
						done <- err
						return
					}
				}
				done <- context.Canceled
			}()
			synctest.Wait()
			begin := time.Now()
			require.NoError(t, s.Close())
			require.ErrorIs(t, <-done, context.Canceled, name)
			_, err := s.Next()
			require.ErrorIs(t, err, context.Canceled, name)
			require.Zero(t, time.Since(begin))
			require.NoError(t, s.Close(), "more than once")
		}
	})
}

// The bubble does not end before the reader has.
func TestTheEndOfTheContextEndsTheReadingAheadWithoutClose(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		body, server := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		s := initialEventsUntil[*corev1.Pod](ctx, t, mime, body)
		pods := samplePods(1000).Items
		for i := range pods {
			pods[i].Annotations = map[string]string{"padding": strings.Repeat("x", 10_000)}
		}
		go func() {
			for i := range pods {
				if _, err := server.Write(podFrame(t, mime, watch.Added, &pods[i])); err != nil {
					return
				}
			}
		}()
		_, err := s.Next()
		require.NoError(t, err)
		synctest.Wait() // the reader has no room
		cancel()
		require.NoError(t, server.CloseWithError(context.Canceled)) // as net/http does
		synctest.Wait()
		_, err = s.Next()
		require.ErrorIs(t, err, context.Canceled, "what was read ahead is not handed out any more")
	})
}

// A Read of this body returns only when it is closed.
func TestListReturnsTheErrorOfItsCallbackWhenTheBodyStalls(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		body, server := io.Pipe()
		lw := pipedSource[*corev1.Pod](t, mimeJSON, body)
		go func() {
			_, _ = io.WriteString(server, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}},`)
		}()
		enough := errors.New("enough")
		_, err := lw.List(t.Context(), Request{}, func(Event[*corev1.Pod]) error { return enough })
		require.ErrorIs(t, err, enough)
	})
}

func TestASlowSinkHoldsUpTheServerOfInitialEvents(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		s, server := initialEvents[*corev1.Pod](t, mime)
		written := 0
		go func() {
			event := podFrame(t, mime, watch.Added, &samplePods(1).Items[0])
			for {
				n, err := server.Write(event)
				if written += n; err != nil {
					return
				}
			}
		}()
		for range 10 {
			_, err := s.Next()
			require.NoError(t, err)
		}
		synctest.Wait()
		ahead := s.initial
		require.Positive(t, written)
		require.LessOrEqual(t, written, (cap(ahead.queue)+2)*chunkBytes)
		require.NoError(t, s.Close())
	})
}

// moody is a ConfigMap whose decoder panics at a certain name, after a while.
type moody struct{ corev1.ConfigMap }

func (m *moody) UnmarshalJSON(raw []byte) error {
	err := json.Unmarshal(raw, &m.ConfigMap)
	if m.Name == "panic" {
		time.Sleep(time.Second)
		panic("oh")
	}
	return err
}

func TestADecoderThatPanicsOnAnotherGoroutineQuarantinesItsObject(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, server := initialEvents[*moody](t, mimeJSON)
		const n = 1000
		go func() {
			for i := range n {
				name := fmt.Sprint("o", i)
				if i%100 == 99 {
					name = "panic"
				}
				fmt.Fprintf(server, `{"type":"ADDED","object":{"metadata":{"name":%q}}}`, name)
			}
		}()
		for i := range n {
			ev, err := s.Next()
			require.NoError(t, err)
			if i%100 != 99 {
				require.NoError(t, ev.Err)
				require.Equal(t, fmt.Sprint("o", i), ev.Object.Name)
				continue
			}
			var oe *ObjectError
			require.ErrorAs(t, ev.Err, &oe)
			require.Equal(t, i, oe.Position)
			require.Equal(t, "panic", oe.Key.Name)
			require.ErrorContains(t, oe, "the decoder panicked")
		}
		require.NoError(t, s.Close())
	})
}
