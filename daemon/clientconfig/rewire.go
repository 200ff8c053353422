package clientconfig

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// Rewire replaces the value of one entry by {"command": command, "args": args}. Every other byte
// of data stays, byte order mark, line ends and indentation included; the entry's variables are gone
// from the file. Errors: NotFound if there is no such entry, InvalidArgument if data does not parse.
func Rewire(data []byte, entry, command string, args []string) ([]byte, error) {
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	v := d.entry(entry)
	if v == nil {
		return nil, fmt.Errorf("entry %s: %w", show(entry), errdefs.ErrNotFound)
	}
	value, err := d.style(v).render(command, args)
	if err != nil {
		return nil, fmt.Errorf("entry %s: %w", show(entry), err)
	}
	return d.splice(v, value), nil
}

// splice is the file with other bytes in place of v.
func (d *document) splice(v *hujson.Value, value []byte) []byte {
	out := make([]byte, 0, len(d.text)+len(value))
	out = append(out, d.text[:v.StartOffset]...)
	out = append(out, value...)
	out = append(out, d.text[v.EndOffset:]...)
	return encodeText(out, d.enc)
}

// raw is v's own bytes.
func (d *document) raw(v *hujson.Value) []byte { return d.text[v.StartOffset:v.EndOffset] }

// style is how an entry is laid out.
type style struct {
	lines  bool   // over several lines
	eol    string // "\n" or "\r\n"
	inner  string // indentation of its members
	outer  string // indentation of its closing brace
	spaced bool   // "{ " and " }", in one line
}

func (d *document) style(v *hujson.Value) style {
	raw := d.raw(v)
	s := style{lines: bytes.ContainsRune(raw, '\n'), eol: "\n", spaced: bytes.HasPrefix(raw, []byte("{ "))}
	if bytes.Contains(d.text, []byte("\r\n")) {
		s.eol = "\r\n"
	}
	s.outer = indentation(d.text, v.EndOffset-1)
	s.inner = s.outer + "  "
	if obj, ok := v.Value.(*hujson.Object); ok && len(obj.Members) > 0 {
		first := obj.Members[0].Name.StartOffset
		if before := d.text[v.StartOffset:first]; bytes.ContainsRune(before, '\n') {
			s.inner = indentation(d.text, first)
		}
	}
	return s
}

// indentation is the blanks at the beginning of the line that holds offset.
func indentation(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (s style) render(command string, args []string) ([]byte, error) {
	quoted := make([]string, 0, len(args))
	for _, a := range args {
		q, err := jsontext.AppendQuote(nil, a)
		if err != nil {
			return nil, fmt.Errorf("%s: not UTF-8: %w", show(a), errdefs.ErrInvalidArgument)
		}
		quoted = append(quoted, string(q))
	}
	c, err := jsontext.AppendQuote(nil, command)
	if err != nil {
		return nil, fmt.Errorf("%s: not UTF-8: %w", show(command), errdefs.ErrInvalidArgument)
	}
	return []byte(s.join(`"command": `+string(c), `"args": [`+strings.Join(quoted, ", ")+`]`)), nil
}

func (s style) join(members ...string) string {
	if s.lines {
		sep := s.eol + s.inner
		return "{" + sep + strings.Join(members, ","+sep) + s.eol + s.outer + "}"
	}
	if s.spaced {
		return "{ " + strings.Join(members, ", ") + " }"
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// putBack gives entries of current the bytes they have in original, where they still are what
// rewiring made of them. left names the ones that are not, and says why.
func putBack(current, original []byte, client string, entries []rewired) (out []byte, done int, left []string, err error) {
	was, err := parse(original)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("the backup: %w", err)
	}
	for _, e := range entries {
		now, err := parse(current)
		if err != nil {
			return nil, 0, nil, err
		}
		old, v := was.entry(e.Entry), now.entry(e.Entry)
		switch {
		case old == nil:
			left = append(left, show(e.Entry)+" is not in the backup")
		case v == nil:
			left = append(left, show(e.Entry)+" has been removed")
		case !now.isRewired(v, e, client):
			left = append(left, show(e.Entry)+" has been changed")
		default:
			if extra := additions(v); extra != "" {
				left = append(left, fmt.Sprintf("%s had %s added, which is gone", show(e.Entry), extra))
			}
			current = now.splice(v, was.raw(old))
			done++
		}
	}
	return current, done, left, nil
}

// additions lists the members that somebody has added to a rewired entry.
func additions(v *hujson.Value) string {
	var names []string
	if obj, ok := v.Value.(*hujson.Object); ok {
		for _, m := range obj.Members {
			if name := text(m.Name); name != "command" && name != "args" {
				names = append(names, show(name))
			}
		}
	}
	return strings.Join(names, ", ")
}

// isRewired says whether v is exactly what rewiring writes, however it is laid out now.
func (d *document) isRewired(v *hujson.Value, e rewired, client string) bool {
	obj, ok := v.Value.(*hujson.Object)
	if !ok || d.unique(obj, "") != nil {
		return false
	}
	command, args := member(obj, "command"), member(obj, "args")
	if command == nil || args == nil || programName(text(*command)) != "garita" {
		return false
	}
	words, ok := stringsOf(*args)
	return ok && strings.Join(words, "\x00") == strings.Join(connectArgs(string(e.Server), client), "\x00")
}

// connectArgs are the arguments of a rewired entry.
func connectArgs(server, client string) []string {
	return []string{"connect", server, "--client", client}
}
