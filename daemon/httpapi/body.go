package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// maxBody bounds one request's body, in bytes: the arguments of one tool call.
const maxBody = 8 << 20

// maxBodyTime bounds how long a body may take to arrive.
const maxBodyTime = 10 * time.Second

// readWhole reads bodies before the handlers do, under a deadline that is lifted afterwards: one
// left standing would end long polls.
func readWhole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body, err := readBody(w, r)
		if err != nil {
			writeProblem(w, bodyProblem(err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Now().Add(maxBodyTime)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	return body, errors.Join(err, c.SetReadDeadline(time.Time{}))
}

func bodyProblem(err error) *api.Problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &api.Problem{Status: http.StatusRequestEntityTooLarge, Code: "invalid", Title: "The request is too large", Detail: err.Error()}
	}
	return &api.Problem{Status: http.StatusBadRequest, Code: "invalid", Title: "The request did not arrive whole", Detail: err.Error()}
}
