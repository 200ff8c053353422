package scan

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

const (
	value    = "ghp_aB3/+x9Zk\\2\"Qw7&7_yTfR1"
	sentinel = "ghp_Qm4kT0pX9c1Vb2Nn8Zs5Lq3"
)

var scanner = New([]Pair{{Find: value, Put: sentinel, Name: "token"}})

// writings are ways to write a text, and to read it again.
var writings = map[string]struct {
	write func(string) string
	read  func(string) (string, error)
}{
	"as it is":      {func(s string) string { return s }, func(s string) (string, error) { return s, nil }},
	"query":         {url.QueryEscape, url.QueryUnescape},
	"path":          {url.PathEscape, url.PathUnescape},
	"all percent":   {func(s string) string { return allEscaped(s, "%%%02x") }, url.PathUnescape},
	"ALL PERCENT":   {func(s string) string { return allEscaped(s, "%%%02X") }, url.PathUnescape},
	"JSON unicode":  {func(s string) string { return `"` + allEscaped(s, `\u%04x`) + `"` }, unJSON},
	"base64":        {base64of(base64.StdEncoding, ""), unBase64(base64.StdEncoding, 0)},
	"base64 +1":     {base64of(base64.StdEncoding, "a"), unBase64(base64.StdEncoding, 1)},
	"base64 +2":     {base64of(base64.StdEncoding, "ab"), unBase64(base64.StdEncoding, 2)},
	"base64 URL":    {base64of(base64.RawURLEncoding, "user:"), nil},
	"base64, lines": {func(s string) string { return lines(base64of(base64.StdEncoding, "a")(s)) }, nil},
	"hex":           {func(s string) string { return hex.EncodeToString([]byte(s)) }, unHex},
	"HEX":           {func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }, unHex},
	"JSON":          {inJSON, nil},
	"HTML":          {html.EscapeString, nil},
	"HTML numbers":  {func(s string) string { return allEscaped(s, "&#%03d;") }, func(s string) (string, error) { return html.UnescapeString(s), nil }},
	"HTML hex":      {func(s string) string { return allEscaped(s, "&#x%X;") }, func(s string) (string, error) { return html.UnescapeString(s), nil }},
	"JSON in JSON":  {func(s string) string { return inJSON(inJSON(s)) }, nil},
	"JSON slashes":  {func(s string) string { return strings.ReplaceAll(inJSON(s), "/", `\/`) }, nil},
}

func allEscaped(s, format string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&out, format, c)
	}
	return out.String()
}

func inJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func unJSON(s string) (out string, err error) {
	err = json.Unmarshal([]byte(s), &out)
	return out, err
}

func unHex(s string) (string, error) {
	b, err := hex.DecodeString(s)
	return string(b), err
}

func base64of(e *base64.Encoding, before string) func(string) string {
	return func(s string) string { return e.EncodeToString([]byte(before + s + "!")) }
}

func unBase64(e *base64.Encoding, before int) func(string) (string, error) {
	return func(s string) (string, error) {
		b, err := e.DecodeString(s)
		return strings.TrimSuffix(string(b[before:]), "!"), err
	}
}

func lines(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i += 7 {
		out.WriteString(s[i:min(i+7, len(s))] + "\r\n")
	}
	return out.String()
}

func TestEveryWritingIsFound(t *testing.T) {
	for name, w := range writings {
		t.Run(name, func(t *testing.T) {
			text := "before " + w.write(value) + " after"
			got := scanner.String(text)
			if len(got) != len(text) || got == text {
				t.Fatalf("%q became %q", text, got)
			}
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("what is around it has changed: %q", got)
			}
			if w.read == nil {
				return
			}
			read, err := w.read(strings.TrimSuffix(strings.TrimPrefix(got, "before "), " after"))
			if err != nil || !alike(read, sentinel) {
				t.Errorf("%q is %q, %v", got, read, err)
			}
		})
	}
}

// alike allows for the last byte, which shares a character of base64 with what follows.
func alike(got, want string) bool {
	return len(got) == len(want) && got[:len(got)-1] == want[:len(want)-1]
}

