package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/daemon/api"
)

// makeLink makes a one-time link for a program of this user that the backend lets have one.
func (s *Server) makeLink(ctx context.Context, _ *nothing) (api.BrowserSession, error) {
	opened, err := s.backend.PermitLink(ctx, peerOf(ctx))
	if err != nil {
		return api.BrowserSession{}, err
	}
	url := s.PageURL()
	if url == "" {
		return api.BrowserSession{}, &api.Problem{
			Code: "precondition", Title: "The page is not served", Detail: "the daemon runs without it, or could not take its port", Next: "garita status",
		}
	}
	secret, until := s.sessions.link(opened)
	return api.BrowserSession{URL: url + "/#token=" + secret, Expires: until}, nil
}

// claim trades the token of a link for a session. Whatever is wrong with the request, the answer
// is the same.
func (s *Server) claim(w http.ResponseWriter, r *http.Request) {
	var in api.Claim
	err := json.UnmarshalRead(r.Body, &in, json.RejectUnknownMembers(true))
	isJSON := strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
	if err != nil || !isJSON {
		s.refuse(w, r, http.StatusUnauthorized, "unreadable claim")
		return
	}
	cookie, token, ok := s.sessions.claim(in.Token)
	if !ok {
		s.refuse(w, r, http.StatusUnauthorized, "claim of a link that is used, over or not ours")
		return
	}
	setCookie(w, r, cookie, int(sessionLife.Seconds()))
	body, err := json.Marshal(api.Claimed{Token: token})
	if err != nil {
		writeProblem(w, problemOf(err).Problem)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the browser may have gone
}

// signOut ends the browser's session, and with it whatever it has open, and has it forget the cookie.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, "", -1)
	w.WriteHeader(http.StatusNoContent)
	s.sessions.end(cookieOf(r, cookieName(portOf(r.Host))))
}

// setCookie sets the cookie of the page's port for so many seconds; -1 takes it away.
func setCookie(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(portOf(r.Host)), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// portOf is the port of a Host that knownHost has let through.
func portOf(host string) string { return host[strings.LastIndexByte(host, ':')+1:] }
