package main

import (
	"testing"

	"github.com/garita-dev/garita/daemon/api"
)

func TestGist(t *testing.T) {
	for name, c := range map[string]struct{ kind, body, want string }{
		"a decision":        {"call.decided", `{"call":{"tool":"write_file"},"decision":{"effect":"deny","rule":"default rule 2"}}`, "write_file: deny by default rule 2"},
		"an end":            {"call.finished", `{"call":{"tool":"get_report"},"outcome":"withheld"}`, "get_report: withheld"},
		"an answer":         {"approval.answered", `{"request":"r0123456789abcdef","outcome":"approved","by":"page"}`, "r01234567 approved page"},
		"a refused answer":  {"approval.refused", `{"what":"answer r1","why":"Process 7 descends from process 6."}`, "answer r1: Process 7 descends from process 6."},
		"hostile text":      {"tool.demoted", `{"tool":"a\u001b[2J\u202eb","reason":"it wrote"}`, `a\x1b[2J\u202eb: it wrote`},
		"another kind":      {"daemon.started", `{ "pid": 7 }`, `{"pid":7}`},
		"not what we think": {"call.finished", `{"call":"x","outcome":[1]}`, ":"},
		"no JSON":           {"call.finished", `{`, ":"},
		"nothing":           {"daemon.stopped", `null`, ""},
	} {
		if got := gist(api.AuditEvent{Kind: c.kind, Body: []byte(c.body)}); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
