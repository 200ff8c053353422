package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// save keeps what the last program printed in a variable.
func save(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: save VAR")
	}
	ts.Setenv(args[0], strings.TrimSuffix(ts.ReadFile("stdout"), "\n"))
}

// until runs a program again and again until it does what is wanted.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 1 && args[0] == "!" {
		neg, args = true, args[1:]
	}
	wanted := regexp.MustCompile("")
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	args = args[1:]
	if args[0] == "-match" {
		wanted = regexp.MustCompile("(?m)" + args[1])
		args = args[2:]
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var out, errs bytes.Buffer
		cmd := command(ts, ctx, args)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if (err == nil && wanted.MatchString(out.String())) != neg {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("%s did not do it within %v: %v\n[stdout]\n%s\n[stderr]\n%s", strings.Join(args, " "), limit, err, &out, &errs)
		}
	}
}

// command is a program with the script's variables and directory.
func command(ts *testscript.TestScript, ctx context.Context, args []string) *exec.Cmd {
	path, err := exec.LookPath(args[0])
	if args[0] == "garita" {
		path, err = ts.Getenv("GARITA"), nil
	}
	ts.Check(err)
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range append([]string{"HOME", "PATH", "GARITA_HOME", "WS", "WORK", "DISPLAY"}, passed...) {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// pids finds this test's processes of a name.
func pids(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] pids VAR NAME")
	}
	var found []string
	for _, p := range watchOf(ts).named(args[1]) {
		found = append(found, strconv.Itoa(p.pid))
	}
	if (len(found) == 0) != neg {
		ts.Fatalf("processes called %s: %v, of:\n%s", args[1], found, strings.Join(watchOf(ts).alive(), "\n"))
	}
	ts.Setenv(args[0], strings.Join(found, " "))
}

// murder kills processes so that they can clean nothing up.
func murder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: murder NAME")
	}
	found := watchOf(ts).named(args[0])
	if len(found) == 0 {
		ts.Fatalf("there is no process called %s, only:\n%s", args[0], strings.Join(watchOf(ts).alive(), "\n"))
	}
	for _, p := range found {
		p.kill()
	}
}

// gone waits until nothing of the test is left.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	awaitNone(ts, neg, args, func(w *watch) []string { return append(w.alive(), w.groupsLeft()...) })
}

// dead waits until no process of the test is left, and nothing that one would hold. Control groups
// stay until the next start when the daemon was killed.
func dead(ts *testscript.TestScript, neg bool, args []string) {
	awaitNone(ts, neg, args, (*watch).alive)
}

func awaitNone(ts *testscript.TestScript, neg bool, args []string, look func(*watch) []string) {
	limit := 10 * time.Second
	if len(args) == 1 {
		var err error
		limit, err = time.ParseDuration(args[0])
		ts.Check(err)
	}
	if neg || len(args) > 1 {
		ts.Fatalf("usage: gone [TIME] or dead [TIME]")
	}
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for left := look(watchOf(ts)); len(left) > 0; left = look(watchOf(ts)) {
		if time.Now().After(deadline) {
			ts.Fatalf("left after %v:\n%s", limit, strings.Join(left, "\n"))
		}
		<-tick.C
	}
}

func watchOf(ts *testscript.TestScript) *watch {
	w, ok := ts.Value(watchKey{}).(*watch)
	if !ok {
		panic(fmt.Sprintf("no watch in %s", ts.Name()))
	}
	return w
}
