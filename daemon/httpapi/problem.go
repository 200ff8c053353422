package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/api"
)

// refusal is a Problem as huma wants an error: with its status.
type refusal struct {
	*api.Problem
}

// GetStatus is the HTTP status.
func (r refusal) GetStatus() int { return r.Status }

// ContentType is the one of Problem bodies.
func (r refusal) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// problemOf makes the one Problem of an error, by its kind.
func problemOf(err error) refusal {
	var p *api.Problem
	if errors.As(err, &p) {
		return refusal{withStatus(p)}
	}
	k := kindOf(err)
	return refusal{&api.Problem{Status: k.status, Code: k.code, Title: k.title, Detail: withoutKind(err.Error())}}
}

// withoutKind leaves the words of an error's kind out at the end: the status and the title say them.
func withoutKind(text string) string {
	for _, kind := range []error{
		errdefs.ErrNotFound, errdefs.ErrInvalidArgument, errdefs.ErrPermissionDenied, errdefs.ErrUnauthenticated, errdefs.ErrFailedPrecondition,
		errdefs.ErrConflict, errdefs.ErrAlreadyExists, errdefs.ErrAborted, errdefs.ErrResourceExhausted, errdefs.ErrNotImplemented, errdefs.ErrUnavailable,
	} {
		text = strings.TrimSuffix(text, ": "+kind.Error())
	}
	return text
}

// kind is what an error's kind becomes.
type kind struct {
	is     func(error) bool
	status int
	code   string
	title  string
}

// kindOf finds the kind of err; the last line takes what has none.
func kindOf(err error) kind {
	kinds := [...]kind{
		{errdefs.IsNotFound, http.StatusNotFound, "not_found", "There is no such thing"},
		{errdefs.IsInvalidArgument, http.StatusBadRequest, "invalid", "The request cannot be understood"},
		{errdefs.IsPermissionDenied, http.StatusForbidden, "denied", "This is not allowed"},
		{errdefs.IsUnauthorized, http.StatusUnauthorized, "denied", "This is not allowed"},
		{errdefs.IsFailedPrecondition, http.StatusPreconditionFailed, "precondition", "Something this needs is missing"},
		{errdefs.IsConflict, http.StatusConflict, "conflict", "It has changed meanwhile"},
		{errdefs.IsAlreadyExists, http.StatusConflict, "conflict", "It is there already"},
		{errdefs.IsAborted, http.StatusConflict, "conflict", "It has changed meanwhile"},
		{errdefs.IsResourceExhausted, http.StatusTooManyRequests, "unavailable", "There is too much under way"},
		{errdefs.IsNotImplemented, http.StatusNotImplemented, "unavailable", "This is not built yet"},
		{errdefs.IsUnavailable, http.StatusServiceUnavailable, "unavailable", "A part of Garita is not there just now"},
		{isDeadline, http.StatusGatewayTimeout, "unavailable", "It took too long"},
		{isCanceled, http.StatusServiceUnavailable, "unavailable", "It was given up"},
		{func(error) bool { return true }, http.StatusInternalServerError, "internal", "Something went wrong in the daemon"},
	}
	for _, k := range kinds {
		if k.is(err) {
			return k
		}
	}
	return kinds[len(kinds)-1]
}

func isDeadline(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }

// withStatus fills in a Problem's status from its code where the backend left it out.
func withStatus(p *api.Problem) *api.Problem {
	if p.Status >= 400 && p.Status < 600 {
		return p
	}
	status, ok := map[string]int{
		"not_found": 404, "invalid": 400, "denied": 403, "precondition": 412, "conflict": 409, "unavailable": 503,
	}[p.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	filled := *p
	filled.Status = status
	return &filled
}

// sayProblem turns what huma itself has to complain of into a Problem.
func sayProblem(_ huma.Context, _ string, v any) (any, error) {
	switch e := v.(type) {
	case refusal:
		return e.Problem, nil
	case *huma.ErrorModel:
		return fromModel(e), nil
	default:
		return v, nil
	}
}

func fromModel(e *huma.ErrorModel) *api.Problem {
	code := "invalid"
	switch {
	case e.Status >= 500:
		code = "internal"
	case e.Status == http.StatusNotFound:
		code = "not_found"
	}
	details := []string{e.Detail}
	for _, d := range e.Errors {
		details = append(details, strings.TrimSpace(d.Location+" "+d.Message))
	}
	return &api.Problem{Status: e.Status, Code: code, Title: "The request cannot be understood", Detail: strings.Join(details, "; ")}
}

// withoutQuote is an error of JSON's syntax without the text that it quotes, which may be of a secret; any
// other error is as it is. Its place is said still.
func withoutQuote(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) || syntax.Err == nil {
		return err
	}
	text := syntax.Err.Error()
	from, to := strings.IndexAny(text, "'`\""), strings.LastIndexAny(text, "'`\"")
	if from < 0 {
		return err
	}
	return &jsontext.SyntacticError{
		ByteOffset: syntax.ByteOffset, JSONPointer: syntax.JSONPointer,
		Err: errors.New(text[:from] + strings.TrimSpace(text[to+1:])),
	}
}

// writeProblem answers with p, where huma is not in between.
func writeProblem(w http.ResponseWriter, p *api.Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the caller may have gone
}
