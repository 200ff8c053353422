// Package record turns the events of Garita's record into what other programs and people read: JSON
// Lines, OpenTelemetry spans, and the story of one session. All of it is pure and takes one event at
// a time, so that a record of any length goes through in little memory.
package record

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/api"
)

// Exporter writes events. Close writes what is still to be written; it does not close the writer.
type Exporter interface {
	Event(e api.AuditEvent) error
	Close() error
}

// lines is JSON Lines: an event a line.
type lines struct {
	to        io.Writer
	arguments bool
}

// Lines exports each event as one line of JSON, with the calls' arguments, which the record keeps
// redacted, and the sentences made from them, only where arguments is true.
func Lines(to io.Writer, arguments bool) Exporter { return &lines{to, arguments} }

func (l *lines) Event(e api.AuditEvent) error {
	if !l.arguments {
		body, err := withoutArguments(e.Body)
		if err != nil {
			return fmt.Errorf("export event %d: %w", e.Seq, err)
		}
		e.Body = body
	}
	line, err := json.Marshal(e, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("export event %d: %w", e.Seq, err)
	}
	_, err = l.to.Write(append(line, '\n'))
	return err
}

func (l *lines) Close() error { return nil }

// argued are the members of a body that tell of a call's arguments.
var argued = map[jsontext.Pointer]bool{"/call/arguments": true, "/call/sentence": true}

// withoutArguments is a body with what tells of arguments left out.
func withoutArguments(body []byte) ([]byte, error) {
	var out bytes.Buffer
	in, enc := jsontext.NewDecoder(bytes.NewReader(body)), jsontext.NewEncoder(&out)
	for {
		t, err := in.ReadToken()
		if err == io.EOF { //nolint:errorlint // the decoder's own word for its end
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		if kind, n := in.StackIndex(in.StackDepth()); kind == '{' && n%2 == 1 && argued[in.StackPointer()] {
			if err := in.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if err := enc.WriteToken(t); err != nil {
			return nil, err
		}
	}
}

// body is what is read of an event's body, whatever its kind.
type body struct {
	Call     call     `json:"call"`
	Decision decision `json:"decision"`
	Why      decision `json:"why"`

	Outcome      string         `json:"outcome"`
	Error        string         `json:"error"`
	DurationUS   int64          `json:"duration_us"`
	ResultDigest string         `json:"result_digest"`
	ResultSize   int64          `json:"result_size"`
	Changes      []change       `json:"changes"`
	Hosts        []string       `json:"hosts"`
	Artifacts    []string       `json:"artifacts"`
	Findings     []string       `json:"findings"`
	Request      string         `json:"request"`
	By           string         `json:"by"`
	WaitedUS     int64          `json:"waited_us"`
	Expires      time.Time      `json:"expires"`
	Tool         string         `json:"tool"`
	Reason       string         `json:"reason"`
	Workspace    string         `json:"workspace"`
	Sandbox      string         `json:"sandbox"`
	Code         *int           `json:"code"`
	Line         string         `json:"line"`
	Package      jsontext.Value `json:"package"`
}

type call struct {
	ID          string         `json:"id"`
	At          time.Time      `json:"at"`
	Client      string         `json:"client"`
	Label       string         `json:"label"`
	Sandbox     string         `json:"sandbox"`
	Workspace   string         `json:"workspace"`
	Tool        string         `json:"tool"`
	Class       string         `json:"class"`
	Sensitive   string         `json:"sensitive"`
	Sentence    string         `json:"sentence"`
	Arguments   jsontext.Value `json:"arguments"`
	Traceparent string         `json:"traceparent"`
}

type decision struct {
	Effect   string `json:"effect"`
	Class    string `json:"class"`
	Rule     string `json:"rule"`
	Reason   string `json:"reason"`
	Request  string `json:"request"`
	Outcome  string `json:"outcome"`
	By       string `json:"by"`
	WaitedUS int64  `json:"waited_us"`
}

type change struct {
	Folder string `json:"folder"`
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Held   string `json:"held"`
}

// read reads a body. What this version does not know, or knows otherwise, is left out.
func read(raw []byte) body {
	var b body
	if err := json.Unmarshal(raw, &b, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return body{}
	}
	return b
}

// unmarshal reads JSON whose members may be spelled in either case.
func unmarshal(raw []byte, v any) error {
	return json.Unmarshal(raw, v, json.MatchCaseInsensitiveNames(true))
}
