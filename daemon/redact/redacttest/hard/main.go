// Hard measures what it takes to clean results: 10 MB of each kind of text that is made to be hard to
// redact, half as much, which shows that it is linear, and a text of ordinary size. ./task bench runs it.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/redact"
	"github.com/garita-dev/garita/daemon/redact/redacttest"
	"github.com/garita-dev/garita/daemon/sanitize"
)

// hardBytes is how much adversarial text is redacted at once, of each kind.
const hardBytes = 10 << 20

func main() {
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "hard:", err)
		os.Exit(1)
	}
}

// measure prints a table. It fails when a secret comes through.
func measure() error {
	const planted = "ghp_" + "1234567890abcdefghijABCDEFGHIJ123456"
	r := redact.New(redact.Secret{Name: "planted", Value: []byte("planted-secret/0001")})
	r.Text("token: the rules are read at their first use")
	fmt.Printf("\n**redaction** (one pass over %d MiB of text made to be hard, one granted secret and one token in it)\n\n", hardBytes>>20)
	fmt.Println("| text | 10 MiB, seconds | of a processor | 5 MiB, of a processor |\n| --- | ---: | ---: | ---: |")
	texts, halves := redacttest.Hard(hardBytes), redacttest.Hard(hardBytes/2)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		whole, worked, out := redacted(r, string(texts[name])+" "+planted+" planted-secret/0001")
		if strings.Contains(out, planted) || strings.Contains(out, "planted-secret") {
			return errors.New("a secret came through behind " + name)
		}
		_, half, _ := redacted(r, string(halves[name]))
		fmt.Printf("| %s | %.2f | %.2f | %.2f |\n", name, whole.Seconds(), worked.Seconds(), half.Seconds())
	}
	fmt.Printf("\nAn ordinary result of 1 kB, redacted and sanitized: %s\n", ordinary(r))
	return nil
}

// redacted tells how long it took, and how long a processor worked for it: others may want it too.
func redacted(r *redact.Redactor, text string) (took, worked time.Duration, out string) {
	v := protocol.Quote(text)
	began, before := time.Now(), processor()
	clean, _ := r.JSON(v)
	return time.Since(began), processor() - before, string(clean)
}

// processor is how long processors have worked for this program.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ordinary(r *redact.Redactor) time.Duration {
	v := protocol.Quote(strings.Repeat("an ordinary line of a file\n", 40))
	var took []time.Duration
	for range 2000 {
		began := time.Now()
		out, _ := r.JSON(v)
		sanitize.Value(out, sanitize.Options{})
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
