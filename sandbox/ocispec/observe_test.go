package ocispec

import (
	"slices"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// byAction are the system calls of a profile by what is done about them.
func byAction(s *specs.LinuxSeccomp, action specs.LinuxSeccompAction) []string {
	var names []string
	for _, rule := range s.Syscalls {
		if rule.Action == action {
			names = append(names, rule.Names...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Watching lets through what was let through, and nothing more.
func TestWatchingPermitsNothingMore(t *testing.T) {
	in := cases()["bare"]
	plain, _ := Lower(in)
	in.Observer, in.Launch.Observe = "/run/garita/i/x/n", true
	observed, _ := Lower(in)
	was, is := plain.Linux.Seccomp, observed.Linux.Seccomp
	if is.ListenerPath != in.Observer || was.ListenerPath != "" || is.DefaultAction != specs.ActErrno {
		t.Errorf("listener %q, without %q, default %s", is.ListenerPath, was.ListenerPath, is.DefaultAction)
	}
	notified := byAction(is, specs.ActNotify)
	for _, name := range []string{"execve", "execveat", "openat", "newfstatat", "statx"} {
		if !slices.Contains(notified, name) {
			t.Errorf("%s is not watched", name)
		}
	}
	if slices.Contains(notified, "write") || slices.Contains(notified, "sendmsg") {
		t.Error("runc could not hand the listener over")
	}
	both := append(byAction(is, specs.ActAllow), notified...)
	slices.Sort(both)
	if got, want := slices.Compact(both), byAction(was, specs.ActAllow); !slices.Equal(got, want) {
		t.Errorf("allowed or watched are %v, want %v", got, want)
	}
	for _, name := range notified {
		for _, rule := range is.Syscalls {
			if rule.Action == specs.ActAllow && len(rule.Args) == 0 && slices.Contains(rule.Names, name) {
				t.Errorf("%s is allowed without being watched", name)
			}
		}
	}
}

// Rules for commands cost lookups nothing.
func TestRulesWatchCommandsAlone(t *testing.T) {
	in := cases()["bare"]
	plain, _ := Lower(in)
	in.Observer = "/run/garita/i/x/n"
	held, _ := Lower(in)
	was, is := plain.Linux.Seccomp, held.Linux.Seccomp
	if got, want := byAction(is, specs.ActNotify), []string{"execve", "execveat"}; !slices.Equal(got, want) {
		t.Errorf("watched are %v, want %v", got, want)
	}
	want := slices.DeleteFunc(byAction(was, specs.ActAllow), func(n string) bool { return n == "execve" || n == "execveat" })
	if got := byAction(is, specs.ActAllow); !slices.Equal(got, want) {
		t.Errorf("allowed are %v, want %v", got, want)
	}
}
