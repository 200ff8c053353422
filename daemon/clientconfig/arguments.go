package clientconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// arguments takes secrets out of the command line, where every program of this machine could read them. One
// that is sent over HTTPS to a host that we know becomes a placeholder behind the same flag. With any other the
// entry stays as it is: what its server would need as an argument is the value.
func (d *draft) arguments(name sandbox.ServerName) string {
	marks := secretArgs(d.command)
	var left []string
	for i := 0; i < len(d.command); i++ {
		if !marks[i] {
			left = append(left, d.command[i])
			continue
		}
		flag, value, joined := flagged(d.command, i)
		u, known := d.usualArgument(flag, value)
		if !known {
			return d.cannotHide(name, flag, value)
		}
		if !joined {
			left = left[:len(left)-1] // its flag
		}
		d.hide(name, u, flag, value, joined)
	}
	d.command = left
	return d.declarable()
}

// flagged is the flag of the secret at index i, and its value; joined says that both are one word.
func flagged(command []string, i int) (flag, value string, joined bool) {
	if name, value, ok := strings.Cut(command[i], "="); ok && strings.HasPrefix(name, "-") {
		return name, value, true
	}
	if i > 0 && strings.HasPrefix(command[i-1], "-") && !strings.Contains(command[i-1], "=") {
		return command[i-1], command[i], false
	}
	return "", command[i], false
}

// usualArgument is what is known of a secret by its flag, which is called like the variable, or by how it begins.
func (d *draft) usualArgument(flag, value string) (usual, bool) {
	if flag == "" || reference.MatchString(value) {
		return usual{}, false
	}
	variable := strings.ToUpper(strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_"))
	if u, known := d.e.usually(variable); known {
		return u, true
	}
	all, err := usuals()
	if err != nil { // a test reads them
		return usual{}, false
	}
	i := slices.IndexFunc(all, func(u usual) bool {
		return slices.ContainsFunc(u.Prefixes, func(p string) bool { return strings.HasPrefix(value, p) })
	})
	if i < 0 {
		return usual{}, false
	}
	return d.e.usually(all[i].Variables[0])
}

// hide has the server find a placeholder behind the flag.
func (d *draft) hide(name sandbox.ServerName, u usual, flag, value string, joined bool) {
	first := secretNameFor(name, strings.TrimLeft(flag, "-"))
	g, had := d.hasAlready(flag)
	if !had {
		g = u.grant(d.free(first), "")
		g.Arg = flag
		if joined {
			g.Arg += "="
		}
	}
	d.moved = append(d.moved, Secret{Name: g.Secret, Variable: flag, Usual: first, Value: store.NewSecretValue([]byte(value))})
	d.granted = append(d.granted, g)
}

// cannotHide says what to do about a secret in the command line.
func (d *draft) cannotHide(name sandbox.ServerName, flag, value string) string {
	secret := d.free(secretNameFor(name, strings.TrimLeft(flag, "-")))
	const read = "its command line holds a secret, which other programs can read there"
	switch {
	case strings.Contains(value, "://"):
		return fmt.Sprintf("%s: an address with a password. If it also takes it from a variable: take it out of the command line, import again, then garita secret set %s and garita secret grant %s %s --mode env --env VARIABLE", read, secret, secret, name)
	case flag == "", flag == "-e", flag == "--env": // the last two are how a container gets a variable
		return fmt.Sprintf("%s. If it also takes it from a variable: put it there (env) and import again", read)
	}
	return fmt.Sprintf("%s (%s). If it also takes it from a variable: put it there (env) and import again. If it sends it over HTTPS: take it out, import again, then garita secret set %s and garita secret grant %s %s --arg=%s --host HOST", read, show(flag), secret, secret, name, show(flag))
}
