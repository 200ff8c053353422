package engine

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/ocispec"
)

const (
	// askTime bounds how long a program waits for an answer, should the daemon not say that nobody answers.
	askTime = 5 * time.Minute
	// askCheck is how often it is looked whether those who wait are still there, while somebody waits.
	askCheck = time.Second
	// maxAsked bounds how many questions wait; more are denied.
	maxAsked = 32
)

// holder holds the programs of one sandbox to its rules for what they execute. What is let go on is looked
// at again when the kernel has executed it and before its first instruction: a program that changed its
// words in between is killed. All but answer is for the watcher's one thread.
type holder struct {
	rules  sandbox.ExecRules
	note   *sightings
	cannot func(error) // told when a program cannot be held to the rules here
	touch  func(path string)
	wake   int // an eventfd: readable once there are answers

	first tracee // the server's own process, once it has been executed; -1 before
	chain bool   // it executes "env", which executes what it is for

	asked map[uint64]*asked
	count uint64

	mu      sync.Mutex // guards the fields below
	answers []wire.ExecAnswer
	ended   bool // wake is closed
}

// asked is one question that waits for an answer, with those who wait for it.
type asked struct {
	program program
	waiting []question
	until   time.Time
}

func newHolder(rules sandbox.ExecRules, note *sightings, cannot func(error)) (*holder, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &holder{rules: rules, note: note, cannot: cannot, wake: fd, first: -1, asked: map[uint64]*asked{}}, nil
}

// end lets go of what the holder has. No answer is taken any more.
func (h *holder) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	_ = unix.Close(h.wake)
}

