package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What Unified writes must turn the one text into the other for the program everybody has.
func TestUnifiedIsWhatPatchReads(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("no patch program")
	}
	dir := t.TempDir()
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d d\n", "+x\n", "-y\n"})
	end := rapid.SampledFrom([]string{"", "last", "a"})
	rapid.Check(t, func(t *rapid.T) {
		old := strings.Join(rapid.SliceOfN(line, 1, 40).Draw(t, "old"), "") + end.Draw(t, "old end")
		fresh := strings.Join(rapid.SliceOfN(line, 1, 40).Draw(t, "fresh"), "") + end.Draw(t, "fresh end")
		diff := Unified("a/f", "b/f", old, fresh)
		if (diff == "") != (old == fresh) {
			t.Fatalf("diff %q of %q and %q", diff, old, fresh)
		}
		if diff == "" {
			return
		}
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("patch", "-p1", "--quiet", "--batch", "--fuzz=0", "-d", dir)
		cmd.Stdin = strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("patch: %v: %s\n%s", err, out, diff)
		}
		got, _ := os.ReadFile(file)
		if string(got) != fresh {
			t.Fatalf("patched %q with\n%s\ngot %q, want %q", old, diff, got, fresh)
		}
	})
}

// Texts made to be slow are shown as replaced instead.
func TestUnifiedBoundsItsWork(t *testing.T) {
	a := strings.Repeat("x\ny\n", 1<<14)
	b := strings.Repeat("y\nz\nx\n", 1<<13)
	if _, ok := myers(intern(splitLines(a), splitLines(b))); ok {
		t.Error("no work was spared; make the texts worse")
	}
	want := strings.Count(a, "\n") + strings.Count(b, "\n")
	if got := strings.Count(Unified("a", "b", a, b), "\n") - 3; got < want*9/10 {
		t.Errorf("%d lines are shown, want nearly all %d", got, want)
	}
}
