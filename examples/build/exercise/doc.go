// Package exercise has two exercises for each step: functions as the step has them. Change
// one so that its test passes:
//
//	BUILD_EXERCISE=4.1 go test ./examples/build/exercise
//
// Without the variable, the tests run the solutions, which are in the folder solution.
package exercise
