package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// process is what /proc tells of one process.
type process struct {
	pid, parent int
	name        string   // as the kernel has it, at most 15 bytes
	args        []string // may be rewritten by the process: only ever a reason to look further up
}

// clientPID is the process that is to count as the attached client: our parent, or, past those
// that only run us, the one that had them run us. The daemon refuses answers from whatever
// descends from it, so when in doubt a process further up is the safe choice. Where nobody is
// left above us, it is ourselves.
func clientPID(self int, look func(pid int) (process, bool), program string) int {
	me, ok := look(self)
	if !ok {
		return self
	}
	const deepest = 16
	pid := me.parent
	for range deepest {
		p, ok := look(pid)
		if !ok || pid <= 1 || p.name == "systemd" || p.name == "init" {
			return self
		}
		up, upOK := look(p.parent)
		if !runsUs(p.args, program) || !upOK || p.parent <= 1 || up.name == "systemd" || up.name == "init" {
			return pid
		}
		pid = p.parent
	}
	return pid
}

// runsUs says whether a process with these arguments is there only to run program: a shell with -c,
// a package runner, or a wrapper that names it.
func runsUs(args []string, program string) bool {
	args = splitTitle(args)
	if len(args) == 0 {
		return false
	}
	switch strings.TrimLeft(filepath.Base(args[0]), "-") {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "busybox":
		script, ok := shellScript(args[1:])
		return ok && mentions(script, program)
	case "npx", "npm", "pnpm", "pnpx", "yarn", "bunx":
		return mentions(strings.Join(args[1:], " "), program)
	case "env", "timeout", "nice", "nohup", "setsid", "stdbuf", "ionice", "chrt":
		return mentions(strings.Join(args[1:], " "), program)
	case "node", "nodejs", "bun":
		return len(args) > 1 && isRunnerScript(args[1]) && mentions(strings.Join(args[2:], " "), program)
	default:
		return false
	}
}

// splitTitle undoes a process title: npm calls itself "npm exec garita connect files", in one argument.
func splitTitle(args []string) []string {
	if len(args) > 0 && strings.HasPrefix(args[0], "npm ") {
		return append(strings.Fields(args[0]), args[1:]...)
	}
	return args
}

// shellScript finds the text after -c.
func shellScript(args []string) (string, bool) {
	for i, a := range args {
		if !strings.HasPrefix(a, "-") && a != "sh" {
			return "", false
		}
		if !strings.HasPrefix(a, "--") && strings.Contains(a, "c") && i+1 < len(args) && strings.HasPrefix(a, "-") {
			return args[i+1], true
		}
	}
	return "", false
}

func isRunnerScript(path string) bool {
	return slices.Contains([]string{"npx", "npm", "npx-cli.js", "npm-cli.js", "pnpm", "pnpm.cjs", "yarn", "yarn.js"}, filepath.Base(path))
}

// mentions says whether a command line names program, alone or by a path.
func mentions(line, program string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\"();&|`$={}", r) })
	return slices.ContainsFunc(words, func(w string) bool { return filepath.Base(w) == program })
}

// lookProc reads one process from /proc.
func lookProc(pid int) (process, bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return process{}, false
	}
	cmdline, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return process{}, false
	}
	p, err := parseProcess(string(stat), string(cmdline))
	return p, err == nil
}

// parseProcess reads /proc/PID/stat and cmdline. The name may hold anything, brackets too.
func parseProcess(stat, cmdline string) (process, error) {
	open, shut := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 1 || shut < open {
		return process{}, fmt.Errorf("read a process: no name in %q", stat)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(stat[:open]))
	if err != nil {
		return process{}, fmt.Errorf("read a process: %w", err)
	}
	fields := strings.Fields(stat[shut+1:])
	if len(fields) < 2 {
		return process{}, fmt.Errorf("read process %d: no parent", pid)
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	args := strings.Split(strings.TrimRight(cmdline, "\x00"), "\x00")
	return process{pid: pid, parent: parent, name: stat[open+1 : shut], args: args}, nil
}
