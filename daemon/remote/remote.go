// Package remote is the gateway's side towards servers that run elsewhere and are reached by URL.
//
// A Conn is a Stream like a server's standard input and output. Which wire it speaks follows from
// what is written to it: initialize begins a session of the legacy era (Streamable HTTP, or the
// older HTTP with SSE where the server knows nothing else); a request that names its revision in
// _meta is of the modern era, one POST with headers made from the very bytes that are sent.
//
// What a server says reaches the reader as messages and nothing else: no header, no cookie, no
// redirect out of its origin. Credentials are the server's own, put on by an Authorizer.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/remote/dial"
	"github.com/garita-dev/garita/daemon/remote/oauth"
)

// Authorizer puts one server's credentials on requests. *oauth.Login is one.
type Authorizer interface {
	// Apply puts on req what there is. The mark tells Renew which credentials were used.
	Apply(ctx context.Context, req *http.Request) (mark int, err error)
	// Renew gets other credentials after an answer of 401 or 403; it may ask the person. It
	// reports whether the request is worth repeating.
	Renew(ctx context.Context, mark, status int, header http.Header) (again bool, err error)
}

// Keys puts the secrets on requests that the person granted a server. Its methods may overlap.
type Keys interface {
	// Put puts on req what may go with it now. m is the message that it carries, the zero Message for none. It
	// may ask the person. An error says why req must not be sent; nothing of it is shown but its text.
	Put(ctx context.Context, req *http.Request, m protocol.Message) error
	// Next is what to do about a server that does not take them, a sentence; "" where nothing is put.
	Next() string
}

// Header is a header the person declared for every request, an API key for instance.
type Header struct {
	Name  string
	Value oauth.Secret
}

// Options are what a remote server is declared with.
type Options struct {
	Name    string // the server's, for words
	URL     string // https, or http on loopback
	Headers []Header
	Keys    Keys         // nil: there are none
	Auth    Authorizer   // nil: there is no login
	Client  *http.Client // from Client; nil: one for URL alone
	Log     *slog.Logger // nil: nowhere
	Limits  Limits
}

// Limits bound what a server can make us hold or wait for. A zero is the default.
type Limits struct {
	Message int           // bytes of one message; protocol.MaxMessage
	Streams int           // requests under way at once, others wait, subscriptions not counted; 64
	Answer  time.Duration // until an answer's headers, and then its whole JSON body; 15 minutes
	Accept  time.Duration // until anything that is no request is accepted; 30 seconds
}

func (l Limits) orDefaults() Limits {
	set := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	wait := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&l.Message, protocol.MaxMessage)
	set(&l.Streams, 64)
	wait(&l.Answer, 15*time.Minute)
	wait(&l.Accept, 30*time.Second)
	return l
}

// maxPending is how many messages may have been written and not be done with.
const maxPending = 1024

// Client is the guarded HTTP client for a server's URL, for its Conn and for everything about its
// login alike. The URL's host is declared by that; rules may declare more, an authorization server
// of the person's own network for instance. The caller closes its idle connections.
func Client(rawURL string, rules dial.Rules) (*http.Client, error) {
	u, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	rules.Declared = append(rules.Declared[:len(rules.Declared):len(rules.Declared)], u.Hostname())
	return dial.New(rules, nil).Client(), nil
}

// parseURL refuses what no server is declared with. The error does not repeat the URL, which may
// hold a key.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("the server's url is not one")
	case u.User != nil:
		return nil, errors.New("the server's url holds a name or password; declare a header instead")
	case u.Fragment != "":
		return nil, errors.New("the server's url has a fragment")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	}
	return nil, fmt.Errorf("the server's url is neither https nor http on this machine: %s", where(u))
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && dial.KindOf(ip) == dial.Loopback
}

