// Package build is an informer that you build yourself, after step 4: it waits before it
// tries again, and finds by a list what was deleted meanwhile. README.md says what is
// wrong with that.
package build
