package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/garita-dev/garita/app/question"
	"github.com/garita-dev/garita/daemon/api"
)

// mode is what keys mean.
type mode int

const (
	idle     mode = iota // nothing is shown
	looking              // at a question, or a group
	choosing             // how far a yes reaches
	typing               // the code of a yes
	sending              // an answer
	ended                // the shown question has; it stays until the person goes on
)

// model is the whole screen. Update returns it changed; it does nothing itself.
type model struct {
	ctx    context.Context //nolint:containedctx // of what it asks the daemon
	daemon Daemon
	now    func() time.Time

	width, height int

	waiting []api.Approval // in the order they came
	groups  []api.ApprovalGroup
	wanted  string             // the question that is being fetched
	shown   *api.Approval      // as it was fetched: it never changes under the eye
	group   *api.ApprovalGroup // when all of it is shown in place of the question
	since   time.Time          // when what is shown came up
	mode    mode
	choice  int             // of shown.Offers
	typed   string          // of the code
	yes     bool            // the answer under way
	own     bool            // the ending is of the person's own answer
	top     int             // the first line that is shown
	seen    bool            // all of it has been on the screen
	notice  string          // what went wrong, or is to be done first
	lost    error           // the daemon is not heard
	lines   []question.Line // of the page, for width
}

// The messages.
type (
	changed struct{}            // questions have come or ended
	lost    struct{ err error } // the daemon is not heard
	listed  struct {
		waiting []api.Approval
		groups  []api.ApprovalGroup
		err     error
	}
	fetched struct {
		id  string
		a   api.Approval
		err error
	}
	answered struct {
		id  string // "" for a group
		a   []api.Approval
		err error
	}
	tick struct{}
)

const (
	// armed is how long keys that answer do nothing after a question has come up: they were meant for
	// what was there before.
	armed = 600 * time.Millisecond
	// tickEvery is how often the time that is left is told anew.
	tickEvery = 10 * time.Second
	// maxTyped bounds a code.
	maxTyped = 16
)

func newModel(ctx context.Context, d Daemon, now func() time.Time) model {
	return model{ctx: ctx, daemon: d, now: now, width: 80, height: 24}
}

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return ticking() }

func ticking() tea.Cmd { return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tick{} }) }

// Update implements tea.Model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(20, msg.Width), max(8, msg.Height)
		m = m.laidOut()
	case tick:
		cmd = ticking()
	case changed:
		m.lost = nil
		cmd = m.list()
	case lost:
		m.lost = msg.err
	case listed:
		m, cmd = m.listed(msg)
	case fetched:
		m = m.fetched(msg)
	case answered:
		m = m.answered(msg)
	case tea.PasteMsg: // a code is typed, not pasted
	case tea.KeyPressMsg:
		m, cmd = m.key(msg)
	}
	return m.settled(), cmd
}

// list asks what waits.
func (m model) list() tea.Cmd {
	return func() tea.Msg {
		waiting, err := m.daemon.Approvals(m.ctx, 0)
		if err != nil {
			return listed{err: err}
		}
		groups, err := m.daemon.ApprovalGroups(m.ctx)
		return listed{waiting, groups, err}
	}
}

// fetch asks for one question, whole.
func (m model) fetch(id string) tea.Cmd {
	return func() tea.Msg {
		a, err := m.daemon.Approval(m.ctx, id)
		return fetched{id, a, err}
	}
}

// listed takes in what waits. What is shown stays; has it ended, that is asked for.
func (m model) listed(l listed) (model, tea.Cmd) {
	if l.err != nil {
		m.lost = l.err
		return m, nil
	}
	m.waiting, m.groups = inOrder(m.waiting, l.waiting), l.groups
	switch {
	case m.mode == idle && m.wanted == "":
		return m.next()
	case m.shown != nil && m.mode != ended && m.mode != idle && !m.waits(m.shown.ID):
		return m, m.fetch(m.shown.ID)
	}
	return m, nil
}

// inOrder is what waits now, what was there before first and in its old order.
func inOrder(before, now []api.Approval) []api.Approval {
	var out []api.Approval
	for _, b := range before {
		if i := indexOf(now, b.ID); i >= 0 {
			out = append(out, now[i])
		}
	}
	for _, n := range now {
		if indexOf(before, n.ID) < 0 {
			out = append(out, n)
		}
	}
	return out
}

func indexOf(list []api.Approval, id string) int {
	return slices.IndexFunc(list, func(a api.Approval) bool { return a.ID == id })
}

