package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/policy"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// projectPolicy is where a project keeps its policy, below its folder.
const projectPolicy = ".garita/policy.yaml"

// maxProjectPolicy is more than any such file may have, in bytes; Parse refuses what is longer.
const maxProjectPolicy = 256<<10 + 1

func projectFile(dir string) string { return filepath.Join(dir, projectPolicy) }

// readProject reads the policy in a folder's files. Nothing outside the folder is read, and nothing
// but a plain file: whoever wrote the project may not be who uses it.
func readProject(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(projectPolicy, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is no plain file: %w", projectFile(dir), errdefs.ErrInvalidArgument)
	}
	return io.ReadAll(io.LimitReader(f, maxProjectPolicy))
}

// ProjectPolicy implements httpapi.Backend.
func (d *Daemon) ProjectPolicy(_ context.Context, dir string) (api.ProjectPolicy, error) {
	if !filepath.IsAbs(dir) {
		return api.ProjectPolicy{}, &api.Problem{Code: "invalid", Title: fmt.Sprintf("%q is not a full path", dir), Next: "name the folder from /"}
	}
	dir = filepath.Clean(dir)
	p := d.project(dir)
	if p.State == "" {
		return p, &api.Problem{
			Code: "not_found", Title: "There is no policy in " + dir, Detail: "It would be " + projectFile(dir) + ".",
			Next: "write one there, or rules into " + d.config.Paths().PolicyFile(),
		}
	}
	return p, nil
}

// project tells of one folder's policy; State is "" when there is none and none was accepted.
func (d *Daemon) project(dir string) api.ProjectPolicy {
	out := api.ProjectPolicy{
		Dir: dir, File: projectFile(dir), Servers: d.serversGiven(dir), Problems: []api.PolicyProblem{},
		Narrows: []api.PolicyRule{}, Widens: []api.PolicyRule{}, Lost: []api.PolicyRule{},
	}
	var had []approvals.Rule
	kept, accepted := d.policies.acceptedFor(dir)
	if accepted {
		out.Accepted, out.At, out.By, out.Allows = string(kept.Digest), &kept.At, kept.By, kept.Allows
		had = kept.rules()
	}
	data, err := readProject(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !accepted:
		return out
	case errors.Is(err, fs.ErrNotExist):
		out.State, out.Lost = "gone", apiRules(had)
		return out
	case err != nil:
		out.State, out.Problems = "invalid", apiProblems(projectFile(dir), err)
		return out
	}
	out.Digest = string(policy.Digest(data))
	parsed, err := policy.Parse(projectFile(dir), data)
	switch {
	case err != nil:
		out.State, out.Problems = "invalid", apiProblems(projectFile(dir), err)
		return out
	case out.Digest == out.Accepted:
		out.State = "accepted"
	case accepted:
		out.State = "changed"
	default:
		out.State = "new"
	}
	for _, r := range parsed.Rules {
		r.Folder = dir
		if r.Effect == approvals.Allow {
			out.Widens = append(out.Widens, apiRule(r))
			continue
		}
		out.Narrows = append(out.Narrows, apiRule(r))
	}
	out.Lost = apiRules(lost(had, parsed.Rules))
	return out
}

// lost are the rules of had that say nothing that now says.
func lost(had, now []approvals.Rule) []approvals.Rule {
	var out []approvals.Rule
	for _, h := range had {
		words := policy.Words(h)
		same := func(r approvals.Rule) bool { r.Folder = h.Folder; return policy.Words(r) == words }
		if !slices.ContainsFunc(now, same) {
			out = append(out, h)
		}
	}
	return out
}

func (p *policies) acceptedFor(dir string) (acceptedPolicy, bool) {
	all := p.now().accepted
	i := slices.IndexFunc(all, func(a acceptedPolicy) bool { return a.Dir == dir })
	if i < 0 {
		return acceptedPolicy{}, false
	}
	return all[i], true
}

// serversGiven are the servers that are given a folder in dir, or around it.
func (d *Daemon) serversGiven(dir string) []string {
	out := []string{}
	for _, s := range d.config.Servers() {
		if slices.ContainsFunc(s.Spec.Folders, func(f string) bool { return inOrIs(f, dir) || inOrIs(dir, f) }) {
			out = append(out, string(s.Name))
		}
	}
	return out
}

