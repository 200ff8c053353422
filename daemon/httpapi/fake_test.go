package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/events"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// fake is a Backend that knows one of each thing and notes what it is asked.
type fake struct {
	httpapi.Backend // nil: a method that a test does not expect panics

	log *events.Log

	mu      sync.Mutex
	peers   []httpapi.Peer
	answers []api.Answer
	refused []string
	called  []api.ToolCall
	noLink  error
}

func newFake() *fake { return &fake{log: events.New(64)} }

func (f *fake) note(p httpapi.Peer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.peers = append(f.peers, p)
}

func (f *fake) Status(context.Context) (api.Status, error) { return api.Status{Sentence: "fine"}, nil }
func (f *fake) Doctor(context.Context) (api.Doctor, error) { return api.Doctor{}, nil }

func (f *fake) Calls(_ context.Context, before string, limit int, server string) (api.CallPage, error) {
	return api.CallPage{Next: fmt.Sprintf("%s/%d/%s", before, limit, server)}, nil
}

func (f *fake) Call(_ context.Context, id string) (api.Call, error) {
	return api.Call{}, fmt.Errorf("read call %s: %w", id, errdefs.ErrNotFound)
}

func (f *fake) Approvals(_ context.Context, wait time.Duration) ([]api.Approval, error) {
	return []api.Approval{{ID: "r1", Title: wait.String()}}, nil
}

func (f *fake) Approval(context.Context, string) (api.Approval, error) { return api.Approval{}, nil }

