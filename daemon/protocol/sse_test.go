package protocol

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEventsAreReadAsTheyMayBeWritten(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want []Event
	}{
		"one":                      {"data: {}\n\n", []Event{{Data: []byte("{}")}}},
		"all fields":               {"event: message\nid: 7_1\nretry: 250\ndata: x\n\n", []Event{{Name: "message", ID: "7_1", Retry: 250 * time.Millisecond, Data: []byte("x")}}},
		"several data lines":       {"data: {\ndata: }\n\n", []Event{{Data: []byte("{\n}")}}},
		"CRLF":                     {"data: a\r\n\r\ndata: b\r\n\r\n", []Event{{Data: []byte("a")}, {Data: []byte("b")}}},
		"CR alone":                 {"data: a\r\rdata: b\r\r", []Event{{Data: []byte("a")}, {Data: []byte("b")}}},
		"comments between":         {": hello\n\n:\n\ndata: a\n: more\n\n", []Event{{Data: []byte("a")}}},
		"no space after the colon": {"data:a\n\n", []Event{{Data: []byte("a")}}},
		"only one space is eaten":  {"data:  a\n\n", []Event{{Data: []byte(" a")}}},
		"a field without a colon":  {"data\n\n", []Event{{Data: []byte{}}}},
		"byte-order mark":          {"\xef\xbb\xbfdata: a\n\n", []Event{{Data: []byte("a")}}},
		"priming":                  {"id: 1\ndata:\n\n", []Event{{ID: "1", Data: []byte{}}}},
		"NUL in an id":             {"id: a\x00b\ndata: x\n\n", []Event{{Data: []byte("x")}}},
		"unknown field":            {"color: red\n\ndata: x\n\n", []Event{{Data: []byte("x")}}},
		"unfinished at the end":    {"data: a\n\ndata: b\n", []Event{{Data: []byte("a")}}},
		"retry that is no number":  {"retry: -1\nretry: 1e3\ndata: x\n\n", []Event{{Data: []byte("x")}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, err := readEvents(NewEventReader(r, 1<<20))
				if !errors.Is(err, io.EOF) || !cmp.Equal(got, tt.want) {
					t.Errorf("got %+v, %v", got, err)
				}
			}
		})
	}
}

func readEvents(r *EventReader) (all []Event, err error) {
	for {
		e, err := r.Read()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func TestAnEventOverTheLimitIsSkipped(t *testing.T) {
	for name, big := range map[string]string{
		"one long line": "data: " + strings.Repeat("x", 200_000) + "\n\n",
		"many lines":    strings.Repeat("data: xxxxxxxx\n", 20_000) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := NewEventReader(strings.NewReader(big+"data: next\n\n"), 100_000)
			var bad *LineError
			if _, err := r.Read(); !errors.As(err, &bad) || !errors.Is(err, ErrTooLong) {
				t.Fatalf("got %v, want a LineError", err)
			}
			if e, err := r.Read(); err != nil || string(e.Data) != "next" {
				t.Errorf("then got %+v, %v", e, err)
			}
		})
	}
}

func TestAnEventIsReadBeforeTheNextByteComes(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = w.Write([]byte("data: a\r\n\r")) }()
	if e, err := NewEventReader(r, 1000).Read(); err != nil || string(e.Data) != "a" {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestTextNeverMakesAnEvent(t *testing.T) {
	inject := "\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\"}\n\n"
	t.Run("attack_H16", func(t *testing.T) {
		text := "{\"a\":\r\n\r\n" + `"x\r\n\r\nevent: message\ndata: {}` + "\u2028data: 1\u2029\u0085\"}"
		b := AppendMessage(nil, "1"+inject, []byte(text))
		got, _ := readEvents(NewEventReader(bytes.NewReader(b), 1<<20))
		if len(got) != 1 {
			t.Fatalf("%d events: %+v", len(got), got)
		}
		if bytes.ContainsAny(b, "\r\u2028\u2029\u0085") || bytes.Count(b, []byte("\n")) != 4 {
			t.Errorf("a reader could take more out of %q", b)
		}
		want := `{"a":    "x\r\n\r\nevent: message\ndata: {}\u2028data: 1\u2029\u0085"}`
		if string(got[0].Data) != want {
			t.Errorf("got %s, want %s", got[0].Data, want)
		}
	})
	for name, e := range map[string]Event{
		"in data": {Data: []byte("a" + inject)}, "CR in data": {Data: []byte("a\r\rdata: b")},
		"in the id": {ID: inject, Data: []byte("a")}, "in the name": {Name: inject, Data: []byte("a")},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := readEvents(NewEventReader(bytes.NewReader(AppendEvent(nil, e)), 1<<20))
			if len(got) != 1 {
				t.Errorf("%d events: %+v", len(got), got)
			}
		})
	}
}

func FuzzEventReader(f *testing.F) {
	f.Add([]byte("id: 1\r\ndata: a\r\r\n: x\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := readEvents(NewEventReader(bytes.NewReader(b), 1000))
		for _, e := range got {
			if again, _ := readEvents(NewEventReader(bytes.NewReader(AppendEvent(nil, e)), 1<<20)); len(again) != 1 || !bytes.Equal(again[0].Data, e.Data) {
				t.Fatalf("%+v became %+v", e, again)
			}
		}
	})
}
