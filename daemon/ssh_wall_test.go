package daemon

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// shellScript is an MCP server that runs a line of a shell.
const shellScript = `
import {createInterface} from "node:readline";
import {execFile} from "node:child_process";
const say = m => console.log(JSON.stringify({jsonrpc: "2.0", ...m}));
createInterface({input: process.stdin}).on("line", line => {
	const {id, method, params} = JSON.parse(line);
	if (method === "initialize") say({id, result: {protocolVersion: "2025-06-18", capabilities: {tools: {}}, serverInfo: {name: "shell", version: "1"}}});
	else if (method === "tools/list") say({id, result: {tools: [{name: "get_run", inputSchema: {type: "object"}, annotations: {readOnlyHint: true}}]}});
	else if (method === "tools/call") execFile("/bin/sh", ["-c", params.arguments.line], {timeout: 60000}, (err, out, no) =>
		say({id, result: {content: [{type: "text", text: (err ? "failed " : "done ") + out + no}]}}));
	else if (id !== undefined) say({id, result: {}});
});
`

// gitHost serves one repository by SSH, to user anon without a key and to git with one.
type gitHost struct {
	t      *testing.T
	signer ssh.Signer
	key    ssh.PublicKey // the person's
	repo   string
	port   uint16
}

func newSigner(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, private
}

func (h *gitHost) fingerprint() string { return ssh.FingerprintSHA256(h.signer.PublicKey()) }

func newGitHost(t *testing.T, person ssh.PublicKey) *gitHost {
	t.Helper()
	signer, _ := newSigner(t)
	h := &gitHost{t: t, signer: signer, key: person, repo: filepath.Join(t.TempDir(), "repo.git")}
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q", h.repo)
	git("-C", h.repo, "commit", "-q", "--allow-empty", "-m", "the one commit")
	ln, err := net.Listen("tcp", "127.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.port = netip.MustParseAddrPort(ln.Addr().String()).Port()
	config := &ssh.ServerConfig{
		NoClientAuth: true,
		NoClientAuthCallback: func(c ssh.ConnMetadata) (*ssh.Permissions, error) {
			if c.User() == "anon" {
				return nil, nil
			}
			return nil, fmt.Errorf("no")
		},
		PublicKeyCallback: func(_ ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
			if string(k.Marshal()) == string(h.key.Marshal()) {
				return nil, nil
			}
			return nil, fmt.Errorf("no")
		},
	}
	config.AddHostKey(signer)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { h.serve(c, config) })
		}
	})
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { _ = ln.Close() })
	return h
}

func (h *gitHost) serve(c net.Conn, config *ssh.ServerConfig) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() { ssh.DiscardRequests(requests) })
	for ch := range channels {
		channel, requests, err := ch.Accept()
		if err != nil {
			return
		}
		serving.Go(func() {
			defer channel.Close()
			for r := range requests {
				if r.Type != "exec" {
					_ = r.Reply(r.Type == "env", nil)
					continue
				}
				_ = r.Reply(true, nil)
				serving.Go(func() { h.exec(channel, string(r.Payload[4:])) })
			}
		})
	}
}

// exec serves the repository, whatever path is asked for; "hold" stays until it is ended.
func (h *gitHost) exec(channel ssh.Channel, command string) {
	defer channel.Close()
	var code byte
	if strings.HasPrefix(command, "git-upload-pack ") {
		cmd := exec.Command("git-upload-pack", h.repo)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = channel, channel, channel.Stderr()
		if err := cmd.Start(); err != nil || cmd.Wait() != nil {
			code = 1
		}
	} else {
		_, _ = io.WriteString(channel, "holding\n")
		_, _ = io.Copy(io.Discard, channel)
	}
	_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, code})
}

// answers is what a person says to each question, by what it is about.
type answers struct {
	mu   sync.Mutex
	say  func(approvals.Request) (approve bool, as *approvals.Permission)
	seen []approvals.Request
}

func (a *answers) set(say func(approvals.Request) (bool, *approvals.Permission)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.say, a.seen = say, nil
}

// asked are the sentences of what was asked since the last set.
func (a *answers) asked() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.seen {
		all = append(all, r.Call.Sentence+" | "+r.Why.Reason)
	}
	return all
}

