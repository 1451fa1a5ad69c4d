// Package deltafifo is the queue of changes between whoever observes a
// collection of Kubernetes objects and whoever applies what was observed.
package deltafifo
