package tray

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"

	"github.com/garita-dev/garita/assets"
)

// The names are those of the StatusNotifierItem convention, which panels of KDE, Xfce and others
// follow, and GNOME with an extension.
const (
	itemName  = "org.kde.StatusNotifierItem"
	itemPath  = dbus.ObjectPath("/StatusNotifierItem")
	menuName  = "com.canonical.dbusmenu"
	menuPath  = dbus.ObjectPath("/StatusNotifierItem/menu")
	propsName = "org.freedesktop.DBus.Properties"
	introName = "org.freedesktop.DBus.Introspectable"
)

// icon is what panels see: an item and its menu. Panels call it from goroutines of the bus.
type icon struct {
	conn    *dbus.Conn
	service string // the name it can be called by
	clicks  chan entry
	calm    pixmap
	lit     pixmap

	mu       sync.Mutex // guards the fields below
	view     view
	revision uint32 // of the menu
}

// pixmap is a picture as panels take it: 32 bits a pixel, alpha first.
type pixmap struct {
	Width, Height int32
	Pixels        []byte
}

func newIcon(conn *dbus.Conn) (*icon, error) {
	calm, err := decode(assets.TrayIcon)
	if err != nil {
		return nil, err
	}
	lit, err := decode(assets.TrayIconWaiting)
	if err != nil {
		return nil, err
	}
	i := &icon{
		conn: conn, service: fmt.Sprintf("%s-%d-1", itemName, os.Getpid()), clicks: make(chan entry, 16),
		calm: calm, lit: lit, view: view{sentence: "Looking for the daemon"}, revision: 1,
	}
	return i, i.export()
}

func decode(data []byte) (pixmap, error) {
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return pixmap{}, fmt.Errorf("read an icon: %w", err)
	}
	return pixels(img), nil
}

func pixels(img image.Image) pixmap {
	size := img.Bounds()
	p := pixmap{Width: int32(size.Dx()), Height: int32(size.Dy())}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			c, _ := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			p.Pixels = append(p.Pixels, c.A, c.R, c.G, c.B)
		}
	}
	return p
}

// export puts item and menu on the bus.
func (i *icon) export() error {
	item, menu := item{i}, menu{i}
	itemProps, menuProps := properties{itemName, i.itemProperties}, properties{menuName, i.menuProperties}
	for _, e := range []struct {
		object any
		path   dbus.ObjectPath
		name   string
	}{
		{item, itemPath, itemName},
		{itemProps, itemPath, propsName},
		{menu, menuPath, menuName},
		{menuProps, menuPath, propsName},
		{described(itemPath, itemName, item), itemPath, introName},
		{described(menuPath, menuName, menu), menuPath, introName},
	} {
		if err := i.conn.Export(e.object, e.path, e.name); err != nil {
			return fmt.Errorf("put the icon on the bus: %w", err)
		}
	}
	reply, err := i.conn.RequestName(i.service, dbus.NameFlagDoNotQueue)
	if err == nil && reply != dbus.RequestNameReplyPrimaryOwner {
		err = errdefs.ErrFailedPrecondition
	}
	if err != nil {
		return fmt.Errorf("put the icon on the bus as %s: %w", i.service, err)
	}
	return nil
}

func described(path dbus.ObjectPath, name string, object any) introspect.Introspectable {
	return introspect.NewIntrospectable(&introspect.Node{
		Name:       string(path),
		Interfaces: []introspect.Interface{introspect.IntrospectData, {Name: name, Methods: introspect.Methods(object)}},
	})
}

