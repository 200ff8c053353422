package pyindex

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Bounds of a source distribution that is looked into, in bytes.
const (
	maxUnpacked = 512 << 20
	maxScript   = 16 << 10
)

// runs are the files by which a source distribution says what its build does, in the order they are shown.
var runs = []string{"setup.py", "pyproject.toml", "setup.cfg"}

// ReadSource is what a source distribution runs when it is built, as far as its own words say: setup.py
// and the settings of its build, each under its name. The text is the package's own; hostile.
//
// What a setup.py imports is not in it: that is why a yes is for these bytes, and runs where nothing is
// to be had.
func ReadSource(r io.Reader) (string, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return "", fmt.Errorf("read a source distribution: %w", err)
	}
	found, err := scripts(tar.NewReader(io.LimitReader(z, maxUnpacked)))
	if err != nil {
		return "", fmt.Errorf("read a source distribution: %w", err)
	}
	var all []string
	for _, name := range runs {
		if text, ok := found[name]; ok {
			all = append(all, name+":\n"+strings.TrimRight(text, "\n"))
		}
	}
	text := strings.Join(all, "\n\n")
	switch {
	case len(all) == 0:
		return "", errors.New("read a source distribution: it has neither setup.py nor pyproject.toml")
	case len(text) > maxScript:
		return "", fmt.Errorf("read a source distribution: what it would run is %d bytes long; %d can be shown", len(text), maxScript)
	}
	return text, nil
}

// scripts are the regular files of those names in the one folder at the top. What could put another file
// in their place when the archive is unpacked is refused: names with dots, and files behind links.
func scripts(archive *tar.Reader) (map[string]string, error) {
	found, links := map[string]string{}, map[string]bool{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		name := path.Clean(header.Name)
		if path.IsAbs(name) || slices.Contains(strings.Split(header.Name, "/"), "..") || behind(name, links) {
			return nil, fmt.Errorf("%q leads elsewhere", header.Name)
		}
		if header.Typeflag == tar.TypeSymlink || header.Typeflag == tar.TypeLink {
			links[name] = true
		}
		if parts := strings.Split(name, "/"); len(parts) != 2 || !slices.Contains(runs, parts[1]) {
			continue
		}
		base := path.Base(name)
		if _, twice := found[base]; twice || header.Typeflag != tar.TypeReg {
			return nil, fmt.Errorf("%s is there twice, or is no plain file", base)
		}
		text, err := io.ReadAll(io.LimitReader(archive, maxScript+1))
		if err != nil {
			return nil, err
		}
		found[base] = string(text)
	}
}

// behind says whether a folder of name is a link.
func behind(name string, links map[string]bool) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if links[dir] {
			return true
		}
	}
	return false
}