func (a *answers) serve(w *walled) {
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() {
		for ctx.Err() == nil {
			list, err := w.gate.Await(ctx)
			if err != nil {
				continue
			}
			for _, r := range list {
				a.mu.Lock()
				yes, as := true, (*approvals.Permission)(nil)
				if r.Kind == approvals.KindNetwork || r.Kind == approvals.KindSecret {
					yes, as = a.say(r)
					a.seen = append(a.seen, r)
				}
				a.mu.Unlock()
				_, _ = w.gate.Answer(ctx, r.ID, approvals.Answer{Approve: yes, By: "test", Binding: r.Binding, Permit: as})
			}
		}
	})
	w.t.Cleanup(func() { cancel(); over.Wait() })
}

// agentOf serves a person's agent with keys, and makes it this process's.
func agentOf(t *testing.T, keys ...ed25519.PrivateKey) {
	t.Helper()
	ring := agent.NewKeyring()
	for i, k := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: k, Comment: fmt.Sprintf("key %d", i+1)}); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "a")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, "s"))
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { defer c.Close(); _ = agent.ServeAgent(ring, c) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); serving.Wait(); _ = os.RemoveAll(dir) })
}

// shell declares the server with a network, and attaches to it.
func (w *walled) shell(name string, l sandbox.Allowlist) *searcher {
	w.t.Helper()
	script := filepath.Join(w.config.Paths().Home, "shell.mjs")
	if err := os.MkdirAll(filepath.Dir(script), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(shellScript), 0o600); err != nil {
		w.t.Fatal(err)
	}
	s := sandbox.Server{Name: sandbox.ServerName(name), Source: sandbox.Source{Command: []string{"node", script}}, Spec: sandbox.Spec{
		Workspace: sandbox.None, Mounts: []sandbox.Mount{{Host: script, At: script}}, Network: l,
	}}
	if err := w.config.Put(s); err != nil {
		w.t.Fatal(err)
	}
	return w.attach(s)
}

func (c *searcher) run(line string) string {
	c.t.Helper()
	return c.tool("get_run", fmt.Sprintf(`{"line":%q}`, line))
}

const (
	cloneAnon = `cd /tmp && rm -rf r && GIT_TERMINAL_PROMPT=0 git clone -q anon@git.example.test:org/repo r < /dev/null && git -C r log --format=%s`
	cloneKey  = `cd /tmp && rm -rf r && git clone -q git@git.example.test:org/repo r < /dev/null && git -C r log --format=%s`
)

