package config

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox"
)

// Lock is garita.lock: what exactly was installed and approved for each server. It is JSON, with
// keys in order, so that it can be kept in version control.
type Lock struct {
	Version  int                                    `json:"version"`
	Packages map[sandbox.ServerName]sandbox.Package `json:"packages"`
	// Pins is kept as it is by this version: definitions of tools, by server and tool.
	Pins map[sandbox.ServerName]jsontext.Value `json:"pins,omitempty"`
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
