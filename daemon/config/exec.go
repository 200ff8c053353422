package config

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/garita-dev/garita/sandbox"
)

// declaredExec is rules for commands, as written. Where exec stands at all it is there: whatever stands
// behind it, what it does not name is denied.
type declaredExec struct {
	Allow []string `yaml:"allow,omitempty"`
	Ask   []string `yaml:"ask,omitempty"`
	Deny  []string `yaml:"deny,omitempty"`
}

// heldToRules gives rules that deny everything to servers behind whose exec nothing stands, wherever that
// is written: by themselves, or in what they take over by an alias or a merge key.
func heldToRules(file string, data []byte, servers map[string]*declared) error {
	var written struct {
		Servers map[string]map[string]any `yaml:"servers"`
	}
	if err := yaml.Unmarshal(data, &written); err != nil {
		return problem(file, err)
	}
	for name, d := range servers {
		if _, there := written.Servers[name]["exec"]; there && d != nil && d.Exec == nil {
			d.Exec = &declaredExec{}
		}
	}
	return nil
}

func (d *declaredExec) lower() (*sandbox.ExecRules, error) {
	if d == nil {
		return nil, nil
	}
	for _, p := range slices.Concat(d.Allow, d.Ask, d.Deny) {
		if err := sandbox.CheckExecPattern(p); err != nil {
			return nil, fmt.Errorf("exec: %w", err)
		}
	}
	return &sandbox.ExecRules{Allow: slices.Concat(d.Allow), Ask: slices.Concat(d.Ask), Deny: slices.Concat(d.Deny)}, nil
}

func declareExec(r *sandbox.ExecRules) *declaredExec {
	if r == nil {
		return nil
	}
	d := &declaredExec{}
	for list, from := range map[*[]string][]string{&d.Allow: r.Allow, &d.Ask: r.Ask, &d.Deny: r.Deny} {
		if len(from) > 0 {
			*list = from
		}
	}
	return d
}

func (w *writer) exec(d *declaredExec) {
	switch {
	case d == nil:
	case len(d.Allow)+len(d.Ask)+len(d.Deny) == 0:
		w.add("exec: {}")
	default:
		w.nested("exec", list{"allow", d.Allow}, list{"ask", d.Ask}, list{"deny", d.Deny})
	}
}

// canonicalExec is rules without regard to the order in which they were written.
func canonicalExec(r *sandbox.ExecRules) *sandbox.ExecRules {
	if r == nil {
		return nil
	}
	sorted := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return &sandbox.ExecRules{Allow: sorted(r.Allow), Ask: sorted(r.Ask), Deny: sorted(r.Deny)}
}
