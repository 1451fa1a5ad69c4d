// Package build is an informer that you build yourself, after step 5: readers get
// snapshots that never change. README.md says what is wrong with that.
package build
