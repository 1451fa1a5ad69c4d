// Package intern estimates what allocations take from the heap.
package intern
