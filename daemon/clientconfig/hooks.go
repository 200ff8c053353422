package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// Hook is a shell line of ours that a client runs at one of its events.
type Hook struct {
	Event   string // PreToolUse | PostToolUse | PostToolUseFailure
	Command string
	Timeout int // seconds; the client kills it then
}

// HookEdit is what is changed in a settings file.
type HookEdit struct {
	File          string // past symlinks
	Before, After []byte // equal when nothing is to be changed
	Created       bool   // it was not there
	Removed       bool   // it was made for the hooks alone, and goes with them
	Backup        string // "" while nothing is changed, and where there was nothing before
	Note          string
}

// hooksClient is the client whose hooks these are.
const hooksClient = "claude-code"

// SetHooks puts hooks into Claude Code's settings, in place of ours that are there, or, with none, takes
// ours out. file is absolute, "" the user's own settings. Every other byte stays as it is; a file that
// nobody has changed since becomes byte for byte what it was. dry changes nothing. Errors: NotFound: the
// client's folder is not there; InvalidArgument: the file cannot be understood; Conflict: it has been changed meanwhile.
func (im *Importer) SetHooks(file string, hooks []Hook, dry bool) (HookEdit, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	e, r, err := im.planHooks(file, hooks)
	if err != nil || dry || !e.Removed && bytes.Equal(e.Before, e.After) {
		return e, err
	}
	if len(hooks) == 0 {
		return e, errors.Join(e.write(), im.undone(r, e))
	}
	next := record{File: e.File, Client: hooksClient, Hooks: true, At: time.Now().UTC(), After: digest(e.After)}
	original := e.Before
	if r != nil {
		original, next.Before = nil, r.Before
		if r.Before != "" {
			if original, err = im.original(*r); err != nil {
				return e, err
			}
		}
	} else if !e.Created {
		next.Before = digest(e.Before)
	}
	if err := im.rememberHooks(next, original); err != nil {
		return e, err
	}
	if next.Before != "" {
		e.Backup = im.backup(next.Before)
	}
	if err := e.write(); err != nil {
		return e, errors.Join(err, im.unlessHooked(next))
	}
	if r != nil {
		return e, im.close(*r)
	}
	return e, nil
}

// undone forgets the record of hooks that are out again; the backup of a file that somebody has changed stays.
func (im *Importer) undone(r *record, e HookEdit) error {
	switch {
	case r == nil:
		return nil
	case e.Note != "":
		return im.close(*r)
	}
	return im.forget(*r)
}

// unlessHooked forgets hooks that could not be put in.
func (im *Importer) unlessHooked(r record) error {
	if r.Before == "" {
		return im.close(r)
	}
	return im.unless(r)
}

// planHooks works out the edit, and finds the record of the last one.
func (im *Importer) planHooks(file string, hooks []Hook) (HookEdit, *record, error) {
	e, err := im.hooksFile(file)
	if err != nil {
		return e, nil, err
	}
	x, err := im.readIndex()
	if err != nil {
		return e, nil, err
	}
	var last *record
	if i := slices.IndexFunc(x.Records, func(r record) bool { return r.Hooks && r.File == e.File }); i >= 0 {
		last = &x.Records[i]
	}
	if len(hooks) == 0 {
		return im.planWithout(e, last)
	}
	if !e.Created && hasHooks(e.Before, hooks) {
		e.After, e.Note = e.Before, "The hooks are there already."
		return e, last, nil
	}
	base := e.Before
	if e.Created {
		base = []byte("{}\n")
	} else if base, _, err = WithoutHooks(base); err != nil {
		return e, nil, fmt.Errorf("%s: %w", e.File, err)
	}
	if e.After, err = WithHooks(base, hooks); err != nil {
		return e, nil, fmt.Errorf("%s: %w", e.File, err)
	}
	return e, last, nil
}

