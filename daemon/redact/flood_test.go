package redact_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/redact"
	"github.com/garita-dev/garita/daemon/redact/redacttest"
)

func TestADecoyFloodDoesNotHideASecret(t *testing.T) {
	key := "ghp_" + "1234567890abcdefghijABCDEFGHIJ123456"
	flood := redacttest.Decoys(2 << 20)
	for _, at := range []int{0, len(flood) / 2, len(flood)} {
		text := string(flood[:at]) + " " + key + " " + string(flood[at:]) + " granted-secret-0001 "
		r := redact.New(redact.Secret{Name: "tracker", Value: []byte("granted-secret-0001")})
		out, findings := r.JSON(jsontext.Value(`{"content":[{"type":"text","text":` + string(protocol.Quote(text)) + `}]}`))
		if strings.Contains(string(out), key) || strings.Contains(string(out), "granted-secret") || len(findings) == 0 {
			t.Errorf("at %d: the secret came through; findings %v", at, findings)
		}
		if !out.IsValid() {
			t.Errorf("at %d: no JSON any more", at)
		}
	}
}

func BenchmarkRedact(b *testing.B) {
	small := jsontext.Value(`{"content":[{"type":"text","text":` + string(protocol.Quote(strings.Repeat("an ordinary line of a file\n", 30))) + `}]}`)
	texts := map[string]jsontext.Value{"small": small}
	for name, text := range redacttest.Hard(10 << 20) {
		texts["10 MB of "+name] = protocol.Quote(string(text))
	}
	texts["5 MB of decoys"] = protocol.Quote(string(redacttest.Decoys(5 << 20)))
	for name, v := range texts {
		r := redact.New(redact.Secret{Name: "tracker", Value: []byte("tracker-secret/0001")}, redact.Secret{Name: "other", Value: []byte("another-secret")})
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(v)))
			for b.Loop() {
				r.JSON(v)
			}
		})
	}
}
