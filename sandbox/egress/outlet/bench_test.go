package outlet

import (
	"io"
	"net/http"
	"strconv"
	"testing"
)

// BenchmarkConnections compares connections that are opened, because a secret may be sent there, with
// those whose bytes pass as they are.
func BenchmarkConnections(b *testing.B) {
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = "The quick brown fox jumps over the lazy dog. "[i%45]
	}
	w := newWorld(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("mb"))
		for range n {
			_, _ = w.Write(text)
		}
	}))
	s := newSecretly(b, w, grant())
	for _, kind := range []struct{ name, host string }{{"opened", granted}, {"spliced", other}} {
		for _, h2 := range []bool{false, true} {
			version := map[bool]string{false: "HTTP1", true: "HTTP2"}[h2]
			b.Run(kind.name+"/"+version+"/request", func(b *testing.B) {
				c := s.client(h2)
				for b.Loop() {
					get(b, c, "https://"+kind.host+"/")
				}
			})
			b.Run(kind.name+"/"+version+"/64MB", func(b *testing.B) {
				c := s.client(h2)
				b.SetBytes(64 << 20)
				for b.Loop() {
					get(b, c, "https://"+kind.host+"/?mb=64")
				}
			})
		}
		b.Run(kind.name+"/connect", func(b *testing.B) {
			for b.Loop() {
				c := s.client(false)
				get(b, c, "https://"+kind.host+"/")
				c.CloseIdleConnections()
			}
		})
	}
}

func get(b *testing.B, c *http.Client, address string) {
	r, _ := http.NewRequest("GET", address, nil)
	r.Header.Set("Authorization", "Bearer "+sentinel)
	resp, err := c.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}
