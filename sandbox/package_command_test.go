package sandbox

import (
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
)

func TestPackageCommandsPeopleWrite(t *testing.T) {
	npm := func(name, versions, bin string) PackageRef {
		return PackageRef{Ecosystem: NPM, Name: name, Range: versions, Bin: bin}
	}
	for name, tt := range map[string]struct {
		line string // words separated by one blank
		ref  PackageRef
		args []string
	}{
		"plain":                            {"npx @modelcontextprotocol/server-memory", npm("@modelcontextprotocol/server-memory", "", ""), nil},
		"yes, and a folder":                {"npx -y @modelcontextprotocol/server-filesystem /home/a", npm("@modelcontextprotocol/server-filesystem", "", ""), []string{"/home/a"}},
		"long yes, exact version":          {"npx --yes server@1.2.3 --stdio -y", npm("server", "1.2.3", ""), []string{"--stdio", "-y"}},
		"tag and sub-commands":             {"npx @microsoft/m365agentstoolkit-mcp@latest server start", npm("@microsoft/m365agentstoolkit-mcp", "latest", ""), []string{"server", "start"}},
		"range":                            {"npx -y server@^1.2", npm("server", "^1.2", ""), nil},
		"package and bin":                  {"npx -y --package=@upstash/context7-mcp@2.2.5 -- context7-mcp --port 3", npm("@upstash/context7-mcp", "2.2.5", "context7-mcp"), []string{"--port", "3"}},
		"-p and bin":                       {"npx -p server@2 server-bin a", npm("server", "2", "server-bin"), []string{"a"}},
		"package alone":                    {"npx --package server", npm("server", "", ""), nil},
		"absolute path, a version shim":    {"/Users/alice/.asdf/shims/npx -y pkg", npm("pkg", "", ""), nil},
		"behind cmd /c":                    {"cmd /c npx -y @e2b/mcp-server", npm("@e2b/mcp-server", "", ""), nil},
		"npx.cmd by a Windows path":        {`C:\node\npx.cmd -y pkg`, npm("pkg", "", ""), nil},
		"dashes before the package":        {"npx -y -- pkg -x", npm("pkg", "", ""), []string{"-x"}},
		"dashes after it are the server's": {"npx pkg -- -x", npm("pkg", "", ""), []string{"--", "-x"}},
		"npm exec":                         {"npm exec -y pkg@1 -- --root /a", npm("pkg", "1", ""), []string{"--root", "/a"}},
		"npm exec, package and bin":        {"npm exec --package=pkg -- bin --root", npm("pkg", "", "bin"), []string{"--root"}},
		"npm x with words":                 {"npm x pkg serve", npm("pkg", "", ""), []string{"serve"}},
		"bunx":                             {"bunx create-better-t-stack@latest mcp", npm("create-better-t-stack", "latest", ""), []string{"mcp"}},
		"pnpm dlx":                         {"pnpm dlx pkg a", npm("pkg", "", ""), []string{"a"}},
		"yarn dlx":                         {"yarn dlx -q pkg a", npm("pkg", "", ""), []string{"a"}},
		"a URL among the arguments":        {"npx -y mcp-remote https://mcp.example/mcp --header A:${B}", npm("mcp-remote", "", ""), []string{"https://mcp.example/mcp", "--header", "A:${B}"}},
		"an old name with capitals":        {"npx JSONStream", npm("JSONStream", "", ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			ref, args, ok, err := ParsePackageCommand(strings.Split(tt.line, " "))
			if !ok || err != nil {
				t.Fatalf("ok %v, err %v; want a package", ok, err)
			}
			if diff := cmp.Diff(ref, tt.ref); diff != "" {
				t.Errorf("reference differs (-got +want):\n%s", diff)
			}
			if got, want := strings.Join(args, "|"), strings.Join(tt.args, "|"); got != want {
				t.Errorf("arguments %q, want %q", got, want)
			}
		})
	}
}

func TestPackageCommandsRefused(t *testing.T) {
	for name, line := range map[string]string{
		"git":                      "npx -y git+https://github.com/a/b.git",
		"git over ssh":             "npx git+ssh://git@github.com:a/b.git#v1",
		"GitHub short form":        "npx -y user/repo",
		"GitHub prefix":            "npx github:user/repo",
		"URL":                      "npx https://example.com/x.tgz",
		"file":                     "npx file:../x",
		"folder":                   "npx ./x",
		"parent folder":            "npx ../x",
		"absolute folder":          "npx /opt/x",
		"home folder":              "npx ~/x",
		"archive":                  "npx x-1.0.0.tgz",
		"alias":                    "npx a@npm:b@1",
		"version from a URL":       "npx a@https://example.com/a.tgz",
		"version from a folder":    "npx a@file:../a",
		"scope and two slashes":    "npx @a/b/c",
		"scope and a climb":        "npx @a/../b",
		"an option as the version": "npx a@-x",
		"no package":               "npx -y",
		"-p without a package":     "npx -p",
		"two packages":             "npx -p a -p b c",
		"a shell line":             "npx -p a -c a;b",
		"another registry":         "npx --registry=https://evil.example a",
		"another prefix":           "npx --prefix /x a",
		"node options":             "npx --node-options=--require=/x a",
		"npm exec eats options":    "npm exec a --root",
		"a bin that is a path":     "npx -p a ../bin",
		"control characters":       "npx a\x00b",
	} {
		t.Run(name, func(t *testing.T) {
			ref, _, ok, err := ParsePackageCommand(strings.Split(line, " "))
			if !ok || !errdefs.IsInvalidArgument(err) {
				t.Errorf("%q: got %+v, ok %v, err %v; want a refusal", line, ref, ok, err)
			}
		})
	}
}

func TestOtherCommandsAreLeftAlone(t *testing.T) {
	for _, line := range []string{"", "node server.js", "npm start", "npm", "yarn start", "uvx x", "cmd /c dir", "my-npx x", "npx.sh x", "docker run npx"} {
		if _, _, ok, err := ParsePackageCommand(strings.Fields(line)); ok || err != nil {
			t.Errorf("%q: ok %v, err %v; want it left alone", line, ok, err)
		}
	}
}

func FuzzParsePackageCommand(f *testing.F) {
	for _, seed := range []string{"npx -y a@1 b", "npm exec -p @a/b -- c", "cmd /c npx a", "npx @a/b@^1 --x", "yarn dlx a/../b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		argv := strings.Split(line, " ")
		ref, args, ok, err := ParsePackageCommand(argv)
		if err != nil && !ok {
			t.Fatal("an error about something that is no package command")
		}
		if !ok || err != nil {
			return
		}
		if len(args) >= len(argv) {
			t.Fatalf("%q: more arguments than words", line)
		}
		if strings.ContainsAny(ref.Name+ref.Range, ":\\\x00\n#?%") || strings.Contains(ref.Name, "..") && strings.Contains(ref.Name, "/..") {
			t.Fatalf("%q: dangerous reference %+v", line, ref)
		}
		again, err := ParsePackageSpec(ref.String())
		if err != nil || again.Name != ref.Name || again.Range != ref.Range {
			t.Fatalf("%q: %q reads back as %+v, %v", line, ref.String(), again, err)
		}
	})
}
