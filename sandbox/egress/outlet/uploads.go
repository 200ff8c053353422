package outlet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// answered is how much may be sent for each byte that comes back: what a host answers to is a
// conversation, and not an upload. A host that takes an upload says very little meanwhile.
const answered = 16

// talk is how many times the limit may be sent beyond what came back, byte for byte, however often it was
// answered to: who sends a lot and reads a little in between uploads, too.
const talk = 8

// uploads counts, for each rule's hosts together, what has been sent there beyond what came back. All of a
// sandbox's connections count together: an upload in pieces is an upload.
type uploads struct {
	mu   sync.Mutex // guards more, and each connection's owed
	more map[string]*balance
}

// balance is what was sent beyond answers, in bytes.
type balance struct {
	asked int64 // answers count many times
	plain int64 // answers count as they are
}

// owed is what one connection has sent beyond the answers on it. It is guarded by the uploads' mu.
type owed struct{ balance }

// sends adds n bytes to those sent by key and returns what there is beyond the answers.
func (u *uploads) sends(key string, o *owed, n int64) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.more == nil {
		u.more = map[string]*balance{}
	}
	b := u.more[key]
	if b == nil {
		b = &balance{}
		u.more[key] = b
	}
	for _, each := range []*balance{b, &o.balance} {
		each.asked += n
		each.plain += n
	}
	return max(b.asked, b.plain/talk)
}

// hears takes n bytes that came back off, at most what has been sent on the same connection: answers to
// others are no answers.
func (u *uploads) hears(key string, o *owed, n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	b := u.more[key]
	if b == nil {
		return
	}
	asked, plain := min(answered*n, o.asked), min(n, o.plain)
	for _, each := range []*balance{b, &o.balance} {
		each.asked = max(0, each.asked-asked)
		each.plain = max(0, each.plain-plain)
	}
}

// forget begins anew with key: what has been sent so far was permitted.
func (u *uploads) forget(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.more, key)
}

// together names what counts as one: all hosts of a rule with "*.", or else the host and port.
func (l *live) together() string {
	if strings.HasPrefix(l.rule, "*.") {
		return l.rule
	}
	return l.endpoint().String()
}

var errUpload = errors.New("what was to be sent is not permitted")

func (l *live) endpoint() sandbox.Endpoint { return sandbox.Endpoint{Host: l.host, Port: l.port} }

func listed(list []sandbox.Endpoint, e sandbox.Endpoint) bool {
	return slices.ContainsFunc(list, func(r sandbox.Endpoint) bool { return r.Matches(e.Host, e.Port) })
}

// maySend counts n bytes that are about to leave on l, and asks where they are too many. The
// connection waits meanwhile; an error has ended it.
func (o *Outlet) maySend(l *live, n int) error {
	l.wentOut(n)
	if l.reach != sandbox.PublicNet || l.anySize.Load() {
		return nil
	}
	rules := o.current()
	limit, limited := rules.Upload()
	e := l.endpoint()
	if more := o.uploads.sends(l.together(), &l.owed, int64(n)); !limited || more <= limit {
		return nil
	} else if listed(rules.AnySize, e) {
		o.uploads.forget(l.together()) // what is sent by a permission does not count once that has ended
		return nil
	} else if !rules.Ask {
		return o.refuseUpload(l, fmt.Sprintf("More than %s were about to be sent to %s, which is this server's limit.", inBytes(limit), e))
	} else if _, why := o.ask(wire.Asked{Host: e.Host, Port: e.Port, What: wire.AskedUpload, Bytes: more}); why != "" {
		return o.refuseUpload(l, fmt.Sprintf("More than %s were about to be sent to %s. %s", inBytes(limit), e, why))
	}
	if !listed(o.current().AnySize, e) { // a permission is looked at again each time, for it may end
		l.anySize.Store(true)
	}
	o.uploads.forget(l.together())
	return nil
}

// sending decides about what leaves on l as it is. TLS begins with a record of its handshake.
func (o *Outlet) sending(l *live) func([]byte) error {
	if l.shown() != "" { // it is encrypted
		return func(b []byte) error { return o.maySend(l, len(b)) }
	}
	find, begun, sealed := &reader{known: o.known}, false, false
	return func(b []byte) error {
		if !begun {
			begun, sealed = true, b[0] == recordHandshake
		}
		if err := o.maySend(l, len(b)); err != nil || sealed {
			return err
		}
		return o.maySay(l, find.find(b))
	}
}

