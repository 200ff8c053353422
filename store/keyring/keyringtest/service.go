// Package keyringtest has a session bus of a test's own, and a Secret Service on it that does what the
// test says: be locked, ask without an end, not answer at all, go away.
package keyringtest

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

// Bus starts a session bus without a keyring, and has this process find it. It ends with the test.
func Bus(t testing.TB) (address string) {
	t.Helper()
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil && slices.Contains(strings.Split(os.Getenv("GARITA_REQUIRE"), ","), "dbus") {
		t.Fatal("dbus is required and missing: no dbus-daemon (Debian: dbus)")
	} else if err != nil {
		t.Skip("needs dbus: no dbus-daemon (Debian: dbus)")
	}
	dir := t.TempDir()
	conf := dir + "/bus.conf" // no service is started because somebody asks for it
	text := `<busconfig><type>session</type><listen>unix:dir=` + dir + `</listen><auth>EXTERNAL</auth><policy context="default">` +
		`<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), daemon, "--config-file="+conf, "--nofork", "--nopidfile", "--print-address")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address = strings.TrimSpace(line)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	return address
}

const (
	root   = dbus.ObjectPath("/org/freedesktop/secrets")
	login  = root + "/collection/login"
	prompt = root + "/prompt/1"
	face   = "org.freedesktop.Secret."
)

// Prompts is what becomes of a question to the keyring's owner.
type Prompts int

// The answers.
const (
	Unlocks  Prompts = iota // at once
	Declines                // at once
	Never                   // the prompt never completes
)

// Service is a Secret Service with one collection.
type Service struct {
	conn *dbus.Conn

	mu        sync.Mutex // guards the fields below
	items     map[dbus.ObjectPath]*item
	locked    bool
	prompts   Prompts
	silent    chan struct{} // nil while it answers
	asked     int
	dismissed int
}

type item struct {
	attributes map[string]string
	value      []byte
}

type secret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

// Start puts one on the bus. It goes with the test, or with Stop.
func Start(t testing.TB, address string) *Service {
	t.Helper()
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{conn: conn, items: map[dbus.ObjectPath]*item{}}
	for _, o := range []struct {
		object any
		path   dbus.ObjectPath
		face   string
	}{
		{service{s}, root, face + "Service"},
		{collection{s}, login, face + "Collection"},
		{properties{s}, login, "org.freedesktop.DBus.Properties"},
		{prompted{s}, prompt, face + "Prompt"},
	} {
		if err := conn.Export(o.object, o.path, o.face); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.ExportSubtree(entries{s}, login, face+"Item"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("org.freedesktop.secrets", dbus.NameFlagReplaceExisting); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Answer()
		s.Stop()
	})
	return s
}

// Stop takes it from the bus.
func (s *Service) Stop() { _ = s.conn.Close() }

// Lock locks the collection; questions are then answered as p says.
func (s *Service) Lock(p Prompts) { s.set(true, p) }

// Unlock unlocks it, as its owner could elsewhere, and says so on the bus.
func (s *Service) Unlock() { s.set(false, Unlocks) }

func (s *Service) set(locked bool, p Prompts) {
	s.mu.Lock()
	s.locked, s.prompts = locked, p
	s.mu.Unlock()
	_ = s.conn.Emit(login, "org.freedesktop.DBus.Properties.PropertiesChanged", face+"Collection", map[string]dbus.Variant{"Locked": dbus.MakeVariant(locked)}, []string{})
}

// Silence has it answer nothing until Answer.
func (s *Service) Silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = make(chan struct{})
}

// Answer has it answer again.
func (s *Service) Answer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent != nil {
		close(s.silent)
		s.silent = nil
	}
}

// Asked is how often a prompt was shown, and how often one was taken back.
func (s *Service) Asked() (shown, dismissed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.dismissed
}

// Entries are the values that are kept, by the name of their entry.
func (s *Service) Entries() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for _, i := range s.items {
		out[i.attributes["username"]] = string(i.value)
	}
	return out
}

// Put changes an entry, or with no value forgets it, behind everybody's back.
func (s *Service) Put(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, i := range s.items {
		if i.attributes["username"] == name {
			delete(s.items, path)
		}
	}
	if value != "" {
		s.add(map[string]string{"service": "garita", "username": name}, []byte(value))
	}
}

func (s *Service) add(attributes map[string]string, value []byte) dbus.ObjectPath {
	path := login + dbus.ObjectPath(fmt.Sprintf("/i%d", len(s.items)+1))
	for s.items[path] != nil {
		path += "x"
	}
	s.items[path] = &item{attributes, value}
	return path
}

// begin waits while it is silent, and holds mu then.
func (s *Service) begin() {
	s.mu.Lock()
	for s.silent != nil {
		wait := s.silent
		s.mu.Unlock()
		<-wait
		s.mu.Lock()
	}
}

func isLocked() *dbus.Error { return dbus.NewError(face+"Error.IsLocked", nil) }

type service struct{ s *Service }

func (o service) OpenSession(string, dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	o.s.begin()
	defer o.s.mu.Unlock()
	return dbus.MakeVariant(""), root + "/session/1", nil
}

func (o service) SearchItems(want map[string]string) (unlocked, locked []dbus.ObjectPath, err *dbus.Error) {
	o.s.begin()
	defer o.s.mu.Unlock()
	found := []dbus.ObjectPath{}
	for path, i := range o.s.items {
		if matches(i.attributes, want) {
			found = append(found, path)
		}
	}
	if o.s.locked {
		return []dbus.ObjectPath{}, found, nil
	}
	return found, []dbus.ObjectPath{}, nil
}

func matches(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

func (o service) Unlock(what []dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	o.s.begin()
	defer o.s.mu.Unlock()
	if !o.s.locked {
		return what, "/", nil
	}
	return []dbus.ObjectPath{}, prompt, nil
}

func (o service) ReadAlias(string) (dbus.ObjectPath, *dbus.Error) {
	o.s.begin()
	defer o.s.mu.Unlock()
	return login, nil
}

type properties struct{ s *Service }

func (o properties) Get(string, string) (dbus.Variant, *dbus.Error) {
	o.s.begin()
	defer o.s.mu.Unlock()
	return dbus.MakeVariant(o.s.locked), nil
}

type collection struct{ s *Service }

func (o collection) CreateItem(p map[string]dbus.Variant, value secret, _ bool) (dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	o.s.begin()
	defer o.s.mu.Unlock()
	if o.s.locked {
		return "/", "/", isLocked()
	}
	attributes, _ := p[face+"Item.Attributes"].Value().(map[string]string)
	maps.DeleteFunc(o.s.items, func(_ dbus.ObjectPath, i *item) bool { return matches(i.attributes, attributes) })
	return o.s.add(attributes, value.Value), "/", nil
}

// entries are the items, which say by the message which of them is meant.
type entries struct{ s *Service }

func (o entries) GetSecret(m dbus.Message, session dbus.ObjectPath) (secret, *dbus.Error) {
	o.s.begin()
	defer o.s.mu.Unlock()
	i := o.s.items[pathOf(m)]
	switch {
	case i == nil:
		return secret{}, dbus.NewError(face+"Error.NoSuchObject", nil)
	case o.s.locked:
		return secret{}, isLocked()
	}
	return secret{session, []byte{}, i.value, "text/plain"}, nil
}

func (o entries) Delete(m dbus.Message) (dbus.ObjectPath, *dbus.Error) {
	o.s.begin()
	defer o.s.mu.Unlock()
	delete(o.s.items, pathOf(m))
	return "/", nil
}

func pathOf(m dbus.Message) dbus.ObjectPath {
	path, _ := m.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	return path
}

type prompted struct{ s *Service }

func (o prompted) Prompt(string) *dbus.Error {
	o.s.begin()
	o.s.asked++
	does := o.s.prompts
	o.s.mu.Unlock()
	switch does {
	case Unlocks:
		o.s.Unlock()
		_ = o.s.conn.Emit(prompt, face+"Prompt.Completed", false, dbus.MakeVariant([]dbus.ObjectPath{login}))
	case Declines:
		_ = o.s.conn.Emit(prompt, face+"Prompt.Completed", true, dbus.MakeVariant([]dbus.ObjectPath{}))
	case Never:
	}
	return nil
}

func (o prompted) Dismiss() *dbus.Error {
	o.s.begin()
	defer o.s.mu.Unlock()
	o.s.dismissed++
	return nil
}
