//go:build !unix

package launch

import "syscall"

func detached() *syscall.SysProcAttr { return nil }
