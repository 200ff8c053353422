package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Findings are what lies in a host folder that reaches beyond it. Paths are in the form of the
// package comment.
type Findings struct {
	// HardLinks are files with more names than the folder holds: what is written to one of them in
	// direct mode, or read in any, is another file's content too.
	HardLinks []string
	// Sockets can be connected to from inside in read-only and direct mode.
	Sockets []string
	// Devices are block and character devices; sandboxes cannot open them (nodev).
	Devices []string
	// Entries is how many there are in all.
	Entries int
	// Cut says that the folder has more than the entries asked for, and the rest was not looked at.
	Cut bool
}

// maxFindings bounds each list.
const maxFindings = 100

// Inspect looks through a host folder for what reaches beyond it, up to so many entries. It costs
// one lstat an entry. NotFound, InvalidArgument.
func Inspect(ctx context.Context, host string, entries int) (Findings, error) {
	dir, err := openFolder(host)
	if err != nil {
		return Findings{}, fmt.Errorf("inspect: %w", err)
	}
	defer dir.Close()
	i := &inspection{links: map[uint64][]string{}, missing: map[uint64]uint64{}}
	err = walkHost(dir, "", func(_ *os.File, path, _ string, st stat) error {
		if i.found.Entries++; i.found.Entries > entries {
			i.found.Cut = true
			return errCut
		}
		i.entry(path, st)
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, errCut) {
		return Findings{}, fmt.Errorf("inspect %q: %w", host, err)
	}
	i.hardLinks()
	return i.found, nil
}

var errCut = errors.New("enough")

type inspection struct {
	found   Findings
	links   map[uint64][]string // by inode, of files with several names
	missing map[uint64]uint64   // how many of the names have not been seen
	order   []uint64
}

func (i *inspection) entry(path string, st stat) {
	switch st.kind() {
	case kindFile:
		if st.nlink > 1 {
			i.linked(path, st)
		}
	case kindOther, kindWhiteout:
		i.special(path, st)
	case kindNone, kindDir, kindSymlink:
	}
}

func (i *inspection) linked(path string, st stat) {
	if _, known := i.missing[st.Ino]; !known {
		i.missing[st.Ino] = st.nlink
		i.order = append(i.order, st.Ino)
	}
	i.missing[st.Ino]--
	i.links[st.Ino] = append(i.links[st.Ino], path)
}

func (i *inspection) special(path string, st stat) {
	list := &i.found.Devices
	switch st.Mode & 0o170000 {
	case 0o140000:
		list = &i.found.Sockets
	case 0o010000:
		return // a FIFO reaches no further than its name
	}
	if len(*list) < maxFindings {
		*list = append(*list, EncodePath(path))
	}
}

// hardLinks keeps the files of which a name lies elsewhere.
func (i *inspection) hardLinks() {
	for _, ino := range i.order {
		if i.missing[ino] == 0 {
			continue
		}
		for _, path := range i.links[ino] {
			if len(i.found.HardLinks) < maxFindings {
				i.found.HardLinks = append(i.found.HardLinks, EncodePath(path))
			}
		}
	}
}

// Notices words the findings for the person, for a folder that a server gets with or without the
// right to write to it at once.
func (f Findings) Notices(folder string, direct bool) []string {
	var all []string
	if len(f.HardLinks) > 0 {
		what := "the server can read what is shared"
		if direct {
			what = "the server can read and change what is shared"
		}
		all = append(all, fmt.Sprintf("%s holds hard links to files elsewhere; %s: %s", folder, what, some(f.HardLinks)))
	}
	if len(f.Sockets) > 0 {
		all = append(all, fmt.Sprintf("%s holds sockets that programs of yours listen on: %s", folder, some(f.Sockets)))
	}
	if len(f.Devices) > 0 {
		all = append(all, fmt.Sprintf("%s holds devices, which the server cannot open: %s", folder, some(f.Devices)))
	}
	if f.Cut {
		all = append(all, fmt.Sprintf("%s holds more than %d entries; the rest was not searched for hard links and sockets", folder, f.Entries-1))
	}
	return all
}

// some lists the first few.
func some(paths []string) string {
	const few = 5
	text := ""
	for i, p := range paths {
		if i == few {
			return fmt.Sprintf("%s and %d more", text, len(paths)-few)
		}
		if i > 0 {
			text += ", "
		}
		text += p
	}
	return text
}
