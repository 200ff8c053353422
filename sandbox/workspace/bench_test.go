package workspace

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// bigDesk is a host folder of 50,000 files in 500 directories.
func bigDesk(b *testing.B) *desk {
	b.Helper()
	d := newDesk(b)
	for i := range 500 {
		dir := fmt.Sprintf("%s/d%03d", d.host, i)
		d.must(os.Mkdir(dir, 0o755))
		for j := range 100 {
			d.must(os.WriteFile(fmt.Sprintf("%s/f%02d", dir, j), []byte("some text\n"), 0o644))
		}
	}
	return d
}

// edit10 changes ten of its files.
func (d *desk) edit10(content string) {
	for i := range 10 {
		d.put(d.merged, fmt.Sprintf("d%03d/f05=%s %d", i*31, content, i))
	}
}

func BenchmarkCreate50k(b *testing.B) {
	d := bigDesk(b)
	for b.Loop() {
		d.mount()
		b.StopTimer()
		d.unmount()
		d.must(d.store.Remove(id))
		b.StartTimer()
	}
}

func BenchmarkDiffAfter10Edits50k(b *testing.B) {
	d := bigDesk(b).mount()
	d.edit10("edited")
	for b.Loop() {
		files, err := d.store.Diff(context.Background(), id)
		d.must(err)
		if len(files) != 10 {
			b.Fatalf("%d changes", len(files))
		}
	}
}

// The first comparison also takes the fingerprints.
func BenchmarkFirstDiffAfter10Edits50k(b *testing.B) {
	d := bigDesk(b)
	for b.Loop() {
		b.StopTimer()
		d.mount()
		d.edit10("edited")
		b.StartTimer()
		_, err := d.store.Diff(context.Background(), id)
		d.must(err)
		b.StopTimer()
		d.unmount()
		d.must(d.store.Remove(id))
		b.StartTimer()
	}
}

func BenchmarkEffectsOfNothing(b *testing.B) {
	d := bigDesk(b).mount()
	d.edit10("edited")
	for b.Loop() {
		if got := d.since(d.mark()); len(got) != 0 {
			b.Fatal(got)
		}
	}
}

func BenchmarkEffectsOf10Files(b *testing.B) {
	d := bigDesk(b).mount()
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		d.must(d.release())
		d.must(d.store.Remove(id))
		d.mount()
		b.StartTimer()
		m := d.mark()
		b.StopTimer()
		d.edit10(fmt.Sprint("edit ", i))
		b.StartTimer()
		if got := d.since(m); len(got) != 10 {
			b.Fatal(got)
		}
	}
}

// The same ten files, known by now: what an agent that goes on editing pays, the write-back that
// Mark starts included.
func BenchmarkEffectsOf10FilesAgain(b *testing.B) {
	d := bigDesk(b).mount()
	for i := 0; b.Loop(); i++ {
		m := d.mark()
		b.StopTimer()
		d.edit10(fmt.Sprint("edit ", i))
		b.StartTimer()
		if got := d.since(m); len(got) != 10 {
			b.Fatal(got)
		}
	}
}
