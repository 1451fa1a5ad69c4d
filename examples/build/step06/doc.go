// Package build is an informer that you build yourself, after step 6: a queue of deltas
// stands between the network and the store. README.md says what is wrong with that.
package build
