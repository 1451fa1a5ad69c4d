// Package build is an informer that you build yourself, after step 2: it lists once,
// and watches from there. README.md says what is wrong with that.
package build
