package keyring

import (
	"errors"
	"testing"

	gokeyring "github.com/zalando/go-keyring"
)

func TestASecretIsKeptAndForgotten(t *testing.T) {
	for name, mock := range map[string]func(){
		"in a keyring":      gokeyring.MockInit,
		"without a keyring": func() { gokeyring.MockInitWithError(errors.New("no session bus")) },
	} {
		t.Run(name, func(t *testing.T) {
			mock()
			t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
			v := New()
			if got, err := v.Load("k"); got != nil || err != nil {
				t.Errorf("before it was saved: %q, %v", got, err)
			}
			if err := v.Save("k", []byte("secret")); err != nil {
				t.Fatal(err)
			}
			if got, err := v.Load("k"); string(got) != "secret" || err != nil {
				t.Errorf("loaded %q, %v", got, err)
			}
			_ = v.Delete("k")
			if got, _ := v.Load("k"); got != nil {
				t.Errorf("after it was deleted: %q", got)
			}
		})
	}
}

// The bus's library starts a bus where there is none, and nobody would end it.
func TestWithoutASessionBusNoneIsStarted(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "autolaunch:")
	if reachable() {
		t.Skip("this user has a session bus of their own")
	}
	asked := false
	_, err := within(func() (string, error) { asked = true; return "", nil })
	if asked || !errors.Is(err, errNone) {
		t.Errorf("asked %t, %v", asked, err)
	}
	v := New()
	if err := v.Save("k", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Load("k"); string(got) != "secret" || err != nil {
		t.Errorf("kept in memory: %q, %v", got, err)
	}
}
