package watch

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/api"
)

var update = flag.Bool("update", false, "write golden files anew")

// noon is when the screens are looked at.
var noon = time.Date(2026, 11, 29, 14, 5, 0, 0, time.UTC)

// fake is a daemon with a few questions.
type fake struct {
	mu      sync.Mutex
	list    []api.Approval
	groups  []api.ApprovalGroup
	answers []api.Answer
	group   []api.GroupAnswer
	refuse  error
	change  chan struct{} // received from when something has changed
}

func newFake(list ...api.Approval) *fake { return &fake{list: list, change: make(chan struct{}, 16)} }

func (f *fake) Approvals(ctx context.Context, wait time.Duration) ([]api.Approval, error) {
	for {
		f.mu.Lock()
		var out []api.Approval
		for _, a := range f.list {
			if a.State == "pending" {
				a.Offers = nil
				out = append(out, a)
			}
		}
		f.mu.Unlock()
		if len(out) > 0 || wait == 0 {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (f *fake) Approval(_ context.Context, id string) (api.Approval, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.list {
		if a.ID == id {
			return a, nil
		}
	}
	return api.Approval{}, &api.Problem{Code: "not_found", Title: "There is no question"}
}

func (f *fake) ApprovalGroups(context.Context) ([]api.ApprovalGroup, error) { return f.groups, nil }

func (f *fake) Answer(_ context.Context, id string, a api.Answer) (api.Approval, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return api.Approval{}, f.refuse
	}
	f.answers = append(f.answers, a)
	return f.end(id, map[bool]string{true: "approved", false: "denied"}[a.Approve]), nil
}

func (f *fake) AnswerGroup(_ context.Context, a api.GroupAnswer) (out []api.Approval, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.group = append(f.group, a)
	for _, m := range a.Members {
		out = append(out, f.end(m.ID, "approved"))
	}
	return out, nil
}

// end ends a question. f.mu is held.
func (f *fake) end(id, state string) api.Approval {
	for i := range f.list {
		if f.list[i].ID == id {
			f.list[i].State = state
			return f.list[i]
		}
	}
	return api.Approval{ID: id, State: state}
}

func (f *fake) ended(id, state string) {
	f.mu.Lock()
	f.end(id, state)
	f.mu.Unlock()
	f.change <- struct{}{}
}

func (f *fake) Follow(ctx context.Context, changed func()) error {
	for {
		changed()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.change:
		}
	}
}

func (f *fake) given() []api.Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.answers)
}

// fixture is one of daemon/api's.
func fixture[T any](t *testing.T, name string) (v T) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../daemon/api/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// screen drives a model as the program would, one thing after the other.
type screen struct {
	t     *testing.T
	model model
	now   time.Time
	quit  bool
}

func newScreen(t *testing.T, f *fake, width, height int) *screen {
	t.Helper()
	time.Local = time.UTC
	s := &screen{t: t, now: noon}
	s.model = newModel(t.Context(), f, func() time.Time { return s.now })
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	s.send(changed{})
	s.now = s.now.Add(armed)
	return s
}

// send gives the model a message, and whatever comes of it.
func (s *screen) send(msg tea.Msg) {
	s.t.Helper()
	next, cmd := s.model.Update(msg)
	s.model = next.(model)
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.QuitMsg:
		s.quit = true
	default:
		s.send(msg)
	}
}

var special = map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "up": tea.KeyUp, "space": tea.KeySpace, "end": tea.KeyEnd, "tab": tea.KeyTab, "backspace": tea.KeyBackspace}

// press presses keys, separated by spaces.
func (s *screen) press(keys string) {
	s.t.Helper()
	for name := range strings.FieldsSeq(keys) {
		k := tea.KeyPressMsg{Text: name, Code: []rune(name)[0]}
		if code, ok := special[name]; ok {
			k = tea.KeyPressMsg{Code: code}
		}
		s.send(k)
	}
}

func (s *screen) type_(text string) {
	for _, r := range text {
		s.send(tea.KeyPressMsg{Text: string(r), Code: r})
	}
}

// text is what stands on the screen.
func (s *screen) text() string {
	lines := strings.Split(ansi.Strip(s.model.View().Content), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *screen) check() {
	s.t.Helper()
	view := s.model.View().Content
	lines := strings.Split(view, "\n")
	if len(lines) > s.model.height {
		s.t.Errorf("%d lines on a screen of %d:\n%s", len(lines), s.model.height, view)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > s.model.width {
			s.t.Errorf("a line of %d cells on a screen of %d: %q", w, s.model.width, l)
		}
		for _, r := range ansi.Strip(l) {
			if !unicode.IsPrint(r) {
				s.t.Errorf("%q reaches the terminal in %q", r, l)
			}
		}
	}
}

func (s *screen) golden(name string) {
	s.t.Helper()
	s.check()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(s.text()), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), s.text()); diff != "" {
		s.t.Errorf("%s: %s", name, diff)
	}
}

