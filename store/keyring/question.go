package keyring

import (
	"context"
	"errors"
	"time"

	"github.com/godbus/dbus/v5"
)

// question is the keyring's to its owner: to unlock it. There is at most one; whoever needs the answer
// waits for it as long as they like, and it goes on without them.
type question struct {
	done   chan struct{}
	err    error // of the above, once done is closed
	cancel context.CancelFunc
}

// look is how often a question looks whether it has been settled in another way: a keyring may be
// unlocked elsewhere, and need not say so.
const look = 10 * time.Second

// patientTries bounds how often a question is put anew after an answer that has opened nothing.
const patientTries = 3

// ask has the owner unlock what we need, and returns nil once it is. Its connection outlives ctx for as
// long as it takes to take the question back.
func ask(ctx context.Context) error {
	open, shut := context.WithCancel(context.WithoutCancel(ctx))
	defer shut()
	late := time.AfterFunc(patience, shut)
	s, err := openService(open)
	late.Stop()
	if err != nil {
		return saying(open, err)
	}
	defer s.close()
	err = s.ask(ctx)
	if err != nil && ctx.Err() != nil {
		return ErrDeclined // on the owner's behalf
	}
	return saying(ctx, err)
}

func (s *service) ask(ctx context.Context) error {
	changes, err := s.watch(ctx)
	if err != nil {
		return err
	}
	for range patientTries {
		prompt, err := s.unlock(ctx)
		if err != nil || prompt == nothing {
			return err
		}
		if err := s.answered(ctx, prompt, changes, s.nothingLocked); !errors.Is(err, errAgain) {
			return err
		}
	}
	return ErrLocked
}

// errAgain: an answer was given, and it is to be seen whether it was the right one.
var errAgain = errors.New("look again")

// unlock asks for what is locked. nothing is returned when nothing is any more; else the prompt that
// has to be shown.
func (s *service) unlock(ctx context.Context) (prompt dbus.ObjectPath, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, locked, err := s.search(ctx, "")
	if err != nil {
		return "", err
	}
	if len(locked) == 0 {
		folder, shut, err := s.defaultFolder(ctx)
		switch {
		case err != nil:
			return "", err
		case folder == nothing:
			return s.makeFolder(ctx)
		case !shut:
			return nothing, nil
		}
		locked = []dbus.ObjectPath{folder}
	}
	var unlocked []dbus.ObjectPath
	err = s.call(ctx, servicePath, serviceFace+".Unlock", locked).Store(&unlocked, &prompt)
	return prompt, err
}

func (s *service) makeFolder(ctx context.Context) (prompt dbus.ObjectPath, err error) {
	properties := map[string]dbus.Variant{folderFace + ".Label": dbus.MakeVariant("Login")}
	var folder dbus.ObjectPath
	err = s.call(ctx, servicePath, serviceFace+".CreateCollection", properties, defaultAlias).Store(&folder, &prompt)
	return prompt, err
}

// watch has the service's signals come in, until the connection closes.
func (s *service) watch(ctx context.Context) (<-chan *dbus.Signal, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	signals := make(chan *dbus.Signal, 64)
	s.conn.Signal(signals)
	for _, match := range [][]dbus.MatchOption{
		{dbus.WithMatchSender(busName), dbus.WithMatchPathNamespace(servicePath)},
		{dbus.WithMatchSender("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, busName)},
	} {
		if err := s.conn.AddMatchSignalContext(ctx, match...); err != nil {
			return nil, err
		}
	}
	return signals, nil
}

// answered shows a prompt and waits for what comes of it, or for settled to say that none is needed any
// more. When ctx ends first the prompt is taken back.
func (s *service) answered(ctx context.Context, prompt dbus.ObjectPath, changes <-chan *dbus.Signal, settled func(context.Context) bool) error {
	defer s.dismiss(prompt) // one that has ended does not mind
	if err := s.show(ctx, prompt); err != nil {
		return err
	}
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return ErrDeclined
		case signal, ok := <-changes:
			if !ok {
				return ErrNone
			}
			if signal.Path == prompt && signal.Name == promptFace+".Completed" {
				return completed(signal)
			}
		case <-again.C:
		}
		if settled(ctx) {
			return nil
		}
	}
}

func (s *service) show(ctx context.Context, prompt dbus.ObjectPath) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.call(ctx, prompt, promptFace+".Prompt", "").Err
}

func completed(signal *dbus.Signal) error {
	if len(signal.Body) > 0 && signal.Body[0] == false {
		return errAgain
	}
	return ErrDeclined
}

// nothingLocked says that no question is needed any more.
func (s *service) nothingLocked(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, locked, err := s.search(ctx, "")
	if err != nil || len(locked) > 0 {
		return false
	}
	_, err = s.folder(ctx)
	return err == nil
}

// dismiss takes a prompt back. One that does not listen stays on the screen.
func (s *service) dismiss(prompt dbus.ObjectPath) {
	s.conn.Object(busName, prompt).Go(promptFace+".Dismiss", dbus.FlagNoReplyExpected, nil)
}

// confirm shows the prompt of an exchange that is under way, if it has one, and waits for its end.
func (s *service) confirm(ctx context.Context, prompt dbus.ObjectPath) error {
	if prompt == nothing || prompt == "" {
		return nil
	}
	changes, err := s.watch(ctx)
	if err != nil {
		return err
	}
	never := func(context.Context) bool { return false }
	if err := s.answered(ctx, prompt, changes, never); !errors.Is(err, errAgain) {
		return err
	}
	return nil
}
