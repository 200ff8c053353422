package tray

import (
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/garita-dev/garita/daemon/api"
)

func click(t *testing.T, from *dbus.Conn, number uint32) {
	t.Helper()
	press(t, from, number, "review")
}

func press(t *testing.T, from *dbus.Conn, number uint32, button string) {
	t.Helper()
	if err := from.Emit(notifyPath, notifyName+".ActionInvoked", number, button); err != nil {
		t.Fatal(err)
	}
}

func TestNotifications(t *testing.T) {
	s := newSession(t)
	n := s.startNotes()
	s.startPanel(s.conn)
	r := s.startTray("10s")
	r.say("r1=one <b>bold</b>=/x <img src\u202e>&")
	got := await(t, n.shown, "a notification")
	if got.title != "one <b>bold</b>" || got.body != "/x &lt;img src\uFFFD&gt;&amp;" {
		t.Errorf("got %+v, want the markup escaped", got)
	}
	if !strings.Contains(strings.Join(got.actions, " "), "Review") || strings.Contains(strings.Join(got.actions, " "), "Approve") {
		t.Errorf("actions %v, want Review alone", got.actions)
	}
	r.say("r1=one=a")
	r.say("r1=one=a|r2=two=b")
	second := await(t, n.shown, "the second notification, and none for what is known")
	if second.title != "two" {
		t.Errorf("got %+v", second)
	}
	click(t, s.connect(), got.number) // forged: not the service's connection
	click(t, s.conn, second.number)
	r.expect("open: /approvals?review=r2") // and not r1
	r.say("r2=two=b")
	if number := await(t, n.closed, "the answered question's notification to go"); number != got.number {
		t.Errorf("took away %d, want %d", number, got.number)
	}
	click(t, s.conn, got.number)
	click(t, s.conn, second.number)
	r.expect("open: /approvals?review=r2") // the one taken away leads nowhere
}

func TestANotificationCanSayNo(t *testing.T) {
	s := newSession(t)
	n := s.startNotes()
	s.startPanel(s.conn)
	r := s.startTray("10s")
	r.say("r1=one=a")
	got := await(t, n.shown, "a notification")
	if said := strings.Join(got.actions, " "); !strings.Contains(said, "deny Deny") || strings.Contains(strings.ToLower(said), "approve") {
		t.Errorf("actions %v, want Review and Deny", got.actions)
	}
	press(t, s.connect(), got.number, "deny") // forged
	press(t, s.conn, got.number, "approve")   // no such button: it leads to the question
	r.expect("open: /approvals?review=r1")
	press(t, s.conn, got.number, "deny")
	r.expect("deny: r1 sha256:r1")
}

func TestEveryKindIsOneLine(t *testing.T) {
	for name, tc := range map[string]struct {
		a    api.Approval
		want string
	}{
		"a call":           {api.Approval{Object: "git push"}, "git push"},
		"a doubtful call":  {api.Approval{Object: "git push", Findings: []api.Finding{{Kind: "doubt", Text: "It was told to."}}}, "git push: It was told to."},
		"a tool":           {api.Approval{Object: "x", Tool: &api.ToolChange{Tool: "read", Findings: []string{"it hides words"}}}, "read: it hides words"},
		"files":            {api.Approval{Apply: &api.Application{Paths: []string{"/a", "/b"}}}, "/a, /b"},
		"all files":        {api.Approval{Apply: &api.Application{}}, "everything that differs"},
		"a host":           {api.Approval{Network: &api.NetworkAccess{Hosts: []string{"a:443"}}}, "a:443"},
		"a package":        {api.Approval{Install: &api.Installation{Package: "npm:x@1"}}, "npm:x@1"},
		"use of a secret":  {api.Approval{Secret: &api.SecretUse{Secret: "t", Hosts: []string{"h"}}}, "t, towards h"},
		"nothing in words": {api.Approval{Call: api.Call{Agent: "a", Tool: "t"}}, ""},
	} {
		if got := questions([]api.Approval{tc.a})[0]; got.Object != tc.want || name == "nothing in words" && got.Title != "a asks for t" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestFloodIsOneNotification(t *testing.T) {
	s := newSession(t)
	n := s.startNotes()
	s.startPanel(s.conn)
	r := s.startTray("10s")
	r.say("a=1=x|b=2=x|c=3=x|d=4=x")
	first := await(t, n.shown, "one notification for all")
	if first.title != "4 requests wait for you" {
		t.Errorf("got %+v", first)
	}
	r.say("a=1=x|b=2=x|c=3=x|d=4=x|e=5=x|f=6=x|g=7=x|h=8=x")
	if again := await(t, n.shown, "the same one, changed"); again.replaces != first.number || again.title != "8 requests wait for you" {
		t.Errorf("got %+v, want number %d replaced", again, first.number)
	}
	click(t, s.conn, first.number)
	r.expect("open: /approvals")
	r.say("")
	if number := await(t, n.closed, "it to go"); number != first.number {
		t.Errorf("took away %d", number)
	}
}

func TestPlainText(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\x1b[31m":            "a\uFFFDb\uFFFD[31m",
		"\u202eevil\u2066":        "\uFFFDevil\uFFFD",
		strings.Repeat("x", 1000): strings.Repeat("x", maxBody) + "…",
		"文件 📁":                    "文件 📁",
	} {
		if got := plainText(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
