package sanitize

import (
	"bytes"
	"html"
	"net/url"
	"path"
	"strings"
)

const (
	// maxURL bounds a link, in bytes; a longer one is taken for one that carries data.
	maxURL = 4 << 10
	// maxNested bounds the brackets that are open at once.
	maxNested = 64
	// maxTag bounds one tag of HTML.
	maxTag = 8 << 10
)

// edit is a stretch of a text and what takes its place.
type edit struct {
	from, to int
	with     string
}

// linker looks at the links of one text.
type linker struct {
	Options
	text   []byte
	edits  []edit
	closes int // the first > behind the tag that was looked at last
	counts map[Kind]int
}

// open is a bracket that has not been closed yet.
type open struct {
	at    int
	image bool
}

// unlinked is text without dangerous links, nil when it has none.
func unlinked(text []byte, o Options, counts map[Kind]int) []byte {
	if bytes.IndexByte(text, ']') < 0 && bytes.IndexByte(text, '<') < 0 {
		return nil
	}
	l := linker{Options: o, text: text, counts: counts}
	l.scan()
	if len(l.edits) == 0 {
		return nil
	}
	var out []byte
	at := 0
	for _, e := range l.edits {
		if e.from < at {
			continue
		}
		out = append(append(out, text[at:e.from]...), e.with...)
		at = e.to
	}
	return append(out, text[at:]...)
}

func (l *linker) scan() {
	var opened []open
	for i := 0; i < len(l.text); i++ {
		switch l.text[i] {
		case '[':
			if len(opened) == maxNested {
				opened = append(opened[:0], opened[1:]...)
			}
			opened = append(opened, open{i, i > 0 && l.text[i-1] == '!'})
		case ']':
			if n := len(opened); n > 0 {
				i = l.markdown(opened[n-1], i)
				opened = opened[:n-1]
			}
		case '<':
			i = l.tag(i)
		}
	}
}

// markdown is [text](target) or [name]: target; it returns the last byte that was looked at.
func (l *linker) markdown(o open, i int) int {
	if i+1 >= len(l.text) {
		return i
	}
	from := i + 2
	switch l.text[i+1] {
	case '(':
	case ':':
		o.image = false
	default:
		return i
	}
	for from < len(l.text) && bytes.IndexByte([]byte(" \t\n<"), l.text[from]) >= 0 && from < i+20 {
		from++
	}
	to := from
	for to < len(l.text) && to-from < maxURL && l.text[to] > ' ' && l.text[to] != ')' && l.text[to] != '>' {
		to++
	}
	if o.image {
		l.image(o.at-1, from, to)
		return to - 1
	}
	l.link(from, to)
	return max(i, to-1)
}

// image is one that a client may fetch without asking: where its address carries data to a host that
// was not granted, words take its place.
func (l *linker) image(begin, from, to int) {
	target := string(l.text[from:to])
	host, carries := l.carries(target, to-from >= maxURL)
	switch {
	case host == "":
		l.link(from, to)
	case carries:
		l.counts[Image]++
		end := to
		if j := bytes.IndexByte(l.text[to:min(len(l.text), to+200)], ')'); j >= 0 {
			end = to + j + 1
		}
		l.edits = append(l.edits, edit{begin, end, "[image withheld by Garita: its address carries data to " + host + "]"})
	case strings.ContainsAny(target, "?#"):
		l.counts[RemoteImage]++
	}
}

// carries is the host of a web address that was not granted, and whether the address has room for
// more than the name of a picture.
func (l *linker) carries(target string, long bool) (host string, carries bool) {
	u, err := url.Parse(strings.TrimSpace(html.UnescapeString(target)))
	if err != nil {
		lower := strings.ToLower(target)
		if strings.HasPrefix(lower, "http:") || strings.HasPrefix(lower, "https:") || strings.HasPrefix(lower, "//") {
			return "a host that cannot be read", true
		}
		return "", false
	}
	if u.Host == "" || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	host = strings.ToLower(u.Hostname())
	if l.Granted != nil && l.Granted(host) {
		return "", false
	}
	return host, long || u.User != nil || hasData(u)
}

// hasData says whether an address has a place for data, or something that looks like data in it: a
// value of 24 characters and more, a placeholder, a query named for it.
func hasData(u *url.URL) bool {
	if strings.ContainsAny(u.RawQuery+u.Path+u.Fragment, "{}<>$[]") || len(u.RawQuery) > 200 || len(u.Fragment) > 100 {
		return true
	}
	for name, values := range u.Query() {
		switch strings.ToLower(name) {
		case "data", "d", "q", "secret", "token", "key", "content", "payload", "leak", "exfil", "c", "msg", "text", "info":
			return true
		}
		for _, v := range values {
			if len(v) >= 24 {
				return true
			}
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) >= 80 {
			return true
		}
	}
	return strings.Count(u.Hostname(), ".") > 5 || longest(strings.Split(u.Hostname(), ".")) > 40
}

