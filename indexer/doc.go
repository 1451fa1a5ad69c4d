// Package indexer is the indexed store of a controller's cache: one writer, any
// number of readers, and readers never lock.
package indexer