func (im *Importer) planWithout(e HookEdit, last *record) (HookEdit, *record, error) {
	var err error
	switch {
	case e.Created:
		e.Note = "There is no such file."
		return e, last, nil
	case last != nil && digest(e.Before) == last.After && last.Before == "":
		e.Removed = true
		return e, last, nil
	case last != nil && digest(e.Before) == last.After:
		e.After, err = im.original(*last)
		return e, last, err
	}
	n := 0
	if e.After, n, err = WithoutHooks(e.Before); err != nil {
		return e, nil, fmt.Errorf("%s: %w", e.File, err)
	}
	switch {
	case n == 0:
		e.Note = "None of our hooks are there."
	case last != nil:
		e.Note = "The file has been changed since; our hooks are taken out, the rest of it is left as it is."
	}
	return e, last, nil
}

// hooksFile reads the settings as they are.
func (im *Importer) hooksFile(file string) (HookEdit, error) {
	if file == "" {
		dir := im.env("CLAUDE_CONFIG_DIR")
		if dir == "" {
			dir = filepath.Join(im.host.Home, ".claude")
		}
		file = filepath.Join(dir, "settings.json")
	}
	if !filepath.IsAbs(file) {
		return HookEdit{}, fmt.Errorf("%s is not an absolute path: %w", file, errdefs.ErrInvalidArgument)
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	e := HookEdit{File: filepath.Clean(file)}
	before, _, err := readAt(e.File)
	if errors.Is(err, fs.ErrNotExist) {
		e.Created = true
		if _, err := os.Stat(filepath.Dir(e.File)); err != nil {
			return e, fmt.Errorf("there is no folder %s: is Claude Code installed? Name its settings otherwise: %w", filepath.Dir(e.File), errdefs.ErrNotFound)
		}
		return e, nil
	}
	e.Before = before
	return e, err
}

// write does the edit.
func (e HookEdit) write() error {
	switch {
	case e.Removed:
		return os.Remove(e.File)
	case !e.Created:
		return replaceAt(e.File, digest(e.Before), e.After)
	}
	f, err := os.OpenFile(e.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", e.File, err)
	}
	_, err = f.Write(e.After)
	return errors.Join(err, f.Sync(), f.Close())
}

// rememberHooks keeps the record, and what the file was where there was one.
func (im *Importer) rememberHooks(r record, original []byte) error {
	if r.Before != "" {
		return im.remember(r, original)
	}
	x, err := im.readIndex()
	if err != nil {
		return err
	}
	x.Records = append(x.Records, r)
	return im.writeIndex(x)
}

// restoreHooks undoes what put hooks into a file.
func (im *Importer) restoreHooks(r record) (Restored, error) {
	out := Restored{File: r.File, Client: r.Client, Done: true}
	e, _, err := im.planHooks(r.File, nil)
	if err != nil {
		return out, err
	}
	out.Note = e.Note
	if e.Removed || !bytes.Equal(e.Before, e.After) {
		if err := e.write(); err != nil {
			return out, err
		}
	}
	return out, im.undone(&r, e)
}

// ourHook says whether a shell line is one of ours.
func ourHook(command string) bool {
	return strings.Contains(command, "garita") && (strings.Contains(command, " hook pre-tool-use") || strings.Contains(command, " hook post-tool-use"))
}

// hookLine is one hook as the client's settings have it.
type hookLine struct {
	Type      string `json:"type"`
	Command   string `json:"command"`
	Timeout   int    `json:"timeout,omitempty"`
	OnFailure string `json:"onFailure,omitempty"`
}

// group is hooks of one event for tools that match.
func (h Hook) group() ([]byte, error) {
	line := hookLine{Type: "command", Command: h.Command, Timeout: h.Timeout}
	if h.Event == "PreToolUse" {
		line.OnFailure = "block" // known since 2.1.295: a hook that cannot run stops the tool
	}
	return json.Marshal(struct {
		Matcher string     `json:"matcher"`
		Hooks   []hookLine `json:"hooks"`
	}{"*", []hookLine{line}})
}

// WithHooks is settings with hooks added; every byte that was there stays. InvalidArgument.
func WithHooks(data []byte, hooks []Hook) ([]byte, error) {
	for _, h := range hooks {
		group, err := h.group()
		if err != nil {
			return nil, fmt.Errorf("hook %s: %w", h.Event, err)
		}
		if data, err = withGroup(data, h.Event, group); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func withGroup(data []byte, event string, group []byte) ([]byte, error) {
	d, err := parseWhole(data)
	if err != nil {
		return nil, err
	}
	all := member(d.root, "hooks")
	if all == nil {
		return d.insert(d.whole, "hooks", fmt.Appendf(nil, `{%q:[%s]}`, event, group))
	}
	obj, ok := all.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%s: \"hooks\" is not an object: %w", d.place(all.StartOffset), errdefs.ErrInvalidArgument)
	}
	if err := d.unique(obj, `"hooks"`); err != nil {
		return nil, err
	}
	list := member(obj, event)
	if list == nil {
		return d.insert(all, event, fmt.Appendf(nil, `[%s]`, group))
	}
	if _, ok := list.Value.(*hujson.Array); !ok {
		return nil, fmt.Errorf("%s: %q is not a list: %w", d.place(list.StartOffset), event, errdefs.ErrInvalidArgument)
	}
	return d.insert(list, "", group)
}

// insert adds value at the end of an object, under name, or of a list, laid out as what is there.
func (d *document) insert(into *hujson.Value, name string, value []byte) ([]byte, error) {
	s, last := d.layout(into)
	text, err := s.lay(name, value)
	if err != nil {
		return nil, err
	}
	end := into.EndOffset - 1
	at := len(bytes.TrimRight(d.text[:end], " \t\r\n")) // whatever stands before the bracket stays before ours
	if last < 0 {
		return encodeText(slices.Concat(d.text[:at], []byte(s.before()+text+s.after()), d.text[end:]), d.enc), nil
	}
	comma := ","
	if hasComma(d.text[last:at]) {
		comma = ""
	}
	return encodeText(slices.Concat(d.text[:last], []byte(comma), d.text[last:at], []byte(s.before()+text), d.text[at:]), d.enc), nil
}

// hasComma says whether there is a comma in what follows an element, comments aside.
func hasComma(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if i = skipComment(text, i); i < len(text) && text[i] == ',' {
			return true
		}
	}
	return false
}

