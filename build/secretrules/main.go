// Secretrules writes daemon/redact/rules.json: the rules of gitleaks, of the version in its go.mod,
// as far as they are about text. A module of its own, because gitleaks' own configuration package
// brings a settings framework, a logger and an HCL parser, which the daemon is not to carry.
//
//	go -C build/secretrules run .
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// rule is what is kept of one.
type rule struct {
	ID       string   `toml:"id" json:"id"`
	About    string   `toml:"description" json:"about"`
	Regex    string   `toml:"regex" json:"regex"`
	Group    int      `toml:"secretGroup" json:"group,omitempty"`
	Entropy  float64  `toml:"entropy" json:"entropy,omitempty"`
	Keywords []string `toml:"keywords" json:"keywords"`
	Path     string   `toml:"path" json:"-"` // a rule about a file's name
}

func main() {
	if err := write("../../daemon/redact/rules.json"); err != nil {
		fmt.Fprintln(os.Stderr, "secretrules:", err)
		os.Exit(1)
	}
}

func write(file string) error {
	var all struct {
		Rules []rule `toml:"rules"`
	}
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &all); err != nil {
		return err
	}
	var out strings.Builder
	out.WriteString("[\n")
	for i, r := range slices.DeleteFunc(all.Rules, func(r rule) bool { return r.Regex == "" || len(r.Keywords) == 0 }) {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteString(",\n")
		}
		out.Write(b)
	}
	out.WriteString("\n]\n")
	return os.WriteFile(file, []byte(out.String()), 0o644)
}
