package informertest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/informertest"
)

// send sends a request with a JSON body and decodes the answer.
func send(t *testing.T, s *informertest.Server, method, path, body string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, bytes.NewBufferString(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, into), "%s", content)
	return resp.StatusCode
}

func TestWhatIsLeftOutSaysSo(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{})
	for path, method := range map[string]string{
		"/api/v1/namespaces/default/pods/p/log":          "GET",
		"/api/v1/namespaces/default/pods/p/exec":         "POST",
		"/api/v1/namespaces/default/pods/p/portforward":  "POST",
		"/api/v1/namespaces/default/services/s/proxy":    "GET",
		"/api/v1/namespaces/default/services/s/proxy/x/": "GET",
		"/api/v1/nodes/n/proxy/metrics":                  "GET",
	} {
		var status metav1.Status
		assert.Equal(t, http.StatusNotImplemented, send(t, s, method, path, "", &status), path)
		assert.Contains(t, status.Message, "informertest does not serve", path)
	}
	var status metav1.Status
	assert.Equal(t, http.StatusNotFound, send(t, s, "GET", "/api/v1/namespaces/default/pods/p/absent", "", &status))
}

func TestReviewAccessDecides(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{ReviewAccess: func(spec informertest.AccessReview) (bool, string) {
		return spec.ResourceAttributes.Verb != "delete", "no deleting, " + spec.User
	}})
	for verb, allowed := range map[string]bool{"get": true, "delete": false} {
		var review authorizationv1.SelfSubjectAccessReview
		code := send(t, s, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"resourceAttributes":{"verb":"`+verb+`","resource":"pods"}}}`, &review)
		assert.Equal(t, http.StatusCreated, code)
		assert.Equal(t, allowed, review.Status.Allowed)
		assert.Equal(t, "no deleting, system:admin", review.Status.Reason)
	}
	var rules authorizationv1.SelfSubjectRulesReview
	send(t, s, "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{"spec":{"namespace":"default"}}`, &rules)
	assert.True(t, rules.Status.Incomplete)
}
