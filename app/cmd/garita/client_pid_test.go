package main

import (
	"os"
	"strings"
	"testing"
)

// tree is processes by pid: "parent name arg arg …".
type tree map[int]string

func (tr tree) look(pid int) (process, bool) {
	line, ok := tr[pid]
	if !ok {
		return process{}, false
	}
	fields := strings.SplitN(line, " ", 3)
	p := process{pid: pid, name: fields[1]}
	for _, digit := range fields[0] {
		p.parent = p.parent*10 + int(digit-'0')
	}
	if len(fields) > 2 {
		p.args = strings.Split(fields[2], "|")
	}
	return p, true
}

func TestClientPID(t *testing.T) {
	const us = "garita garita|connect|files"
	for name, c := range map[string]struct {
		tree tree
		want int
	}{
		"the client itself": {tree{10: "1 systemd", 50: "10 claude claude", 60: "50 " + us}, 50},
		"a shell that only runs us": {
			tree{40: "1 systemd", 50: "40 claude claude", 55: "50 sh sh|-c|garita connect files", 60: "55 " + us}, 50,
		},
		"bash -lc with a path and more": {
			tree{50: "40 code code", 40: "1 gnome", 55: "50 bash bash|-lc|cd /x && /opt/bin/garita connect files; true", 60: "55 " + us}, 50,
		},
		"a shell in a shell": {
			tree{40: "1 gnome", 50: "40 code code", 54: "50 sh sh|-c|bash -c 'garita connect a'", 55: "54 bash bash|-c|garita connect a", 60: "55 " + us}, 50,
		},
		"npx": {
			tree{40: "1 gnome", 50: "40 code code", 55: "50 node node|/usr/bin/npx|-y|garita|connect", 56: "55 sh sh|-c|garita connect", 60: "56 " + us}, 50,
		},
		"npm with its title": {
			tree{40: "1 gnome", 50: "40 code code", 55: "50 npm npm exec garita connect files", 60: "55 " + us}, 50,
		},
		"a shell that a person types in": {
			tree{40: "1 gnome-terminal", 50: "40 bash -bash", 60: "50 " + us}, 50,
		},
		"a shell script that is the client": {
			tree{40: "1 gnome-terminal", 50: "40 bash bash|./agent.sh", 60: "50 " + us}, 50,
		},
		"a shell that runs an agent, not us": {
			tree{40: "1 gnome-terminal", 50: "40 sh sh|-c|my-agent", 60: "50 " + us}, 50,
		},
		"a node client": {
			tree{40: "1 gnome", 50: "40 node node|/opt/agent/main.js|garita", 60: "50 " + us}, 50,
		},
		"timeout": {
			tree{40: "1 gnome", 50: "40 claude claude", 55: "50 timeout timeout|60|garita|connect|files", 60: "55 " + us}, 50,
		},
		"orphaned: taken in by systemd": {tree{10: "1 systemd systemd|--user", 60: "10 " + us}, 60},
		"orphaned: taken in by init":    {tree{60: "1 " + us}, 60},
		"a launcher that init started":  {tree{1: "0 init", 55: "1 sh sh|-c|garita connect", 60: "55 " + us}, 55},
		"a launcher of systemd's":       {tree{10: "1 systemd", 55: "10 sh sh|-c|garita connect", 60: "55 " + us}, 55},
		"nothing can be seen":           {tree{}, 60},
		"the parent cannot be seen":     {tree{60: "50 " + us}, 60},
	} {
		if got := clientPID(60, c.tree.look, "garita"); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestRunsUs(t *testing.T) {
	for line, want := range map[string]bool{
		"sh|-c|garita run -- x":              true,
		"/bin/dash|-c|exec /a/b/garita x":    true,
		"bash|--norc|-c|garita x":            true,
		"bash|-l|-c|garita x":                true,
		"sh|script.sh|garita":                false,
		"sh|-c|garitas x":                    false,
		"sh|-c|echo $(garita status)":        true,
		"sh|-c":                              false,
		"sh":                                 false,
		"env|A=b|garita|connect":             true,
		"node|/x/npm-cli.js|exec|garita":     true,
		"node|server.js|garita":              false,
		"python3|-c|os.system('garita x')":   false,
		"claude|garita":                      false,
		"npm run start":                      false,
		"":                                   false,
		"node|/usr/lib/bin/npx-cli.js|other": false,
	} {
		if got := runsUs(strings.Split(line, "|"), "garita"); got != want {
			t.Errorf("%s: got %v", line, got)
		}
	}
}

func TestParseProcess(t *testing.T) {
	p, err := parseProcess("12 (a) b (c)) S 34 12 12 0", "sh\x00-c\x00x y\x00")
	if err != nil || p.pid != 12 || p.parent != 34 || p.name != "a) b (c)" || strings.Join(p.args, "|") != "sh|-c|x y" {
		t.Errorf("got %+v, %v", p, err)
	}
	for _, stat := range []string{"", "12", "12 (a", "12 (a)", "x (a) S 1", "12 (a) S", "12 (a) S x", ")("} {
		if _, err := parseProcess(stat, ""); err == nil {
			t.Errorf("%q: taken", stat)
		}
	}
	if p, ok := lookProc(os.Getpid()); !ok || p.parent != os.Getppid() {
		t.Errorf("of this process: %+v, %v", p, ok)
	}
}

func FuzzParseProcess(f *testing.F) {
	f.Add("12 (sh) S 34 12 12 0", "sh\x00-c\x00garita\x00")
	f.Fuzz(func(_ *testing.T, stat, cmdline string) {
		if p, err := parseProcess(stat, cmdline); err == nil {
			runsUs(p.args, "garita")
		}
	})
}