// without is what waits but one.
func without(list []api.Approval, id string) []api.Approval {
	return slices.DeleteFunc(slices.Clone(list), func(a api.Approval) bool { return a.ID == id })
}

func (m model) waits(id string) bool { return indexOf(m.waiting, id) >= 0 }

// next leaves what is shown for the first that waits, or for nothing.
func (m model) next() (model, tea.Cmd) {
	if len(m.waiting) == 0 {
		m.shown, m.group, m.mode, m.notice = nil, nil, idle, ""
		return m, nil
	}
	return m.turn(0)
}

// turn goes to the question at a place in what waits.
func (m model) turn(i int) (model, tea.Cmd) {
	m.wanted = m.waiting[i].ID
	m.shown, m.group, m.mode, m.notice = nil, nil, idle, ""
	return m, m.fetch(m.wanted)
}

// fetched takes in a question: to show it, or to tell how the shown one ended.
func (m model) fetched(f fetched) model {
	switch {
	case f.id == m.wanted && f.err != nil:
		m.wanted, m.lost = "", f.err
	case f.id == m.wanted:
		m.wanted = ""
		m.shown, m.since, m.mode, m.own = &f.a, m.now(), looking, false
		m.top, m.seen, m.choice, m.typed = 0, false, 0, ""
		if f.a.State != "pending" {
			m.mode = ended
		}
		m = m.laidOut()
	case m.shown != nil && f.id == m.shown.ID && f.err == nil && f.a.State != "pending":
		m.shown.State, m.shown.By, m.shown.Rule = f.a.State, f.a.By, f.a.Rule
		m.waiting = without(m.waiting, f.id)
		if m.mode != sending {
			m.mode, m.group = ended, nil
			m = m.laidOut()
		}
	}
	return m
}

// answered takes in what the daemon made of an answer.
func (m model) answered(r answered) model {
	if m.mode != sending {
		return m
	}
	if r.err != nil {
		m.mode, m.notice, m.typed = looking, describe(r.err), ""
		return m
	}
	m.mode, m.own, m.notice = ended, true, ""
	for _, a := range r.a {
		m.waiting = without(m.waiting, a.ID)
		if m.shown != nil && a.ID == m.shown.ID {
			m.shown.State, m.shown.By, m.shown.Rule = a.State, a.By, a.Rule
		}
	}
	if r.id == "" {
		m.notice = tally(r.a)
	}
	return m
}

// tally says how several questions ended.
func tally(all []api.Approval) string {
	count := map[string]int{}
	var states []string
	for _, a := range all {
		if count[a.State]++; count[a.State] == 1 {
			states = append(states, a.State)
		}
	}
	for i, s := range states {
		states[i] = fmt.Sprintf("%d %s", count[s], s)
	}
	return strings.Join(states, ", ") + "."
}

// answer sends what the person has decided.
func (m model) answer(yes bool) (model, tea.Cmd) {
	m.mode, m.yes, m.notice = sending, yes, ""
	if m.group != nil {
		return m, m.answerGroup(*m.group, yes)
	}
	a := api.Answer{Approve: yes, Binding: m.shown.Binding, Code: api.AnswerCode(m.shown.Binding), TTY: true}
	if yes && len(m.shown.Offers) > 0 {
		a.Permit = m.shown.Offers[m.choice].Permit
	}
	if a.Scope == "once" {
		a.Permit = api.Permit{}
	}
	id := m.shown.ID
	return m, func() tea.Msg {
		done, err := m.daemon.Answer(m.ctx, id, a)
		return answered{id, []api.Approval{done}, err}
	}
}

func (m model) answerGroup(g api.ApprovalGroup, yes bool) tea.Cmd {
	seen := seenOf(g)
	return func() tea.Msg {
		done, err := m.daemon.AnswerGroup(m.ctx, api.GroupAnswer{Approve: yes, Members: seen, Code: api.GroupCode(seen), TTY: true})
		return answered{"", done, err}
	}
}

func seenOf(g api.ApprovalGroup) []api.Seen {
	var seen []api.Seen
	for _, member := range g.Members {
		seen = append(seen, member.Seen)
	}
	return seen
}

// code is what has to be typed for a yes to what is shown.
func (m model) code() string {
	if m.group != nil {
		return api.GroupCode(seenOf(*m.group))
	}
	return api.AnswerCode(m.shown.Binding)
}
