package scan

import (
	"errors"
	"slices"
)

// Filter passes a stream on with texts replaced. It always keeps back as many bytes of what came last,
// whatever they are: what comes out, and when, says nothing about what is looked for. More than a few
// characters of a text's beginning pass only as a part of all of it. Calls may not overlap.
type Filter struct {
	// Found is told of each Pair that is found, by its name, the first time; it may be nil.
	Found func(name string)

	scanner *Scanner
	emit    func([]byte) error
	ready   []byte   // decided about, and kept back
	held    []byte   // could be the beginning of a text
	passed  int      // how many bytes of held have been passed on already
	names   []string // told to Found
	large   *pattern // of which held has more than may pass
	broken  bool     // and the rest did not come
}

// PartError is about a stream with a large part of a text, and not the rest of it. It is over.
type PartError struct {
	Name string // of the Pair
}

func (e *PartError) Error() string { return "a part of " + e.Name + " stands in what passes" }

// IsPart gives the name of the Pair of which a part was found.
func IsPart(err error) (name string, ok bool) {
	var part *PartError
	if !errors.As(err, &part) {
		return "", false
	}
	return part.Name, true
}

// NewFilter returns a Filter that passes on to emit, which may not keep what it is given.
func NewFilter(s *Scanner, emit func([]byte) error) *Filter { return &Filter{scanner: s, emit: emit} }

// Write takes what comes next. The error is emit's, or a PartError.
func (f *Filter) Write(p []byte) error {
	f.take(p, false)
	if f.broken && len(f.held) > f.scanner.longest {
		return f.part()
	}
	return f.pass(f.kept() - f.hold())
}

// Close passes on what is held: nothing more comes.
func (f *Filter) Close() error {
	f.take(nil, true)
	if f.large != nil {
		return f.part()
	}
	return f.pass(f.kept())
}

// Held says whether anything is.
func (f *Filter) Held() bool { return f.kept() > 0 }

// Large says that a large part of a text is held: Release would fail.
func (f *Filter) Large() bool { return f.large != nil }

// Release passes on all that is held, for somebody waits for it. When the rest of a text comes after all,
// that is replaced. The error is emit's, or a PartError where so much of a text is held that it may not
// pass alone.
func (f *Filter) Release() error {
	if f.large != nil {
		return f.part()
	}
	return f.pass(f.kept())
}

func (f *Filter) part() error { return &PartError{f.large.name} }

// hold is how many bytes are kept back, always.
func (f *Filter) hold() int {
	if f.scanner.Empty() {
		return 0
	}
	return f.scanner.hold
}

// kept is how many bytes have not been passed on.
func (f *Filter) kept() int { return len(f.ready) + len(f.held) - f.passed }

// take decides about as much as can be decided about.
func (f *Filter) take(p []byte, last bool) {
	b := append(f.held, p...)
	f.held = nil
	for !f.broken {
		at, found, part := f.scanner.look(b, last, true)
		f.decide(b[:at])
		b = b[at:]
		if found.pattern == nil {
			f.large, f.broken = part.of, part.of != nil && !part.more
			break
		}
		f.tell(found.pattern.name)
		f.decide(found.rewrite(b[:found.length]))
		b = b[found.length:]
	}
	f.held = b
}

// decide makes all of b ready but what has been passed on already.
func (f *Filter) decide(b []byte) {
	skip := min(f.passed, len(b))
	f.passed -= skip
	f.ready = append(f.ready, b[skip:]...)
}

// pass emits n bytes, at once, but none of a large part.
func (f *Filter) pass(n int) error {
	if more := n - len(f.ready); more > 0 && f.large == nil {
		f.ready = append(f.ready, f.held[f.passed:f.passed+more]...)
		f.passed += more
	}
	out := f.ready[:max(0, min(n, len(f.ready)))]
	if len(out) == 0 {
		return nil
	}
	f.ready = f.ready[len(out):]
	return f.emit(out)
}

func (f *Filter) tell(name string) {
	if f.Found == nil || slices.Contains(f.names, name) {
		return
	}
	f.names = append(f.names, name)
	f.Found(name)
}
