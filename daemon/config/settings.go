package config

import (
	"fmt"
	"time"
)

// Settings is config.yaml.
type Settings struct {
	Approvals Approvals
	Page      Page
}

// Approvals says how questions are asked.
type Approvals struct {
	Script bool          // a script may answer; else only a person at the page, the window or a terminal
	Wait   time.Duration // how long a question stays open
}

// Page is the loopback web page.
type Page struct {
	Enabled bool
	Port    int // 0 means any free one
}

// pagePort is where the page is usually found: a browser keeps its token per port, so it had
// better be the same tomorrow.
const pagePort = 47483

// defaultWait is how long a question stays open unless config.yaml says otherwise (DESIGN §5).
const defaultWait = 10 * time.Minute

// defaults hold where config.yaml says nothing. Scripts may answer only in a home of their own:
// tests and demos run there, and there may be several at a time.
func defaults(isolated bool) Settings {
	s := Settings{Approvals: Approvals{Wait: defaultWait}, Page: Page{Enabled: true, Port: pagePort}}
	if isolated {
		s.Approvals.Script, s.Page.Port = true, 0
	}
	return s
}

type settingsFile struct {
	Version   *int `yaml:"version"`
	Approvals struct {
		Script *bool  `yaml:"script"`
		Wait   string `yaml:"wait"`
	} `yaml:"approvals"`
	Page struct {
		Enabled *bool `yaml:"enabled"`
		Port    *int  `yaml:"port"`
	} `yaml:"page"`
}

// ParseSettings reads config.yaml over the defaults. Errors are a *Problem.
func ParseSettings(file string, data []byte, isolated bool) (Settings, error) {
	f, s := settingsFile{}, defaults(isolated)
	if err := decode(file, data, &f); err != nil {
		return s, err
	}
	at := newLines(data)
	if f.Version != nil && *f.Version != version {
		return s, &Problem{File: file, Line: at.of("version"), Message: fmt.Sprintf("version %d is not known to this garita, which reads version %d", *f.Version, version)}
	}
	if f.Approvals.Script != nil {
		s.Approvals.Script = *f.Approvals.Script
	}
	if f.Approvals.Wait != "" {
		d, err := parseDuration(f.Approvals.Wait)
		if err != nil {
			return s, &Problem{File: file, Line: at.of("approvals", "wait"), Message: err.Error()}
		}
		s.Approvals.Wait = d
	}
	if f.Page.Enabled != nil {
		s.Page.Enabled = *f.Page.Enabled
	}
	if p := f.Page.Port; p != nil {
		if *p < 0 || *p > 65535 {
			return s, &Problem{File: file, Line: at.of("page", "port"), Message: fmt.Sprintf("port %d: want 0 to 65535", *p)}
		}
		s.Page.Port = *p
	}
	return s, nil
}
