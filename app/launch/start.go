package launch

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// started is a daemon that was started. A nil one never ends.
type started struct {
	ended chan struct{} // closed once it has
	err   error         // how; valid then
	since int64         // the log's size before
}

// start starts a daemon. It is waited for as long as this process lives, and lives on after it.
func start(o Options) (*started, error) {
	log, err := openLog(o.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(o.Program, "daemon")
	cmd.Dir, cmd.Env = "/", environment(os.Environ())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &started{ended: make(chan struct{}), since: info.Size()}
	go func() { // ends with the daemon, or with this process
		defer close(s.ended)
		if s.err = cmd.Wait(); s.err == nil {
			s.err = errors.New("exit status 0")
		}
	}()
	return s, nil
}

func (s *started) hasEnded() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (s *started) said(log string) string { return tail(log, s.since) }

// kept are the variables that a daemon needs; nothing else of the starter's environment, which
// may be a client's and hold its tokens, outlives the starter in the daemon.
var kept = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"GARITA_HOME", "DBUS_SESSION_BUS_ADDRESS", "NVM_DIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"NPM_CONFIG_REGISTRY", "NPM_CONFIG_USERCONFIG", "npm_config_registry", "npm_config_userconfig",
	"UV_CONFIG_FILE", "PIP_CONFIG_FILE", "PIP_CERT",
}

// keptIndexes say where Python's packages come from. All of them, or names would be looked up elsewhere;
// without a password, which belongs into uv.toml or pip.conf.
var keptIndexes = []string{
	"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",
}

// keptFamilies are prefixes of such variables.
var keptFamilies = []string{"LC_", "XDG_", "GARITA_"}

// password is what stands before the host of a URL.
var password = regexp.MustCompile(`//[^/\s]*@`)

func environment(all []string) []string {
	var out []string
	for _, v := range all {
		name, value, _ := strings.Cut(v, "=")
		if slices.Contains(keptIndexes, name) {
			out = append(out, name+"="+password.ReplaceAllString(value, "//"))
		}
		if slices.Contains(kept, name) || slices.ContainsFunc(keptFamilies, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out = append(out, v)
		}
	}
	return out
}
