// Package informertest runs a Kubernetes API server inside a test, the way
// net/http/httptest runs a web server.
package informertest
