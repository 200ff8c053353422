package tray

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/godbus/dbus/v5"
)

// seen is the tray as a panel sees it.
type seen struct {
	t    *testing.T
	conn *dbus.Conn
	name string
}

func (i seen) property(name string) any {
	i.t.Helper()
	v, err := i.conn.Object(i.name, "/StatusNotifierItem").GetProperty("org.kde.StatusNotifierItem." + name)
	if err != nil {
		i.t.Fatal(err)
	}
	return v.Value()
}

// labels reads the menu: each entry's number by its words; a disabled one is in brackets.
func (i seen) labels() map[string]int32 {
	i.t.Helper()
	var revision uint32
	var root node
	call := i.conn.Object(i.name, "/StatusNotifierItem/menu").Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{})
	if err := call.Store(&revision, &root); err != nil {
		i.t.Fatal(err)
	}
	out := map[string]int32{}
	for _, v := range root.Children {
		var child node
		if err := dbus.Store([]any{v.Value()}, &child); err != nil {
			i.t.Fatal(err)
		}
		label, _ := child.Properties["label"].Value().(string)
		if on, ok := child.Properties["enabled"].Value().(bool); ok && !on {
			label = "[" + label + "]"
		}
		out[label] = child.ID
	}
	return out
}

// awaitLabel waits until the menu has an entry.
func (i seen) awaitLabel(label string) int32 {
	i.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(deadline); ; {
		labels := i.labels()
		if id, ok := labels[label]; ok {
			return id
		}
		select {
		case <-tick.C:
		case <-end:
			i.t.Fatalf("the menu has no %q: %v", label, labels)
		}
	}
}

// click chooses an entry of the menu.
func (i seen) click(id int32) {
	i.t.Helper()
	i.clicked(id, 0)
}

// quit chooses an entry after which nobody may be left to reply.
func (i seen) quit(id int32) {
	i.t.Helper()
	i.clicked(id, dbus.FlagNoReplyExpected)
}

func (i seen) clicked(id int32, flags dbus.Flags) {
	i.t.Helper()
	call := i.conn.Object(i.name, "/StatusNotifierItem/menu").Call("com.canonical.dbusmenu.Event", flags, id, "clicked", dbus.MakeVariant(""), uint32(0))
	if call.Err != nil {
		i.t.Fatal(call.Err)
	}
}

// activate is a click on the icon itself.
func (i seen) activate() {
	i.t.Helper()
	if err := i.conn.Object(i.name, "/StatusNotifierItem").Call("org.kde.StatusNotifierItem.Activate", 0, int32(1), int32(2)).Err; err != nil {
		i.t.Fatal(err)
	}
}

func (s *session) item(name string) seen { return seen{s.t, s.conn, name} }

func TestIconMenuAndClicks(t *testing.T) {
	s := newSession(t)
	p := s.startPanel(s.conn)
	r := s.startTray("10s")
	i := s.item(await(t, p.items, "the icon"))
	r.say("")
	i.awaitLabel("[Nothing waits for you]")
	i.awaitLabel("[Review…]")
	calm := fmt.Sprint(i.property("IconPixmap"))
	r.say("r1=one=a|r2=two=b")
	i.awaitLabel("[2 requests wait for you]")
	i.click(i.awaitLabel("Review…"))
	r.expect("open: /approvals")
	if lit := fmt.Sprint(i.property("IconPixmap")); lit == calm || i.property("Status") != "NeedsAttention" {
		t.Error("the lamp is not lit")
	}
	if tip := fmt.Sprint(i.property("ToolTip")); !strings.Contains(tip, "2 requests wait for you") {
		t.Errorf("the tool tip is %s", tip)
	}
	r.say("r2=two=b")
	i.awaitLabel("[1 request waits for you]")
	i.click(i.awaitLabel("Review…"))
	r.expect("open: /approvals?review=r2")
	r.say("")
	i.awaitLabel("[Nothing waits for you]")
	if dark := fmt.Sprint(i.property("IconPixmap")); dark != calm {
		t.Error("the lamp is still lit")
	}
	i.click(i.awaitLabel("[Review…]")) // a panel may send it all the same
	i.click(i.awaitLabel("Open Garita"))
	r.expect("open: /")
	i.activate()
	r.expect("open: /")
	r.say("r3=three=c")
	i.awaitLabel("Review…")
	i.activate()
	r.expect("open: /approvals?review=r3")
	i.quit(i.awaitLabel("Quit"))
	r.expect("ended: <nil>")
}

func TestDaemonGone(t *testing.T) {
	s := newSession(t)
	p := s.startPanel(s.conn)
	r := s.startTray("10s")
	i := s.item(await(t, p.items, "the icon"))
	r.say("r1=one=a")
	i.awaitLabel("[1 request waits for you]")
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	i.awaitLabel("[The daemon is not running]")
	i.awaitLabel("[Review…]")
}

func TestPanelThatComesLater(t *testing.T) {
	s := newSession(t)
	r := s.startTray("30s")
	first := s.connect()
	p := s.startPanel(first)
	i := s.item(await(t, p.items, "the icon in the panel that came later"))
	r.say("r1=one=a")
	i.awaitLabel("[1 request waits for you]")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	p = s.startPanel(s.conn)
	await(t, p.items, "the icon in the panel that was started again")
}

func TestNoPanel(t *testing.T) {
	s := newSession(t)
	r := s.startTray("0s")
	r.expect("ended: no panel on this desktop")
	s.startTray("50ms").expect("ended: no panel on this desktop")
}

func TestNoBus(t *testing.T) {
	r := startTray(t, "1s", "XDG_RUNTIME_DIR="+t.TempDir())
	r.expect("ended: no session bus")
	if err := r.cmd.Wait(); err == nil || r.cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("ended with %v, want 4", err)
	}
	startTray(t, "1s", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent/bus").expect("ended: reach the session bus")
}

func TestBusGoesAway(t *testing.T) {
	gone := newSession(t)
	p := gone.startPanel(gone.conn)
	r := gone.startTray("10s")
	await(t, p.items, "the icon")
	if err := gone.daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.expect("ended: <nil>")
}

func TestBusAddress(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	there := func(p string) bool { return p == "/run/user/7/bus" }
	for name, tt := range map[string]struct {
		env  map[string]string
		want string
	}{
		"given":          {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}, "unix:path=/x"},
		"in its place":   {map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, "unix:path=/run/user/7/bus"},
		"not there":      {map[string]string{"XDG_RUNTIME_DIR": "/run/user/8"}, ""},
		"nothing":        {nil, ""},
		"to be launched": {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "autolaunch:"}, ""},
	} {
		got, err := busAddress(env(tt.env), there)
		if got != tt.want || (tt.want == "") != errdefs.IsFailedPrecondition(err) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}