// layout is how a composite is laid out, and where its last element ends; -1 where it has none.
func (d *document) layout(v *hujson.Value) (s style, last int) {
	s, last = d.style(v), -1
	switch c := v.Value.(type) {
	case *hujson.Object:
		if n := len(c.Members); n > 0 {
			last = c.Members[n-1].Value.EndOffset
		}
	case *hujson.Array:
		if n := len(c.Elements); n > 0 {
			last = c.Elements[n-1].EndOffset
			if first := c.Elements[0].StartOffset; bytes.ContainsRune(d.text[v.StartOffset:first], '\n') {
				s.inner = indentation(d.text, first)
			}
		}
	}
	if last < 0 && !s.lines { // an empty one tells nothing: as the file is
		s.lines = v == d.whole || bytes.ContainsRune(bytes.TrimSpace(d.text), '\n')
	}
	return s, last
}

func (s style) before() string {
	if s.lines {
		return s.eol + s.inner
	}
	return map[bool]string{true: " ", false: ""}[s.spaced]
}

func (s style) after() string {
	if s.lines {
		return s.eol + s.outer
	}
	return map[bool]string{true: " ", false: ""}[s.spaced]
}

// lay writes one element.
func (s style) lay(name string, value []byte) (string, error) {
	v := jsontext.Value(bytes.Clone(value))
	unit := strings.TrimPrefix(s.inner, s.outer)
	if unit == "" || unit == s.inner && s.outer != "" {
		unit = "  "
	}
	if s.lines {
		if err := v.Indent(jsontext.WithIndentPrefix(s.inner), jsontext.WithIndent(unit)); err != nil {
			return "", fmt.Errorf("lay out a hook: %w", err)
		}
	}
	text := strings.ReplaceAll(string(v), "\n", s.eol)
	if name == "" {
		return text, nil
	}
	return fmt.Sprintf("%q: %s", name, text), nil
}

