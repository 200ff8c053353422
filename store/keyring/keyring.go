// Package keyring keeps small secrets in the keyring of the person's desktop.
package keyring

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	gokeyring "github.com/zalando/go-keyring"
)

// service is what the keyring files our entries under.
const service = "garita"

// patience bounds each question to the keyring: a locked one asks the person, and nobody
// else is to wait for that.
const patience = 5 * time.Second

// Vault keeps secrets in the keyring, and in memory while there is none to be had. Its methods may
// overlap; none waits longer than patience.
type Vault struct {
	mu     sync.Mutex
	memory map[string][]byte
}

// New returns a Vault that has asked for nothing yet.
func New() *Vault { return &Vault{memory: map[string][]byte{}} }

// Load is what was saved under a key; nil when nothing was, or nobody can tell.
func (v *Vault) Load(key string) ([]byte, error) {
	v.mu.Lock()
	kept, ok := v.memory[key]
	v.mu.Unlock()
	if ok {
		return slices.Clone(kept), nil
	}
	value, err := within(func() (string, error) { return gokeyring.Get(service, key) })
	if err != nil {
		return nil, nil //nolint:nilerr // no keyring, or nothing in it: a new login mends both
	}
	return []byte(value), nil
}

// Save keeps a value: in memory alone, until the daemon ends, where there is no keyring.
func (v *Vault) Save(key string, value []byte) error {
	_, err := within(func() (string, error) { return "", gokeyring.Set(service, key, string(value)) })
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.memory, key)
	if err != nil {
		v.memory[key] = slices.Clone(value)
	}
	return nil
}

// Delete forgets what was saved under a key; there may be nothing.
func (v *Vault) Delete(key string) error {
	v.mu.Lock()
	delete(v.memory, key)
	v.mu.Unlock()
	_, err := within(func() (string, error) { return "", gokeyring.Delete(service, key) })
	if err == nil || errors.Is(err, gokeyring.ErrNotFound) || errors.Is(err, errSilent) || errors.Is(err, errNone) {
		return nil
	}
	return err
}

// errNone is a machine without a session bus.
var errNone = errors.New("there is no session bus, and so no keyring")

// reachable says whether there is a session bus to find a keyring on: where the bus's library looks
// for one. Asked without one, it would start one that outlives us.
func reachable() bool {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); runtime.GOOS != "linux" || address != "" && address != "autolaunch:" {
		return true
	}
	_, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid()))
	return err == nil
}

// errSilent is a keyring that does not answer in time.
var errSilent = errors.New("the keyring does not answer")

// within asks the keyring, for as long as anybody should wait. What it asks goes on behind us.
func within(ask func() (string, error)) (string, error) {
	if !reachable() {
		return "", errNone
	}
	type answer struct {
		value string
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := ask()
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-time.After(patience):
		return "", errSilent
	}
}
