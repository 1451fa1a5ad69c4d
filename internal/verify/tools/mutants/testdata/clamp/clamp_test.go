package clamp

import "testing"

func TestClamp(t *testing.T) {
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1, 9: 9, 10: 10, 11: 10} {
		if got := Clamp(n); got != want {
			t.Errorf("Clamp(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestSum(t *testing.T) {
	if got := Sum([]float64{1, 2, 4, 0, 8}, map[int]bool{0: true, 1: true}); got != 13 {
		t.Errorf("got %v", got)
	}
	if got := Sum([]int{1, 2, -4, 8}, nil); got != -3 {
		t.Errorf("got %v", got)
	}
}

func TestFirst(t *testing.T) {
	if got := First([]uint8{1, 2, 6}, 1); got != 1 {
		t.Errorf("got %v", got)
	}
	if got := First([]uint8{1, 2}, 3); got != 3 {
		t.Errorf("got %v", got)
	}
	if got := First([]uint8{2, 1}, 1); got != 0 {
		t.Errorf("got %v", got)
	}
}

func TestJoin(t *testing.T) {
	if got := Join([]string{"a", "b"}); got != "ab" {
		t.Errorf("got %v", got)
	}
}

func TestThatFailsAlways(t *testing.T) {
	if Clamp(1) == 1 {
		t.Error("the tool has to leave this test out")
	}
}
