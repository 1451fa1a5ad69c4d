// Package reflector mirrors one collection of an API server into a sink, and
// keeps doing so until its context ends.
package reflector