// register shows the icon in the panel there is now. A panel may own its name before it answers.
func (i *icon) register(ctx context.Context) error {
	for try := 0; ; try++ {
		err := i.offer(ctx)
		if err == nil || try == 3 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

func (i *icon) offer(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	call := i.conn.Object(watcherName, "/StatusNotifierWatcher").CallWithContext(ctx, watcherName+".RegisterStatusNotifierItem", 0, i.service)
	if call.Err != nil {
		return fmt.Errorf("show the icon: %w", call.Err)
	}
	return nil
}

// draw makes v what is seen, and tells the panel.
func (i *icon) draw(v view) error {
	i.mu.Lock()
	last := i.view
	i.view = v
	i.revision++
	revision := i.revision
	i.mu.Unlock()
	if v == last {
		return nil
	}
	if err := i.conn.Emit(menuPath, menuName+".LayoutUpdated", revision, int32(0)); err != nil {
		return err
	}
	if err := i.conn.Emit(itemPath, itemName+".NewToolTip"); err != nil {
		return err
	}
	if v.status() == last.status() {
		return nil
	}
	if err := i.conn.Emit(itemPath, itemName+".NewIcon"); err != nil {
		return err
	}
	return i.conn.Emit(itemPath, itemName+".NewStatus", v.status())
}

// status is what panels go by when they hide icons that have nothing to say.
func (v view) status() string {
	if v.waiting > 0 {
		return "NeedsAttention"
	}
	return "Active"
}

func (i *icon) now() (view, uint32) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.view, i.revision
}

// itemProperties are the icon's, as they are now.
func (i *icon) itemProperties() map[string]dbus.Variant {
	v, _ := i.now()
	shown := i.calm
	if v.waiting > 0 {
		shown = i.lit
	}
	return map[string]dbus.Variant{
		"Category": dbus.MakeVariant("ApplicationStatus"), "Id": dbus.MakeVariant("garita"), "Title": dbus.MakeVariant("Garita"),
		"Status": dbus.MakeVariant(v.status()), "WindowId": dbus.MakeVariant(int32(0)), "IconThemePath": dbus.MakeVariant(""),
		"IconName": dbus.MakeVariant(""), "IconPixmap": dbus.MakeVariant([]pixmap{shown}),
		"OverlayIconName": dbus.MakeVariant(""), "OverlayIconPixmap": dbus.MakeVariant([]pixmap{}),
		"AttentionIconName": dbus.MakeVariant(""), "AttentionIconPixmap": dbus.MakeVariant([]pixmap{i.lit}), "AttentionMovieName": dbus.MakeVariant(""),
		"ToolTip":    dbus.MakeVariant(toolTip{Title: "Garita", Text: v.sentence}),
		"ItemIsMenu": dbus.MakeVariant(false), "Menu": dbus.MakeVariant(menuPath),
	}
}

type toolTip struct {
	IconName    string
	IconPixmap  []pixmap
	Title, Text string
}

// item is what a panel may call on the icon.
type item struct{ icon *icon }

// Activate is a click: it leads to what waits, or to the page.
func (t item) Activate(int32, int32) *dbus.Error {
	if v, _ := t.icon.now(); v.waiting > 0 {
		t.icon.click(entryReview)
	} else {
		t.icon.click(entryOpen)
	}
	return nil
}

// SecondaryActivate is a click with the middle button.
func (t item) SecondaryActivate(x, y int32) *dbus.Error { return t.Activate(x, y) }

// ContextMenu is the panel's to show.
func (t item) ContextMenu(int32, int32) *dbus.Error { return nil }

// Scroll means nothing here.
func (t item) Scroll(int32, string) *dbus.Error { return nil }

// click passes a click on; a person who clicks faster than pages open loses nothing by it.
func (i *icon) click(e entry) {
	select {
	case i.clicks <- e:
	default:
	}
}

// properties answers questions for an interface's properties. None can be set.
type properties struct {
	name string
	all  func() map[string]dbus.Variant
}

// Get is one property.
func (p properties) Get(name, property string) (dbus.Variant, *dbus.Error) {
	v, ok := p.all()[property]
	if name != p.name || !ok {
		return v, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", []any{"no such property"})
	}
	return v, nil
}

// GetAll is all of them.
func (p properties) GetAll(name string) (map[string]dbus.Variant, *dbus.Error) {
	if name != p.name {
		return map[string]dbus.Variant{}, nil
	}
	return p.all(), nil
}

// Set is refused.
func (p properties) Set(string, string, dbus.Variant) *dbus.Error {
	return dbus.NewError("org.freedesktop.DBus.Error.PropertyReadOnly", []any{"it is read-only"})
}
