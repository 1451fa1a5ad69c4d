// Package build is an informer that you build yourself, after step 1: it polls.
// README.md says what is wrong with that.
package build
