package sandbox

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// program is one of the host's, under its own name.
func program(file string, words ...string) Execution {
	name := file[strings.LastIndexByte(file, '/')+1:]
	return Execution{Path: file, Real: file, Argv: append([]string{name}, words...), Fixed: true}
}

func TestExecRulesDecide(t *testing.T) {
	design := ExecRules{Allow: []string{"*"}, Ask: []string{"git push*"}, Deny: []string{"ssh*"}}
	narrow := ExecRules{Allow: []string{"git *", "/opt/tools/fmt -w *", "sh *"}}
	copied := program("/home/user/git", "push")
	copied.Fixed = false
	linked := copied
	linked.Real = "/usr/bin/curl"
	applet := Execution{Path: "/bin/sh", Real: "/bin/busybox", Argv: []string{"wget", "http://x"}, Fixed: true}
	script := Execution{Path: "/srv/x", Real: "/srv/x", Argv: []string{"x"}, Fixed: true, Via: []string{"/usr/bin/ssh", "/srv/x"}, ViaReal: "/usr/bin/ssh"}
	for name, c := range map[string]struct {
		rules ExecRules
		x     Execution
		want  ExecEffect
	}{
		"anything":                       {design, program("/usr/bin/ls", "-l"), ExecAllow},
		"asked":                          {design, program("/usr/bin/git", "push", "origin"), ExecAsk},
		"denied":                         {design, program("/usr/bin/ssh", "host"), ExecDeny},
		"denied by the beginning":        {design, program("/usr/bin/ssh-add"), ExecDeny},
		"denied by the file behind":      {design, Execution{Path: "/usr/bin/rsh", Real: "/usr/bin/ssh", Argv: []string{"rsh"}, Fixed: true}, ExecDeny},
		"denied by what it calls itself": {design, Execution{Path: "/bin/x", Real: "/bin/busybox", Argv: []string{"ssh"}, Fixed: true}, ExecDeny},
		"denied as a login shell":        {ExecRules{Allow: []string{"*"}, Deny: []string{"sh"}}, Execution{Path: "/bin/dash", Real: "/bin/dash", Argv: []string{"-sh"}, Fixed: true}, ExecDeny},
		"denied by its interpreter":      {design, script, ExecDeny},
		"one word of two is not two":     {ExecRules{Allow: []string{"git status"}}, program("/usr/bin/git status"), ExecDeny},
		"a word with a blank":            {ExecRules{Allow: []string{"git status *"}}, program("/usr/bin/git", "status push"), ExecDeny},
		"a denied word with a blank":     {ExecRules{Allow: []string{"*"}, Deny: []string{"git push *"}}, program("/usr/bin/git", "push x"), ExecDeny},
		"nothing listed":                 {ExecRules{}, program("/usr/bin/ls"), ExecDeny},
		"not listed":                     {narrow, program("/usr/bin/curl", "x"), ExecDeny},
		"listed":                         {narrow, program("/usr/bin/git", "log"), ExecAllow},
		"listed, without arguments":      {narrow, program("/usr/bin/git"), ExecAllow},
		"a longer name":                  {narrow, program("/usr/bin/gitk"), ExecDeny},
		"by its path":                    {narrow, program("/opt/tools/fmt", "-w", "x"), ExecAllow},
		"that name elsewhere":            {narrow, program("/usr/bin/fmt", "-w", "x"), ExecDeny},
		"a copy of that name":            {narrow, copied, ExecDeny},
		"a link of that name":            {narrow, linked, ExecDeny},
		"a copy, by its path":            {ExecRules{Allow: []string{"/home/user/git *"}}, copied, ExecAllow},
		"a link, by its path":            {ExecRules{Allow: []string{"/home/user/git *"}}, linked, ExecDeny},
		"another applet":                 {narrow, applet, ExecDeny},
		"a file in memory":               {narrow, Execution{Argv: []string{"git"}}, ExecDeny},
		"a file in memory, anything":     {design, Execution{Argv: []string{"git"}}, ExecAllow},
		"a file in memory, asked":        {ExecRules{Ask: []string{"git *"}}, Execution{Argv: []string{"git"}}, ExecDeny},
		"no words at all":                {narrow, Execution{Path: "/usr/bin/git", Real: "/usr/bin/git", Fixed: true}, ExecDeny},
		"too long to be read":            {design, Execution{Path: "/usr/bin/ls", Real: "/usr/bin/ls", Argv: []string{"ls"}, Fixed: true, Cut: true}, ExecDeny},
		"too long, and nothing denied":   {ExecRules{Allow: []string{"*"}}, Execution{Path: "/usr/bin/ls", Real: "/usr/bin/ls", Argv: []string{"ls"}, Fixed: true, Cut: true}, ExecAllow},
		"too long, and listed":           {narrow, Execution{Path: "/usr/bin/git", Real: "/usr/bin/git", Argv: []string{"git"}, Fixed: true, Cut: true}, ExecDeny},
		"asked while watched":            {ExecRules{AskElse: true, Deny: []string{"ssh*"}}, program("/usr/bin/curl"), ExecAsk},
		"denied while watched":           {ExecRules{AskElse: true, Deny: []string{"ssh*"}}, program("/usr/bin/ssh"), ExecDeny},
		"deny beats ask beats allow":     {ExecRules{Allow: []string{"git"}, Ask: []string{"git"}, Deny: []string{"git"}}, program("/usr/bin/git"), ExecDeny},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.rules.Decide(c.x); got.Effect != c.want {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}

func TestPatternsOfCommands(t *testing.T) {
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{"git", "git", true},
		{"git", "git x", false},
		{"git *", "git", true},
		{"git *", "git a b", true},
		{"git *", "gitk", false},
		{"git push*", "git push --force", true},
		{"*", "", true},
		{"", "x", false},
		{"a*b*c", "a--b--b--c", true},
		{"a*b*c", "a--b--b--", false},
		{"a?c", "abc", true},
		{`a\*c`, "abc", false},
		{`a\*c`, "a*c", true},
		{`a\\c`, `a\c`, true},
		{`a\`, `a\`, true},
		{"*x", strings.Repeat("y", 5000) + "x", true},
	} {
		if got := execMatches(c.pattern, c.line); got != c.want {
			t.Errorf("%q has %.40q: %t, want %t", c.pattern, c.line, got, c.want)
		}
	}
}

// words are what commands and patterns are made of at random.
var someWords = []string{"git", "push", "ssh", "a b", "", "*", `\`, `"`, "-x", "/usr/bin/git", "\x00", "…", "\xff"}

func randomly(r *rand.Rand, most int) (out []string) {
	for range r.IntN(most) {
		out = append(out, someWords[r.IntN(len(someWords))])
	}
	return out
}

func randomCommand(r *rand.Rand) Execution {
	files := []string{"/usr/bin/git", "/usr/bin/ssh", "/home/user/git", ""}
	x := Execution{Path: files[r.IntN(4)], Real: files[r.IntN(3)], Argv: randomly(r, 5), Fixed: r.IntN(2) == 0, Cut: r.IntN(8) == 0}
	if r.IntN(4) == 0 {
		x.Via = append([]string{"/usr/bin/ssh"}, x.Argv...)
	}
	return x
}

func randomPatterns(r *rand.Rand) (out []string) {
	for range r.IntN(3) {
		if p := strings.Join(randomly(r, 4), []string{" ", "*", "* "}[r.IntN(3)]); CheckExecPattern(p) == nil {
			out = append(out, p)
		}
	}
	return out
}

// What holds of every decision, whatever the rules and the command.
func TestEveryDecisionAboutCommands(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
	for range 20_000 {
		x := randomCommand(r)
		rules := ExecRules{Allow: randomPatterns(r), Ask: randomPatterns(r), Deny: randomPatterns(r), AskElse: r.IntN(4) == 0}
		got := rules.Decide(x)
		more := rules
		more.Deny = append([]string{"git*"}, rules.Deny...)
		with := more.Decide(x)
		switch {
		case with.Effect == ExecAllow && got.Effect != ExecAllow, with.Effect == ExecAsk && got.Effect == ExecDeny:
			t.Fatalf("denying more permits %+v: %+v by %+v, %+v before", x, with, more, got)
		case got.Effect == ExecAllow && len(rules.Allow) == 0:
			t.Fatalf("%+v is allowed by nothing", x)
		case got.Effect == ExecAllow && len(rules.Deny)+len(rules.Ask) > 0 && x.Cut:
			t.Fatalf("%+v is allowed unread by %+v", x, rules)
		case got.Effect == ExecAllow && x.Path == "" && got.Pattern != "*":
			t.Fatalf("%+v has no name and is allowed by %+v", x, got)
		case (ExecRules{}).Decide(x).Effect != ExecDeny:
			t.Fatalf("no rule allows %+v", x)
		}
	}
}

// Two commands never have one line, and the pattern made of a line has that line alone.
func TestCommandLinesTellCommandsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test's
	seen := map[string]string{}
	for range 20_000 {
		words := append([]string{"git"}, randomly(r, 5)...)
		line, key := CommandLine(words[0], words[1:]), strings.Join(words, "\x01")
		if other, ok := seen[line]; ok && other != key {
			t.Fatalf("%q and %q are both %s", other, key, line)
		}
		seen[line] = key
		p := ExecPattern(line)
		if !execMatches(p, line) || strings.HasSuffix(line, "*") && execMatches(p, strings.TrimSuffix(line, "*")) {
			t.Fatalf("the pattern %s does not have just %s", p, line)
		}
	}
}

func TestAttackByWordsThatAreNotSeen(t *testing.T) {
	for word, want := range map[string]string{
		"-rf\u3164x":     `"-rf\u3164x"`,
		"a\u2800--force": `"a\u2800--force"`,
		"a\ufe0f":        `"a\ufe0f"`,
		"a\u202eb":       `"a\u202eb"`,
		"a\U000e0100":    `"a\U000e0100"`,
		"é b\u115f":      `"\u00e9 b\u115f"`,
		"a\nb":           `"a\nb"`,
		"a\x1b[2J":       `"a\x1b[2J"`,
		"bücher":         "bücher",
		"two wörds":      `"two wörds"`,
		"a\u00a0b":       `"a\u00a0b"`,
		"a\xff":          `"a\xff"`,
	} {
		if got := CommandLine("x", []string{word}); got != "x "+want {
			t.Errorf("%+q: %+q", word, got)
		}
		if CheckExecPattern(word) == nil && strings.Contains(want, `\`) {
			t.Errorf("%+q is a pattern", word)
		}
	}
}
