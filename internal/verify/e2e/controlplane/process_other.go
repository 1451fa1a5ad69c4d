//go:build !linux

package controlplane

import "syscall"

// dieWithParent does nothing: only Linux has parent-death signals. A test binary
// that is killed leaves its children running here.
func dieWithParent(*syscall.SysProcAttr) {}
