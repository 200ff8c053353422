package ocispec

import (
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// watched are the system calls that execute programs and look for files. None of them is one that
// runc itself makes to hand the listener over.
var watched = []string{"execve", "execveat", "open", "openat", "openat2", "stat", "lstat", "access", "faccessat", "faccessat2"}

// watchedByPath are watched unless they are about an open file, which is neither looked for nor
// missing; flags is the argument that says so.
var watchedByPath = []struct {
	name  string
	flags uint
}{{"newfstatat", 3}, {"statx", 2}}

// watch has the kernel ask the listener at socket before each watched call. The calls were allowed,
// and the listener lets them go on: what is denied stays denied.
func watch(s *specs.LinuxSeccomp, socket string) {
	for i, rule := range s.Syscalls {
		if rule.Action == specs.ActAllow && len(rule.Args) == 0 {
			s.Syscalls[i].Names = slices.DeleteFunc(slices.Clone(rule.Names), isWatched)
		}
	}
	s.Syscalls = append(s.Syscalls, specs.LinuxSyscall{Names: watched, Action: specs.ActNotify})
	for _, call := range watchedByPath {
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

func isWatched(name string) bool {
	for _, call := range watchedByPath {
		if call.name == name {
			return true
		}
	}
	return slices.Contains(watched, name)
}
