// Package measure is what the commands and benchmarks that compare share: separate processes for
// what is measured, what these have used, medians, and tables.
package measure
