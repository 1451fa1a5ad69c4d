package controlplane

import "syscall"

// dieWithParent asks the kernel to kill the child when this process is gone.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
