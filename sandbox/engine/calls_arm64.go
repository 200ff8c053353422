package engine

import "golang.org/x/sys/unix"

var calls = map[archCall]place{
	{unix.AUDIT_ARCH_AARCH64, unix.SYS_EXECVE}:     {command: true, path: 0, argv: 1, fd: -1, flags: -1},
	{unix.AUDIT_ARCH_AARCH64, unix.SYS_EXECVEAT}:   {command: true, path: 1, argv: 2, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_AARCH64, unix.SYS_OPENAT}:     {path: 1, fd: 0, flags: 2},
	{unix.AUDIT_ARCH_AARCH64, unix.SYS_OPENAT2}:    {path: 1, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_AARCH64, unix.SYS_FACCESSAT}:  {path: 1, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_AARCH64, unix.SYS_FACCESSAT2}: {path: 1, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_AARCH64, unix.SYS_FSTATAT}:    {path: 1, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_AARCH64, unix.SYS_STATX}:      {path: 1, fd: 0, flags: -1},

	{unix.AUDIT_ARCH_ARM, 11}:  {command: true, path: 0, argv: noArgv, fd: -1, flags: -1},
	{unix.AUDIT_ARCH_ARM, 387}: {command: true, path: 1, argv: noArgv, fd: 0, flags: -1},
}
