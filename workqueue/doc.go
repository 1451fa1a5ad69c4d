// Package workqueue holds the keys of things that need work, hands each to one
// worker at a time, and retries those that failed.
package workqueue