func longest(parts []string) int {
	n := 0
	for _, p := range parts {
		n = max(n, len(p))
	}
	return n
}

// link blocks a target that a program would run, or that leads to a file out of scope: its scheme
// becomes one that nobody knows.
func (l *linker) link(from, to int) {
	target := string(l.text[from:to])
	if k := l.judge(target); k != "" {
		l.counts[k]++
		l.edits = append(l.edits, edit{from, from, blocked})
	}
}

// blocked goes before the scheme of a link that is not to be followed.
const blocked = "blocked-"

// judge says what is wrong with a link's target, "" when that is nothing.
func (o Options) judge(target string) Kind {
	scheme, rest, ok := strings.Cut(normal(target), ":")
	if !ok {
		return ""
	}
	switch scheme {
	case "javascript", "vbscript", "livescript":
		return Script
	case "data":
		if kind, _, _ := strings.Cut(rest, ","); strings.Contains(kind, "html") || strings.Contains(kind, "svg") || strings.Contains(kind, "xml") || strings.Contains(kind, "javascript") {
			return Script
		}
	case "file":
		if !o.inScope(target) {
			return File
		}
	}
	return ""
}

// normal is a target as a browser reads its scheme: without white space, escapes undone, in lower case.
func normal(target string) string {
	head := html.UnescapeString(target[:min(len(target), 200)])
	if plain, err := url.PathUnescape(head); err == nil {
		head = plain
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r <= ' ' || r == 0x7f:
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, head)
}

// inScope says whether a file: address is of a file below one of the server's folders.
func (o Options) inScope(target string) bool {
	u, err := url.Parse(strings.TrimSpace(target))
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Opaque != "" {
		return false
	}
	file := path.Clean(u.Path)
	for _, f := range o.Folders {
		if file == f || strings.HasPrefix(file, strings.TrimSuffix(f, "/")+"/") {
			return true
		}
	}
	return false
}

// tag is one tag of HTML, or <scheme:…>; it returns the last byte that was looked at.
func (l *linker) tag(i int) int {
	limit := min(len(l.text), i+maxTag)
	if l.closes <= i {
		l.closes = len(l.text)
		if j := bytes.IndexByte(l.text[i:], '>'); j >= 0 {
			l.closes = i + j
		}
	}
	end := l.closes - i
	if l.closes >= limit {
		return i
	}
	next := bytes.IndexByte(l.text[i+1:limit], '<')
	if next >= 0 && next+1 < end { // no tag; what follows is looked at for itself
		return i
	}
	inside := l.text[i+1 : i+end]
	name := strings.ToLower(string(inside[:nameEnd(inside)]))
	switch name {
	case "img", "source", "video", "audio", "iframe", "embed", "object", "image", "a", "area", "form", "link", "base", "use", "script":
		l.attributes(i, end, inside, name)
	default:
		if k := l.judge(string(inside)); k != "" && nameEnd(inside) > 0 {
			l.link(i+1, i+end)
		}
	}
	return i + end
}

func nameEnd(tag []byte) int {
	n := 0
	for n < len(tag) && ('a' <= tag[n]|0x20 && tag[n]|0x20 <= 'z' || '0' <= tag[n] && tag[n] <= '9') {
		n++
	}
	return n
}

// attributes looks at the addresses in a tag.
func (l *linker) attributes(at, end int, inside []byte, name string) {
	for j := 0; j < len(inside); {
		k := bytes.IndexByte(inside[j:], '=')
		if k < 0 {
			return
		}
		from, to := value(inside, j+k+1)
		switch attribute(inside[:j+k]) {
		case "src", "href", "srcset", "poster", "data", "action", "background", "xlink:href":
			target := string(inside[from:to])
			host, carries := l.carries(target, to-from >= maxURL)
			if fetched := name != "a" && name != "area" && name != "form"; fetched && host != "" && carries {
				l.counts[Image]++
				l.edits = append(l.edits, edit{at, at + end + 1, "[" + name + " withheld by Garita: its address carries data to " + host + "]"})
				return
			}
			l.link(at+1+from, at+1+to)
		}
		j = max(to, j+k+1)
	}
}

func attribute(before []byte) string {
	before = bytes.TrimRight(before, " \t\r\n")
	if j := bytes.LastIndexAny(before[max(0, len(before)-20):], " \t\r\n/\"'"); j >= 0 {
		before = before[max(0, len(before)-20)+j+1:]
	}
	return strings.ToLower(string(before[max(0, len(before)-20):]))
}

// value is where the value of an attribute stands.
func value(inside []byte, i int) (from, to int) {
	for i < len(inside) && inside[i] <= ' ' {
		i++
	}
	if i < len(inside) && (inside[i] == '"' || inside[i] == '\'') {
		if j := bytes.IndexByte(inside[i+1:], inside[i]); j >= 0 {
			return i + 1, i + 1 + j
		}
		return i + 1, len(inside)
	}
	to = i
	for to < len(inside) && inside[to] > ' ' {
		to++
	}
	return i, to
}
