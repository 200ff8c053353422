package egress

import (
	"errors"
	"io"
	"time"

	"github.com/coreos/go-semver/semver"
	"github.com/go-json-experiment/json/jsontext"
)

// dates is what a description says of when its versions came to be.
type dates struct {
	modified  time.Time            // of the description as a whole; zero where it says nothing
	published map[string]time.Time // by version; nil where it says nothing
	tags      map[string]string    // tag to version
	versions  []string
	integrity map[string]string // by version
}

// maxVersions bounds the versions of one package; the most on npmjs is some ten thousand.
const maxVersions = 100_000

// readDates reads a description through. What it reads is hostile, as in rewritePackument.
func readDates(r io.Reader) (dates, error) {
	p := packument{in: jsontext.NewDecoder(r, jsontext.AllowInvalidUTF8(true)), out: jsontext.NewEncoder(io.Discard, jsontext.AllowInvalidUTF8(true))}
	d := dates{tags: map[string]string{}, integrity: map[string]string{}}
	err := p.object(func(key string) error {
		switch key {
		case "modified":
			return p.text(func(s string) { d.modified = date(s) })
		case "time":
			d.published = map[string]time.Time{}
			return p.object(func(version string) error { return p.text(func(s string) { d.published[version] = date(s) }) })
		case "dist-tags":
			return p.object(func(tag string) error { return p.text(func(s string) { d.tags[tag] = s }) })
		case "versions":
			return p.object(func(version string) error { return d.version(&p, version) })
		}
		return p.copyValue()
	})
	if err == nil && len(d.versions) > maxVersions {
		err = errors.New("a package has too many versions")
	}
	return d, err
}

func (d *dates) version(p *packument, version string) error {
	d.versions = append(d.versions, version)
	return p.object(func(key string) error {
		if key != "dist" {
			return p.copyValue()
		}
		return p.object(func(key string) error {
			if key == "integrity" {
				return p.text(func(s string) { d.integrity[version] = s })
			}
			return p.copyValue()
		})
	})
}

// text hands on a value that is text, and passes over any other.
func (p *packument) text(to func(string)) error {
	if p.in.PeekKind() != '"' {
		return p.copyValue()
	}
	token, err := p.in.ReadToken()
	if err != nil {
		return err
	}
	to(token.String())
	return p.out.WriteToken(jsontext.String(token.String()))
}

// date is the zero time for what is none.
func date(s string) time.Time {
	t, _ := time.Parse(time.RFC3339, s)
	return t
}

// settled says whether nothing in the description can be younger than before.
func (d dates) settled(before time.Time) bool {
	return before.IsZero() || !d.modified.IsZero() && !d.modified.After(before)
}

// young says whether a version may not be used: it was published after before, or at a time that
// only it has not. Of a registry that tells no times at all, nothing is young.
func (d dates) young(version string, before time.Time) bool {
	if d.settled(before) || d.published == nil {
		return false
	}
	at, ok := d.published[version]
	return !ok || at.IsZero() || at.After(before)
}

// tagsWithout are the tags once versions are left out: each names the newest version that is not
// newer than its own, a release unless its own was none; a tag for which there is none is gone.
func (d dates) tagsWithout(left func(version string) bool) map[string]string {
	out := map[string]string{}
	for tag, version := range d.tags {
		if !left(version) {
			out[tag] = version
		} else if older := d.older(version, left); older != "" {
			out[tag] = older
		}
	}
	return out
}

func (d dates) older(than string, left func(string) bool) string {
	limit, err := semver.NewVersion(than)
	if err != nil {
		return ""
	}
	var best *semver.Version
	name := ""
	for _, version := range d.versions {
		v, err := semver.NewVersion(version)
		if err != nil || left(version) || limit.LessThan(*v) || v.PreRelease != "" && limit.PreRelease == "" {
			continue
		}
		if best == nil || best.LessThan(*v) {
			best, name = v, version
		}
	}
	return name
}
