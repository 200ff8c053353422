package handoff

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaunchSurvivesTheWire(t *testing.T) {
	want := Request{
		Argv:   []string{"node", "", "a b\n"},
		Env:    []string{"PATH=/usr/bin"},
		Dir:    "/home/user",
		Listen: []string{"127.0.0.1:4873"},
		Data:   1 << 29,
		Await:  true,
	}
	var wire bytes.Buffer
	if err := WriteFrame(&wire, Launch, EncodeLaunch(want)); err != nil {
		t.Fatal(err)
	}
	kind, body, err := ReadFrame(&wire)
	if err != nil || kind != Launch {
		t.Fatalf("got kind %q, error %v", kind, err)
	}
	got, err := DecodeLaunch(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if _, _, err := ReadFrame(&wire); err != io.EOF {
		t.Errorf("after the last frame: got %v, want io.EOF", err)
	}
}

func TestForeignFramesAreRefused(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"longer than allowed": {Launch, 0xff, 0xff, 0xff, 0xff},
		"cut body":            {Launch, 0, 0, 0, 9, 1},
		"cut head":            {Launch, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := ReadFrame(newReader(bytes)); err == nil || err == io.EOF {
				t.Errorf("got %v, want an error that is not a clean end", err)
			}
		})
	}
	if _, err := DecodeLaunch(EncodeLaunch(Request{})); err == nil {
		t.Error("a launch without a program was taken")
	}
}

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

func FuzzDecodeLaunch(f *testing.F) {
	f.Add(EncodeLaunch(Request{Argv: []string{"x"}, Dir: "/"}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := DecodeLaunch(b)
		if err != nil {
			return
		}
		again, err := DecodeLaunch(EncodeLaunch(l))
		if err != nil || !cmp.Equal(l, again) {
			t.Errorf("decoding what was encoded: %v, %v", again, err)
		}
	})
}

func TestSecretsSurviveTheWire(t *testing.T) {
	want := Secrets{Env: []string{"TOKEN=a b\n=c"}, Files: []SecretFile{{"/run/secrets/a", "\x00\xff"}, {"/run/secrets/b", ""}}}
	got, err := DecodeSecrets(EncodeSecrets(want))
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	whole := EncodeSecrets(want)
	for i := range whole {
		if _, err := DecodeSecrets(whole[:i]); err == nil {
			t.Errorf("cut at %d: taken", i)
		}
	}
}

func FuzzDecodeSecrets(f *testing.F) {
	f.Add(EncodeSecrets(Secrets{Env: []string{"A=b"}, Files: []SecretFile{{"/run/secrets/a", "x"}}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSecrets(b)
		if err != nil {
			return
		}
		again, err := DecodeSecrets(EncodeSecrets(s))
		if err != nil || !cmp.Equal(s, again) {
			t.Errorf("decoding what was encoded: %v, %v", again, err)
		}
	})
}
