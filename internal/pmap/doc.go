// Package pmap is the persistent hash trie under the indexer: every version of
// it stays valid for ever, and making the next one copies a few small nodes.
package pmap
