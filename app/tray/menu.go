package tray

import "github.com/godbus/dbus/v5"

// entry is one line of the menu, by its number on the bus.
type entry int32

// The entries, top to bottom. 0 is the menu itself.
const (
	entrySentence entry = iota + 1
	entryReview
	entryLine
	entryOpen
	entryQuit
)

var entries = []entry{entrySentence, entryReview, entryLine, entryOpen, entryQuit}

// describe says how an entry looks.
func (e entry) describe(v view) map[string]dbus.Variant {
	label, enabled := "", true
	switch e {
	case entrySentence:
		label, enabled = v.sentence, false
	case entryReview:
		label, enabled = "Review…", v.waiting > 0
	case entryOpen:
		label = "Open Garita"
	case entryQuit:
		label = "Quit"
	case entryLine:
		return map[string]dbus.Variant{"type": dbus.MakeVariant("separator")}
	default:
		return map[string]dbus.Variant{"children-display": dbus.MakeVariant("submenu")}
	}
	return map[string]dbus.Variant{"label": dbus.MakeVariant(label), "enabled": dbus.MakeVariant(enabled), "visible": dbus.MakeVariant(true)}
}

// menu is what a panel may call on the menu.
type menu struct{ icon *icon }

// node is an entry with the ones below it.
type node struct {
	ID         int32
	Properties map[string]dbus.Variant
	Children   []dbus.Variant
}

// entryProperties is an entry without the ones below it.
type entryProperties struct {
	ID         int32
	Properties map[string]dbus.Variant
}

// GetLayout is the menu, or one entry of it, and its revision.
func (m menu) GetLayout(parent, depth int32, _ []string) (uint32, node, *dbus.Error) {
	v, revision := m.icon.now()
	n := node{ID: parent, Properties: entry(parent).describe(v), Children: []dbus.Variant{}}
	if parent == 0 && depth != 0 {
		for _, e := range entries {
			n.Children = append(n.Children, dbus.MakeVariant(node{int32(e), e.describe(v), []dbus.Variant{}}))
		}
	}
	return revision, n, nil
}

// GetGroupProperties is several entries; none asked for means all.
func (m menu) GetGroupProperties(ids []int32, _ []string) ([]entryProperties, *dbus.Error) {
	v, _ := m.icon.now()
	if len(ids) == 0 {
		ids = []int32{0}
		for _, e := range entries {
			ids = append(ids, int32(e))
		}
	}
	out := []entryProperties{}
	for _, id := range ids {
		if id >= 0 && id <= int32(entryQuit) {
			out = append(out, entryProperties{id, entry(id).describe(v)})
		}
	}
	return out, nil
}

// GetProperty is one property of one entry.
func (m menu) GetProperty(id int32, name string) (dbus.Variant, *dbus.Error) {
	v, _ := m.icon.now()
	p, ok := entry(id).describe(v)[name]
	if !ok {
		return dbus.MakeVariant(""), dbus.NewError("org.freedesktop.DBus.Error.InvalidArgs", []any{"no such property"})
	}
	return p, nil
}

// Event is something that happened to an entry; a click counts, on one that can be clicked.
func (m menu) Event(id int32, what string, _ dbus.Variant, _ uint32) *dbus.Error {
	v, _ := m.icon.now()
	e := entry(id)
	if what != "clicked" || e == entrySentence || e == entryLine || (e == entryReview && v.waiting == 0) {
		return nil
	}
	m.icon.click(e)
	return nil
}

// menuEvent is one event of several.
type menuEvent struct {
	ID   int32
	What string
	Data dbus.Variant
	At   uint32
}

// EventGroup is several events.
func (m menu) EventGroup(events []menuEvent) ([]int32, *dbus.Error) {
	for _, e := range events {
		if err := m.Event(e.ID, e.What, e.Data, e.At); err != nil {
			return nil, err
		}
	}
	return []int32{}, nil
}

// AboutToShow says that the menu is up to date.
func (m menu) AboutToShow(int32) (bool, *dbus.Error) { return false, nil }

// AboutToShowGroup says so of several.
func (m menu) AboutToShowGroup([]int32) (updated, unknown []int32, err *dbus.Error) {
	return []int32{}, []int32{}, nil
}

// menuProperties are the menu's own.
func (i *icon) menuProperties() map[string]dbus.Variant {
	return map[string]dbus.Variant{
		"Version": dbus.MakeVariant(uint32(3)), "TextDirection": dbus.MakeVariant("ltr"),
		"Status": dbus.MakeVariant("normal"), "IconThemePath": dbus.MakeVariant([]string{}),
	}
}
