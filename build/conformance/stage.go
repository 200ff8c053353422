package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// stage is a temporary home with a daemon in it, and what runs beside it.
type stage struct {
	garita  string
	kit     string // where the programs and node_modules are
	dir     string
	verbose bool
	only    *regexp.Regexp
	failed  bool // something did not come out as it should

	door   string // 127.0.0.1:PORT
	daemon *exec.Cmd
	ended  chan error // the daemon's
	beside []*exec.Cmd
	api    *api.Client
	answer context.CancelFunc // ends the answering of questions
	done   chan struct{}      // closed when it has ended
}

func newStage(verbose bool, only *regexp.Regexp) (*stage, error) {
	garita, err := filepath.Abs(filepath.Join(envOr("GARITA_BIN", "bin"), "garita"))
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "garita-conformance-")
	if err != nil {
		return nil, err
	}
	s := &stage{garita: garita, kit: filepath.Dir(self), dir: dir, verbose: verbose, only: only}
	for _, d := range []string{s.home(), s.path("home", "config"), s.path("work")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, errors.Join(err, s.remove())
		}
	}
	// Everything that is started uses the Node of the kit, and no settings but ours.
	for key, value := range map[string]string{
		"GARITA_HOME": s.home(), "HOME": s.path("work"), "PATH": s.nodeBin() + ":" + os.Getenv("PATH"), "NO_COLOR": "1",
		"NODE_NO_WARNINGS": "1", "MCP_CLI_NO_UPDATE": "1",
	} {
		if err := os.Setenv(key, value); err != nil {
			return nil, errors.Join(err, s.remove())
		}
	}
	return s, nil
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func (s *stage) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}
func (s *stage) home() string               { return s.path("home") }
func (s *stage) program(name string) string { return filepath.Join(s.kit, name) }
func (s *stage) module(path string) string  { return filepath.Join(s.kit, "node_modules", path) }

// nodeBin is the folder of the Node that the kit brings.
func (s *stage) nodeBin() string {
	found, _ := filepath.Glob(s.module("node-linux-*/bin"))
	if len(found) == 0 {
		return s.kit
	}
	return found[0]
}

// begin starts a daemon with servers declared.
func (s *stage) begin(ctx context.Context, servers string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	s.door = fmt.Sprintf("127.0.0.1:%d", port)
	for name, text := range map[string]string{
		"servers.yaml": "version: 1\nservers:\n" + servers,
		"config.yaml":  fmt.Sprintf("version: 1\ndoors: {port: %d}\npage: {enabled: false}\n", port),
	} {
		if err := os.WriteFile(s.path("home", "config", name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	log, err := os.Create(s.path("daemon.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.daemon = exec.Command(s.garita, "daemon")
	s.daemon.Stdout, s.daemon.Stderr = log, log
	if err := s.daemon.Start(); err != nil {
		return err
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.daemon.Wait() }()
	s.api = api.Default()
	if err := s.until(ctx, "the daemon is ready", func() bool {
		status, err := s.api.Status(ctx)
		return err == nil && status.Engine == "ready"
	}); err != nil {
		return err
	}
	ctx, s.answer = context.WithCancel(ctx)
	s.done = make(chan struct{})
	go s.approve(ctx)
	return nil
}

// approve answers yes to every question, as a person would who tests a server.
func (s *stage) approve(ctx context.Context) {
	defer close(s.done)
	for ctx.Err() == nil {
		waiting, err := s.api.Approvals(ctx, 20*time.Second)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "conformance:", err)
			return
		}
		for _, a := range waiting {
			if err := s.yes(ctx, a); err != nil {
				fmt.Fprintln(os.Stderr, "conformance:", err)
				return
			}
		}
	}
}

// yes answers one question, which may have been withdrawn meanwhile.
func (s *stage) yes(ctx context.Context, a api.Approval) error {
	_, err := s.api.Answer(ctx, a.ID, api.Answer{Approve: true, Binding: a.Binding})
	if err == nil || ctx.Err() != nil {
		return nil
	}
	if now, gone := s.api.Approval(ctx, a.ID); gone == nil && now.State != "pending" {
		return nil
	}
	return fmt.Errorf("answer %s: %w", a.Title, err)
}

// until polls for what other processes bring about.
func (s *stage) until(ctx context.Context, what string, f func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if f() {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-s.ended:
			s.ended <- err
			return fmt.Errorf("wait until %s: the daemon ended: %w", what, err)
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		}
	}
}

// start starts a program beside the daemon.
func (s *stage) start(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	s.beside = append(s.beside, cmd)
	return nil
}

// serve starts a reference server on HTTP and returns its address.
func (s *stage) serve(ctx context.Context, stateless bool) (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	at := fmt.Sprintf("127.0.0.1:%d", port)
	if err := s.start(s.program("everything-server"), "-http", at, fmt.Sprintf("-stateless=%t", stateless)); err != nil {
		return "", err
	}
	return "http://" + at + "/mcp", s.until(ctx, "the reference server listens", func() bool {
		res, err := http.Get("http://" + at + "/mcp") //nolint:gosec,noctx // on loopback, just started
		if err != nil {
			return false
		}
		return res.Body.Close() == nil
	})
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// token makes one that opens these servers.
func (s *stage) token(ctx context.Context, servers ...string) (string, error) {
	args := []string{"token", "create", "--name", "conformance"}
	for _, name := range servers {
		args = append(args, "--server", name)
	}
	out, err := s.output(ctx, s.garita, args...)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(out), nil
}

// output runs a program and returns what it printed on standard output.
func (s *stage) output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.path("work"), &out, &errs, 5*time.Second
	err := cmd.Run()
	if s.verbose {
		fmt.Printf("$ %s %s\n%s%s", name, strings.Join(args, " "), &out, &errs)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(name), err, tail(errs.String()+out.String(), 2000))
	}
	return out.String(), err
}

func tail(text string, most int) string { return text[max(0, len(text)-most):] }

// close ends what still runs.
func (s *stage) close() error {
	for _, cmd := range s.beside {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	s.beside = nil
	if s.answer != nil {
		s.answer()
		<-s.done
		s.api.Close()
	}
	if s.daemon == nil {
		return nil
	}
	_ = s.daemon.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.ended:
		return err
	case <-time.After(30 * time.Second):
		_ = s.daemon.Process.Kill()
		return fmt.Errorf("the daemon did not end within 30 s and was killed: %w", <-s.ended)
	}
}

// daemonLog shows the end of the daemon's log.
func (s *stage) daemonLog() {
	text, _ := os.ReadFile(s.path("daemon.log"))
	fmt.Fprintf(os.Stderr, "the daemon's log ends with:\n%s\n", tail(string(text), 3000))
}

// remove removes the temporary folder. Files of a sandbox's other users are deleted in a user
// namespace that maps them.
func (s *stage) remove() error {
	if os.Getenv("GARITA_KEEP") != "" {
		fmt.Fprintln(os.Stderr, "kept:", s.dir)
		return nil
	}
	if os.RemoveAll(s.dir) == nil {
		return nil
	}
	out, err := exec.Command("unshare", "--user", "--map-root-user", "--map-auto", "rm", "-rf", s.dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("remove %s: %w: %s", s.dir, err, bytes.TrimSpace(out))
	}
	return nil
}

// write puts a file into the folder that programs are run in, and returns its path.
func (s *stage) write(name string, text []byte) string {
	path := s.path("work", name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		panic(err) // the folder is ours, and new
	}
	return path
}