func (f *fake) Answer(_ context.Context, p httpapi.Peer, id string, a api.Answer) (api.Approval, error) {
	f.note(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = append(f.answers, a)
	return api.Approval{ID: id, State: "approved"}, nil
}

func (f *fake) Preview(_ context.Context, id string, p api.Permit) (api.Offer, error) {
	return api.Offer{Permit: p, Words: "for " + id}, nil
}

func (f *fake) ApprovalGroups(context.Context) ([]api.ApprovalGroup, error) {
	return []api.ApprovalGroup{{ID: "q1"}}, nil
}

func (f *fake) AnswerGroup(_ context.Context, p httpapi.Peer, a api.GroupAnswer) ([]api.Approval, error) {
	f.note(p)
	return []api.Approval{{ID: a.Members[0].ID, State: a.Scope}}, nil
}

func (f *fake) Expired(context.Context) ([]api.Approval, error) { return nil, nil }

func (f *fake) SeeExpired(_ context.Context, _ httpapi.Peer, ids []string) error {
	if len(ids) != 2 {
		return fmt.Errorf("%v were seen", ids)
	}
	return nil
}

func (f *fake) Grants(_ context.Context, all bool) ([]api.Grant, error) {
	return []api.Grant{{ID: "g1", Words: fmt.Sprint(all)}}, nil
}

func (f *fake) RevokeGrant(context.Context, httpapi.Peer, string) error { return nil }

func (f *fake) Servers(context.Context) ([]api.Server, error) { return nil, nil }
func (f *fake) Server(_ context.Context, name string) (api.Server, error) {
	return api.Server{Name: name}, nil
}

func (f *fake) ServerLog(_ context.Context, name string, after int64, wait time.Duration) (api.ServerLog, error) {
	return api.ServerLog{Lines: []string{name + " " + wait.String()}, Next: after}, nil
}

func (f *fake) Network(_ context.Context, server string) (api.Network, error) {
	return api.Network{Server: server}, nil
}

func (f *fake) ChangeNetwork(_ context.Context, p httpapi.Peer, server string, c api.NetworkChange) (api.Network, error) {
	return api.Network{Server: server, Allow: []string{c.Host}, PublicWeb: p.Page}, nil
}

func (f *fake) Secrets(context.Context) (api.Secrets, error) { return api.Secrets{}, nil }

func (f *fake) SetSecret(_ context.Context, p httpapi.Peer, s api.SecretSet) (api.Secret, error) {
	f.note(p)
	return api.Secret{Name: s.Name}, nil
}

func (f *fake) RemoveSecret(context.Context, httpapi.Peer, string) error { return nil }

func (f *fake) GrantSecret(_ context.Context, p httpapi.Peer, name string, g api.SecretGrant) (api.Secret, error) {
	f.note(p)
	return api.Secret{Name: name, Grants: []api.SecretGrant{g}}, nil
}

func (f *fake) RevokeSecret(_ context.Context, p httpapi.Peer, name, server string) (api.Secret, error) {
	f.note(p)
	return api.Secret{Name: name, Grants: []api.SecretGrant{{Server: server}}}, nil
}

func (f *fake) SecretUses(_ context.Context, name string, since time.Time) ([]api.SecretUsed, error) {
	return []api.SecretUsed{{Server: name, At: since}}, nil
}

func (f *fake) ProposeGrant(_ context.Context, name string, g api.SecretGrant) (api.SecretGrant, error) {
	g.Words = "proposed " + name
	return g, nil
}

func (f *fake) RotateSecret(_ context.Context, p httpapi.Peer, name string, _ time.Time, forget bool) (api.SecretRotation, error) {
	f.note(p)
	return api.SecretRotation{Revoked: []string{name}, Ended: map[bool]int{true: 1}[forget]}, nil
}

func (f *fake) OpenKeeper(_ context.Context, p httpapi.Peer, _ api.KeeperOpen) (api.Keeper, error) {
	f.note(p)
	return api.Keeper{State: "ready"}, nil
}

func (f *fake) Observations(context.Context) ([]api.ObservationSummary, error) {
	return []api.ObservationSummary{{Server: "github", State: "observing", Seen: 3}}, nil
}

func (f *fake) Observation(_ context.Context, server string, after int64, _ time.Duration) (api.Observation, error) {
	return api.Observation{Server: server, State: "observing", Seq: after, Seen: []api.Observed{}, Notes: []string{}}, nil
}

func (f *fake) Observe(ctx context.Context, p httpapi.Peer, server string, r api.ObserveRequest) (api.Observation, error) {
	f.note(p)
	return f.Observation(ctx, server, int64(r.Minutes), 0)
}

func (f *fake) EndObservation(ctx context.Context, p httpapi.Peer, server string) (api.Observation, error) {
	f.note(p)
	return f.Observation(ctx, server, 1, 0)
}

func (f *fake) ChooseMounts(ctx context.Context, p httpapi.Peer, server string, m api.MountChoice) (api.Observation, error) {
	f.note(p)
	o, err := f.Observation(ctx, server, 2, 0)
	o.Notes = m.Mounts
	return o, err
}

func (f *fake) AcceptObservation(ctx context.Context, p httpapi.Peer, server string, a api.LeastAnswer) (api.Observation, error) {
	f.note(p)
	o, err := f.Observation(ctx, server, 3, 0)
	o.Notes = []string{a.Binding, a.Code}
	return o, err
}

func (f *fake) ForgetObservation(_ context.Context, p httpapi.Peer, _ string) error {
	f.note(p)
	return nil
}

func (f *fake) Pins(_ context.Context, server string) (api.Pins, error) {
	return api.Pins{Server: server}, nil
}

func (f *fake) AnswerPins(_ context.Context, p httpapi.Peer, server string, a api.PinAnswer) (api.Pins, error) {
	f.note(p)
	return api.Pins{Server: server, Binding: a.Binding}, nil
}

func (f *fake) BeforeTool(_ context.Context, _ httpapi.Peer, h api.HookCall) (api.HookDecision, error) {
	return api.HookDecision{Decision: "allow", Reason: string(h.Input)}, nil
}

func (f *fake) AfterTool(context.Context, httpapi.Peer, api.HookResult) error { return nil }

func (f *fake) SetHooks(_ context.Context, _ httpapi.Peer, s api.HookSettings) (api.HookPlan, error) {
	return api.HookPlan{File: s.File, Done: !s.DryRun}, nil
}

func (f *fake) StartServer(context.Context, httpapi.Peer, string) error { return nil }
func (f *fake) Update(_ context.Context, _ httpapi.Peer, name string) (api.Update, error) {
	return api.Update{Server: name, Packages: []api.PackageChange{}, Scripts: []string{}, Tools: []api.ToolUpdate{}, Notes: []string{}}, nil
}

func (f *fake) AcceptUpdate(_ context.Context, _ httpapi.Peer, name string, a api.UpdateAnswer) (api.Update, error) {
	return api.Update{Server: name, Binding: a.Binding, Packages: []api.PackageChange{}, Scripts: []string{}, Tools: []api.ToolUpdate{}, Notes: []string{}}, nil
}

func (f *fake) RestartServer(context.Context, httpapi.Peer, string) error { return nil }
func (f *fake) FreezeServer(context.Context, httpapi.Peer, string) error  { return nil }
func (f *fake) ThawServer(context.Context, httpapi.Peer, string) error    { return nil }

func (f *fake) Sessions(context.Context, httpapi.Peer) ([]api.Session, error) { return nil, nil }

func (f *fake) Trace(_ context.Context, _ httpapi.Peer, session string, after int64, _ time.Duration) (api.Trace, error) {
	return api.Trace{Session: api.Session{ID: session}, Next: after}, nil
}

func (f *fake) Tracing(context.Context) (api.Tracing, error) { return api.Tracing{}, nil }

func (f *fake) SetTracing(_ context.Context, _ httpapi.Peer, t api.Tracing) (api.Tracing, error) {
	return t, nil
}

func (f *fake) Tokens(context.Context) ([]api.Token, error) { return nil, nil }

func (f *fake) CreateToken(_ context.Context, p httpapi.Peer, t api.NewToken) (api.CreatedToken, error) {
	f.note(p)
	return api.CreatedToken{Token: api.Token{Name: t.Name, Servers: t.Servers, Tools: t.Tools}, Secret: "garita_x"}, nil
}

func (f *fake) RevokeToken(context.Context, httpapi.Peer, string) error { return nil }

func (f *fake) Attachable(_ context.Context, _ httpapi.Peer, a api.Attach) error {
	if a.Server == "nope" {
		return &api.Problem{Code: "not_found", Title: "There is no server named nope"}
	}
	return nil
}

func (f *fake) RemoveServer(context.Context, httpapi.Peer, string) error { return nil }

func (f *fake) StopServer(context.Context, httpapi.Peer, string) error {
	return errdefs.ErrFailedPrecondition
}
func (f *fake) Workspaces(context.Context) ([]api.Workspace, error)   { return nil, nil }
func (f *fake) VerifyAudit(context.Context) (api.Verification, error) { return api.Verification{}, nil }

func (f *fake) Shutdown(context.Context, httpapi.Peer) error { return nil }

func (f *fake) PermitLink(context.Context, httpapi.Peer) (httpapi.Opener, error) {
	return nil, f.noLink
}

func (f *fake) WorkspaceDiff(_ context.Context, server, agent string) (api.WorkspaceDiff, error) {
	return api.WorkspaceDiff{Workspace: api.Workspace{Server: server, Agent: agent}}, nil
}

func (f *fake) ApplyWorkspace(_ context.Context, _ httpapi.Peer, _ string, r api.ApplyRequest) (api.ApplyResult, error) {
	return api.ApplyResult{Done: []api.Change{{Path: strings.Join(r.Paths, ",")}}}, nil
}

func (f *fake) DiscardWorkspace(context.Context, httpapi.Peer, string, api.ApplyRequest) (api.ApplyResult, error) {
	return api.ApplyResult{}, nil
}

func (f *fake) Import(_ context.Context, _ httpapi.Peer, r api.ImportRequest) (api.ImportPlan, error) {
	return api.ImportPlan{File: r.From}, nil
}

func (f *fake) Restore(context.Context, httpapi.Peer, api.RestoreRequest) ([]api.Restored, error) {
	return nil, nil
}

func (f *fake) Audit(_ context.Context, q api.AuditQuery) ([]api.AuditEvent, error) {
	after, limit, call := q.After, q.Limit, q.Call
	return []api.AuditEvent{{Seq: after, Kind: fmt.Sprint(limit), Call: call}}, nil
}

func (f *fake) AccessRefused(_ context.Context, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = append(f.refused, why)
}

func (f *fake) refusedCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.refused)
}