// call is a small question.
func call(id, command string) api.Approval {
	return api.Approval{
		ID: id, Binding: "sha256:" + strings.Repeat(id[1:2], 64), State: "pending", Asked: noon, Expires: noon.Add(9 * time.Minute), Kind: "command",
		Title: "claude-code wants to run " + command, Object: command, Stays: "It runs in the agent itself.", Before: "nothing yet", Reaches: "whatever you reach",
		Call: api.Call{
			Agent: "claude-code", Server: "claude-code", Tool: "Bash", Class: "execute", Rule: "default rule 2 (everything else asks)",
			Reason: "It runs commands or code: It runs a shell command with your rights.", ClassWhy: "It runs a shell command with your rights.",
			Arguments: []byte(fmt.Sprintf(`{"command":%q}`, command)),
		},
		Offers: []api.Offer{{Words: "this one, and nothing else"}, {Permit: api.Permit{Scope: "always"}, Words: "Bash, always, with command made of commands like git push"}},
	}
}

func TestScreens(t *testing.T) {
	write := fixture[api.Approval](t, "approval.json")
	for name, tc := range map[string]struct {
		a             api.Approval
		width, height int
		keys          string
	}{
		"write":          {write, 80, 40, ""},
		"write-narrow":   {write, 60, 24, ""},
		"write-end":      {write, 80, 40, "end"},
		"write-longer":   {write, 80, 40, "end l down"},
		"write-code":     {write, 80, 40, "end l 4 enter"},
		"hostile-narrow": {fixture[api.Approval](t, "approval-hostile.json"), 60, 50, ""},
		"tool":           {fixture[api.Approval](t, "approval-tool.json"), 80, 40, ""},
		"command":        {call("r1", "git push origin main"), 80, 30, ""},
		"command-code":   {call("r1", "git push origin main"), 80, 30, "a"},
		"command-denied": {call("r1", "git push origin main"), 80, 30, "d"},
		"command-unread": {call("r1", "git push origin main"), 60, 14, "a"},
		"command-enough": {call("r1", "git push origin main"), 60, 22, "a"},
		"nothing":        {api.Approval{}, 60, 10, ""},
		"apply":          {api.Approval{ID: "r1", State: "pending", Kind: "apply", Title: "You want to apply", Expires: noon, Call: api.Call{Server: "files"}, Apply: &api.Application{Paths: []string{"/home/ana/shop/a.ts", "/home/ana/shop/b\x1b[2J"}}}, 60, 24, ""},
		"network":        {api.Approval{ID: "r1", State: "pending", Kind: "network", Title: "fetch wants to reach a host", Expires: noon, Call: api.Call{Server: "fetch"}, Network: &api.NetworkAccess{Hosts: []string{"api.github.com:443"}}}, 60, 24, ""},
		"install":        {api.Approval{ID: "r1", State: "pending", Kind: "install", Title: "npx wants a package", Expires: noon, Call: api.Call{Server: "npx"}, Install: &api.Installation{Package: "npm:left-pad@1.3.0", Integrity: "sha512-x"}}, 60, 24, ""},
		"secret":         {api.Approval{ID: "r1", State: "pending", Kind: "secret", Title: "github wants to use a secret", Expires: noon, Call: api.Call{Server: "github"}, Secret: &api.SecretUse{Secret: "github-token", Hosts: []string{"api.github.com"}}}, 60, 24, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			if tc.a.ID != "" {
				f = newFake(tc.a)
			}
			s := newScreen(t, f, tc.width, tc.height)
			s.press(tc.keys)
			s.golden(name)
		})
	}
}

