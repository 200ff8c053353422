package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// environment is what lookup finds.
type variables map[string]string

func (v variables) lookup(name string) (string, bool) {
	value, ok := v[name]
	return value, ok
}

// auth writes credentials out, to be compared.
func auth(c RegistryConfig) []string {
	all := []string{}
	for _, a := range c.Auth {
		all = append(all, a.Host+" "+a.Path+" "+a.Header.Send())
	}
	return all
}

func TestParseNpmrc(t *testing.T) {
	for name, tt := range map[string]struct {
		lines   string
		env     variables
		main    string
		scopes  map[string]string
		auth    []string
		notices int
	}{
		"nothing": {"", nil, defaultRegistry, map[string]string{}, []string{}, 0},
		"a registry, a scope, tokens": {
			"registry = https://nexus.example/npm/\n@corp:registry=https://npm.corp.example\n//nexus.example/npm/:_authToken=abc\n//npm.corp.example/:_authToken = \"d=e\"", nil,
			"https://nexus.example/npm/",
			map[string]string{"@corp": "https://npm.corp.example"},
			[]string{"nexus.example /npm/ Bearer abc", "npm.corp.example / Bearer d=e"},
			0,
		},
		"a token from the environment": {
			"//r.example/:_authToken=${TOKEN}", variables{"TOKEN": "t0k"}, defaultRegistry, map[string]string{}, []string{"r.example / Bearer t0k"}, 0,
		},
		"a variable that is not set": {
			"//r.example/:_authToken=${TOKEN}", nil, defaultRegistry, map[string]string{}, []string{}, 1,
		},
		"an optional variable": {"registry=https://r.example/${X?}", nil, "https://r.example/", map[string]string{}, []string{}, 0},
		"an escaped variable":  {`registry=https://r.example/\${X}`, nil, "https://r.example/${X}", map[string]string{}, []string{}, 0},
		"user and password":    {"//r.example:8443/x/:username=u\n//r.example:8443/x/:_password=cA==", nil, defaultRegistry, map[string]string{}, []string{"r.example:8443 /x/ Basic dTpw"}, 0},
		"basic":                {"//r.example/:_auth=dTpw", nil, defaultRegistry, map[string]string{}, []string{"r.example / Basic dTpw"}, 0},
		"comments, sections":   {"; registry=x\n# registry=y\n[z]\n\nregistry=https://r.example/", nil, "https://r.example/", map[string]string{}, []string{}, 0},
		"the later wins":       {"registry=https://a.example/\nregistry=https://b.example/", nil, "https://b.example/", map[string]string{}, []string{}, 0},
		"the environment wins": {"registry=https://a.example/", variables{"npm_config_registry": "https://e.example/"}, "https://e.example/", map[string]string{}, []string{}, 0},
		"what is none of it":   {"//r.example/:always-auth=true\n//\n//:_authToken=x\n=\nfoo", nil, defaultRegistry, map[string]string{}, []string{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, notices := ParseNpmrc(strings.Split(tt.lines, "\n"), tt.env.lookup)
			if c.Default != tt.main || len(notices) != tt.notices {
				t.Errorf("registry %s, notices %q; want %s, %d", c.Default, notices, tt.main, tt.notices)
			}
			if diff := cmp.Diff(c.Scopes, tt.scopes); diff != "" {
				t.Errorf("scopes (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(auth(c), tt.auth); diff != "" {
				t.Errorf("credentials (-got +want):\n%s", diff)
			}
		})
	}
}

func TestOutsideOfNpm(t *testing.T) {
	cafile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(cafile, []byte("FILE"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := variables{"HTTPS_PROXY": "http://u:p@proxy.example:3128", "NO_PROXY": "a.example"}
	c, _ := ParseNpmrc([]string{"cafile=" + cafile, `ca="LINE\nLINE"`}, env.lookup)
	if c.Outside.Proxy.Send() != env["HTTPS_PROXY"] || c.Outside.NoProxy != "a.example" || c.Outside.CA != "LINE\nLINEFILE" {
		t.Errorf("got %+v", c.Outside)
	}
	c, _ = ParseNpmrc([]string{"https-proxy=http://other.example/"}, env.lookup)
	if c.Outside.Proxy.Send() != "http://other.example/" {
		t.Error("npm's own proxy does not win")
	}
}

func TestSecretsOfNpmAreNotPrinted(t *testing.T) {
	c, _ := ParseNpmrc([]string{"//r.example/:_authToken=s3cr3t"}, variables{}.lookup)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(format, c); strings.Contains(s, "s3cr3t") {
			t.Errorf("%s prints %s", format, s)
		}
	}
}

func TestHostRegistriesReadsTheUsersFileOnly(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	write := func(dir, text string) {
		if err := os.WriteFile(filepath.Join(dir, ".npmrc"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(home, "registry=https://mine.example/")
	write(project, "registry=https://theirs.example/")
	t.Chdir(project)
	c, _, err := HostRegistries(home, variables{}.lookup)
	if err != nil || c.Default != "https://mine.example/" {
		t.Errorf("got %s, %v", c.Default, err)
	}
	if _, _, err := HostRegistries(t.TempDir(), variables{"NPM_CONFIG_USERCONFIG": home}.lookup); err == nil {
		t.Error("a folder was read as a file")
	}
}

func FuzzParseNpmrc(f *testing.F) {
	f.Add("//r.example/:_authToken=${A}\nregistry=x")
	f.Add("@a:registry=b\n//:x=y")
	f.Fuzz(func(t *testing.T, text string) {
		c, _ := ParseNpmrc(strings.Split(text, "\n"), variables{"A": "b"}.lookup)
		for _, a := range c.Auth {
			if a.Host == "" || !strings.HasPrefix(a.Path, "/") || !strings.HasSuffix(a.Path, "/") {
				t.Fatalf("%q gives a credential for %q %q", text, a.Host, a.Path)
			}
		}
	})
}
