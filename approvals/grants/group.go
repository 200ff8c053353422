package grants

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// Group is questions that can be answered together: writes, or reads, of one session at one server.
// Its ID changes with its members, so that none joins unseen.
type Group struct {
	ID      string // "q" and 16 hex digits
	Class   approvals.Class
	Place   string // the folder they all lie in, with its slash; "" where there is none
	Members []approvals.Request
}

// alike is what members of a group have in common.
type alike struct {
	principal approvals.Principal
	session   approvals.SessionID
	server    sandbox.ServerName
	spec      sandbox.Digest
	class     approvals.Class
}

// Groups puts pending together where several can be answered at once. Groups and their members are
// in the order of pending. What destroys, runs code, or carries what looks like a secret is asked
// about alone.
func Groups(pending []approvals.Request) []Group {
	var groups []Group
	index := map[alike]int{}
	for _, r := range pending {
		if !groupable(r) {
			continue
		}
		key := alike{r.Call.Principal, r.Call.Session, r.Call.Server, r.Call.Spec, r.Why.Class}
		i, known := index[key]
		if !known {
			i = len(groups)
			index[key] = i
			groups = append(groups, Group{Class: key.class})
		}
		groups[i].Members = append(groups[i].Members, r)
	}
	several := groups[:0]
	for _, g := range groups {
		if len(g.Members) > 1 {
			several = append(several, named(g))
		}
	}
	return several
}

func groupable(r approvals.Request) bool {
	return r.Kind == approvals.KindCall && r.Why.Rule != approvals.RuleArguments && r.Call.Sensitive == "" &&
		(r.Why.Class == approvals.Write || r.Why.Class == approvals.Read)
}

// named is g with its ID and place.
func named(g Group) Group {
	h := sha256.New()
	g.Place = place(g.Members[0].Call)
	for _, r := range g.Members {
		_, _ = io.WriteString(h, string(r.ID)+" "+string(r.Binding)+"\n") // never fails
		g.Place = common(g.Place, place(r.Call))
	}
	if g.Place == "/" {
		g.Place = ""
	}
	g.ID = "q" + hex.EncodeToString(h.Sum(nil)[:8])
	return g
}

// place is the folder a call is about.
func place(c approvals.Call) string {
	for name, value := range strs(c.Arguments) {
		if known(places, name) {
			return folderOf(value)
		}
	}
	return ""
}

// common is the folder that holds two.
func common(a, b string) string {
	for a != "" && !strings.HasPrefix(b, a) {
		a = a[:strings.LastIndexByte(strings.TrimSuffix(a, "/"), '/')+1]
	}
	return a
}
