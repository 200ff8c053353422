package observe

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// maxMounts bounds what is suggested, and maxLooks what is looked for on this machine.
	maxMounts = 50
	maxLooks  = 1000
)

// mounts suggests, read-only, what was looked for in vain and is on this machine. Nothing of it is
// given unless the person picks it: a server can look for whatever it wants.
func (p *Proposal) mounts(wanted []Thing, f Facts) {
	if f.Look == nil {
		return
	}
	var found []suggestion
	for i, t := range wanted {
		if i == maxLooks {
			p.Notes = append(p.Notes, fmt.Sprintf("It looked for %d more paths.", len(wanted)-i))
			break
		}
		if s, ok := p.suggestion(t, f); ok {
			found = append(found, s)
		}
	}
	found = narrowest(found)
	if len(found) > maxMounts {
		p.Notes = append(p.Notes, fmt.Sprintf("It looked for %d more paths that are on this machine.", len(found)-maxMounts))
		found = found[:maxMounts]
	}
	for _, s := range found {
		p.suggest(s, slices.Contains(f.Mounts, s.mount.Host))
	}
}

// suggestion is a mount that might be given.
type suggestion struct {
	mount sandbox.Mount
	thing Thing
}

// suggestion looks for one path. What must not be given is told of, where it is worth telling.
func (p *Proposal) suggestion(t Thing, f Facts) (s suggestion, ok bool) {
	host := t.Raw
	if host == "" {
		p.add("mounts", Refuse, t.What, "its name holds what cannot be seen", t)
		return s, false
	}
	if rest, inside := below(host, sandbox.HomeInside); inside && f.Home != "" {
		host = path.Join(f.Home, rest)
	}
	place := f.Look(host)
	switch {
	case place.Credential:
		p.add("mounts", Refuse, host, happened("looked for", t)+"; keys and passwords are kept there", t)
		return s, false
	case !place.Exists:
		return s, false
	case place.Refused != "":
		p.add("mounts", Refuse, host, happened("looked for", t)+"; "+place.Refused, t)
		return s, false
	case !plain(place.Real):
		return s, false
	}
	return suggestion{sandbox.Mount{Host: place.Real, At: t.Raw}, t}, true
}

// below is a path without the directory that it lies in.
func below(name, dir string) (rest string, inside bool) {
	rest, inside = strings.CutPrefix(name, dir+"/")
	return rest, inside
}

// narrowest leaves out the folders of which something inside was looked for, too, and what would be at
// the same place.
func narrowest(all []suggestion) []suggestion {
	slices.SortStableFunc(all, func(a, b suggestion) int { return strings.Compare(a.mount.At, b.mount.At) })
	var out []suggestion
	for i, s := range all {
		wider := slices.ContainsFunc(all, func(o suggestion) bool {
			_, inside := below(o.mount.At, s.mount.At)
			return inside
		})
		if !wider && (i == 0 || all[i-1].mount.At != s.mount.At) {
			out = append(out, s)
		}
	}
	return out
}

func (p *Proposal) suggest(s suggestion, picked bool) {
	why := happened("looked for", s.thing)
	if s.thing.Write {
		why += "; it wanted to write there, and would read only"
	}
	line := Line{
		Part: "mounts", Verb: Suggest, What: s.mount.Host + ", read-only", Why: why,
		Count: s.thing.Count, In: s.thing.In, Mount: s.mount.Host,
	}
	if s.mount.At != s.mount.Host {
		line.What = s.mount.Host + " at " + s.mount.At + ", read-only"
	}
	if picked {
		line.Verb = Add
		p.Server.Spec.Mounts = append(p.Server.Spec.Mounts, s.mount)
	}
	p.Lines = append(p.Lines, line)
}
