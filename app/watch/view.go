package watch

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/garita-dev/garita/app/question"
	"github.com/garita-dev/garita/app/safe"
	"github.com/garita-dev/garita/daemon/api"
)

// paints are the looks. Where the terminal has no colors, or NO_COLOR is set, they are left out.
var paints = map[question.Look]lipgloss.Style{
	question.Normal:  lipgloss.NewStyle(),
	question.Bold:    lipgloss.NewStyle().Bold(true),
	question.Dim:     lipgloss.NewStyle().Faint(true),
	question.Warn:    lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Yellow),
	question.Added:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	question.Removed: lipgloss.NewStyle().Foreground(lipgloss.Red),
	question.Place:   lipgloss.NewStyle().Foreground(lipgloss.Blue),
}

// paint colors a line, and not the blanks at its end.
func paint(l question.Line) string {
	if l.Look == question.Normal || l.Text == "" {
		return l.Text
	}
	return paints[l.Look].Inline(true).Render(l.Text)
}

// View implements tea.Model.
func (m model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.WindowTitle = fmt.Sprintf("Garita: %d waiting", len(m.waiting))
	return v
}

// screen is the header, the page as far as there is room, and what can be done.
func (m model) screen() string {
	out := []string{paint(m.header()), paint(question.Line{Text: strings.Repeat("─", m.width), Look: question.Dim})}
	room := m.room()
	for i := range room {
		text := ""
		if at := m.top + i; at < len(m.lines) {
			text = paint(m.lines[at])
		}
		out = append(out, text)
	}
	for _, l := range m.footer() {
		out = append(out, paint(l))
	}
	return strings.Join(out, "\n")
}

// header says how much waits and, of what is shown, which it is and how long is left.
func (m model) header() question.Line {
	parts := []string{"Garita", fmt.Sprintf("%d waiting", len(m.waiting))}
	if m.shown != nil {
		parts = append(parts, safe.Line(m.shown.Call.Agent)+" at "+safe.Line(m.shown.Call.Server))
		if m.mode != ended {
			parts = append(parts, question.Left(m.now(), m.shown.Expires))
		}
	}
	return question.Line{Text: ansi.Truncate(strings.Join(parts, " · "), m.width, "…"), Look: question.Bold}
}

// footer is a rule, what there is to say, and the keys.
func (m model) footer() []question.Line {
	return append([]question.Line{{Text: m.rule(), Look: question.Dim}}, m.foot()...)
}

// foot is the footer below its rule.
func (m model) foot() []question.Line {
	p := question.On(m.width)
	if m.lost != nil {
		p.Say(question.Warn, "! ", "The daemon is not heard: "+describe(m.lost))
	}
	if m.mode == ended && m.group == nil {
		p.Say(question.Bold, "", question.Ending(*m.shown, m.own))
	}
	if m.mode == ended && m.group != nil {
		p.Say(question.Bold, "", "Answered together:")
	}
	for part := range strings.SplitSeq(m.notice, "\n") {
		p.Say(question.Warn, "", strings.TrimSpace(part))
	}
	p.Say(question.Dim, "", m.keys())
	return p.Lines()
}

// rule is the line above the footer; it says how much of the page is not on the screen.
func (m model) rule() string {
	more := ""
	if below := len(m.lines) - m.top - m.room(); below > 0 {
		more = fmt.Sprintf(" %d more lines below (space) ", below)
	}
	return ansi.Truncate("──"+more+strings.Repeat("─", m.width), m.width, "")
}

// keys says what can be done.
func (m model) keys() string {
	switch m.mode {
	case typing:
		return m.askCode()
	case choosing:
		return "up down choose · enter take it · esc back"
	case sending:
		return "Sending your answer …"
	case ended:
		return "enter go on · up down scroll · q quit"
	case looking:
		return m.keysLooking()
	case idle:
	}
	if m.wanted != "" {
		return "Fetching a question … · q quit"
	}
	return "Questions show up here by themselves. · q quit"
}

func (m model) keysLooking() string {
	keys := []string{"d deny", "a approve once"}
	switch {
	case m.group != nil:
		keys = []string{"d deny all", "a approve all", "esc back, to see one of them whole"}
	default:
		if len(m.shown.Offers) > 1 {
			keys = append(keys, "l a longer yes")
		}
		if m.shown.Group != "" {
			keys = append(keys, "g together with those like it")
		}
		if len(m.waiting) > 1 {
			keys = append(keys, "n p others")
		}
	}
	return strings.Join(append(keys, "up down scroll", "q quit"), " · ")
}

// askCode says what a yes that is about to be given means, and which code gives it.
func (m model) askCode() string {
	what := "this one, and nothing else"
	switch {
	case m.group != nil:
		what = fmt.Sprintf("all %d of these", len(m.group.Members))
	case len(m.shown.Offers) > 0:
		o := m.shown.Offers[m.choice]
		what = question.ScopeWords(o.Permit) + ": " + safe.Line(o.Words)
	}
	return fmt.Sprintf("You are about to allow %s. To approve, type %s and enter (esc back): %s_", what, m.code(), m.typed)
}

// room is how many lines of the page fit between the header's two lines and the footer.
func (m model) room() int { return max(1, m.height-3-len(m.foot())) }

// laidOut lays the page out anew.
func (m model) laidOut() model {
	switch {
	case m.shown == nil:
		m.lines = nil
	case m.mode == choosing:
		m.lines, m.top = m.offered()
	case m.group != nil:
		m.lines = question.Together(*m.group, m.width)
	default:
		m.lines = question.Of(*m.shown, m.width)
	}
	return m
}

// offered is the page of offers, from where the chosen one can be seen.
func (m model) offered() (lines []question.Line, top int) {
	lines, at := question.Choices(m.shown.Offers, m.choice, m.width)
	return lines, max(0, at-max(0, m.room()-4))
}

// settled keeps the page within its bounds and notes whether all that a yes is about has been on the screen.
func (m model) settled() model {
	if m.shown == nil {
		m.lines = nil
		if m.mode == idle && m.wanted == "" {
			m.lines = []question.Line{{}, {Text: "Nothing waits for you."}}
		}
	}
	room := m.room()
	m.top = max(0, min(m.top, len(m.lines)-room))
	if (m.mode == looking || m.mode == typing) && m.top+room >= question.Must(m.lines) {
		m.seen = true
	}
	return m
}

// describe says what went wrong, and what to do next, on lines of their own.
func describe(err error) string {
	var p *api.Problem
	if !errors.As(err, &p) {
		return safe.Line(err.Error())
	}
	text := safe.Line(p.Title)
	if p.Detail != "" {
		text += ": " + safe.Line(p.Detail)
	}
	if p.Next != "" {
		text += "\n" + safe.Line(p.Next)
	}
	return text
}
