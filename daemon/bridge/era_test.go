package bridge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/protocol"
)

func TestEraOfDiscover(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		want   protocol.Era
	}{
		"it discovers":                         {`"result":{"supportedVersions":["2026-07-28"]}`, protocol.ModernEra},
		"both eras":                            {`"result":{"supportedVersions":["2026-07-28","2025-11-25"]}`, protocol.ModernEra},
		"a later revision":                     {`"result":{"supportedVersions":["2027-01-01"]}`, protocol.ModernEra},
		"legacy revisions alone":               {`"result":{"supportedVersions":["2025-11-25"]}`, protocol.LegacyEra},
		"a result that is none":                {`"result":{}`, protocol.LegacyEra},
		"no such method":                       {`"error":{"code":-32601,"message":"x"}`, protocol.LegacyEra},
		"bad params":                           {`"error":{"code":-32602,"message":"x"}`, protocol.LegacyEra},
		"not initialized, in its own code":     {`"error":{"code":-32002,"message":"x"}`, protocol.LegacyEra},
		"no code":                              {`"error":{"message":"x"}`, protocol.LegacyEra},
		"another modern revision":              {`"error":{"code":-32022,"message":"x","data":{"supported":["2027-01-01"]}}`, protocol.ModernEra},
		"a version error that names legacy":    {`"error":{"code":-32022,"message":"x","data":{"supported":["2025-11-25"]}}`, protocol.LegacyEra},
		"a capability is missing":              {`"error":{"code":-32021,"message":"x"}`, protocol.ModernEra},
		"a code of the range nobody has given": {`"error":{"code":-32023,"message":"x"}`, protocol.LegacyEra},
		"a code that is a string":              {`"error":{"code":"-32022","message":"x"}`, protocol.LegacyEra},
	} {
		t.Run(name, func(t *testing.T) {
			if got := EraOfDiscover(answer(t, tt.answer)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := EraOfDiscover(protocol.Message{Kind: protocol.Request}); got != protocol.Unknown {
		t.Errorf("of a request: %q", got)
	}
}

func TestModernOnly(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		want   bool
	}{
		"it initializes":                        {`"result":{"protocolVersion":"2025-11-25"}`, false},
		"no such method":                        {`"error":{"code":-32601,"message":"x"}`, true},
		"an invalid request":                    {`"error":{"code":-32600,"message":"x"}`, true},
		"an unsupported version":                {`"error":{"code":-32022,"message":"x","data":{"supported":["2026-07-28"]}}`, true},
		"an unsupported version of older days":  {`"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05"],"requested":"2025-11-25"}}`, false},
		"bad params":                            {`"error":{"code":-32602,"message":"x"}`, false},
		"bad params, for want of the modern":    {`"error":{"code":-32602,"message":"_meta has no io.modelcontextprotocol/protocolVersion"}`, true},
		"any error that names the new revision": {`"error":{"code":1,"message":"this server speaks 2026-07-28 only"}`, true},
		"any other error":                       {`"error":{"code":-32603,"message":"no database"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ModernOnly(answer(t, tt.answer)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSupported(t *testing.T) {
	got := Supported(answer(t, `"result":{"supportedVersions":["2026-07-28",7,"2025-11-25"]}`))
	if diff := cmp.Diff(got, []protocol.Revision{protocol.V20260728, protocol.V20251125}); diff != "" {
		t.Error(diff)
	}
}

func answer(t *testing.T, body string) protocol.Message {
	t.Helper()
	m, err := protocol.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + body + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
