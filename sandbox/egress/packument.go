package egress

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// edit is what is changed of a description on its way inside.
type edit struct {
	place func(version, tarball string) string // the tarball's address
	left  func(version string) bool            // says that a version is left out; nil leaves none out
	tags  map[string]string                    // tag to version, instead of the description's own; nil keeps those
}

// rewritePackument copies a package's description from r to w, with the tarball's address of each
// version replaced by what place returns for it, and without the versions that are left out.
// Everything else passes as it is. What it reads is hostile: anything but one JSON object of the
// expected shape is an error, possibly after a part of it has been written.
func rewritePackument(w io.Writer, r io.Reader, e edit) error {
	options := []jsontext.Options{jsontext.AllowInvalidUTF8(true)} // some old descriptions are not UTF-8
	p := packument{
		in:   jsontext.NewDecoder(r, options...),
		out:  jsontext.NewEncoder(w, append(options, jsontext.Multiline(false))...),
		edit: e,
	}
	err := p.object(func(key string) error {
		switch {
		case key == "versions":
			return p.objectWithout(e.left, p.version)
		case key == "dist-tags" && e.tags != nil:
			return p.replaceTags()
		}
		return p.copyValue()
	})
	if err != nil {
		return fmt.Errorf("read a package's description: %w", err)
	}
	if _, err := p.in.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("read a package's description: there is more behind its end")
	}
	return nil
}

type packument struct {
	in  *jsontext.Decoder
	out *jsontext.Encoder
	edit
}

// replaceTags writes our tags in place of the description's.
func (p *packument) replaceTags() error {
	if err := p.in.SkipValue(); err != nil {
		return err
	}
	if err := p.out.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, tag := range slices.Sorted(maps.Keys(p.tags)) {
		if err := p.out.WriteToken(jsontext.String(tag)); err != nil {
			return err
		}
		if err := p.out.WriteToken(jsontext.String(p.tags[tag])); err != nil {
			return err
		}
	}
	return p.out.WriteToken(jsontext.EndObject)
}

func (p *packument) version(version string) error {
	return p.object(func(key string) error {
		if key == "dist" {
			return p.object(func(key string) error { return p.dist(version, key) })
		}
		return p.copyValue()
	})
}

func (p *packument) dist(version, key string) error {
	if key != "tarball" {
		return p.copyValue()
	}
	token, err := p.in.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '"' {
		return errors.New("the address of a tarball is no text")
	}
	return p.out.WriteToken(jsontext.String(p.place(version, token.String())))
}

// object copies the braces and names of an object, and leaves its values to each.
func (p *packument) object(each func(key string) error) error { return p.objectWithout(nil, each) }

// objectWithout is object, without the members that leave says.
func (p *packument) objectWithout(leave func(key string) bool, each func(key string) error) error {
	if p.in.PeekKind() != '{' {
		return p.notAnObject()
	}
	if err := p.copyToken(); err != nil {
		return err
	}
	for p.in.PeekKind() == '"' {
		token, err := p.in.ReadToken()
		if err != nil {
			return err
		}
		key := token.String()
		if leave != nil && leave(key) {
			if err := p.in.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if err := p.out.WriteToken(jsontext.String(key)); err != nil {
			return err
		}
		if err := each(key); err != nil {
			return err
		}
	}
	return p.copyToken()
}

func (p *packument) notAnObject() error {
	if _, err := p.in.ReadToken(); err != nil {
		return err
	}
	return errors.New("there is something else where an object should be")
}

func (p *packument) copyToken() error {
	token, err := p.in.ReadToken()
	if err != nil {
		return err
	}
	return p.out.WriteToken(token)
}

func (p *packument) copyValue() error {
	value, err := p.in.ReadValue()
	if err != nil {
		return err
	}
	return p.out.WriteValue(value)
}
