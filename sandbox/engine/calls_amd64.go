package engine

import "golang.org/x/sys/unix"

// x32 marks the numbers of calls in that mode of amd64.
const x32 = 0x40000000

var calls = map[archCall]place{
	{unix.AUDIT_ARCH_X86_64, unix.SYS_EXECVE}:     {command: true, path: 0, argv: 1, fd: -1, flags: -1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_EXECVEAT}:   {command: true, path: 1, argv: 2, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_OPEN}:       {path: 0, fd: -1, flags: 1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_OPENAT}:     {path: 1, fd: 0, flags: 2},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_OPENAT2}:    {path: 1, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_STAT}:       {path: 0, fd: -1, flags: -1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_LSTAT}:      {path: 0, fd: -1, flags: -1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_ACCESS}:     {path: 0, fd: -1, flags: -1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_FACCESSAT}:  {path: 1, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_FACCESSAT2}: {path: 1, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_NEWFSTATAT}: {path: 1, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_X86_64, unix.SYS_STATX}:      {path: 1, fd: 0, flags: -1},

	// Commands in the other two modes: execve and execveat. Words there are of four bytes, so their
	// arguments are not read.
	{unix.AUDIT_ARCH_X86_64, x32 | 520}: {command: true, path: 0, argv: noArgv, fd: -1, flags: -1},
	{unix.AUDIT_ARCH_X86_64, x32 | 545}: {command: true, path: 1, argv: noArgv, fd: 0, flags: -1},
	{unix.AUDIT_ARCH_I386, 11}:          {command: true, path: 0, argv: noArgv, fd: -1, flags: -1},
	{unix.AUDIT_ARCH_I386, 358}:         {command: true, path: 1, argv: noArgv, fd: 0, flags: -1},
}
