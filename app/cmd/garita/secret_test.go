package main

import (
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/garita-dev/garita/daemon/api"
)

func TestAValueIsReadFromStandardInput(t *testing.T) {
	for name, c := range map[string]struct {
		typed, want string
		bad         bool
	}{
		"a line":                   {"secret\n", "secret", false},
		"without a newline":        {"secret", "secret", false},
		"a line of another system": {"secret\r\n", "secret", false},
		"several lines":            {"-----BEGIN\nx\n\n", "-----BEGIN\nx\n", false},
		"blanks":                   {" secret \n", " secret ", false},
		"nothing":                  {"", "", true},
		"an empty line":            {"\n", "", true},
	} {
		cli, out, _ := testCLI(t, c.typed)
		got, err := cli.hidden(t.Context(), "Value: ")
		if got != c.want || (err != nil) != c.bad || out.Len() > 0 {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// At a terminal it is asked for, and not echoed.
func TestAValueIsTypedUnseen(t *testing.T) {
	screen, keyboard, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer screen.Close()
	defer keyboard.Close()
	cli, _, errs := testCLI(t, "")
	cli.in, cli.asks = keyboard, true
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	go func() {
		text, err := cli.hidden(t.Context(), "Value: ")
		got <- line{text, err}
	}()
	var l line
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; { // typed again until it reads
		_, _ = screen.WriteString("s3cr3t\n")
		select {
		case l = <-got:
			waiting = false
		case <-tick.C:
		}
	}
	if l.err != nil || l.text != "s3cr3t" {
		t.Errorf("got %q, %v", l.text, l.err)
	}
	if errs.String() != "Value: \n" {
		t.Errorf("the screen shows %q", errs)
	}
}

func TestTimesOfSecrets(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"":                     "never",
		"30d":                  "2026-12-29T12:00:00Z",
		"12h":                  "2026-11-30T00:00:00Z",
		"2027-01-31":           "2027-02-01T00:00:00Z",
		"2027-01-31T18:00:00Z": "2027-01-31T18:00:00Z",
		"soon":                 "refused",
		"-3d":                  "refused",
		"2027-13-01":           "refused",
	} {
		got := "never"
		at, err := moment("--expires", text, now)
		switch {
		case err != nil:
			got = "refused"
		case at != nil:
			got = at.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if at, err := past("--since", "7d", now); err != nil || !at.Equal(now.AddDate(0, 0, -7)) {
		t.Errorf("7d ago: %s, %v", at, err)
	}
	if at, err := past("--since", "2026-11-01", now); err != nil || at.Day() != 1 {
		t.Errorf("a day: %s, %v", at, err)
	}
}

func TestWhatIsWrongWithACommandLineIsTaught(t *testing.T) {
	for line, says := range map[string]string{
		"secret set":                                      "Give it a name",
		"secret set gh ghp_value":                         "is not given on the command line",
		"secret set gh --from-command":                    "wants the command after --",
		"secret set gh --from-command pass show":          "wants the command after --",
		"secret set gh --expires soon":                    "want a time such as 30d",
		"secret grant gh":                                 "accepts 2 arg(s)",
		"secret grant gh github --env X --file y":         "--env VARIABLE or --file NAME",
		"secret grant gh github --env X --host h --until": "needs an argument",
		"secret rotate gh --since x":                      "want a time such as 7d",
		"secret unlock --cancel --create":                 "cancel",
	} {
		cli, _, errs := testCLI(t, "value")
		if code := run(t.Context(), strings.Fields(line), cli); code != exitUsage && !strings.Contains(line, "unlock") || !strings.Contains(errs.String(), says) {
			t.Errorf("%s: %d, %s", line, code, errs)
		}
		if strings.Contains(errs.String(), "ghp_value") {
			t.Errorf("%s: shows the value", line)
		}
	}
}

func TestSecretsAreShownAsAMatrix(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	t.Setenv("TZ", "UTC")
	cli, out, errs := testCLI(t, "")
	cli.showSecrets(api.Secrets{
		Keeper: api.Keeper{State: "locked", Why: "The keyring is locked.", Next: "garita secret unlock"},
		Secrets: []api.Secret{
			{Name: "gh", LastUse: &api.SecretUsed{Server: "github", At: at}, Grants: []api.SecretGrant{
				{Server: "github", Mode: "placeholder", Env: "T", Hosts: []string{"a.example:443"}, Tools: []string{"get_*"}, InForce: true},
				{Server: "other", Mode: "env", Env: "T", Weaker: true, InForce: true},
			}},
			{Name: "wanted", Missing: true, Grants: []api.SecretGrant{{Server: "x\x1b[2J", Mode: "file", File: "/run/secrets/a", Weaker: true}}},
			{Name: "unused", FromCommand: true},
		},
	})
	for _, want := range []string{"placeholder", "env (weaker)", "a.example:443", "get_*", "missing", "by a command", "none", "wanted is wanted, and missing: garita secret set wanted", "file (weaker), over"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not show %q:\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "\x1b[2J") || !strings.Contains(errs.String(), "The keyring is locked.") {
		t.Errorf("%q, %q", out, errs)
	}
}
