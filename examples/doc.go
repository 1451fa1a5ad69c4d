// Package examples holds a folder for each example program, and what they share:
// exampleapp (flags, the embedded server), demo (scripted demos), cluster (a node and a
// garbage collector), and exampletest (help for their tests). Begin with README.md.
package examples
