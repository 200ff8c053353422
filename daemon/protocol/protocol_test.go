package protocol

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestParseTakesWhatIsOneMessage(t *testing.T) {
	for name, tt := range map[string]struct {
		in     string
		kind   Kind
		id     ID
		method string
	}{
		"request":               {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, Request, "1", "ping"},
		"string id":             {`{"jsonrpc":"2.0","id":"1","method":"ping"}`, Request, `"1"`, "ping"},
		"id with a fraction":    {`{"jsonrpc":"2.0","id":2.50,"method":"ping"}`, Request, "2.50", "ping"},
		"id with an exponent":   {`{"jsonrpc":"2.0","id":1e2,"method":"ping"}`, Request, "1e2", "ping"},
		"batch":                 {` [{"jsonrpc":"2.0","id":1,"method":"x"}]`, Batch, "", ""},
		"id above 2^53":         {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, Request, "9007199254740993", "ping"},
		"notification":          {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, Notification, "", "notifications/initialized"},
		"answer":                {`{"jsonrpc":"2.0","id":1,"result":{"x":1e400}}`, Response, "1", ""},
		"error without id":      {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, Response, "", ""},
		"unknown members":       {`{"jsonrpc":"2.0","id":1,"method":"x","future":[1,{"a":null}]}`, Request, "1", "x"},
		"escaped method":        {`{"jsonrpc":"2.0","id":1,"method":"tools\/call"}`, Request, "1", "tools/call"},
		"space between tokens":  {" {\t\"jsonrpc\" : \"2.0\" , \"id\":1,\"method\":\"x\" } ", Request, "1", "x"},
		"escaped key is no key": {`{"jsonrpc":"2.0","id":1,"m\u0065thod":"x"}`, Request, "1", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if got.Kind != tt.kind || got.ID != tt.id || got.Method != tt.method {
				t.Errorf("got %v %q %q, want %v %q %q", got.Kind, got.ID, got.Method, tt.kind, tt.id, tt.method)
			}
			if string(got.Raw) != tt.in {
				t.Errorf("raw is %q, want the bytes as they came", got.Raw)
			}
		})
	}
}

func TestAnAnswerThatIsNoTextStillNamesWhoWaits(t *testing.T) {
	_, err := Parse([]byte("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}}"))
	var p *ParseError
	if !errors.As(err, &p) || p.ID != "7" || p.Request {
		t.Errorf("got %#v, want the id 7 and no request", err)
	}
}

func TestParseRefusesWhatTwoParsersCouldReadDifferently(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		code int
	}{
		"duplicate method":        {`{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`, CodeInvalidRequest},
		"duplicate deep inside":   {`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","name":"b"}}`, CodeInvalidRequest},
		"duplicate by an escape":  {`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","n\u0061me":"b"}}`, CodeInvalidRequest},
		"case of a key":           {`{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call"}`, CodeInvalidRequest},
		"case of a method":        {`{"jsonrpc":"2.0","id":1,"method":"Tools/Call"}`, CodeInvalidRequest},
		"blank after a method":    {`{"jsonrpc":"2.0","id":1,"method":"tools/call "}`, CodeInvalidRequest},
		"slash before a method":   {`{"jsonrpc":"2.0","id":1,"method":"/tools/call"}`, CodeInvalidRequest},
		"a method's long s":       {`{"jsonrpc":"2.0","id":1,"method":"tool\u017f/call"}`, CodeInvalidRequest},
		"method of no answer":     {`{"jsonrpc":"2.0","method":"tools.call"}`, CodeInvalidRequest},
		"two documents":           {`{"jsonrpc":"2.0","id":1,"method":"x"}{"jsonrpc":"2.0","id":2,"method":"y"}`, CodeInvalidRequest},
		"trailing bytes":          {`{"jsonrpc":"2.0","id":1,"method":"x"}garbage`, CodeInvalidRequest},
		"invalid UTF-8":           {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", CodeParse},
		"lone surrogate":          {`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\ud800"}}`, CodeParse},
		"embedded NUL":            {"{\"jsonrpc\":\"2.0\",\x00\"id\":1,\"method\":\"x\"}", CodeParse},
		"null id":                 {`{"jsonrpc":"2.0","id":null,"method":"x"}`, CodeInvalidRequest},
		"object id":               {`{"jsonrpc":"2.0","id":{},"method":"x"}`, CodeInvalidRequest},
		"request and answer":      {`{"jsonrpc":"2.0","id":1,"method":"x","result":{}}`, CodeInvalidRequest},
		"no version":              {`{"id":1,"method":"x"}`, CodeInvalidRequest},
		"nesting without end":     {`{"jsonrpc":"2.0","id":1,"method":"x","params":` + strings.Repeat("[", 100_000), CodeParse},
		"scalar":                  {`7`, CodeInvalidRequest},
		"banner":                  {`Server listening on stdio`, CodeInvalidRequest},
		"neither request nor any": {`{"jsonrpc":"2.0","id":1}`, CodeInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.in))
			var p *ParseError
			if !errors.As(err, &p) {
				t.Fatalf("got error %v, want a ParseError", err)
			}
			if p.Code != tt.code && tt.code != 0 {
				t.Errorf("code %d (%s), want %d", p.Code, p.Why, tt.code)
			}
		})
	}
}

