// Package shards is what command sharding measures, what follows from it for larger
// clusters, and how the page about both is written.
//
//	result.go      what is measured, as JSON
//	calculate.go   the formulas, and what they give for other numbers
//	table.go       tables of both, in Markdown and as text
//	page.go        puts the tables into the page
package shards