// decide answers one question about a program, or leaves it waiting for a person.
func (h *holder) decide(fd int, in root, q question) error {
	at, known := callAt(&q)
	if !known || !at.command || at.argv == noArgv {
		h.tell(sandbox.SawDenied, program{}, sandbox.ExecVerdict{}, "it is asked for in the words of another architecture")
		return refuse(fd, q, unix.EPERM)
	}
	p, errno := in.programOf(&q, at)
	if errno != 0 {
		if h.first < 0 {
			h.cannot(fmt.Errorf("look for %q: %w", p.Argv, errno))
		}
		return refuse(fd, q, errno)
	}
	if h.first < 0 && p.Path == ocispec.InitPath { // it asks again, after a signal
		return respond(fd, reply{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
	}
	v, why := h.rules.Decide(p.Execution), ""
	if h.first < 0 || h.chain && int(q.pid) == int(h.first) {
		v = sandbox.ExecVerdict{Effect: sandbox.ExecAllow} // it is the server's own command
	}
	switch v.Effect {
	case sandbox.ExecAllow:
		return h.run(fd, q, p)
	case sandbox.ExecAsk:
		if h.ask(q, p, v) {
			return nil
		}
		why = "too many questions wait already"
	case sandbox.ExecDeny:
	}
	h.tell(sandbox.SawDenied, p, v, why)
	return refuse(fd, q, unix.EACCES)
}

// run lets a thread execute a program, and kills it if that is another one by then.
func (h *holder) run(fd int, q question, p program) error {
	t, process, err := hold(q.pid)
	switch {
	case errors.Is(err, unix.ESRCH) && h.first >= 0: // it is gone
		return refuse(fd, q, unix.EACCES)
	case err != nil:
		h.tell(sandbox.SawDenied, p, sandbox.ExecVerdict{}, "it cannot be held to the rules: "+err.Error())
		if h.first < 0 {
			h.cannot(err)
		}
		return refuse(fd, q, unix.EACCES)
	}
	sent := respond(fd, reply{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
	now, executed, _, err := t.await(process)
	if err == nil {
		err = sent
	}
	if err != nil || !executed {
		return err
	}
	if why := h.another(now, p); why != "" && h.first >= 0 { // the server's own command is asked for by us
		h.tell(sandbox.SawDenied, p, sandbox.ExecVerdict{}, why)
		now.kill()
		return nil
	}
	h.own(now, p)
	h.touch(p.Path)
	h.tell(sandbox.SawCommand, p, sandbox.ExecVerdict{}, "")
	return now.release(0)
}

// another says what is wrong with what a process has become; "" for nothing.
func (h *holder) another(now tracee, p program) string {
	if p.Path != "" {
		if p.executed(now) {
			return ""
		}
		return "what was executed is not what was asked for"
	}
	name, err := os.Readlink(proc(uint32(now), "exe"))
	if err != nil {
		return "what was executed cannot be told"
	}
	x := sandbox.Execution{Path: name, Real: name, Argv: argvOf(now), Cut: p.Cut}
	if h.rules.Decide(x).Effect != sandbox.ExecAllow {
		return "what was executed is " + strings.ToValidUTF8(name, "\uFFFD")
	}
	return ""
}

// own remembers the server's own process. A script whose interpreter looks for another goes on for one more.
func (h *holder) own(now tracee, p program) {
	switch {
	case h.first < 0:
		h.first = now
		h.chain = len(p.Via) > 0 && path.Base(p.Via[0]) == "env"
	case now == h.first:
		h.chain = false
	}
}

// ask leaves a question waiting for a person; false where too many do.
func (h *holder) ask(q question, p program, v sandbox.ExecVerdict) bool {
	for _, a := range h.asked {
		if a.program.same(p) {
			a.waiting = append(a.waiting, q)
			return true
		}
	}
	if len(h.asked) >= maxAsked {
		return false
	}
	h.count++
	s := sighted(sandbox.SawAsked, p, v, "")
	s.Ask = h.count
	if !h.note.put(s, time.Now().UTC()) {
		return false
	}
	h.asked[h.count] = &asked{program: p, waiting: []question{q}, until: time.Now().Add(askTime)}
	return true
}

// same says whether two are the same command, in the same place.
func (p program) same(o program) bool {
	return p.Path == o.Path && p.Real == o.Real && p.dir == o.dir && !p.Cut && !o.Cut &&
		sandbox.CommandLine("", p.Argv) == sandbox.CommandLine("", o.Argv)
}

// answer takes a person's answer to a question. Whoever calls it does not wait.
func (h *holder) answer(a wire.ExecAnswer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil
	}
	h.answers = append(h.answers, a)
	_, err := unix.Write(h.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return err
}

// settle does what was answered, and lets go of questions whose time is over or which nobody waits for.
func (h *holder) settle(fd int, in root) error {
	_, _ = unix.Read(h.wake, make([]byte, 8))
	h.mu.Lock()
	answers := h.answers
	h.answers = nil
	h.mu.Unlock()
	for _, given := range answers {
		a := h.asked[given.Ask]
		if a == nil {
			continue
		}
		delete(h.asked, given.Ask)
		if err := h.answered(fd, in, a, given); err != nil {
			return err
		}
	}
	return h.expire(fd)
}

func (h *holder) answered(fd int, in root, a *asked, given wire.ExecAnswer) error {
	for _, q := range a.waiting {
		if !valid(fd, q) {
			continue
		}
		at, _ := callAt(&q)
		p, errno := in.programOf(&q, at)
		var err error
		switch {
		case errno != 0:
			err = refuse(fd, q, errno)
		case !given.Allow:
			h.tell(sandbox.SawDenied, p, sandbox.ExecVerdict{}, given.Why)
			err = refuse(fd, q, unix.EACCES)
		case a.program.same(p):
			err = h.run(fd, q, p)
		default: // it is another one by now
			err = h.decide(fd, in, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *holder) expire(fd int) error {
	for id, a := range h.asked {
		there := a.waiting[:0]
		for _, q := range a.waiting {
			if valid(fd, q) {
				there = append(there, q)
			}
		}
		a.waiting = there
		over := time.Now().After(a.until)
		if len(there) > 0 && !over {
			continue
		}
		delete(h.asked, id)
		h.note.put(sandbox.Sighting{Kind: sandbox.SawGone, Ask: id}, time.Now().UTC())
		for _, q := range there {
			h.tell(sandbox.SawDenied, a.program, sandbox.ExecVerdict{}, "nobody answered in time")
			if err := refuse(fd, q, unix.EACCES); err != nil {
				return err
			}
		}
	}
	return nil
}

// patience is how long the watcher may wait for something to happen, in milliseconds; -1 for ever.
func (h *holder) patience() int {
	if h == nil || len(h.asked) == 0 {
		return -1
	}
	return int(askCheck.Milliseconds())
}

func (h *holder) tell(kind sandbox.SightingKind, p program, v sandbox.ExecVerdict, why string) {
	h.note.put(sighted(kind, p, v, why), time.Now().UTC())
}

// sighted is a program as it is told of: bounded, and valid UTF-8.
func sighted(kind sandbox.SightingKind, p program, v sandbox.ExecVerdict, why string) sandbox.Sighting {
	s := sandbox.Sighting{Kind: kind, Pattern: v.Pattern, Why: why, Fixed: p.Fixed, Cut: p.Cut}
	text := func(w string, most int) string {
		clean := strings.ToValidUTF8(w, "\uFFFD")
		if len(clean) > most {
			clean = strings.ToValidUTF8(clean[:most], "")
		}
		s.Cut = s.Cut || clean != w
		return clean
	}
	s.Path, s.File, s.Dir = text(p.Path, maxPath), text(p.Real, maxPath), text(p.dir, maxPath)
	left := maxLine
	for i, w := range p.Argv {
		if i == maxArgs || left <= 0 {
			s.Cut = true
			break
		}
		w = text(w, min(maxWord, left))
		s.Argv, left = append(s.Argv, w), left-len(w)-1
	}
	if len(p.Via) > 0 {
		s.Script = text(sandbox.CommandLine(p.Via[0], p.Via[1:]), maxWord)
	}
	return s
}

// refuse answers a question with an error.
func refuse(fd int, q question, errno unix.Errno) error {
	return respond(fd, reply{id: q.id, errno: -int32(errno)}) //nolint:gosec // a small number
}

// respond answers a question. Whoever asked may be gone, or ask again after a signal: that is no error.
func respond(fd int, r reply) error {
	if err := ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("answer the kernel: %w", err)
	}
	return nil
}

// valid says whether somebody still waits for the answer to a question.
func valid(fd int, q question) bool {
	return ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&q.id)) == nil
}

// answerExec answers a question about a program.
func (e *Engine) answerExec(r *http.Request, b *box) (any, error) {
	if b.held == nil {
		return nil, fmt.Errorf("instance %s has no rules for commands: %w", b.launch.ID, errdefs.ErrFailedPrecondition)
	}
	a, err := decode[wire.ExecAnswer](r)
	if err != nil {
		return nil, err
	}
	return done{}, b.held.answer(a)
}