func TestReaderGoesOnAfterABadLine(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":3,"method":"` + strings.Repeat("x", 200_000) + `"}`
	in := "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"a"}` + "\r\n\n" + "starting up\n" + long + "\n" +
		`{"jsonrpc":"2.0","id":4,"method":"b"}`
	r := NewReader(strings.NewReader(in), 100_000)
	var got []string
	for {
		m, err := r.Read()
		var bad *LineError
		switch {
		case errors.As(err, &bad) && errors.Is(err, ErrTooLong):
			got = append(got, "too long")
		case errors.As(err, &bad):
			got = append(got, "bad: "+string(bad.Prefix))
		case errors.Is(err, io.EOF):
			if want := "a|bad: starting up|too long|b"; strings.Join(got, "|") != want {
				t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
			}
			return
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, m.Method)
		}
	}
}

func TestReaderTakesALineOfMaxMessage(t *testing.T) {
	head, tail := `{"jsonrpc":"2.0","id":1,"result":"`, `"}`
	line := head + strings.Repeat("x", MaxMessage-len(head)-len(tail)-1) + tail + "\n"
	m, err := NewReader(strings.NewReader(line), MaxMessage).Read()
	if err != nil || len(m.Raw) != len(line)-1 {
		t.Fatalf("got %d bytes, %v; want %d", len(m.Raw), err, len(line)-1)
	}
}

func TestWriterKeepsAMessageOnOneLine(t *testing.T) {
	var out bytes.Buffer
	if err := NewWriter(&out).Write([]byte("{\n \"jsonrpc\":\"2.0\",\r\n\"method\":\"x\"}")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != 1 {
		t.Errorf("%d newlines in %q, want one at its end", got, out.String())
	}
}

func TestParseToolCallKeepsTheArgumentsBytes(t *testing.T) {
	c, err := ParseToolCall([]byte(`{"_meta":{"progressToken":7},"name":"w","arguments":{ "n": 9007199254740993 }}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(c.Arguments) != `{ "n": 9007199254740993 }` || c.Name != "w" || string(c.ProgressToken) != "7" {
		t.Errorf("got %q %s %s", c.Name, c.Arguments, c.ProgressToken)
	}
}

func TestParseToolCallRefusesSpellings(t *testing.T) {
	for _, in := range []string{`{"name":"a","Name":"b"}`, `{"name":"a","ARGUMENTS":{}}`, `{"arguments":{}}`, `{"name":"a","arguments":[]}`, `null`, `{"name":7}`} {
		if _, err := ParseToolCall([]byte(in)); err == nil {
			t.Errorf("%s was taken", in)
		}
	}
}

func TestReplaceKeepsTheOtherMembers(t *testing.T) {
	got, err := Replace([]byte(`{"a": 1e3,"tools":[1],"z":{"k" :null}}`), "tools", []byte(`[]`))
	if want := `{"a":1e3,"tools":[],"z":{"k" :null}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","result":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"x"},[],7]`))
	f.Add([]byte(`{ "error" : {} , "id": 1e2 ,"jsonrpc":"2.0"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(m.Raw)
		if err != nil || again.Kind != m.Kind || again.ID != m.ID || again.Method != m.Method {
			t.Fatalf("%q reads differently the second time: %v", b, err)
		}
		if m.Method == MethodToolsCall {
			_, _ = ParseToolCall(m.Params)
		}
		if m.Kind == Batch {
			_, _, _ = m.Batch()
			return
		}
		edited, err := Parse(m.WithBody([]byte(`{"x":1}`)).WithID(`"z"`).Raw)
		if err != nil || edited.Kind != m.Kind || edited.Method != m.Method || (m.ID != "" && edited.ID != `"z"`) {
			t.Fatalf("%q edited became %q: %v", b, edited.Raw, err)
		}
		back := edited.WithID(m.ID)
		if body := cmp.Or(string(m.Params), string(m.Result), string(m.Error)); body != "" {
			back = back.WithBody([]byte(body))
		}
		if m.ID != "" && !bytes.Equal(back.Raw, m.Raw) {
			t.Fatalf("%q edited there and back became %q", m.Raw, back.Raw)
		}
	})
}

func TestParseToolCallTakesOnlyATraceparentThatIsOne(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for in, want := range map[string]string{
		`"` + good + `"`:   good,
		`"` + good + `-x"`: "",
		`"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"`: "",
		`"` + good + `\n"`: "",
		`null`:             "",
		`7`:                "",
		`{"a":1}`:          "",
	} {
		c, err := ParseToolCall([]byte(`{"name":"w","_meta":{"traceparent":` + in + `}}`))
		if err != nil || c.Traceparent != want {
			t.Errorf("%s: got %q, %v, want %q", in, c.Traceparent, err, want)
		}
	}
}