// TestGitOverSSH is N12: a real git and OpenSSH inside, and a server that the test makes.
func TestGitOverSSH(t *testing.T) {
	w := raiseWalled(t)
	for _, program := range []string{"ssh", "git"} {
		sandboxtest.Program(t, program)
	}
	person := &answers{}
	person.set(func(approvals.Request) (bool, *approvals.Permission) { return false, nil })
	person.serve(w)
	mine, private := newSigner(t)
	_, unlent := newSigner(t)
	agentOf(t, private, unlent)
	host := newGitHost(t, mine.PublicKey())
	w.ways.host.Ports[22] = host.port
	w.ways.home = w.config.Paths().Home
	other, _ := newSigner(t)
	at := sandbox.Endpoint{Host: "git.example.test", Port: 22}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(host.signer.PublicKey())))
	reach := func(ask bool, keys ...string) sandbox.Allowlist {
		l := sandbox.Allowlist{Endpoints: []sandbox.Endpoint{at}, Ask: ask}
		if len(keys) > 0 {
			l.SSH = []sandbox.SSHHost{{Endpoint: at}}
			for _, k := range keys {
				l.SSH[0].Keys = append(l.SSH[0].Keys, sandbox.SSHKey(k))
			}
		}
		return l
	}
	cloned := func(t *testing.T, got string) {
		t.Helper()
		if !strings.Contains(got, "done") || !strings.Contains(got, "the one commit") {
			t.Errorf("not cloned: %s", got)
		}
	}
	refused := func(t *testing.T, got, server string, kind sandbox.DenialKind, says ...string) {
		t.Helper()
		if !strings.Contains(got, "failed") {
			t.Errorf("it passes: %s", got)
		}
		all := w.ways.proposal(sandbox.ServerName(server))
		if !slices.ContainsFunc(all, func(n tried) bool {
			return n.Kind == kind && !slices.ContainsFunc(says, func(s string) bool { return !strings.Contains(n.Why, s) })
		}) {
			t.Errorf("want %s saying %q: %+v", kind, says, all)
		}
	}
	t.Run("report_N12 the pinned key as a fingerprint", func(t *testing.T) {
		cloned(t, w.shell("fingerprint", reach(false, host.fingerprint())).run(cloneAnon))
	})
	t.Run("report_N12 the pinned key itself", func(t *testing.T) {
		c := w.shell("line", reach(false, line))
		cloned(t, c.run(cloneAnon))
		if got := c.run("cat /etc/ssh/ssh_known_hosts"); !strings.Contains(got, "git.example.test "+line) {
			t.Errorf("known inside: %s", got)
		}
		got := c.run("echo GET / HTTP/1.0 | timeout 20 /usr/bin/python3 -c 'import socket,sys; s=socket.create_connection((\"git.example.test\",22)); s.sendall(b\"GET / HTTP/1.0\\r\\n\\r\\n\"); d=s.recv(1000); d=s.recv(1000); sys.exit(1 if not d else 0)'")
		refused(t, got, "line", sandbox.DeniedContent, "not SSH")
	})
	t.Run("report_N12 another key", func(t *testing.T) {
		got := w.shell("another", reach(true, ssh.FingerprintSHA256(other.PublicKey()))).run(cloneAnon)
		refused(t, got, "another", sandbox.DeniedChanged, host.fingerprint(), "in between")
	})
	t.Run("report_N12 an unknown key and nobody to ask", func(t *testing.T) {
		got := w.shell("unknown", reach(false)).run(cloneAnon)
		refused(t, got, "unknown", sandbox.DeniedHostKey, "garita network allow unknown git.example.test:22 --key "+host.fingerprint())
	})
	t.Run("report_N12 an unknown key, denied", func(t *testing.T) {
		got := w.shell("denied", reach(true)).run(cloneAnon)
		refused(t, got, "denied", sandbox.DeniedHostKey, host.fingerprint())
		if asked := person.asked(); len(asked) != 1 || !strings.Contains(asked[0], host.fingerprint()) {
			t.Errorf("asked: %q", asked)
		}
	})
	t.Run("report_N12 an unknown key, allowed for always", func(t *testing.T) {
		person.set(func(approvals.Request) (bool, *approvals.Permission) {
			return true, &approvals.Permission{Scope: approvals.ScopeAlways}
		})
		c := w.shell("always", reach(true))
		cloned(t, c.run(cloneAnon))
		s, _ := w.config.Server("always")
		if h, _ := s.Spec.Network.SSHAt(at.Host, at.Port); !slices.Equal(h.Keys, []sandbox.SSHKey{sandbox.SSHKey(line)}) {
			t.Errorf("servers.yaml: %+v", s.Spec.Network)
		}
		person.set(func(approvals.Request) (bool, *approvals.Permission) { return false, nil })
		cloned(t, c.run(cloneAnon))
	})
	t.Run("report_N12 the person's own known_hosts", func(t *testing.T) {
		w.knownHosts(t, "git.example.test "+line)
		cloned(t, w.shell("known", reach(false)).run(cloneAnon))
		w.knownHosts(t, "git.example.test "+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(other.PublicKey()))))
		refused(t, w.shell("knownother", reach(true)).run(cloneAnon), "knownother", sandbox.DeniedChanged, "known_hosts")
		w.knownHosts(t, "")
	})
	t.Run("report_N12 what is taken back ends at once", func(t *testing.T) {
		c := w.shell("live", reach(true, line))
		held := make(chan string, 1)
		go func() { held <- c.run("ssh anon@git.example.test hold </dev/zero; exit 1") }()
		for end := time.Now().Add(time.Minute); len(w.ways.liveOf(t.Context(), "live")) == 0; <-time.After(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("no connection")
			}
		}
		if _, err := w.ChangeNetwork(t.Context(), httpapi.Peer{UID: w.uid, Page: true}, "live", api.NetworkChange{Host: "git.example.test:22", Forget: true}); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-held:
			if !strings.Contains(got, "failed") && !strings.Contains(got, "kept the result") { // it had reached what it may not
				t.Error(got)
			}
		case <-time.After(time.Minute):
			t.Error("it goes on")
		}
	})
	lending := func(keys ...string) sandbox.Allowlist {
		l := reach(true, line)
		l.SSH[0].Agent = keys
		return l
	}
	t.Run("report_N12 no agent without a grant", func(t *testing.T) {
		got := w.shell("noagent", reach(true, line)).run("echo sock=$SSH_AUTH_SOCK; " + cloneKey)
		if !strings.Contains(got, "sock=\\n") || !strings.Contains(got, "failed") || !strings.Contains(got, "Permission denied") {
			t.Error(got)
		}
	})
	t.Run("report_N12 the agent, each use asked about", func(t *testing.T) {
		person.set(func(approvals.Request) (bool, *approvals.Permission) { return true, nil })
		c := w.shell("lent", lending(ssh.FingerprintSHA256(mine.PublicKey())))
		cloned(t, c.run(cloneKey))
		cloned(t, c.run(cloneKey))
		asked := person.asked()
		if len(asked) != 2 || !strings.Contains(asked[0], "sign in as git at git.example.test:22 with your ssh key key 1 ("+ssh.FingerprintSHA256(mine.PublicKey())) || !strings.Contains(asked[0], "during c") {
			t.Errorf("asked: %q", asked)
		}
		if n := w.recorded(t, agentUsed); n != 2 {
			t.Errorf("%d uses are on record", n)
		}
		if got := c.run("ssh-add -l; ssh-add -D; ssh-add -l"); strings.Count(got, "key 1") != 2 || strings.Contains(got, "key 2") {
			t.Errorf("offered: %s", got)
		}
	})
	t.Run("report_N12 the agent, denied", func(t *testing.T) {
		person.set(func(approvals.Request) (bool, *approvals.Permission) { return false, nil })
		got := w.shell("notlent", lending(sandbox.AnyKey)).run(cloneKey)
		if !strings.Contains(got, "failed") || w.recorded(t, agentUsed) != 2 || w.recorded(t, agentRefused) == 0 {
			t.Error(got)
		}
	})
	t.Run("attack the agent, asked for over and over after a no", func(t *testing.T) {
		person.set(func(approvals.Request) (bool, *approvals.Permission) { return false, nil })
		c := w.shell("nags", lending(ssh.FingerprintSHA256(mine.PublicKey())))
		for range 3 {
			c.run(cloneKey)
		}
		if asked := person.asked(); len(asked) != 1 {
			t.Errorf("asked: %q", asked)
		}
		before := w.recorded(t, agentRefused)
		c.run("for i in $(seq 60); do ssh-add -D; done")
		if n := w.recorded(t, agentRefused) - before; n < 1 || n > 3 {
			t.Errorf("%d events for sixty refusals of one kind", n)
		}
	})
	t.Run("attack the agent, a yes for one user taken for another", func(t *testing.T) {
		person.set(func(approvals.Request) (bool, *approvals.Permission) {
			return true, &approvals.Permission{Scope: approvals.ScopeAlways}
		})
		c := w.shell("otheruser", lending(ssh.FingerprintSHA256(mine.PublicKey())))
		cloned(t, c.run(cloneKey))
		cloned(t, c.run(cloneKey))
		if asked := person.asked(); len(asked) != 1 {
			t.Errorf("asked: %q", asked)
		}
		person.set(func(approvals.Request) (bool, *approvals.Permission) { return false, nil })
		c.run(strings.ReplaceAll(cloneKey, "git@", "root@"))
		if asked := person.asked(); len(asked) != 1 || !strings.Contains(asked[0], "sign in as root at") {
			t.Errorf("asked: %q", asked)
		}
	})
	t.Run("attack the agent, taken back while it is asked about", func(t *testing.T) {
		used := w.recorded(t, agentUsed)
		c := w.shell("takenback", lending(ssh.FingerprintSHA256(mine.PublicKey())))
		person.set(func(r approvals.Request) (bool, *approvals.Permission) {
			if err := w.config.Update("takenback", func(s *sandbox.Server) error {
				s.Spec.Network = reach(true, line)
				return nil
			}); err != nil {
				t.Error(err)
			}
			return true, nil
		})
		if got := c.run(cloneKey); !strings.Contains(got, "failed") || w.recorded(t, agentUsed) != used || len(person.asked()) != 1 {
			t.Errorf("signed: %s, asked %q", got, person.asked())
		}
	})
	t.Run("report_N12 the agent signs nothing else", func(t *testing.T) {
		person.set(func(approvals.Request) (bool, *approvals.Permission) { return true, nil })
		got := w.shell("signs", lending(sandbox.AnyKey)).run("ssh-add -L | head -1 > /tmp/k.pub; echo x > /tmp/x; ssh-keygen -Y sign -n file -f /tmp/k.pub /tmp/x")
		if !strings.Contains(got, "failed") || len(person.asked()) > 0 {
			t.Errorf("%s, %q", got, person.asked())
		}
	})
}

func (w *walled) knownHosts(t *testing.T, line string) {
	t.Helper()
	file := w.ways.knownHostsFile()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
