package ocispec

import (
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// executing and looking are the system calls that execute programs, and those that look for files. None of
// them is one that runc itself makes to hand the listener over.
var (
	executing = []string{"execve", "execveat"}
	looking   = []string{"open", "openat", "openat2", "stat", "lstat", "access", "faccessat", "faccessat2"}
)

// lookingByPath are such ones unless they are about an open file, which is neither looked for nor
// missing; flags is the argument that says so.
var lookingByPath = []callByPath{{"newfstatat", 3}, {"statx", 2}}

type callByPath struct {
	name  string
	flags uint
}

// watch has the kernel ask the listener at socket before each program is executed, and with files before
// each lookup. The calls were allowed: what is denied stays denied.
func watch(s *specs.LinuxSeccomp, socket string, files bool) {
	names, byPath := executing, lookingByPath
	if files {
		names = slices.Concat(executing, looking)
	} else {
		byPath = nil
	}
	watched := func(name string) bool {
		return slices.Contains(names, name) || slices.ContainsFunc(byPath, func(c callByPath) bool { return c.name == name })
	}
	for i, rule := range s.Syscalls {
		if rule.Action == specs.ActAllow && len(rule.Args) == 0 {
			s.Syscalls[i].Names = slices.DeleteFunc(slices.Clone(rule.Names), watched)
		}
	}
	s.Syscalls = append(s.Syscalls, specs.LinuxSyscall{Names: names, Action: specs.ActNotify})
	for _, call := range byPath {
		s.Syscalls = append(s.Syscalls,
			masked(call.name, call.flags, 0, specs.ActNotify), masked(call.name, call.flags, unix.AT_EMPTY_PATH, specs.ActAllow))
	}
	s.ListenerPath = socket
}

// masked is a rule for calls that have AT_EMPTY_PATH in their flags, or have it not.
func masked(name string, flags uint, want uint64, action specs.LinuxSeccompAction) specs.LinuxSyscall {
	return specs.LinuxSyscall{
		Names: []string{name}, Action: action,
		Args: []specs.LinuxSeccompArg{{Index: flags, Value: unix.AT_EMPTY_PATH, ValueTwo: want, Op: specs.OpMaskedEqual}},
	}
}
