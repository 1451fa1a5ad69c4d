//go:build linux && !race

package examples

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The replicas of the demo end with the process that has started them, also if that is
// killed and cannot stop them.
func TestReplicasOfTheShardingDemoEndWithIt(t *testing.T) {
	p := start(t, "sharding")
	p.wait(p.said("have 8 of 24 parts each"))
	replicas := children(t, p.cmd.Process.Pid)
	require.Len(t, replicas, 3)
	require.NoError(t, p.cmd.Process.Kill())
	p.end()
	for _, pid := range replicas {
		assert.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH || isZombie(pid) }, limit, 20*time.Millisecond, "process %d", pid)
	}
}

// One that is interrupted stops its replicas, and waits for them.
func TestShardingDemoCanBeInterrupted(t *testing.T) {
	p := start(t, "sharding")
	p.wait(p.said("have 8 of 24 parts each"))
	replicas := children(t, p.cmd.Process.Pid)
	p.interrupt()
	assert.Zero(t, p.end(), p.stderr.String())
	for _, pid := range replicas {
		assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d", pid)
	}
}

// The kind is that of the example foo, of which each folder that can be copied has a copy.
func TestFooIsTheSameKindEverywhere(t *testing.T) {
	foo, err := os.ReadFile("foo/crd.yaml")
	require.NoError(t, err)
	sharding, err := os.ReadFile("sharding/crd.yaml")
	require.NoError(t, err)
	assert.Equal(t, string(foo), string(sharding))
}

// stat returns the fields of /proc/PID/stat that come after the name of the program.
func stat(pid int) []string {
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
}

// isZombie reports whether a process has ended, and nobody has asked how.
func isZombie(pid int) bool {
	fields := stat(pid)
	return len(fields) > 0 && fields[0] == "Z"
}

// children returns the processes that a process has started.
func children(t *testing.T, parent int) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if fields := stat(pid); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}
