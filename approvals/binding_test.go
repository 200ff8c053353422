package approvals_test

import (
	"testing"

	"github.com/garita-dev/garita/approvals"
)

func TestBindingTellsCallsApart(t *testing.T) {
	bindings := map[string]string{"": string(aRead().Binding())}
	for name, change := range map[string]func(*approvals.Call){
		"another uid":            func(c *approvals.Call) { c.Principal.UID = 1001 },
		"another client":         func(c *approvals.Call) { c.Principal.Client = "cursor" },
		"another session":        func(c *approvals.Call) { c.Session = "s2" },
		"another server":         func(c *approvals.Call) { c.Server = "git" },
		"another definition":     func(c *approvals.Call) { c.Spec = "sha256:other" },
		"another tool":           func(c *approvals.Call) { c.Tool = "read_files" },
		"another pin":            func(c *approvals.Call) { c.Pin = "sha256:other" },
		"other arguments":        func(c *approvals.Call) { c.Arguments = []byte(`{"path":"b.txt"}`) },
		"a space":                func(c *approvals.Call) { c.Arguments = []byte(`{"path": "a.txt"}`) },
		"no arguments":           func(c *approvals.Call) { c.Arguments = nil },
		"empty arguments":        func(c *approvals.Call) { c.Arguments = []byte{} },
		"a letter to the left":   func(c *approvals.Call) { c.Server, c.Spec = "filess", "ha256:spec" },
		"a letter to the right":  func(c *approvals.Call) { c.Tool, c.Pin = "read_fil", "esha256:pin" },
		"tool and pin in turn":   func(c *approvals.Call) { c.Tool, c.Pin = "sha256:pin", "read_file" },
		"a client in the uid":    func(c *approvals.Call) { c.Principal = approvals.Principal{UID: 10, Client: "00claude"} },
		"arguments in the pin":   func(c *approvals.Call) { c.Pin += `{"path":"a.txt"}`; c.Arguments = nil },
		"an answer":              func(c *approvals.Call) { c.Input = []byte(`{"k":{"action":"accept"}}`) },
		"another answer":         func(c *approvals.Call) { c.Input = []byte(`{"k":{"action":"decline"}}`) },
		"an empty answer":        func(c *approvals.Call) { c.Input = []byte{} },
		"a state":                func(c *approvals.Call) { c.State = []byte(`"s"`) },
		"a state as an answer":   func(c *approvals.Call) { c.Input = []byte(`"s"`) },
		"arguments as an answer": func(c *approvals.Call) { c.Arguments, c.Input = nil, c.Arguments },
		"a zero byte in between": func(c *approvals.Call) { c.Server = "files\x00" },
	} {
		c := aRead()
		change(&c)
		b := string(c.Binding())
		for other, known := range bindings {
			if b == known {
				t.Errorf("%q has the binding of %q", name, other)
			}
		}
		bindings[name] = b
	}
}

func TestBindingIsOfTheCallAndNotOfTheAttempt(t *testing.T) {
	c := aRead()
	c.ID, c.Label, c.Instance, c.Sentence, c.Class, c.ClassWhy = "c2", "other", "i2", "other", approvals.Write, "other"
	if c.Binding() != aRead().Binding() {
		t.Error("what only describes a call changes its binding")
	}
	if got, want := string(aRead().Binding()), "sha256:"; len(got) != len(want)+64 || got[:7] != want {
		t.Errorf("binding %q", got)
	}
}