func (f *fake) Events(ctx context.Context, since int64) ([]api.Event, error) {
	found, err := f.log.After(ctx, since)
	return httpapi.Events(found), err
}

// Attach answers each line with its upper case, and with "bye" when the client is done.
func (f *fake) Attach(_ context.Context, p httpapi.Peer, a api.Attach, conn net.Conn) error {
	defer conn.Close()
	f.note(p)
	said, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, a.Server+a.Workspace[0]+":"+strings.ToUpper(string(said)))
	return err
}

func (f *fake) CallTool(_ context.Context, p httpapi.Peer, c api.ToolCall) (api.ToolResult, error) {
	f.note(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called = append(f.called, c)
	return api.ToolResult{Result: c.Arguments}, nil
}

// daemon is a Server on a socket and a port.
type daemon struct {
	*fake
	client *api.Client
	page   string // http://127.0.0.1:PORT
}

// serve runs a Server until the test ends, and checks that it ends.
func serve(t *testing.T) *daemon {
	t.Helper()
	f := newFake()
	page := fstest.MapFS{
		"index.html":      {Data: []byte("<p>the page</p><meta content=__CSP_NONCE__>")},
		"assets/app-1.js": {Data: []byte("js")},
		"assets/in/x.css": {Data: []byte("css")},
	}
	s := httpapi.New(f, httpapi.Options{Page: page})
	socket := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	run := func(network, addr string, fn func(context.Context, net.Listener) error) string {
		ln, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := fn(ctx, ln); err != nil {
				t.Errorf("serve %s: %v", network, err)
			}
		})
		return ln.Addr().String()
	}
	run("unix", socket, s.ServeSocket)
	addr := run("tcp", "127.0.0.1:0", s.ServePage)
	client := api.New(socket)
	t.Cleanup(func() {
		client.Close()
		cancel()
		wg.Wait()
		sandboxtest.NoLeaks(t)
	})
	waitFor(t, func() bool { return s.PageURL() != "" })
	return &daemon{fake: f, client: client, page: "http://" + addr}
}

