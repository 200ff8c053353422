package scan

import (
	"bytes"
	"slices"
)

// Filter passes a stream on with texts replaced. Only what could be the beginning of one is held back
// until more comes, so a stream of whole words is not delayed. Calls may not overlap.
type Filter struct {
	// Found is told of each Pair that is found, by its name, the first time; it may be nil.
	Found func(name string)

	scanner *Scanner
	emit    func([]byte) error
	held    []byte   // could be the beginning of a text
	passed  int      // how many bytes of held have been passed on already
	names   []string // told to Found
}

// NewFilter returns a Filter that passes on to emit, which may not keep what it is given.
func NewFilter(s *Scanner, emit func([]byte) error) *Filter { return &Filter{scanner: s, emit: emit} }

// Write takes what comes next. The error is emit's.
func (f *Filter) Write(p []byte) error { return f.take(p, false) }

// Close passes on what is held: nothing more comes.
func (f *Filter) Close() error { return f.take(nil, true) }

// Held says whether anything is.
func (f *Filter) Held() bool { return len(f.held) > f.passed }

// Release passes on what is held if it is but a few bytes: somebody waits for them, perhaps. When the
// rest of a text comes after all, that is replaced.
func (f *Filter) Release() error {
	if len(f.held) > f.scanner.spare || !f.Held() {
		return nil
	}
	rest := f.held[f.passed:]
	f.passed = len(f.held)
	return f.emit(rest)
}

func (f *Filter) take(p []byte, last bool) error {
	b := p
	if len(f.held) > 0 {
		b = append(f.held, p...)
	}
	for {
		at, found := f.scanner.find(b, last)
		if err := f.pass(b[:at]); err != nil {
			return err
		}
		if b = b[at:]; found.pattern == nil {
			f.held = bytes.Clone(b)
			return nil
		}
		f.tell(found.pattern.name)
		if err := f.pass(found.rewrite(b[:found.length])); err != nil {
			return err
		}
		b = b[found.length:]
	}
}

// pass emits all of b but what has been passed on already.
func (f *Filter) pass(b []byte) error {
	skip := min(f.passed, len(b))
	f.passed -= skip
	if skip == len(b) {
		return nil
	}
	return f.emit(b[skip:])
}

func (f *Filter) tell(name string) {
	if f.Found == nil || slices.Contains(f.names, name) {
		return
	}
	f.names = append(f.names, name)
	f.Found(name)
}
