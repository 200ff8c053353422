package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestOurOwnLogIsALineARecord(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	for name, text := range map[string]string{
		"attack_H60 CRLF":          "a\r\nlevel=ERROR msg=forged",
		"attack_H60 ANSI":          "\x1b[2Jx",
		"attack_H60 a megabyte":    strings.Repeat("x", 1<<20),
		"attack_H60 invalid UTF-8": "a\xff\xc3",
		"attack_H60 line ends":     "a\u2028b\u0085c",
		"report_K07 a token":       "use " + secret,
		"report_K07 JSON":          `Error: {"accessToken":"` + secret[4:] + `"}`,
	} {
		for _, terminal := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				var out bytes.Buffer
				NewLog(&out, terminal, slog.LevelInfo).Info("a server said", "server", text, "err", errors.New(text))
				line := out.String()
				if strings.Count(line, "\n") != 1 || len(line) > 20<<10 || strings.ContainsAny(line, "\x1b\r\u2028\u0085") || strings.Contains(line, secret[4:]) {
					t.Errorf("%d bytes: %.300q", len(line), line)
				}
				if len(text) > 1<<19 && !strings.Contains(line, "[cut]") {
					t.Error("it is not marked as cut")
				}
				if !terminal && !jsontext.Value(line).IsValid() {
					t.Errorf("no JSON: %.300s", line)
				}
			})
		}
	}
}

func TestOurOwnLogStaysBounded(t *testing.T) {
	t.Run("report_Y01", func(t *testing.T) {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "daemon.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		log := slog.New(slog.NewJSONHandler(ownLog{f, 10_000}, nil))
		for range 1000 {
			log.Info("again", "err", strings.Repeat("x", 100))
			if info, err := f.Stat(); err != nil || info.Size() > 11_000 {
				t.Fatalf("%d bytes, %v", info.Size(), err)
			}
		}
	})
}

func TestTheSameRefusalAgainAndAgainIsCounted(t *testing.T) {
	t.Run("report_Y03", func(t *testing.T) {
		var r repeated
		recorded := 0
		for range 48_000 {
			if _, worth := r.note("a foreign Host: evil.example", time.Now()); worth {
				recorded++
			}
		}
		if recorded > 6 {
			t.Errorf("recorded %d times", recorded)
		}
		if times, worth := r.note("another Origin", time.Now()); !worth || times != 1 {
			t.Errorf("another refusal: %d, %v", times, worth)
		}
	})
}