// cameBack counts n bytes that have come in on l.
func (o *Outlet) cameBack(l *live, n int) {
	l.received.Add(int64(n))
	if n > 0 && l.reach == sandbox.PublicNet {
		o.uploads.hears(l.together(), &l.owed, int64(n))
	}
}

// maySay looks for credentials in what is about to be said on l in the clear, and asks about them.
func (o *Outlet) maySay(l *live, kinds []string) error {
	if len(kinds) == 0 || l.reach != sandbox.PublicNet || l.anyText.Load() {
		return nil
	}
	rules, e := o.current(), l.endpoint()
	if !rules.Ask && rules.UploadLimit <= 0 || listed(rules.AnyText, e) {
		return nil
	}
	found := fmt.Sprintf("What looks like %s was about to be sent to %s.", strings.Join(kinds, ", "), e)
	if !rules.Ask {
		return o.refuseUpload(l, found)
	}
	if _, why := o.ask(wire.Asked{Host: e.Host, Port: e.Port, What: wire.AskedCredentials, Kinds: kinds}); why != "" {
		return o.refuseUpload(l, found+" "+why)
	}
	if !listed(o.current().AnyText, e) {
		l.anyText.Store(true)
	}
	return nil
}

func (o *Outlet) refuseUpload(l *live, why string) error {
	o.denials.add(sandbox.Denial{Kind: sandbox.DeniedUpload, Host: l.host, Port: l.port, Address: l.address.String(), Why: why})
	l.end(why)
	return errUpload
}

// inBytes is a size as a person reads it.
func inBytes(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// reader finds credentials in a stream, those across its reads' borders too. Texts of known are none.
type reader struct {
	tail  []byte
	read  int64
	kinds []string
	known func(string) bool
}

const (
	// maxCredential is how much of one is kept from read to read, in bytes.
	maxCredential = 512
	// maxSearched bounds how much of one connection's or request's content is searched, in bytes; more is
	// a large upload.
	maxSearched = 4 << 20
)

// find returns the kinds of credentials that are new in b, each once.
func (r *reader) find(b []byte) (fresh []string) {
	if r.read >= maxSearched || len(b) == 0 {
		return nil
	}
	r.read += int64(len(b))
	text := append(r.tail, b...)
	for _, c := range sandbox.FindCredentials(text) {
		if !slices.Contains(r.kinds, c.Kind) && !r.known(string(text[c.Start:c.End])) {
			r.kinds, fresh = append(r.kinds, c.Kind), append(fresh, c.Kind)
		}
	}
	r.tail = append([]byte(nil), text[max(0, len(text)-maxCredential):]...)
	return fresh
}

// known says whether text is a sentinel, or a secret's value, and nothing else: those are decided about
// elsewhere. A point may end a sentence.
func (o *Outlet) known(text string) bool {
	set := o.placeholders()
	text = strings.TrimRight(text, ".")
	return !set.Empty() && (set.Sentinels().Is(text) || set.Values().Is(text))
}

// careful asks about credentials in requests that can be read.
func (o *Outlet) careful(l *live, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		find := &reader{known: o.known}
		var head strings.Builder
		head.WriteString(r.URL.RequestURI())
		for name, values := range r.Header {
			head.WriteString("\n" + name + ": " + strings.Join(values, "\n"))
		}
		if o.maySay(l, find.find([]byte(head.String()))) != nil {
			panic(http.ErrAbortHandler)
		}
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &carefulBody{r.Body, o, l, &reader{known: o.known}}
		}
		next.ServeHTTP(w, r)
	})
}

// carefulBody is a request's body.
type carefulBody struct {
	io.ReadCloser
	o    *Outlet
	l    *live
	find *reader
}

// Read waits for a person where there is something to ask about.
func (b *carefulBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if no := b.o.maySay(b.l, b.find.find(p[:n])); no != nil {
		return 0, no
	}
	return n, err
}
