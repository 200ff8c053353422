package watch

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/garita-dev/garita/daemon/api"
)

// key does what a key means now.
func (m model) key(k tea.KeyPressMsg) (model, tea.Cmd) {
	name := k.String()
	if name == "ctrl+c" {
		return m, tea.Quit
	}
	switch m.mode {
	case typing:
		return m.keyTyping(k, name)
	case choosing:
		return m.keyChoosing(name)
	case sending:
		return m, nil
	case idle, looking, ended:
	}
	if name == "q" {
		return m, tea.Quit
	}
	if scrolled, ok := m.scroll(name); ok {
		return scrolled, nil
	}
	if m.mode == looking {
		return m.keyLooking(name)
	}
	return m.keyEnded(name)
}

// keyEnded goes on from what has ended.
func (m model) keyEnded(name string) (model, tea.Cmd) {
	if m.mode == ended && slices.Contains([]string{"enter", "n", "tab", "right"}, name) {
		return m.next()
	}
	return m, nil
}

func (m model) keyLooking(name string) (model, tea.Cmd) {
	m.notice = ""
	switch name {
	case "n", "tab", "right":
		return m.step(1)
	case "p", "shift+tab", "left":
		return m.step(-1)
	case "esc":
		if m.group != nil {
			m.group, m.top, m.seen = nil, 0, false
			m = m.laidOut()
		}
		return m, nil
	case "g":
		return m.gathered(), nil
	}
	if m.now().Sub(m.since) < armed {
		return m, nil
	}
	switch name {
	case "d":
		return m.answer(false)
	case "a":
		return m.begin(0), nil
	case "l":
		if m.group == nil && len(m.shown.Offers) > 1 {
			m.mode, m.choice = choosing, 0
			m.top = 0
			return m.laidOut(), nil
		}
	}
	return m, nil
}

// step goes to another question that waits.
func (m model) step(by int) (model, tea.Cmd) {
	n := len(m.waiting)
	i := indexOf(m.waiting, m.shown.ID)
	if n < 2 || i < 0 {
		m.notice = "No other question waits."
		return m, nil
	}
	return m.turn((i + by + n) % n)
}

// gathered shows the group of the question, as it is now, to be answered together.
func (m model) gathered() model {
	if m.group != nil {
		return m
	}
	i := slices.IndexFunc(m.groups, func(g api.ApprovalGroup) bool {
		return slices.ContainsFunc(g.Members, func(o api.GroupMember) bool { return o.ID == m.shown.ID })
	})
	if i < 0 || len(m.groups[i].Members) < 2 {
		m.notice = "It stands alone: nothing like it waits."
		return m
	}
	g := m.groups[i]
	m.group, m.top, m.seen, m.since = &g, 0, false, m.now()
	return m.laidOut()
}

// begin has a code typed for a yes, once all that it is about has been on the screen.
func (m model) begin(choice int) model {
	if !m.seen {
		m.notice = "There is more of it below. Read all that would be done first (space)."
		return m
	}
	m.mode, m.choice, m.typed, m.notice = typing, choice, "", ""
	return m
}

func (m model) keyChoosing(name string) (model, tea.Cmd) {
	m.notice = ""
	last := len(m.shown.Offers) - 1
	switch {
	case name == "esc", name == "q":
		m.mode, m.choice, m.top = looking, 0, 0
	case name == "up", name == "k":
		m.choice = max(0, m.choice-1)
	case name == "down", name == "j", name == "tab":
		m.choice = min(last, m.choice+1)
	case len(name) == 1 && name[0] >= '1' && int(name[0]-'1') <= last:
		m.choice = int(name[0] - '1')
	case name == "enter":
		choice := m.choice
		m.mode, m.top = looking, 0
		return m.laidOut().begin(choice), nil
	}
	return m.laidOut(), nil
}

func (m model) keyTyping(k tea.KeyPressMsg, name string) (model, tea.Cmd) {
	switch {
	case name == "esc":
		m.mode, m.typed, m.choice = looking, "", 0
	case name == "backspace":
		m.typed = m.typed[:max(0, len(m.typed)-1)]
	case name == "enter":
		if !strings.EqualFold(m.typed, m.code()) {
			m.mode, m.typed, m.choice = looking, "", 0
			m.notice = "That is not the code. Nothing was answered."
			return m, nil
		}
		return m.answer(true)
	case len(k.Text) == 1 && k.Text[0] > ' ' && k.Text[0] < 0x7f && len(m.typed) < maxTyped:
		m.typed += k.Text
	}
	return m, nil
}

// scroll moves the page; ok is false for keys that do not.
func (m model) scroll(name string) (model, bool) {
	room := m.room()
	switch name {
	case "down", "j":
		m.top++
	case "up", "k":
		m.top--
	case "space", "pgdown":
		m.top += max(1, room-1)
	case "b", "pgup":
		m.top -= max(1, room-1)
	case "home":
		m.top = 0
	case "end", "G":
		m.top = len(m.lines)
	default:
		return m, false
	}
	m.notice = ""
	return m, true
}