// waitFor polls what has no channel to wait on.
func waitFor(t *testing.T, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); !fact(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// browser is a client with a jar, as a browser has.
type browser struct {
	*http.Client
	page  string
	token string
}

// visit claims a link, as the page does.
func (d *daemon) visit(t *testing.T) *browser {
	t.Helper()
	b := d.stranger(t)
	link, err := d.client.BrowserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ := strings.Cut(link.URL, "#token=")
	status, body := b.do(t, "POST", "/api/v1/browser-sessions/claim", `{"token":"`+secret+`"}`, nil)
	if status != 200 {
		t.Fatalf("claim: %d %s", status, body)
	}
	b.token = strings.TrimSuffix(strings.TrimPrefix(body, `{"token":"`), `"}`)
	return b
}

// stranger is a browser without a session.
func (d *daemon) stranger(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &browser{Client: &http.Client{Jar: jar, Transport: tr}, page: d.page}
}

// do sends one request with the given headers ("Host" sets the host) and the browser's token.
func (b *browser) do(t *testing.T, method, path, body string, header map[string]string) (int, string) {
	t.Helper()
	resp := b.send(t, method, path, body, header)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

func (b *browser) send(t *testing.T, method, path, body string, header map[string]string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.page+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if method != "GET" {
		req.Header.Set("Origin", b.page)
	}
	if b.token != "" {
		req.Header.Set("X-Garita-Token", b.token)
	}
	for k, v := range header {
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Set(k, v)
	}
	resp, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}
