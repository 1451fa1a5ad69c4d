// Package measure is what the commands that compare have in common: processes of their own for
// what is measured, what these have used, statistics of the figures, and tables.
package measure
