package daemon

import (
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/garita-dev/garita/daemon/serverlog"
)

// NewLog is the daemon's own log: a line of text a record for a terminal, of JSON for a file. Texts in
// it come from servers and clients: secrets are taken out, control characters escaped and long ones cut
// with a mark.
func NewLog(to io.Writer, terminal bool, level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: cleanAttr}
	if terminal {
		return slog.New(slog.NewTextHandler(to, o))
	}
	if f, ok := to.(*os.File); ok {
		to = ownLog{f, maxLog}
	}
	return slog.New(slog.NewJSONHandler(to, o))
}

// cleanAttr makes what is logged fit to be kept.
func cleanAttr(_ []string, a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	if value.Kind() != slog.KindString && value.Kind() != slog.KindAny {
		return a // numbers and times
	}
	switch v := value.Any().(type) {
	case string:
		return slog.String(a.Key, cleanText(v))
	case error:
		return slog.String(a.Key, cleanText(v.Error()))
	case interface{ String() string }:
		return slog.String(a.Key, cleanText(v.String()))
	}
	return a
}

// cleanText is one text. What ends a line for some reader (U+2028, U+0085) is made visible.
func cleanText(s string) string {
	return lineEnds.Replace(serverlog.Line([]byte(redactLine(s)), false))
}

var lineEnds = strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)

// maxLog is how long our own log may grow while we run, in bytes. The one before it is put aside by
// whoever starts the daemon.
const maxLog = 16 << 20

// ownLog is a log in a file of which only the newest is kept. What is no file (a terminal, the
// journal's socket) looks after itself.
type ownLog struct {
	f   *os.File
	max int64
}

func (b ownLog) Write(p []byte) (int, error) {
	if info, err := b.f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > b.max {
		if err := b.f.Truncate(0); err == nil {
			_, _ = b.f.WriteString(`{"level":"WARN","msg":"the log had grown too long and begins anew"}` + "\n")
		}
	}
	return b.f.Write(p)
}
