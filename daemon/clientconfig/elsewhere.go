package clientconfig

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// bridged turns an entry that runs mcp-remote, which only passes on to a server at an address, into one that is
// at that address. What cannot be understood stays a program.
func (d *draft) bridged() {
	command := d.e.command()
	if len(command) < 3 || programName(command[0]) != "npx" {
		return
	}
	packages, why := npxArgs(command)
	if why != "" || len(packages) != 1 || bare(packages[0]) != "mcp-remote" {
		return
	}
	at := slices.Index(command, packages[0])
	e := entry{name: d.e.name, line: d.e.line, remote: true, off: d.e.off, tools: d.e.tools, approved: d.e.approved, ignored: d.e.ignored, malformed: d.e.malformed}
	e.headers = slices.Clone(d.e.headers)
	if !e.takeBridge(command[at+1:], d.e.env) {
		return
	}
	d.e = e
	d.warn("mcp-remote is not needed: Garita reaches %s itself", "the server")
}

// takeBridge reads mcp-remote's arguments, in which ${NAME} is a variable of env.
func (e *entry) takeBridge(args []string, env []variable) bool {
	value := func(text string) string {
		for _, v := range env {
			text = strings.ReplaceAll(text, "${"+v.name+"}", v.value)
		}
		return text
	}
	for i := 0; i < len(args); i++ {
		switch flag := args[i]; {
		case flag == "--header" && i+1 < len(args):
			i++
			name, rest, ok := strings.Cut(value(args[i]), ":")
			if !ok {
				return false
			}
			e.headers = append(e.headers, variable{name: strings.TrimSpace(name), value: strings.TrimSpace(rest)})
		case slices.Contains([]string{"--transport", "--host", "--resource", "--auth-timeout", "--ignore-tool"}, flag) && i+1 < len(args):
			i++
			e.ignored = append(e.ignored, flag)
		case strings.HasPrefix(flag, "--static-oauth"):
			return false
		case strings.HasPrefix(flag, "-"):
		case e.address == "":
			e.address = value(flag)
		}
	}
	return e.address != ""
}

// reachable judges the address, and takes a secret out of it.
func (d *draft) reachable() string {
	address, missing := d.j.scope.expand(d.e.address)
	u, err := url.Parse(address)
	switch {
	case address == "":
		return "it has no address"
	case reference.MatchString(strings.SplitN(address, "?", 2)[0]):
		return fmt.Sprintf("it needs a value for %s, which is a part of its address; write it there", show(strings.Join(missing, ", ")))
	case err != nil || u.Host == "":
		return "its address cannot be read"
	case slices.ContainsFunc(strings.Split(u.Path, "/"), secretValue):
		return "its address has a secret among the parts of its path, for which there is no place but servers.yaml: declare it there yourself, or ask who runs it for a key that is sent in a header"
	}
	d.url = address
	if u.User != nil {
		d.e.headers = append(d.e.headers, variable{name: "Authorization", value: "Basic " + u.User.String()})
		u.User = nil
	}
	d.fromQuery(u)
	d.url = u.String()
	if err := config.CheckURL(d.url); err != nil {
		return err.Error()
	}
	d.uses = append(d.uses, "reach "+show(u.Host)+", where it runs")
	return ""
}

// fromQuery takes secrets out of an address's parameters; the others stay as they are written.
func (d *draft) fromQuery(u *url.URL) {
	var left []string
	for _, part := range strings.Split(u.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		text, err2 := url.QueryUnescape(value)
		if err == nil && err2 == nil && !harmless.MatchString(text) && (secretName(name) || secretValue(text) || reference.MatchString(text)) {
			d.e.headers = append(d.e.headers, variable{name: queryMark + name, value: text})
			continue
		}
		if part != "" {
			left = append(left, part)
		}
	}
	u.RawQuery = strings.Join(left, "&")
}

// queryMark stands before the name of a parameter among headers, where no header's name can have it.
const queryMark = "?"

var schemed = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*)[ \t]+(\S.*)$`)

// sent judges what is sent with each request: secrets become Garita's, all else stays a header.
func (d *draft) sent(name sandbox.ServerName) string {
	for _, h := range d.e.headers {
		g := sandbox.SecretGrant{Mode: sandbox.SecretSent, Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: http.CanonicalHeaderKey(h.name)}}}
		if param, ok := strings.CutPrefix(h.name, queryMark); ok {
			g.Places[0] = sandbox.SecretPlace{In: sandbox.InQuery, Name: param}
		}
		value, missing := d.j.scope.expand(h.value)
		switch {
		case value == "":
		case !d.secretHeader(g.Places[0], value, missing):
			if d.headers == nil {
				d.headers = map[string]string{}
			}
			d.headers[g.Places[0].Name] = value
		default:
			if why := d.sendSecret(name, g, value); why != "" {
				return why
			}
		}
	}
	for _, header := range slices.Sorted(maps.Keys(d.headers)) {
		if err := config.CheckHeader(header, d.headers[header]); err != nil {
			d.warn("the header %s is left out: %v", show(header), err)
			delete(d.headers, header)
		}
	}
	return d.declarable()
}

func (d *draft) secretHeader(at sandbox.SecretPlace, value string, missing []string) bool {
	return at.In == sandbox.InQuery || len(missing) > 0 || config.CarriesCredential(at.Name) || secretName(at.Name) || secretValue(value)
}

// sendSecret makes a secret of a value. A reference is one that a person has to give.
func (d *draft) sendSecret(name sandbox.ServerName, g sandbox.SecretGrant, value string) string {
	called := strings.TrimPrefix(g.Places[0].Name, "X-")
	if g.Places[0].Name == "Authorization" {
		called = "token"
		if m := schemed.FindStringSubmatch(value); m != nil {
			g.Scheme, value = m[1], m[2]
		}
	}
	usual := secretNameFor(name, called)
	if had, ok := d.hasAlready(g.Where()); ok {
		g = had
	} else {
		g.Secret = d.free(usual)
	}
	server := sandbox.Server{Source: sandbox.Source{URL: d.url}}
	checked, err := config.CheckSecret(g, server)
	if err != nil {
		return fmt.Sprintf("what it is sent in the %s cannot be declared: %v", show(g.Where()), err)
	}
	s := Secret{Name: g.Secret, Variable: g.Where(), Usual: usual}
	switch ref := reference.FindString(value); ref {
	case "":
		s.Value = store.NewSecretValue([]byte(value))
	case value:
	default:
		d.warn("the %s has more in it than the secret: store the whole of what stands there, with a value in place of %s", g.Where(), show(ref))
	}
	d.moved, d.granted = append(d.moved, s), append(d.granted, checked)
	return ""
}
