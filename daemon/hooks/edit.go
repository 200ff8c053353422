package hooks

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
)

// edits is the arguments of the tools that change files.
type edits struct {
	Path       string  `json:"file_path"`
	Content    *string `json:"content"`
	Old        string  `json:"old_string"`
	New        *string `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
	Edits      []edit  `json:"edits"`
}

type edit struct {
	Old        string `json:"old_string"`
	New        string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

// Change is what a use will make of one file.
type Change struct {
	Path  string // absolute
	whole *string
	edits []edit
}

// errNotThere is an edit of text that the file does not have, or more often than once.
var errNotThere = errors.New("the text to be replaced does not stand in the file exactly once")

// Changes is what u does to a file, where its arguments say; ok is false where they do not.
func Changes(u Use) (c Change, ok bool) {
	var e edits
	if json.Unmarshal(u.Input, &e) != nil || !filepath.IsAbs(e.Path) {
		return Change{}, false
	}
	c.Path = filepath.Clean(e.Path)
	switch u.Tool {
	case "Write":
		c.whole = e.Content
		return c, e.Content != nil
	case "Edit":
		if e.New == nil {
			return c, false
		}
		c.edits = []edit{{e.Old, *e.New, e.ReplaceAll}}
	case "MultiEdit":
		c.edits = e.Edits
	}
	return c, len(c.edits) > 0
}

// Apply is the file as it will be; "" stands for one that is not there.
func (c Change) Apply(text string) (string, error) {
	if c.whole != nil {
		return *c.whole, nil
	}
	for _, e := range c.edits {
		n := strings.Count(text, e.Old)
		switch {
		case e.Old == "" && text == "": // that is how a file is made
			text = e.New
		case e.Old == "" || n == 0 || n > 1 && !e.ReplaceAll:
			return "", errNotThere
		default:
			text = strings.ReplaceAll(text, e.Old, e.New)
		}
	}
	return text, nil
}
