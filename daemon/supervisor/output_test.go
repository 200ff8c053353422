package supervisor

import (
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox"
)

func TestStderrIsDrained(t *testing.T) {
	t.Run("report_M03", func(t *testing.T) {
		s, _, _, ended := newTest(t)
		const script = `n=0; line=$(printf '%01000d' 0)
while read request; do echo $line >&2; echo done; n=$((n+1)); [ $n = 100 ] && break; done
head -c 10485760 /dev/zero | tr '\0' x >&2; echo end >&2; read rest`
		i, err := s.Start(t.Context(), shell(script), NewInstanceID(), Owner{})
		if err != nil {
			t.Fatal(err)
		}
		i.Ready()
		answer := make([]byte, 5)
		for n := range 100 {
			if _, err := i.Write([]byte("request\n")); err != nil {
				t.Fatal(err)
			}
			if _, err := readFull(i, answer); err != nil || string(answer) != "done\n" {
				t.Fatalf("request %d: %q, %v", n, answer, err)
			}
		}
		for seq, last := int64(0), ""; last != "end" && !strings.HasSuffix(last, "end"); {
			lines := s.LogAfter(t.Context(), "srv", seq)
			for _, l := range lines {
				if l.First != (l.Seq == 1) {
					t.Errorf("line %d is its instance's first: %t", l.Seq, l.First)
				}
			}
			if lines == nil {
				t.Fatal("no line came")
			}
			seq, last = lines[len(lines)-1].Seq, lines[len(lines)-1].Text
			if strings.HasSuffix(lines[len(lines)-1].Text, "[cut]") { // the burst is one line with what follows
				break
			}
		}
		if _, err := i.Write([]byte("rest\n")); err != nil {
			t.Fatal(err)
		}
		<-ended
		if n := len(s.Log("srv")); n > serverLines {
			t.Errorf("%d lines kept", n)
		}
	})
}

func readFull(i *Instance, p []byte) (int, error) {
	n := 0
	for n < len(p) {
		m, err := i.Read(p[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func TestAServerThatClosesItsOutputHasFailed(t *testing.T) {
	s, _, _, _ := newTest(t)
	i, err := s.Start(t.Context(), shell("exec >&-; read rest"), NewInstanceID(), Owner{})
	if err != nil {
		t.Fatal(err)
	}
	i.Ready()
	if _, err := i.Read(make([]byte, 1)); err == nil {
		t.Fatal("read something")
	}
	if now := i.Now(); now.State != sandbox.Failed || now.Reason != "closed its output" {
		t.Errorf("%+v", now)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
