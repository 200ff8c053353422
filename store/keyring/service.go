package keyring

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/godbus/dbus/v5"
)

// The Secret Service, as freedesktop.org specifies it.
const (
	busName      = "org.freedesktop.secrets"
	servicePath  = dbus.ObjectPath("/org/freedesktop/secrets")
	serviceFace  = "org.freedesktop.Secret.Service"
	folderFace   = "org.freedesktop.Secret.Collection"
	itemFace     = "org.freedesktop.Secret.Item"
	promptFace   = "org.freedesktop.Secret.Prompt"
	nothing      = dbus.ObjectPath("/") // where a path would be
	defaultAlias = "default"
)

// login is the collection that desktops unlock at the login.
const login = servicePath + "/collection/login"

// busAddress is where the session bus is, "" where there is none. The bus's library would start one
// that outlives us.
func busAddress() string {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return address
	}
	path := fmt.Sprintf("/run/user/%d/bus", os.Getuid())
	if _, err := os.Stat(path); err != nil || runtime.GOOS != "linux" {
		return ""
	}
	return "unix:path=" + path
}

// service is one connection to the Secret Service. Its calls end with their contexts, and it closes
// with the one it was opened in.
type service struct {
	conn    *dbus.Conn
	session dbus.ObjectPath // "" until one is needed
}

func openService(ctx context.Context) (*service, error) {
	address := busAddress()
	if address == "" {
		return nil, fmt.Errorf("%w: there is no session bus", ErrNone)
	}
	conn, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	return &service{conn: conn}, nil
}

func (s *service) close() { _ = s.conn.Close() }

func (s *service) call(ctx context.Context, path dbus.ObjectPath, method string, args ...any) *dbus.Call {
	return s.conn.Object(busName, path).CallWithContext(ctx, method, 0, args...)
}

// attributes are what an entry is found by. They are the same as zalando/go-keyring's, by which
// entries were made before.
func attributes(key string) map[string]string {
	if key == "" {
		return map[string]string{"service": ours}
	}
	return map[string]string{"service": ours, "username": key}
}

// ours is what the keyring files our entries under.
const ours = "garita"

// search finds entries by key; "" means any of ours.
func (s *service) search(ctx context.Context, key string) (unlocked, locked []dbus.ObjectPath, err error) {
	err = s.call(ctx, servicePath, serviceFace+".SearchItems", attributes(key)).Store(&unlocked, &locked)
	return unlocked, locked, err
}

// find is the entry of key, if it can be read now.
func (s *service) find(ctx context.Context, key string) (dbus.ObjectPath, error) {
	unlocked, locked, err := s.search(ctx, key)
	switch {
	case err != nil:
		return "", err
	case len(unlocked) > 0:
		return unlocked[0], nil
	case len(locked) > 0:
		return "", ErrLocked
	}
	if _, err := s.folder(ctx); err != nil { // some show nothing of what is locked
		return "", err
	}
	return "", ErrNotFound
}

// folder is the collection that new entries go to. ErrLocked while nothing can be put there, also
// because there is none yet.
func (s *service) folder(ctx context.Context) (dbus.ObjectPath, error) {
	path, locked, err := s.defaultFolder(ctx)
	if err == nil && (locked || path == nothing) {
		err = ErrLocked
	}
	return path, err
}

// defaultFolder is the collection for new entries, nothing where there is none, and whether it is locked.
func (s *service) defaultFolder(ctx context.Context) (path dbus.ObjectPath, locked bool, err error) {
	if err := s.call(ctx, servicePath, serviceFace+".ReadAlias", defaultAlias).Store(&path); err != nil {
		return "", false, err
	}
	if path == nothing {
		path = login
	}
	locked, err = s.locked(ctx, path)
	if err != nil && path == login && ctx.Err() == nil { // there is none of that name either
		return nothing, false, nil
	}
	return path, locked, err
}

func (s *service) locked(ctx context.Context, folder dbus.ObjectPath) (bool, error) {
	var v dbus.Variant
	if err := s.call(ctx, folder, "org.freedesktop.DBus.Properties.Get", folderFace, "Locked").Store(&v); err != nil {
		return false, err
	}
	locked, ok := v.Value().(bool)
	return locked || !ok, nil
}

// secret is the Secret Service's structure of a value.
type secret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

// open begins the session that values are passed in. They pass as they are: the bus is the person's own.
func (s *service) open(ctx context.Context) error {
	if s.session != "" {
		return nil
	}
	var none dbus.Variant
	return s.call(ctx, servicePath, serviceFace+".OpenSession", "plain", dbus.MakeVariant("")).Store(&none, &s.session)
}

func (s *service) read(ctx context.Context, item dbus.ObjectPath) ([]byte, error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	var value secret
	err := s.call(ctx, item, itemFace+".GetSecret", s.session).Store(&value)
	return value.Value, err
}

// write puts an entry into folder, in place of the one of the same key.
func (s *service) write(ctx context.Context, folder dbus.ObjectPath, key string, value []byte) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	properties := map[string]dbus.Variant{
		itemFace + ".Label":      dbus.MakeVariant("Garita: " + key),
		itemFace + ".Attributes": dbus.MakeVariant(attributes(key)),
	}
	var item, prompt dbus.ObjectPath
	err := s.call(ctx, folder, folderFace+".CreateItem", properties, secret{s.session, []byte{}, value, "text/plain; charset=utf8"}, true).Store(&item, &prompt)
	if err != nil {
		return err
	}
	return s.confirm(ctx, prompt)
}

func (s *service) remove(ctx context.Context, item dbus.ObjectPath) error {
	var prompt dbus.ObjectPath
	if err := s.call(ctx, item, itemFace+".Delete").Store(&prompt); err != nil {
		return err
	}
	return s.confirm(ctx, prompt)
}