// hasHooks says whether exactly these hooks of ours are in settings.
func hasHooks(data []byte, hooks []Hook) bool {
	if _, n, err := WithoutHooks(data); err != nil || n != len(hooks) {
		return false
	}
	d, err := parseWhole(data)
	if err != nil {
		return false
	}
	for _, h := range hooks {
		want, err := h.group()
		if err != nil || !d.hasGroup(h.Event, want) {
			return false
		}
	}
	return true
}

func (d *document) hasGroup(event string, want []byte) bool {
	for _, g := range d.groups(event) {
		v := jsontext.Value(bytes.Clone(d.raw(g)))
		if v.Canonicalize() == nil && string(v) == canonical(want) {
			return true
		}
	}
	return false
}

func canonical(raw []byte) string {
	v := jsontext.Value(bytes.Clone(raw))
	_ = v.Canonicalize() // our own JSON
	return string(v)
}

// groups are the elements of one event's list.
func (d *document) groups(event string) (out []*hujson.Value) {
	all := member(d.root, "hooks")
	if all == nil {
		return nil
	}
	obj, ok := all.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	list := member(obj, event)
	if list == nil {
		return nil
	}
	if a, ok := list.Value.(*hujson.Array); ok {
		for i := range a.Elements {
			out = append(out, &a.Elements[i])
		}
	}
	return out
}

// WithoutHooks is settings without our hooks, and how many there were. What becomes empty by that goes too.
func WithoutHooks(data []byte) (out []byte, n int, err error) {
	for {
		d, err := parseWhole(data)
		if err != nil {
			return nil, 0, err
		}
		cut := d.firstOurs()
		if cut == nil {
			return data, n, nil
		}
		data, n = cut, n+1
	}
}

// firstOurs is the file without the first hook of ours, nil when there is none.
func (d *document) firstOurs() []byte {
	all := member(d.root, "hooks")
	if all == nil {
		return nil
	}
	events, ok := all.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for i := range events.Members {
		list := &events.Members[i].Value
		groups, ok := list.Value.(*hujson.Array)
		if !ok {
			continue
		}
		for j := range groups.Elements {
			hooks, k := ourLine(&groups.Elements[j])
			switch {
			case hooks == nil:
				continue
			case len(hooks.Value.(*hujson.Array).Elements) > 1:
				return d.without(hooks, k)
			case len(groups.Elements) > 1:
				return d.without(list, j)
			case len(events.Members) > 1:
				return d.without(all, i)
			}
			return d.without(d.whole, slices.IndexFunc(d.root.Members, func(m hujson.ObjectMember) bool { return text(m.Name) == "hooks" }))
		}
	}
	return nil
}

// ourLine finds a hook of ours in a group: the list it is in, and where.
func ourLine(group *hujson.Value) (list *hujson.Value, at int) {
	obj, ok := group.Value.(*hujson.Object)
	if !ok {
		return nil, 0
	}
	list = member(obj, "hooks")
	if list == nil {
		return nil, 0
	}
	lines, ok := list.Value.(*hujson.Array)
	if !ok {
		return nil, 0
	}
	for i := range lines.Elements {
		if line, ok := lines.Elements[i].Value.(*hujson.Object); ok {
			if c := member(line, "command"); c != nil && ourHook(text(*c)) {
				return list, i
			}
		}
	}
	return nil, 0
}

// without is the file without one element of a composite.
func (d *document) without(c *hujson.Value, i int) []byte {
	var starts, ends []int
	switch v := c.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			starts, ends = append(starts, m.Name.StartOffset), append(ends, m.Value.EndOffset)
		}
	case *hujson.Array:
		for _, e := range v.Elements {
			starts, ends = append(starts, e.StartOffset), append(ends, e.EndOffset)
		}
	}
	from, to := c.StartOffset+1, c.EndOffset-1
	switch {
	case i > 0:
		from, to = ends[i-1], ends[i]
	case len(starts) > 1:
		from, to = starts[0], starts[1]
	}
	return encodeText(slices.Concat(d.text[:from], d.text[to:]), d.enc)
}
