package config

import (
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox"
)

// Lock is garita.lock: what exactly was installed and approved for each server. It is JSON, with
// keys in order, so that it can be kept in version control.
type Lock struct {
	Version  int                                    `json:"version"`
	Packages map[sandbox.ServerName]sandbox.Package `json:"packages"`
	// Images is the image each server runs from, by its exact bytes.
	Images map[sandbox.ServerName]Image `json:"images,omitempty"`
	// Pins is what was accepted of what each server shows of itself.
	Pins map[sandbox.ServerName]Pins `json:"pins,omitempty"`
}

// Image is an image as it was first found: a tag that moves afterwards changes nothing.
type Image struct {
	Reference string         `json:"reference"` // as it was declared
	Digest    sandbox.Digest `json:"digest"`    // of the manifest for this machine
}

// Pins is what was accepted of one server, by kind ("tool", "prompt", "resource", "template",
// "instructions") and name. A kind that is there has been listed whole once: what comes later is new.
type Pins struct {
	Accepted map[string]map[string]Pin `json:"accepted"`
	// Refused is what a person has seen and does not want, by kind and name: its digest.
	Refused map[string]map[string]sandbox.Digest `json:"refused,omitempty"`
}

// Pin is one item as it was accepted.
type Pin struct {
	Digest     sandbox.Digest `json:"digest"` // of Definition in its canonical form
	At         time.Time      `json:"at"`
	By         string         `json:"by"`
	Definition jsontext.Value `json:"definition"`
}

// Clone is p for somebody who changes it.
func (p Pins) Clone() Pins {
	out := Pins{Accepted: map[string]map[string]Pin{}, Refused: map[string]map[string]sandbox.Digest{}}
	for kind, all := range p.Accepted {
		out.Accepted[kind] = maps.Clone(all)
	}
	for kind, all := range p.Refused {
		out.Refused[kind] = maps.Clone(all)
	}
	return out
}

// ParseLock reads garita.lock. Unknown members are refused: a newer garita's locks must not be
// lost by rewriting the file. Errors are a *Problem.
func ParseLock(file string, data []byte) (Lock, error) {
	l := Lock{Version: version}
	if len(data) == 0 {
		return l, nil
	}
	if err := json.Unmarshal(data, &l, json.RejectUnknownMembers(true)); err != nil {
		return l, &Problem{File: file, Message: "not a garita.lock: " + err.Error()}
	}
	if l.Version != version {
		return l, &Problem{File: file, Message: fmt.Sprintf("version %d is not known to this garita, which reads version %d", l.Version, version)}
	}
	return l, nil
}

func (l Lock) bytes() ([]byte, error) {
	b, err := json.Marshal(l, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("write garita.lock: %w", err)
	}
	return append(b, '\n'), nil
}
