// Package build holds ten steps to an informer and a work queue of your own. Begin with
// README.md.
package build
