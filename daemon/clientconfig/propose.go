package clientconfig

import (
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// Propose completes leave for server to use a secret by what is known of it: the variable, the hosts and the
// places; what g names already stays. profile is what we know the server as, "" for nothing. What is not known
// stays empty: a grant without a variable, or a placeholder without a host, is none yet. Pure.
func Propose(g sandbox.SecretGrant, server sandbox.Server, profile string) sandbox.SecretGrant {
	if server.Source.External() {
		return g // where it is sent is known, and the rest goes without saying
	}
	if g.Where() == "" {
		g.Env = variableOf(g.Secret, server, profile)
	}
	if g.Mode != sandbox.SecretPlaceholder {
		return g
	}
	u, known := usually(g.Env, func(v string) bool {
		_, set := server.Spec.Env[v]
		return set
	})
	if !known {
		return g
	}
	usual := u.grant(g.Secret, g.Env)
	if len(g.Hosts) == 0 {
		g.Hosts = usual.Hosts
		if len(g.Places) == 0 {
			g.Places = usual.Places
		}
	}
	return g
}

// variableOf is the variable in which server looks for a secret of that name: one that it has no value for,
// the one that its profile's servers read, or one that is called alike. "" where that is not known.
func variableOf(secret string, server sandbox.Server, profile string) string {
	all, err := usuals()
	if err != nil { // a test reads them
		return ""
	}
	for name, value := range server.Spec.Env {
		if reference.FindString(value) == value && value != "" && alike(secret, server.Name, name) {
			return name
		}
	}
	for _, u := range all {
		if profile != "" && u.Profile == profile {
			return u.Variables[0]
		}
	}
	for _, u := range all {
		i := slices.IndexFunc(u.Variables, func(v string) bool { return alike(secret, server.Name, v) })
		if i >= 0 {
			return u.Variables[i]
		}
	}
	return ""
}

// alike says whether a secret is called as one in that variable would be.
func alike(secret string, server sandbox.ServerName, variable string) bool {
	return secret == secretNameFor(server, variable) || secret == strings.ReplaceAll(strings.ToLower(variable), "_", "-")
}
