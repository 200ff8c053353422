package egress_test

import (
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/client"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) string { return now.Add(-d).Format(time.RFC3339) }

const day = 24 * time.Hour

// shortDoc and longDoc are one package's descriptions: 1.1.0 and 2.0.0 are of yesterday.
var (
	versions = `"dist-tags":{"latest":"2.0.0","old":"1.0.0","beta":"3.0.0-beta.1"},"versions":{"1.0.0":{"dist":{"tarball":"T"}},"1.1.0":{"dist":{"tarball":"T"}},"1.0.5":{"dist":{"tarball":"T"}},"2.0.0":{"dist":{"tarball":"T"}},"3.0.0-beta.1":{"dist":{"tarball":"T"}}}`
	shortDoc = fmt.Sprintf(`{"name":"aging",%s,"modified":%q}`, versions, ago(day))
	longDoc  = fmt.Sprintf(`{"name":"aging",%s,"time":{"created":%q,"1.0.0":%q,"1.0.5":%q,"1.1.0":%q,"2.0.0":%q,"3.0.0-beta.1":%q}}`,
		versions, ago(90*day), ago(90*day), ago(30*day), ago(day), ago(day), ago(day))
)

func twoForms(long *atomic.Int64) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/aging": func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.Header.Get("Accept"), "install-v1") {
				w.Header().Set("Content-Type", "application/vnd.npm.install-v1+json")
				fmt.Fprint(w, shortDoc)
				return
			}
			long.Add(1)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, longDoc)
		},
		"/aging/-/aging-2.0.0.tgz": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "two") },
		"/aging/-/aging-1.0.5.tgz": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "one") },
	}
}

func (in *inside) short(path string) string {
	in.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+wire.RegistryAddress+path, http.NoBody)
	if err != nil {
		in.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*")
	resp, err := in.client.Do(req)
	if err != nil {
		in.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		in.t.Fatal(err)
	}
	return string(body)
}

func TestVersionsThatAreTooNewDoNotExist(t *testing.T) {
	for name, tt := range map[string]struct {
		before    time.Time
		young     []string
		want, not []string
		longAsked int64
	}{
		"any age": {time.Time{}, nil, []string{`"latest":"2.0.0"`, `"2.0.0":`, `"beta":"3.0.0-beta.1"`}, nil, 0},
		"three days": {
			now.Add(-3 * day), nil,
			[]string{`"latest":"1.0.5"`, `"old":"1.0.0"`, `"1.0.5":{`},
			[]string{`"2.0.0":{`, `"1.1.0":{`, `"3.0.0-beta.1":{`},
			1,
		},
		"an exception": {
			now.Add(-3 * day),
			[]string{"aging@2.0.0"},
			[]string{`"latest":"2.0.0"`, `"2.0.0":{`},
			[]string{`"1.1.0":{`},
			1,
		},
		"nothing has changed since": {now, nil, []string{`"latest":"2.0.0"`}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := startWall(t)
			var long atomic.Int64
			fake := newFakeRegistry(t, twoForms(&long))
			in := serve(t, w, client.RegistryConfig{Default: fake.URL, Before: tt.before, Young: tt.young})
			got := in.short("/aging")
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %s in %s", want, got)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(got, not) {
					t.Errorf("%s in %s", not, got)
				}
			}
			if long.Load() != tt.longAsked {
				t.Errorf("the long description was asked for %d times", long.Load())
			}
		})
	}
}

func TestATarballThatIsTooNewIsRefused(t *testing.T) {
	w, _ := startWall(t)
	var long atomic.Int64
	fake := newFakeRegistry(t, twoForms(&long))
	in := serve(t, w, client.RegistryConfig{Default: fake.URL, Before: now.Add(-3 * day)})
	if status, body := in.get("/aging/-/aging-2.0.0.tgz"); status != 403 || !strings.Contains(body, "too lately") {
		t.Errorf("asked for by a shrinkwrap: %d %s", status, body)
	}
	if status, body := in.get("/aging/-/aging-1.0.5.tgz"); status != 200 || body != "one" {
		t.Errorf("an old one: %d %s", status, body)
	}
}

func TestWhatWasFetchedIsThereWithoutTheRegistry(t *testing.T) {
	w, _ := startWall(t)
	tarball := "the bytes"
	digest := sha512.Sum512([]byte(tarball))
	sum := "sha512-" + base64.StdEncoding.EncodeToString(digest[:])
	fake := newFakeRegistry(t, map[string]http.HandlerFunc{
		"/kept": func(w http.ResponseWriter, r *http.Request) {
			at := "http://" + r.Host + "/kept/-/kept-"
			fmt.Fprintf(w, `{"name":"kept","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"dist":{"tarball":"%s1.0.0.tgz","integrity":%q}},"2.0.0":{"dist":{"tarball":"%s2.0.0.tgz","integrity":"sha512-%s"}}}}`,
				at, sum, at, strings.Repeat("A", 86)+"==")
		},
		"/kept/-/kept-1.0.0.tgz": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tarball) },
		"/kept/-/kept-2.0.0.tgz": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "something else") },
	})
	c := client.RegistryConfig{Default: fake.URL, Cache: t.TempDir()}
	in := serve(t, w, c)
	for _, path := range []string{"/kept", "/kept/-/kept-1.0.0.tgz"} {
		if status, body := in.get(path); status != 200 {
			t.Fatalf("%s: %d %s", path, status, body)
		}
	}
	in.next()
	if f := in.next(); f.Cached || f.Integrity != sum {
		t.Errorf("reported %+v", f)
	}
	in.get("/kept/-/kept-2.0.0.tgz")
	if f := in.next(); f.Why == "" {
		t.Error("bytes that are not the registry's own were not reported")
	}
	fake.Close()
	in = serve(t, w, c)
	if status, body := in.get("/kept"); status != 200 || !strings.Contains(body, `"latest":"1.0.0"`) {
		t.Errorf("description: %d %s", status, body)
	}
	if status, body := in.get("/kept/-/kept-1.0.0.tgz"); status != 200 || body != tarball {
		t.Errorf("tarball: %d %s", status, body)
	}
	in.next()
	if f := in.next(); !f.Cached || f.Integrity != sum || f.Bytes != int64(len(tarball)) {
		t.Errorf("reported %+v", f)
	}
	if status, _ := in.get("/kept/-/kept-2.0.0.tgz"); status != 502 {
		t.Errorf("what was not what it should be has been kept: %d", status)
	}
}
