// Package build is an informer that you build yourself, after step 3: it resumes a
// watch where it broke. README.md says what is wrong with that.
package build
