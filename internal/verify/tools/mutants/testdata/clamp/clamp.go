// Package clamp has one line for each kind of mutant. See ../../main_test.go.
package clamp

const limit = 5 * 2

// Clamp returns the number that is nearest to n, from 0 to limit.
func Clamp(n int) int {
	if n < 0 { // <= lives: 0 is what it returns for 0 anyway
		return 0
	}
	if n > limit {
		return limit
	}
	return n
}

// Sum adds up numbers until the first that is negative, except those that are skipped.
func Sum[T ~int | ~float64](numbers []T, skipped map[int]bool) (sum T) {
	for i := 0; i < len(numbers); i++ {
		switch n := numbers[i]; {
		case skipped[i] && i != 0:
			continue
		case n < 0:
			return -sum
		default:
			sum += n
		}
	}
	return sum
}

// First returns the index of the first number that has a bit, or the number of bits below it.
func First(numbers []uint8, bit int) int {
	found := -1
	for i, n := range numbers {
		if n&(1<<bit) != 0 {
			found = i
			break
		}
	}
	for {
		if found >= 0 {
			return found
		}
		found = bit
	}
}

// Join has a text that nobody looks at.
func Join(words []string) (text string) {
	for _, word := range words {
		text += word
	}
	return text
}

// Turn is of a type that the mutants do not know.
func Turn(c complex128) complex128 { return c * 1i }

func unused(n int) int { return n * n }
