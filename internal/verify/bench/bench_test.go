package bench

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// The implementations. The peer comes first, so that benchstat compares with it.
const (
	informerkit = "informerkit"
	clientGo    = "client-go"
)

// objects is the size of the large stores. Others show how costs grow.
var objects = flag.Int("objects", 100_000, "pods in the store of StoreGet, StoreList, StoreWriteBatch, StoreDiff and StoreMemory")

// serveFlag makes the test binary an API server, see [process].
const serveFlag = "-serve"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveFlag {
		check(measure.Serve(&process{}, os.Stdin, os.Stdout, nil))
		return
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // ten thousand informers
	os.Exit(m.Run())
}

// compare runs the same benchmark with both implementations.
func compare[T any](b *testing.B, peer string, theirs, ours func(b *testing.B) T, run func(b *testing.B, impl T)) {
	b.Run("impl="+peer, func(b *testing.B) { run(b, theirs(b)) })
	b.Run("impl="+informerkit, func(b *testing.B) { run(b, ours(b)) })
}

// used is what some work took: all goroutines of the process count, so that nothing hides in the
// background.
type used struct {
	elapsed, cpu time.Duration
	allocs       uint64
}

// usage measures some work.
func usage(work func()) used {
	var before, after runtime.MemStats
	measure.Settle(&before)
	cpu, start := measure.CPUTime(), time.Now()
	work()
	u := used{elapsed: time.Since(start), cpu: measure.CPUTime() - cpu}
	runtime.ReadMemStats(&after)
	u.allocs = after.Mallocs - before.Mallocs
	return u
}

// report reports the usage of one unit. The time of an iteration would say the same again.
func (u used) report(b *testing.B, units int, unit string) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(u.elapsed)/float64(units), "ns/"+unit)
	b.ReportMetric(float64(u.cpu)/float64(units), "cpu-ns/"+unit)
	b.ReportMetric(math.Round(100*float64(u.allocs)/float64(units))/100, "allocs/"+unit) // a collection allocates, too
}

// loop repeats some work that consists of so many units.
func loop(b *testing.B, units int, unit string, work func()) {
	u := usage(func() {
		for b.Loop() {
			work()
		}
	})
	u.report(b, units*b.N, unit)
}

// childEnv is set in the processes that alone starts.
const childEnv = "BENCH_CHILD"

// alone runs a benchmark of one iteration in a separate process, where no other heap and no other
// goroutines spoil it, as often as fits into the benchmark's time. It reports the means.
func alone(b *testing.B, run func(b *testing.B)) {
	if os.Getenv(childEnv) != "" {
		run(b)
		b.ReportMetric(0, "ns/op")
		return
	}
	name := "^" + strings.ReplaceAll(regexp.QuoteMeta(b.Name()), "/", "$/^") + "$"
	sums := map[string]float64{}
	for b.Loop() {
		child := exec.CommandContext(b.Context(), must(os.Executable()),
			"-test.run=^$", "-test.bench="+name, "-test.benchtime=1x", fmt.Sprintf("-objects=%d", *objects))
		child.Env = append(os.Environ(), childEnv+"=1")
		child.Stderr = os.Stderr
		out, err := child.Output()
		found := reported(out)
		if err != nil || len(found) == 0 {
			b.Fatalf("%s in a separate process: %v\n%s", b.Name(), err, out)
		}
		for unit, value := range found {
			sums[unit] += value
		}
	}
	b.ReportMetric(0, "ns/op")
	for unit, sum := range sums {
		b.ReportMetric(sum/float64(b.N), unit)
	}
}

// reported returns what the last line of a benchmark reports: its name, its iterations, and pairs of
// a value and its unit.
func reported(out []byte) map[string]float64 {
	found := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); strings.HasPrefix(lines.Text(), "Benchmark") {
			for i := 2; i+1 < len(fields); i += 2 {
				if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
					found[fields[i+1]] = value
				}
			}
		}
	}
	return found
}

// alive reports, alone, what create leaves on the heap and on stacks, and the goroutines. What exists
// already is not counted.
func alive(b *testing.B, units int, unit string, create func() any) {
	alone(b, func(b *testing.B) {
		var before, after runtime.MemStats
		measure.Settle(&before)
		goroutines := runtime.NumGoroutine()
		created := create()
		measure.Settle(&after)
		live := func(m *runtime.MemStats) float64 { return float64(m.HeapAlloc) + float64(m.StackInuse) }
		b.ReportMetric((live(&after)-live(&before))/float64(units), "B/"+unit)
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(units), "goroutines/"+unit)
		runtime.KeepAlive(created)
		runtime.KeepAlive(create)
	})
}

// repeat calls create n times and returns all results.
func repeat(n int, create func() any) func() any {
	return func() any {
		all := make([]any, n)
		for i := range all {
			all[i] = create()
		}
		return all
	}
}

// expect ends the process if an implementation did not do what it was asked for.
func expect(got, want int) {
	if got != want {
		panic("a store has listed another number of objects than there are")
	}
}

// must ends the process: a benchmark that cannot be set up measures nothing.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