// where is a URL as it may be shown: without its query.
func where(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// item is what Read returns next.
type item struct {
	message protocol.Message
	err     error // a *protocol.LineError
}

// Conn is one session with a remote server. Its Stream's rules hold: one reader, any number of
// writers. Whoever opened it calls Stop.
type Conn struct {
	opt  Options
	url  *url.URL
	http *http.Client
	own  bool // nobody else uses http
	log  *slog.Logger

	ctx    context.Context // of all that is under way; ends when the Conn does
	cancel context.CancelFunc
	wg     sync.WaitGroup
	in     chan item
	out    chan protocol.Message
	slots  chan struct{}
	tools  toolHeaders

	mu       sync.Mutex // guards the fields below
	err      error      // why it ended; nil while it has not
	loss     *protocol.LostError
	grace    *time.Timer
	closing  bool // nothing more will be written
	pending  int  // messages written and not done with
	calls    map[protocol.ID]*call
	session  string            // Mcp-Session-Id, "" without
	version  protocol.Revision // negotiated, or the last a modern request named
	hearing  bool              // the stream of a GET is being read
	endpoint *url.URL          // where the oldest transport wants its messages; nil in all others
}

// Open is a Conn to the server at opt.URL. Nothing is sent before the first Write; ctx gives
// values only, Stop ends the Conn.
func Open(ctx context.Context, opt Options) (*Conn, error) {
	u, err := parseURL(opt.URL)
	if err != nil {
		return nil, fmt.Errorf("open server %s: %w", opt.Name, err)
	}
	if err := checkHeaders(opt.Headers); err != nil {
		return nil, fmt.Errorf("open server %s: %w", opt.Name, err)
	}
	own := opt.Client == nil
	if own {
		if opt.Client, err = Client(opt.URL, dial.Rules{}); err != nil {
			return nil, err
		}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	opt.Limits = opt.Limits.orDefaults()
	c := &Conn{
		opt: opt, url: u, http: opt.Client, own: own, log: opt.Log.With("server", opt.Name),
		in: make(chan item), out: make(chan protocol.Message, maxPending),
		slots: make(chan struct{}, opt.Limits.Streams), calls: map[protocol.ID]*call{},
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.wg.Go(c.send)
	return c, nil
}

// Read returns the next message. It ends with io.EOF after Stop, or after CloseWrite once all
// requests are answered; with a *protocol.LostError when the server forgot the session.
func (c *Conn) Read() (protocol.Message, error) {
	select {
	case i := <-c.in:
		return i.message, i.err
	case <-c.ctx.Done():
		return protocol.Message{}, c.ended()
	}
}

// Write sends one message, soon: what comes of it, a request's answer or an error answer in its
// place, is read. The error is that of an unreadable message or of the ended Conn; the message
// was then not sent.
func (c *Conn) Write(raw []byte) error {
	m, err := protocol.Parse(bytes.Clone(raw))
	if err != nil {
		return fmt.Errorf("write to server %s: %w", c.opt.Name, err)
	}
	if m.Kind == protocol.Batch {
		return fmt.Errorf("write to server %s: batches are taken apart first", c.opt.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return c.err
	case c.loss != nil:
		return &protocol.LostError{Err: c.loss.Err}
	case c.closing:
		return io.ErrClosedPipe
	case c.pending >= maxPending:
		return fmt.Errorf("write to server %s: %d messages already wait", c.opt.Name, maxPending)
	}
	c.pending++
	c.out <- m // never blocks: it holds maxPending
	return nil
}

// CloseWrite says that nothing more will be written. Requests under way are still answered.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	c.settle()
	return nil
}

// Stop ends the session, telling the server if there is one to end, and everything under way. It
// returns when all of it has, or with ctx's error. A second Stop does nothing.
func (c *Conn) Stop(ctx context.Context) error {
	c.farewell(ctx)
	return c.Cut(ctx, io.EOF)
}

// Cut ends everything under way at once, without a word to the server; Read returns why. It returns as
// Stop does.
func (c *Conn) Cut(ctx context.Context, why error) error {
	c.mu.Lock()
	c.end(why)
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		if c.own {
			c.http.CloseIdleConnections()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spawn runs f unless the Conn has ended; Stop waits for it.
func (c *Conn) spawn(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.wg.Go(f)
	}
}

// end is the only way out; the first reason counts. The caller holds mu.
func (c *Conn) end(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	if c.grace != nil {
		c.grace.Stop()
	}
	c.cancel()
}

func (c *Conn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// settle ends the Conn when nothing is left to wait for. The caller holds mu.
func (c *Conn) settle() {
	switch {
	case c.pending > 0:
	case c.loss != nil:
		c.end(c.loss)
	case c.closing:
		c.end(io.EOF)
	}
}

// done says that a written message is dealt with.
func (c *Conn) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending--
	c.settle()
}

// lossGrace is how long requests under way may still be answered, or refused like the first, when
// the session is lost.
const lossGrace = 2 * time.Second

// lose notes that the server has forgotten the session; unsent is a request it did not take, or "".
func (c *Conn) lose(why string, unsent protocol.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loss == nil {
		c.session = ""
		c.loss = &protocol.LostError{Err: errors.New(why)}
		if c.err == nil {
			c.grace = time.AfterFunc(lossGrace, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.end(c.loss)
			})
		}
	}
	if unsent != "" && c.err == nil {
		c.loss.Unsent = append(c.loss.Unsent, unsent)
	}
	c.settle()
}

func (c *Conn) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loss != nil
}

// deliver hands a message to the reader, unless ctx ends first.
func (c *Conn) deliver(ctx context.Context, m protocol.Message) { c.put(ctx, item{message: m}) }

func (c *Conn) put(ctx context.Context, i item) {
	select {
	case c.in <- i:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
}