func inOrIs(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// projects are the folders of servers and of agents' workspaces that have a policy, and those for
// which one was accepted.
func (d *Daemon) projects(ctx context.Context) []api.ProjectPolicy {
	var dirs []string
	for _, a := range d.policies.now().accepted {
		dirs = append(dirs, a.Dir)
	}
	for _, s := range d.config.Servers() {
		dirs = append(dirs, s.Spec.Folders...)
	}
	if all, err := d.db.Workspaces(ctx, ""); err == nil {
		for _, w := range all {
			dirs = append(dirs, w.Folders...)
		}
	}
	slices.Sort(dirs)
	out := []api.ProjectPolicy{}
	for _, dir := range slices.Compact(dirs) {
		if p := d.project(dir); p.State != "" {
			out = append(out, p)
		}
	}
	return out
}

// AcceptPolicy implements httpapi.Backend. The agent cannot accept for the person: see mayReply.
func (d *Daemon) AcceptPolicy(ctx context.Context, peer httpapi.Peer, a api.AcceptPolicy) (api.ProjectPolicy, error) {
	typed := a.TTY && a.Code != "" && a.Code == api.AnswerCode(a.Digest)
	by, err := d.mayReply(ctx, peer, "accept the policy of "+a.Dir, typed)
	if err != nil {
		return api.ProjectPolicy{}, err
	}
	if !filepath.IsAbs(a.Dir) {
		return api.ProjectPolicy{}, &api.Problem{Code: "invalid", Title: fmt.Sprintf("%q is not a full path", a.Dir), Next: "name the folder from /"}
	}
	a.Dir = filepath.Clean(a.Dir)
	d.policies.changing.Lock()
	err = d.accept(ctx, peer, a, by)
	d.policies.changing.Unlock()
	if err != nil {
		return api.ProjectPolicy{}, err
	}
	d.policyChanged()
	return d.project(a.Dir), nil
}

// accept records what a person accepts and puts it into force. d.policies.changing is held.
func (d *Daemon) accept(ctx context.Context, peer httpapi.Peer, a api.AcceptPolicy, by string) error {
	next, err := d.policies.with(a, by)
	if err != nil {
		return err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("keep accepted policies: %w", err)
	}
	kept, _ := d.policies.acceptedFor(a.Dir)
	e := event(store.PolicyAccepted, approvals.Principal{UID: peer.UID}, map[string]any{
		"dir": a.Dir, "before": kept.Digest, "after": map[bool]string{false: a.Digest}[a.Remove], "allows": a.Allows, "by": by,
	})
	if _, err := d.db.AppendDurable(ctx, e); err != nil {
		return fmt.Errorf("accept the policy of %s: %w: %w", a.Dir, errdefs.ErrUnavailable, err)
	}
	if err := d.config.Paths().WriteAccepted(text); err != nil {
		return err
	}
	d.policies.mu.Lock()
	defer d.policies.mu.Unlock()
	d.policies.accepted, d.policies.lost = next, nil
	d.policies.publish()
	return nil
}

// with is what would be accepted after a. What was shown must still be what is there.
func (p *policies) with(a api.AcceptPolicy, by string) ([]acceptedPolicy, error) {
	next := slices.DeleteFunc(p.now().accepted, func(k acceptedPolicy) bool { return k.Dir == a.Dir })
	if a.Remove {
		kept, there := p.acceptedFor(a.Dir)
		if !there || string(kept.Digest) != a.Digest {
			return nil, changedMeanwhile(a.Dir)
		}
		return next, nil
	}
	data, err := readProject(a.Dir)
	if err != nil {
		return nil, &api.Problem{Code: "not_found", Title: "There is no policy in " + a.Dir + " to accept", Detail: err.Error()}
	}
	digest := policy.Digest(data)
	if string(digest) != a.Digest {
		return nil, changedMeanwhile(a.Dir)
	}
	if _, err := policy.Parse(projectFile(a.Dir), data); err != nil {
		return nil, &api.Problem{Code: "invalid", Title: "The policy in " + a.Dir + " is wrong", Detail: err.Error(), Next: "garita policy check " + projectFile(a.Dir)}
	}
	return append(next, acceptedPolicy{Dir: a.Dir, Digest: sandbox.Digest(a.Digest), Text: string(data), Allows: a.Allows, At: time.Now().UTC(), By: by}), nil
}

func changedMeanwhile(dir string) error {
	return &api.Problem{
		Code: "conflict", Title: "The policy of " + dir + " is not the one that was shown",
		Detail: "It was changed meanwhile, or accepted otherwise.", Next: "garita policy accept " + dir,
	}
}