func TestAYesTakesTheCodeOfWhatWasSeen(t *testing.T) {
	f := newFake(call("r1", "ls"), call("r2", "git push"))
	s := newScreen(t, f, 80, 30)
	s.press("a")
	s.type_("zzzz")
	s.press("enter")
	if !strings.Contains(s.text(), "Nothing was answered") || len(f.given()) != 0 {
		t.Fatalf("another code answers:\n%s", s.text())
	}
	s.press("a")
	s.type_("1111")
	s.press("enter")
	if got := f.given(); len(got) != 1 || !got[0].Approve || got[0].Code != "1111" || !got[0].TTY || got[0].Scope != "" {
		t.Fatalf("got %+v", got)
	}
	if !strings.Contains(s.text(), "You approved it.") || !strings.Contains(s.text(), "wants to run ls") {
		t.Errorf("it does not stay:\n%s", s.text())
	}
	s.press("d a")
	if len(f.given()) != 1 {
		t.Error("an ended question is answered")
	}
	s.press("enter")
	if !strings.Contains(s.text(), "wants to run git push") {
		t.Errorf("the next does not come:\n%s", s.text())
	}
	s.press("d")
	if len(f.given()) != 1 {
		t.Error("a key that was meant for the last one answers the next")
	}
	s.now = s.now.Add(armed)
	s.press("l 2 enter")
	s.type_("2222")
	s.press("enter")
	if got := f.given(); len(got) != 2 || got[1].Scope != "always" || got[1].Binding != call("r2", "").Binding {
		t.Errorf("got %+v", got)
	}
	s.press("enter q")
	if !s.quit {
		t.Error("it does not end")
	}
}

func TestWhatIsShownStays(t *testing.T) {
	f := newFake(call("r2", "two"))
	s := newScreen(t, f, 80, 30)
	before := s.text()
	f.list = append([]api.Approval{call("r1", "one")}, f.list...)
	s.send(changed{})
	if got := strings.Replace(s.text(), "2 waiting", "1 waiting", 1); !strings.HasPrefix(got, before[:len(before)/2]) || !strings.Contains(got, "wants to run two") {
		t.Errorf("a newer question takes its place:\n%s", got)
	}
	s.press("a")
	f.ended("r2", "withdrawn")
	s.send(changed{})
	if !strings.Contains(s.text(), "It was withdrawn") || !strings.Contains(s.text(), "wants to run two") {
		t.Errorf("it does not say how it ended:\n%s", s.text())
	}
	s.type_("2222")
	if len(f.given()) != 0 {
		t.Error("what ended was answered")
	}
	s.golden("withdrawn")
	s.press("enter")
	if !strings.Contains(s.text(), "wants to run one") {
		t.Errorf("the next does not come:\n%s", s.text())
	}
}

func TestARefusedAnswerIsToldOf(t *testing.T) {
	f := newFake(call("r1", "ls"))
	f.refuse = &api.Problem{Code: "denied", Title: "The agent cannot answer for the person", Detail: "Process 7 descends from process 5, an attached client.\x1b[2J", Next: "Answer in the page or the window, or from a terminal that the agent did not open."}
	s := newScreen(t, f, 60, 34)
	s.press("d")
	s.golden("refused")
}

func TestAGroupIsAnsweredAsItWasShown(t *testing.T) {
	g := fixture[[]api.ApprovalGroup](t, "approval-groups.json")[0]
	var list []api.Approval
	for _, m := range g.Members {
		a := call("r1", m.Sentence)
		a.ID, a.Binding, a.Group, a.Title, a.Object = m.ID, m.Binding, g.ID, "claude-code wants to "+m.Sentence, m.Object
		list = append(list, a)
	}
	f := newFake(list...)
	f.groups = []api.ApprovalGroup{g}
	s := newScreen(t, f, 60, 30)
	s.press("g")
	s.golden("group")
	f.groups[0].Members = append(slices.Clone(g.Members), api.GroupMember{Seen: api.Seen{ID: "r9"}})
	s.send(changed{})
	s.now = s.now.Add(armed)
	s.press("a")
	s.type_(api.GroupCode(seenOf(g)))
	s.press("enter")
	if len(f.group) != 1 || len(f.group[0].Members) != 3 || !f.group[0].Approve || f.group[0].Code != api.GroupCode(seenOf(g)) {
		t.Fatalf("got %+v\n%s", f.group, s.text())
	}
	s.golden("group-answered")
}

func TestAnySizeWillDo(t *testing.T) {
	s := newScreen(t, newFake(fixture[api.Approval](t, "approval-hostile.json")), 80, 24)
	for _, size := range [][2]int{{20, 8}, {200, 60}, {60, 10}, {33, 24}, {80, 24}} {
		s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		s.press("space l")
		s.check()
		s.press("esc end")
		s.check()
	}
}

func TestALostDaemonIsToldOf(t *testing.T) {
	s := newScreen(t, newFake(call("r1", "ls")), 60, 30)
	s.send(lost{errors.New("gone \x1b[2J")})
	if s.check(); !strings.Contains(s.text(), "The daemon is not heard") {
		t.Error(s.text())
	}
	s.send(changed{})
	if strings.Contains(s.text(), "not heard") {
		t.Error(s.text())
	}
}
