package clientconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

func TestPropose(t *testing.T) {
	github := []sandbox.Endpoint{{Host: "api.github.com", Port: 443}}
	authorization := []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "Authorization"}}
	own := []sandbox.Endpoint{{Host: "git.example.com", Port: 443}}
	const placeholder = sandbox.SecretPlaceholder
	for name, tt := range map[string]struct {
		grant   sandbox.SecretGrant
		env     map[string]string
		profile string
		url     string
		want    sandbox.SecretGrant
	}{
		"by its profile": {
			grant: sandbox.SecretGrant{Secret: "my-token", Mode: placeholder}, profile: "github",
			want: sandbox.SecretGrant{Secret: "my-token", Mode: placeholder, Env: "GITHUB_PERSONAL_ACCESS_TOKEN", Hosts: github, Places: authorization},
		},
		"by its name": {
			grant: sandbox.SecretGrant{Secret: "github-token", Mode: placeholder},
			want:  sandbox.SecretGrant{Secret: "github-token", Mode: placeholder, Env: "GITHUB_TOKEN", Hosts: github, Places: authorization},
		},
		"by what it has no value for": {
			grant: sandbox.SecretGrant{Secret: "gh-token", Mode: placeholder}, env: map[string]string{"GH_TOKEN": "${GH_TOKEN}"}, profile: "github",
			want: sandbox.SecretGrant{Secret: "gh-token", Mode: placeholder, Env: "GH_TOKEN", Hosts: github, Places: authorization},
		},
		"by its variable": {
			grant: sandbox.SecretGrant{Secret: "a", Mode: placeholder, Env: "GITHUB_TOKEN"},
			want:  sandbox.SecretGrant{Secret: "a", Mode: placeholder, Env: "GITHUB_TOKEN", Hosts: github, Places: authorization},
		},
		"a host of one's own": {
			grant: sandbox.SecretGrant{Secret: "github-token", Mode: placeholder, Hosts: own},
			want:  sandbox.SecretGrant{Secret: "github-token", Mode: placeholder, Env: "GITHUB_TOKEN", Hosts: own},
		},
		"a server that talks to another host": {
			grant: sandbox.SecretGrant{Secret: "github-token", Mode: placeholder}, env: map[string]string{"GITHUB_HOST": "git.example.com"},
			want: sandbox.SecretGrant{Secret: "github-token", Mode: placeholder, Env: "GITHUB_TOKEN"},
		},
		"the value itself": {
			grant: sandbox.SecretGrant{Secret: "github-token", Mode: sandbox.SecretEnv},
			want:  sandbox.SecretGrant{Secret: "github-token", Mode: sandbox.SecretEnv, Env: "GITHUB_TOKEN"},
		},
		"nothing is known": {
			grant: sandbox.SecretGrant{Secret: "db", Mode: placeholder}, want: sandbox.SecretGrant{Secret: "db", Mode: placeholder},
		},
		"a server at a url": {
			grant: sandbox.SecretGrant{Secret: "github-token", Mode: sandbox.SecretSent}, url: "https://api.githubcopilot.com/mcp/",
			want: sandbox.SecretGrant{Secret: "github-token", Mode: sandbox.SecretSent},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := sandbox.Server{Name: "hub", Source: sandbox.Source{URL: tt.url}, Spec: sandbox.Spec{Env: tt.env}}
			if diff := cmp.Diff(tt.want, Propose(tt.grant, server, tt.profile)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
