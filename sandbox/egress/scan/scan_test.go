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
	"slices"
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

// inPieces sends text through a Filter, cut at the places given. What ends with a large part ends there.
func inPieces(t testing.TB, text string, release bool, cuts ...int) string {
	t.Helper()
	var out bytes.Buffer
	f := NewFilter(scanner, func(b []byte) error { out.Write(b); return nil })
	from := 0
	for _, cut := range append(cuts, len(text)) {
		err := f.Write([]byte(text[from:cut]))
		if err == nil && release {
			err = f.Release()
		}
		if _, ok := IsPart(err); ok {
			return out.String()
		}
		from = cut
	}
	_ = f.Close()
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
	most := scanner.patterns[0].most
	for cut := 1; cut <= most; cut++ {
		if got := inPieces(t, "a "+value, true, 2+cut); got != "a "+value[:cut]+sentinel[cut:] {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
	// What was released and turns out to be another text is not sent twice.
	if got := inPieces(t, "ghp_ghp_"+value, true, 1, 2, 3, 4, 5, 6); got != "ghp_ghp_"+sentinel {
		t.Errorf("got %q", got)
	}
}

func TestALargePartIsNotReleased(t *testing.T) {
	var out bytes.Buffer
	f := NewFilter(scanner, func(b []byte) error { out.Write(b); return nil })
	_ = f.Write([]byte("a " + value[:scanner.patterns[0].most+1]))
	if name, ok := IsPart(f.Release()); name != "token" || !ok || strings.Contains(out.String(), "ghp") {
		t.Errorf("%q was released", out.String())
	}
	if name, ok := IsPart(f.Close()); name != "token" || !ok || strings.Contains(out.String(), "ghp") {
		t.Errorf("%q was passed at the end", out.String())
	}
}

// sizes are how much comes out of a Filter at each step; the last is "over" where it ends the stream.
func sizes(steps ...string) (all []string) {
	f := NewFilter(scanner, func(b []byte) error { all = append(all, fmt.Sprint(len(b))); return nil })
	for _, step := range steps {
		all = append(all, "|")
		if step == "" && f.Release() != nil || f.Write([]byte(step)) != nil {
			return append(all, "over")
		}
	}
	if f.Close() != nil {
		return append(all, "over")
	}
	return all
}

// TestGuessesTellNothing: whoever has guesses come back sees the same for one that is right and one that is
// not, as long as not so much of it is right that nobody guesses it.
func TestGuessesTellNothing(t *testing.T) {
	writings := map[string]func(string) string{
		"as it is":  func(s string) string { return s },
		"percent":   func(s string) string { return allEscaped(s, "%%%02x") },
		"unicode":   func(s string) string { return allEscaped(s, `\u%04x`) },
		"backslash": func(s string) string { return allEscaped(s, `\\\\\\\\u%04x`) },
		"base64":    func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
		"hex":       func(s string) string { return hex.EncodeToString([]byte(s)) },
	}
	filler := strings.Repeat("The quick brown fox. ", 1000)
	for name, write := range writings {
		for n := range len(value) - 1 {
			right, wrong := write(value[:n+1]), write(value[:n]+string(rune(value[n]^1)))
			for _, steps := range [][]string{{"...."}, {"....", ""}, {filler}, {filler, "", filler}} {
				with := func(guess string) []string {
					s := slices.Clone(steps)
					s[0] += guess
					return sizes(s...)
				}
				a, b := with(right), with(wrong)
				more := slices.ContainsFunc(a, func(s string) bool { return s == "over" }) && !slices.ContainsFunc(b, func(s string) bool { return s == "over" })
				if fmt.Sprint(a) != fmt.Sprint(b) && !(more && n >= len("ghp_")+6) {
					t.Fatalf("%s, %d characters: %v for a guess that is right, %v for one that is not", name, n+1, a, b)
				}
			}
		}
	}
	// The same again and again, as in a document that was stored before.
	for n := 1; n < 10; n++ {
		if a, b := sizes(strings.Repeat(value[:n], 5000)), sizes(strings.Repeat(strings.Repeat("z", n), 5000)); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%d characters: %v and %v", n, a, b)
		}
	}
}

func TestEventsAreReleased(t *testing.T) {
	var out bytes.Buffer
	f := NewFilter(scanner, func(b []byte) error { out.Write(b); return nil })
	for _, event := range []string{"data: {\"a\":1}\n\n", ": ping\n\n", "{\"x\":[]}\n", "GHP_\n", "data: gh"} {
		out.Reset()
		if _ = f.Write([]byte(event)); out.Len() > 0 || !f.Held() {
			t.Errorf("%q: %q has come at once", event, out.String())
		}
		if err := f.Release(); err != nil || out.String() != event || f.Held() {
			t.Errorf("%q: %q has come, %v", event, out.String(), err)
		}
	}
}

// TestWritingsWithinWritings are ways in which a value with special characters comes back from real hosts.
func TestWritingsWithinWritings(t *testing.T) {
	special := `ab/cd+ef==gh\nij"kl`
	for name, c := range map[string]struct{ value, text string }{
		"a query":                 {special, url.QueryEscape(special)},
		"a query in a query":      {special, url.QueryEscape("https://a/?key=" + url.QueryEscape(special))},
		"thrice":                  {special, url.QueryEscape(url.QueryEscape(url.QueryEscape(special)))},
		"JSON":                    {special, inJSON(special)},
		"JSON in JSON":            {special, inJSON(inJSON(special))},
		"JSON in JSON in JSON":    {special, inJSON(inJSON(inJSON(special)))},
		"JSON in a query":         {special, url.QueryEscape(inJSON(special))},
		"a query in JSON":         {special, inJSON(url.QueryEscape(special))},
		"HTML numbers":            {special, strings.ReplaceAll(special, "/", "&#x2F;")},
		"HTML in JSON":            {special, strings.ReplaceAll(inJSON(special), "/", `\u0026#x2F;`)},
		"HTML in a query":         {special, strings.ReplaceAll(special, "/", "%26#x2F;")},
		"HTML in HTML":            {special, strings.ReplaceAll(special, "/", "&amp;#x2F;")},
		"HTML's names":            {special, strings.NewReplacer("/", "&sol;", "+", "&plus;", "=", "&equals;").Replace(special)},
		"a path in JSON":          {`C:\temp\new-pass1\unix\x41`, inJSON(`C:\temp\new-pass1\unix\x41`)},
		"a path in JSON in JSON":  {`C:\temp\new-pass1\unix\x41`, inJSON(inJSON(`C:\temp\new-pass1\unix\x41`))},
		"backslashes and a quote": {`ab\\\"cdef\`, inJSON(`ab\\\"cdef\`)},
		"line breaks":             {"ab\ncd\r\nef\tgh", inJSON("ab\ncd\r\nef\tgh")},
	} {
		s := New([]Pair{{Find: c.value, Put: strings.Repeat("x", len(c.value)), Name: "n"}})
		text := "before " + c.text + " after"
		got := s.String(text)
		if len(s.Names(text)) != 1 || len(got) != len(text) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %s became %s", name, text, got)
		}
	}
}

func TestIsTheWholeText(t *testing.T) {
	for text, want := range map[string]bool{value: true, url.QueryEscape(value): true, value + "x": false, "x" + value: false, value + value: false, "": false} {
		if scanner.Is(text) != want {
			t.Errorf("%q: %v", text, !want)
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
		want := inPieces(t, text, false)
		if !strings.HasPrefix(whole, want) {
			t.Fatalf("%q begins otherwise: %q", whole, want)
		}
		if got := inPieces(t, text, false, a, b); got != want {
			t.Fatalf("in pieces %q, whole %q", got, want)
		}
		if got := inPieces(t, text, true, a, b); len(got) > len(text) || strings.Contains(got, value[:13]) {
			t.Fatalf("%q became %q", text, got)
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
