// Package informer keeps one cache of a collection of Kubernetes objects equal
// to the API server's and tells any number of handlers what changes.
package informer
