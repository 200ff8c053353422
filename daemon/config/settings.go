package config

import (
	"fmt"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// Settings is config.yaml.
type Settings struct {
	Approvals Approvals
	Page      Page
	Doors     Doors
	Message   int64 // bytes of one MCP message at most; a longer one fails alone
	Record    Record
	Results   Results
	Packages  Packages
	Network   Outside
}

// Packages says what may be installed.
type Packages struct {
	Age time.Duration // versions published more lately do not exist; 0 lets any in
}

// defaultAge is how long a version has to be out unless config.yaml says otherwise: most poisoned
// ones are found within it.
const defaultAge = 3 * 24 * time.Hour

// Doors is where MCP clients come in besides the user's socket.
type Doors struct {
	HTTP bool // Streamable HTTP on loopback; every request needs a bearer token
	Port int  // 0 means any free one
	// Calls bounds the tools/call of one token over all its servers; the zero Rate means any number.
	Calls sandbox.Rate
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

// doorPort is where clients find the HTTP door: its address stands in their settings.
const doorPort = 47484

// defaultWait is how long a question stays open unless config.yaml says otherwise (DESIGN §5).
const defaultWait = 10 * time.Minute

// DefaultMessage and the bounds of Settings.Message, in bytes.
const (
	DefaultMessage = 64 << 20
	leastMessage   = 1 << 20
	mostMessage    = 1 << 30
)

// defaults hold where config.yaml says nothing. Scripts may answer only in a home of their own:
// tests and demos run there, and there may be several at a time.
func defaults(isolated bool) Settings {
	s := Settings{
		Approvals: Approvals{Wait: defaultWait}, Page: Page{Enabled: true, Port: pagePort},
		Doors: Doors{HTTP: true, Port: doorPort}, Message: DefaultMessage,
		Results:  Results{Limit: resultsLimit, Kept: resultsKept},
		Packages: Packages{Age: defaultAge},
		Record:   Record{Size: recordSize, Free: recordFree, Logs: recordLogs},
	}
	if isolated {
		s.Approvals.Script, s.Page.Port, s.Doors.Port = true, 0, 0
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
	Doors struct {
		HTTP  *bool  `yaml:"http"`
		Port  *int   `yaml:"port"`
		Calls string `yaml:"calls"`
	} `yaml:"doors"`
	Record  recordFile  `yaml:"record"`
	Results resultsFile `yaml:"results"`
	Message string      `yaml:"message"`

	Packages struct {
		Age string `yaml:"age"`
	} `yaml:"packages"`

	Network outsideFile `yaml:"network"`
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
	if key, err := f.over(&s); err != nil {
		return s, &Problem{File: file, Line: at.of(key...), Message: err.Error()}
	}
	return s, nil
}

// over sets what the file says in s. On an error key is where it says so.
func (f settingsFile) over(s *Settings) (key []string, err error) {
	if key, err := f.Network.over(&s.Network); err != nil {
		return append([]string{"network"}, key), err
	}
	set(&s.Approvals.Script, f.Approvals.Script)
	set(&s.Page.Enabled, f.Page.Enabled)
	set(&s.Doors.HTTP, f.Doors.HTTP)
	if f.Approvals.Wait != "" {
		if s.Approvals.Wait, err = parseDuration(f.Approvals.Wait); err != nil {
			return []string{"approvals", "wait"}, err
		}
	}
	if err := setPort(&s.Page.Port, f.Page.Port); err != nil {
		return []string{"page", "port"}, err
	}
	if err := setPort(&s.Doors.Port, f.Doors.Port); err != nil {
		return []string{"doors", "port"}, err
	}
	if f.Doors.Calls != "" {
		if s.Doors.Calls, err = parseRate(f.Doors.Calls); err != nil {
			return []string{"doors", "calls"}, err
		}
	}
	if key, err := f.Record.over(&s.Record); err != nil {
		return key, err
	}
	if key, err := f.Results.over(&s.Results); err != nil {
		return key, err
	}
	if err := setAge(&s.Packages.Age, f.Packages.Age); err != nil {
		return []string{"packages", "age"}, err
	}
	if f.Message == "" {
		return nil, nil
	}
	if s.Message, err = parseSize(f.Message); err == nil && (s.Message < leastMessage || s.Message > mostMessage) {
		err = fmt.Errorf("message: want %s to %s", formatSize(leastMessage), formatSize(mostMessage))
	}
	return []string{"message"}, err
}

// setAge reads "3d" or "12h"; "none" is 0, and "" changes nothing.
func setAge(to *time.Duration, text string) (err error) {
	switch text {
	case "":
		return nil
	case "none":
		*to = 0
		return nil
	}
	*to, err = parseDays(text)
	return err
}

func set(to, from *bool) {
	if from != nil {
		*to = *from
	}
}

func setPort(to, from *int) error {
	if from == nil {
		return nil
	}
	if *from < 0 || *from > 65535 {
		return fmt.Errorf("port %d: want 0 to 65535", *from)
	}
	*to = *from
	return nil
}
