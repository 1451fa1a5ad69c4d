package rows

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// beats is a clock whose beats come as events of a watch do: through a
// descriptor that the runtime polls. A timer of the runtime would be up to a
// millisecond late whenever a core is idle, and hide what is measured.
type beats struct {
	start time.Time
	file  *os.File
}

// newBeats starts the clock. The first beat is due one interval after the start.
func newBeats(interval time.Duration) *beats {
	fd := must(unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC))
	b := &beats{file: os.NewFile(uintptr(fd), "beats")}
	every := unix.NsecToTimespec(int64(interval))
	b.start = time.Now()
	check(unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil))
	return b
}

// wait waits for the next beat, and returns how many there were since the last
// call. None is lost.
func (b *beats) wait() int {
	var expirations [8]byte
	must(b.file.Read(expirations[:]))
	return int(binary.NativeEndian.Uint64(expirations[:]))
}

func (b *beats) stop() { check(b.file.Close()) }
