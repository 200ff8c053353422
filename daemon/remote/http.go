package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/remote/dial"
)

// maxTries is how often one request is sent: once, and again with credentials got in between (a
// login, then more scopes).
const maxTries = 3

// maxExcuse bounds the body of an answer that is no success, in bytes.
const maxExcuse = 1 << 20

// refusedError is why a request has no credentials the server accepts: it was not carried out.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// withheldError is why a request may not have the secrets that it needs: it was not sent.
type withheldError struct{ err error }

func (e *withheldError) Error() string { return e.err.Error() }
func (e *withheldError) Unwrap() error { return e.err }

func isWithheld(err error) bool {
	var w *withheldError
	return errors.As(err, &w)
}

// target is where messages are sent.
func (c *Conn) target() *url.URL {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endpoint != nil {
		return c.endpoint
	}
	return c.url
}

// do sends one HTTP request with m for its body, again with other credentials if the server asks for them. The error
// holds no URL, no header and nothing of the body. The caller closes the answer's body.
func (c *Conn) do(ctx context.Context, method string, to *url.URL, m protocol.Message, header http.Header) (*http.Response, error) {
	for try := 1; ; try++ {
		req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(m.Raw))
		if err != nil {
			return nil, withoutURL(err)
		}
		req.Header = header.Clone()
		req.Header.Set("User-Agent", "garita")
		mark, err := c.authorize(ctx, req, m)
		if err != nil {
			return nil, &refusedError{err}
		}
		res, err := c.http.Do(req)
		if err != nil {
			return nil, withoutURL(err)
		}
		again, err := c.renewed(ctx, mark, res, try)
		if err != nil || again {
			discard(res)
		}
		if err != nil {
			return nil, &refusedError{err}
		}
		if !again {
			return res, nil
		}
	}
}

// authorize puts on req what the person declared and granted, and the server's own credentials.
func (c *Conn) authorize(ctx context.Context, req *http.Request, m protocol.Message) (mark int, err error) {
	for _, h := range c.opt.Headers {
		h.Value.SetHeader(req.Header, h.Name)
	}
	if c.opt.Keys != nil {
		if err := c.opt.Keys.Put(ctx, req, m); err != nil {
			return 0, &withheldError{err}
		}
	}
	if c.opt.Auth == nil || req.Header.Get("Authorization") != "" {
		return 0, nil
	}
	return c.opt.Auth.Apply(ctx, req)
}

// renewed reports whether a refused request is worth repeating.
func (c *Conn) renewed(ctx context.Context, mark int, res *http.Response, try int) (bool, error) {
	refused := res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden
	declared := res.Request.Header.Get("Authorization") != "" && mark == 0
	if !refused || c.opt.Auth == nil || declared || try == maxTries {
		return false, nil
	}
	return c.opt.Auth.Renew(ctx, mark, res.StatusCode, res.Header)
}

// withoutURL is what went wrong without the URL, whose query may hold a key.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// discard lets the connection be used again.
func discard(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	res.Body.Close()
}

func mediaType(res *http.Response) string {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind
}

// within cancels when d has passed before the returned stop is called.
func within(d time.Duration, cancel context.CancelCauseFunc, why error) (stop func() bool) {
	return time.AfterFunc(d, func() { cancel(why) }).Stop
}

// excuse is the JSON-RPC error in the body of an answer that is no success; false when there is none.
func excuse(res *http.Response) (protocol.Message, bool) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxExcuse+1))
	if err != nil || len(body) > maxExcuse {
		return protocol.Message{}, false
	}
	m, err := protocol.Parse(bytes.TrimSpace(body))
	return m, err == nil && m.Kind == protocol.Response && m.Error != nil
}

// gone is forgotten for an answer whose body does not matter.
func (c *Conn) gone(res *http.Response) bool { return c.forgotten(res, protocol.Message{}, false) }

// forgotten tells whether an answer, which said a JSON-RPC error if ok, says that the session is gone: 404 to a request that named it,
// unless it is a server's way to say that it has no such method. Many servers say it with 400 and
// an error that names no request but the session.
func (c *Conn) forgotten(res *http.Response, said protocol.Message, ok bool) bool {
	if res.Request.Header.Get(protocol.HeaderSession) == "" {
		return false
	}
	switch res.StatusCode {
	case http.StatusNotFound:
		return !ok || said.ID == "" || errorCode(said) != protocol.CodeNoMethod
	case http.StatusBadRequest:
		return ok && said.ID == "" && strings.Contains(strings.ToLower(errorText(said)), "session")
	}
	return false
}

func errorCode(m protocol.Message) int {
	members, err := protocol.Members(m.Error, "code")
	code := 0
	if err == nil {
		_, _ = fmt.Sscan(string(members["code"]), &code)
	}
	return code
}

func errorText(m protocol.Message) string {
	members, err := protocol.Members(m.Error, "message")
	if err != nil {
		return ""
	}
	return protocol.Text(members["message"])
}

// refusal says in words what an answer that is no success means, and what to do next.
func (c *Conn) refusal(method string, res *http.Response) string {
	return fmt.Sprintf("The remote server %q (%s) answered %s with %d %s. %s",
		c.opt.Name, where(c.url), method, res.StatusCode, http.StatusText(res.StatusCode), c.next(res))
}

func (c *Conn) next(res *http.Response) string {
	switch code := res.StatusCode; {
	case code >= 300 && code < 400:
		return "It sends elsewhere" + elsewhere(res) + ", which is not followed: if that is right, declare that url."
	case code == http.StatusUnauthorized && c.keysNext() != "":
		return c.keysNext()
	case code == http.StatusUnauthorized && c.opt.Auth == nil:
		return "It wants credentials: declare a header with its key, or a login."
	case code == http.StatusUnauthorized:
		return "It does not accept the credentials: log in again."
	case code == http.StatusForbidden:
		return "The account in use may not do this."
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		return "Check the server's url: there may be no MCP server at that path."
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return "Wait" + retryAfter(res) + " and try again."
	case code >= 500:
		return "That is a fault on its side; whether the request was carried out is not known."
	}
	return "It did not accept the request."
}

// keysNext is what to do about secrets that a server does not take, "" where none are sent.
func (c *Conn) keysNext() string {
	if c.opt.Keys == nil {
		return ""
	}
	return c.opt.Keys.Next()
}

// elsewhere is the origin a redirect leads to.
func elsewhere(res *http.Response) string {
	to, err := res.Location()
	if err != nil || to.Host == "" || dial.SameOrigin(to, res.Request.URL) {
		return ""
	}
	return fmt.Sprintf(" (to %q)", to.Scheme+"://"+to.Host)
}

func retryAfter(res *http.Response) string {
	var seconds int
	if n, err := fmt.Sscan(res.Header.Get("Retry-After"), &seconds); n == 1 && err == nil && seconds > 0 && seconds < 1e6 {
		return fmt.Sprintf(" %d s", seconds)
	}
	return ""
}
