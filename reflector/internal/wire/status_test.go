package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A server that fails after it has begun its answer may write the error as it would have
// written it before: as a Status that is in no event and in no list.
func TestAStatusInPlaceOfAnEventIsTheError(t *testing.T) {
	for _, code := range []int32{410, 429, 500} {
		status := &metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code,
			Reason: metav1.StatusReasonTimeout, Message: "of the server", Details: &metav1.StatusDetails{RetryAfterSeconds: 7},
		}
		raw, err := json.Marshal(status)
		require.NoError(t, err)
		enveloped := envelope(t, "Status", status)
		framed := append([]byte{0, 0, byte(len(enveloped) >> 8), byte(len(enveloped))}, enveloped...)
		for name, last := range map[string]struct {
			mime string
			body []byte
		}{
			"JSON":                    {mimeJSON, raw},
			"JSON, kind last":         {mimeJSON, fmt.Appendf(nil, `{"message":"of the server","code":%d,"status":"Failure","reason":"Timeout","details":{"retryAfterSeconds":7},"kind":"Status"}`, code)},
			"protobuf":                {mimeProto, framed},
			"protobuf without a size": {mimeProto, enveloped},
		} {
			for _, initial := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", code, " initial ", initial), func(t *testing.T) {
					inBubble(t, func(t *testing.T) {
						s, server := initialEvents[*corev1.Pod](t, last.mime)
						pod := samplePods(1).Items[0]
						end := corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
						go func() {
							_, _ = server.Write(podFrame(t, last.mime, watch.Added, &pod))
							if !initial {
								_, _ = server.Write(podFrame(t, last.mime, watch.Bookmark, &end))
							}
							_, _ = server.Write(last.body) // and the connection stays open
						}()
						_, err := s.Next()
						require.NoError(t, err)
						if !initial {
							_, err = s.Next()
							require.NoError(t, err)
						}
						_, err = s.Next()
						var got apierrors.APIStatus
						require.ErrorAs(t, err, &got)
						require.Equal(t, code, got.Status().Code)
						require.Equal(t, "of the server", got.Status().Message)
						seconds, ok := apierrors.SuggestsClientDelay(err)
						require.True(t, ok)
						require.Equal(t, 7, seconds)
						require.NoError(t, s.Close())
					})
				})
			}
		}
	}
}

// What is no Status stays an event without a type.
func TestAnObjectInPlaceOfAnEventIsNotAnError(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.Pod]("v1", Options{})
	require.NoError(t, err)
	for _, body := range []string{
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`, `{"kind":"Status","status":"Success"}`, `{"kind":1}`, `{}`,
	} {
		_, err := jsonEvents(c, strings.NewReader(body))()
		require.ErrorIs(t, err, errNoType, body)
	}
	_, err = protoEvents(c, strings.NewReader(string(envelope(t, "Pod", &samplePods(1).Items[0]))))()
	require.ErrorIs(t, err, errNoType)
}

func TestAStatusInPlaceOfAListIsTheError(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.Pod]("v1", Options{})
	require.NoError(t, err)
	status := &metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old", Status: metav1.StatusFailure}
	none := func(*corev1.Pod, error) error { return nil }
	_, err = listProto(c, strings.NewReader(string(envelope(t, "Status", status))), none)
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	for _, body := range []string{
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`,
		`{"message":"too old","reason":"Expired","code":410,"status":"Failure","apiVersion":"v1","kind":"Status"}`,
	} {
		_, err = listJSON(c, strings.NewReader(body), none)
		require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	}
}
