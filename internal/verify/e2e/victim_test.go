package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// victimEnv makes this binary start a control plane and wait to be killed.
const victimEnv = "INFORMERKIT_E2E_VICTIM"

// beVictim is the part of TestControlPlaneDiesWithItsTest that gets killed.
func beVictim() {
	cp, err := controlplane.Start(context.Background(), controlplane.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	kubeconfig, err := cp.Kubeconfig()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(strings.TrimPrefix(cp.Config().Host, "https://"), filepath.Dir(kubeconfig))
	select {}
}

func TestControlPlaneDiesWithItsTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux has parent-death signals")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), victimEnv+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, data, found := strings.Cut(strings.TrimSpace(line), " ")
	require.True(t, found, "got %q", line)
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	_, err = conn.Read(make([]byte, 1)) // ends when the server is dying
	require.Error(t, err)
	// The kernel closes the sockets of a dying process in an order of its own.
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, 10*time.Second, 20*time.Millisecond, "the API server should have died with the process that started it")

	assert.DirExists(t, data, "no process was left to remove it")
	dedicated(t, controlplane.Options{})
	assert.NoDirExists(t, data, "the next start cleans up")
}
