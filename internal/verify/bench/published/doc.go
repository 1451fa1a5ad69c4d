// Package published tests that what is written about comparisons is true: the figures in
// documents and the charts are those of the results beside them.
package published
