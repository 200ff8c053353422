package supervisor

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// purse has one variable for every server, once it is filled.
type purse struct {
	missing error
	value   string
	frames  [][]byte
}

func (p *purse) Missing(context.Context, sandbox.Server) error { return p.missing }

func (p *purse) Equip(_ context.Context, _ sandbox.Server, l *sandbox.Launch) ([]byte, error) {
	l.Await = true
	frame := sandboxtest.SecretFrame("TOKEN=" + p.value)
	p.frames = append(p.frames, frame)
	return frame, nil
}

func TestSecretsComeByTheLifelineAndAreCleared(t *testing.T) {
	s, _, _, _ := newTest(t)
	p := &purse{value: strings.Repeat("hunter2", 1000)}
	s.Secrets = p
	i, err := s.Start(t.Context(), shell(`echo "$TOKEN"; exec cat`), NewInstanceID(), Owner{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := bufio.NewReaderSize(i, 1<<20).ReadString('\n'); got != p.value+"\n" {
		t.Errorf("the server has %.20q", got)
	}
	if strings.Contains(string(p.frames[0]), "hunter2") {
		t.Error("the frame is kept")
	}
	if err := s.Kill(t.Context(), i.Now().ID); err != nil {
		t.Error(err)
	}
	if n := len(s.Instances("")); n != 0 {
		t.Errorf("%d instances after the kill", n)
	}
}

func TestAMissingSecretIsNoFailureOfTheServer(t *testing.T) {
	s, registry, _, _ := newTest(t)
	p := &purse{missing: errors.New("not started: missing secret")}
	s.Secrets = p
	srv := sandbox.Server{Name: "srv", Source: sandbox.Source{Command: []string{"npx", "-y", "x"}}}
	for range 3 * maxStrikes {
		if _, err := s.Start(t.Context(), srv, NewInstanceID(), Owner{}); !errors.Is(err, p.missing) {
			t.Fatalf("got %v", err)
		}
	}
	if len(registry.wants) > 0 || s.Standing("srv") != nil {
		t.Errorf("%d installs, %v", len(registry.wants), s.Standing("srv"))
	}
	p.missing = nil
	if i, err := s.Start(t.Context(), shell("exec cat"), NewInstanceID(), Owner{}); err != nil {
		t.Error(err)
	} else if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