func TestWhatIsOtherwiseStays(t *testing.T) {
	for _, text := range []string{
		"", "%", "\\", "\\\\", value[:len(value)-1], "ghp_", "%67%68%7", `\u0067\u006`, strings.Repeat("ghp_", 50), strings.Repeat("\\", 100),
		sentinel, "%zz\\q\\u12", "&", "&#", "&#;", "&#103", "&amp", "&ampghp_", strings.ToUpper(value),
	} {
		if got := scanner.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// inPieces sends text through a Filter, cut at the places given.
func inPieces(t testing.TB, text string, release bool, cuts ...int) string {
	var out bytes.Buffer
	f := NewFilter(scanner, func(b []byte) error { out.Write(b); return nil })
	from := 0
	for _, cut := range append(cuts, len(text)) {
		if err := f.Write([]byte(text[from:cut])); err != nil {
			t.Fatal(err)
		}
		if release {
			if err := f.Release(); err != nil {
				t.Fatal(err)
			}
		}
		from = cut
	}
	if err := f.Close(); err != nil || f.Held() {
		t.Fatalf("held: %v, %v", f.Held(), err)
	}
	return out.String()
}

func TestOverBorders(t *testing.T) {
	for name, w := range writings {
		text := "x" + w.write(value) + "y"
		want := scanner.String(text)
		for cut := range len(text) {
			if got := inPieces(t, text, false, cut); got != want {
				t.Errorf("%s, cut at %d: %q", name, cut, got)
			}
		}
		var all []int
		for cut := range len(text) {
			all = append(all, cut)
		}
		if got := inPieces(t, text, false, all...); got != want {
			t.Errorf("%s, byte by byte: %q", name, got)
		}
	}
}

func TestLittleIsReleasedAndTheRestReplaced(t *testing.T) {
	spare := scanner.spare
	for cut := 1; cut <= spare; cut++ {
		if got := inPieces(t, "a "+value, true, 2+cut); got != "a "+value[:cut]+sentinel[cut:] {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
	if got := inPieces(t, "a "+value, true, 2+spare+1); got != "a "+sentinel {
		t.Errorf("much was released: %q", got)
	}
	// What was released and turns out to be another text is not sent twice.
	if got := inPieces(t, "ghp_ghp_"+value, true, 1, 2, 3, 4, 5, 6); got != "ghp_ghp_"+sentinel {
		t.Errorf("got %q", got)
	}
}

func TestEventsAreNotHeld(t *testing.T) {
	var out bytes.Buffer
	f := NewFilter(scanner, func(b []byte) error { out.Write(b); return nil })
	for _, event := range []string{"data: {\"a\":1}\n\n", ": ping\n\n", "{\"x\":[]}\n", "GHP_\n"} {
		out.Reset()
		if _ = f.Write([]byte(event)); out.String() != event {
			t.Errorf("%q: %q has come", event, out.String())
		}
	}
}

func TestNamesAndContains(t *testing.T) {
	two := New([]Pair{{Find: value, Name: "a"}, {Find: "another-one", Name: "b"}, {Find: "short", Name: "c"}})
	if got := fmt.Sprint(two.Names("x=another-one&y=" + url.QueryEscape(value) + "&another-one short")); got != "[b a]" {
		t.Error(got)
	}
	if !two.Contains("X-ANOTHER-ONE") || two.Contains("x-another") || two.Contains("short") {
		t.Error("Contains")
	}
	var none *Scanner
	if !none.Empty() || none.String("x") != "x" || none.Contains("x") {
		t.Error("no scanner")
	}
}

func TestTheLongerOfTwoIsReplaced(t *testing.T) {
	s := New([]Pair{{Find: "abcdef", Put: "111111"}, {Find: "abcdefgh", Put: "22222222"}})
	if got := s.String("abcdefgh abcdef abcdefg"); got != "22222222 111111 111111g" {
		t.Error(got)
	}
}

func frame(payload string) []byte {
	switch n := len(payload); {
	case n < 126:
		return append([]byte{0x81, byte(n)}, payload...)
	case n < 1<<16:
		return append(binary.BigEndian.AppendUint16([]byte{0x81, 126}, uint16(n)), payload...)
	default:
		return append(binary.BigEndian.AppendUint64([]byte{0x82, 127}, uint64(n)), payload...)
	}
}

func TestFrames(t *testing.T) {
	long, longest := strings.Repeat("x", 200)+value, strings.Repeat("y", 70000)+value+"z"
	var in, want []byte
	for _, payload := range []string{"", "hello g", value, "ghp_", long, "", longest} {
		in = append(in, frame(payload)...)
		want = append(want, frame(scanner.String(payload))...)
	}
	for _, step := range []int{1, 2, 7, 4096, len(in)} {
		var out bytes.Buffer
		f := NewFrames(scanner, func(b []byte) error { out.Write(b); return nil })
		for from := 0; from < len(in); from += step {
			if err := f.Write(in[from:min(from+step, len(in))]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("in steps of %d: frames differ", step)
		}
	}
	for name, bad := range map[string][]byte{"masked": {0x81, 0x85, 1, 2, 3, 4}, "compressed": {0xc1, 5, 1}} {
		if err := NewFrames(scanner, func([]byte) error { return nil }).Write(bad); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, w := range writings {
		f.Add("x"+w.write(value)+"y", 3, 9)
	}
	f.Add(strings.Repeat("\\", 40)+"u00", 4, 5)
	f.Fuzz(func(t *testing.T, text string, a, b int) {
		whole := scanner.String(text)
		if len(whole) != len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(whole))
		}
		if strings.Contains(whole, value) {
			t.Fatalf("the value is left in %q", whole)
		}
		a = min(max(a, 0), len(text))
		b = min(max(b, a), len(text))
		if got := inPieces(t, text, false, a, b); got != whole {
			t.Fatalf("in pieces %q, whole %q", got, whole)
		}
		if got := inPieces(t, text, true, a, b); len(got) != len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(got))
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add(frame(value), 1)
	f.Add(append(frame(""), frame(strings.Repeat("x", 130))...), 3)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		n := 0
		fr := NewFrames(scanner, func(b []byte) error { n += len(b); return nil })
		cut = min(max(cut, 0), len(in))
		_ = fr.Write(in[:cut])
		_ = fr.Write(in[cut:])
		if n > len(in) {
			t.Fatalf("%d bytes became %d", len(in), n)
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	for name, text := range map[string]string{
		"text":   strings.Repeat("The quick brown fox jumps over the lazy dog, again and again. ", 500),
		"json":   strings.Repeat(`{"id":12345,"name":"garita","url":"https:\/\/api.example.org\/x","ok":true},`, 400),
		"base64": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("garita-and-more"), 1500)),
	} {
		b.Run(name, func(b *testing.B) {
			f := NewFilter(scanner, func([]byte) error { return nil })
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_ = f.Write([]byte(text))
			}
		})
	}
}
