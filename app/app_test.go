package app

import "testing"

func TestPageFor(t *testing.T) {
	const id = "r0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing asked":              {nil, "/"},
		"a question":                 {[]string{"garita://approvals/" + id}, "/approvals?review=" + id},
		"another flag before":        {[]string{"--hidden", "garita://approvals/" + id}, "/approvals?review=" + id},
		"a longer id":                {[]string{"garita://approvals/" + id + "0"}, "/"},
		"a script in place of an id": {[]string{"garita://approvals/<script>"}, "/"},
		"another scheme":             {[]string{"https://example.com/approvals/" + id}, "/"},
		"another host":               {[]string{"garita://servers/" + id}, "/"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pageFor(c.args); got != c.want {
				t.Errorf("pageFor(%q) = %q, want %q", c.args, got, c.want)
			}
		})
	}
}
