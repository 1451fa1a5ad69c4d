package httpclient

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRetryAfterIsBetweenOneSecondAndFiveMinutes(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]int{
		"": 0, "soon": 0, "-1": 0, "-99999999999999999999": 0, "1.5": 0, "0": 1, "1": 1, "299": 299, "301": 300, "18446744074": 300,
		"9223372036854775807": 300, "99999999999999999999": 300, "Sat, 01 Jan 2000 00:00:00 GMT": 1, "Sat, 01 Jan 2400 00:00:00 GMT": 300,
	} {
		assert.Equal(t, want, RetryAfter(&http.Response{Header: http.Header{"Retry-After": {header}}}), header)
	}
	assert.Zero(t, RetryAfter(&http.Response{}))
}

func TestCutKeepsWholeCharactersAndTheKindOfAnError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 1<<16)
	cut := Cut(long)
	assert.LessOrEqual(t, len(cut), MaxText)
	assert.True(t, utf8.ValidString(cut))
	assert.Contains(t, cut, "(131072 bytes)")
	assert.Equal(t, "short", Cut("short"))
	err := CutError(apierrors.NewForbidden(metav1.SchemeGroupVersion.WithResource("x").GroupResource(), "n", errors.New(long)))
	assert.True(t, apierrors.IsForbidden(err))
	assert.Less(t, len(err.Error()), 2*MaxText)
	assert.NoError(t, CutError(nil))
}
