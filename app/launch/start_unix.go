//go:build unix

package launch

import "syscall"

// detached gives the daemon a session of its own: no terminal, and no part of a group that is
// killed together.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
