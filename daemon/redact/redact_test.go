package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// Canaries, put together here so that no scanner takes this file for a leak.
var (
	awsKey    = "AKIA" + "IOSFODNN7EXAMPLE"
	githubKey = "ghp_" + "1234567890abcdefghijABCDEFGHIJ123456"
	jwt       = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4ifQ" + ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
)

func TestReports(t *testing.T) {
	t.Run("report_S06", func(t *testing.T) {
		var replay struct {
			Secret   string           `json:"granted_secret"`
			Messages []jsontext.Value `json:"messages"`
		}
		read(t, "S06.json", &replay)
		r := New(Secret{"tracker", []byte(replay.Secret)})
		for i, m := range replay.Messages[:14] {
			out, findings := r.JSON(m)
			if shows(string(out), replay.Secret) || len(findings) == 0 || !findings[0].Granted {
				t.Errorf("message %d: %s, found %v", i+1, out, findings)
			}
			if !out.IsValid() {
				t.Errorf("message %d is no JSON any more: %s", i+1, out)
			}
		}
		for i, m := range replay.Messages[14:] {
			if out, _ := r.JSON(m); &out[0] != &m[0] {
				t.Errorf("message %d, which is documented as not covered, was changed", i+13)
			}
		}
	})
	t.Run("report_S04", func(t *testing.T) {
		var replay struct {
			Result jsontext.Value `json:"result"`
		}
		read(t, "S04.json", &replay)
		png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
		out, findings := New().JSON(replay.Result)
		if strings.Count(string(out), png) != 2 {
			t.Errorf("the image changed: %s", out)
		}
		if !strings.Contains(string(out), "commit 3f786850e387550fdab836ed7e6dc881de23001b sha256:abab") || !strings.Contains(string(out), "uuid 123e4567-e89b-12d3-a456-426614174000") {
			t.Errorf("a digest was taken for a secret: %s", out)
		}
		if len(findings) != 1 || !findings[0].Blocked { // the blob is text that holds a key
			t.Errorf("findings %v", findings)
		}
		granted := New(Secret{"pixel", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")})
		out, findings = granted.JSON(replay.Result)
		if strings.Contains(string(out), png+`","mimeType`) || strings.Contains(string(out), `"image"`) || len(findings) == 0 {
			t.Errorf("an image that holds a granted secret went through: %s", out)
		}
	})
	t.Run("report_K07", func(t *testing.T) {
		r := New(Secret{"tracker", []byte("tracker-live-0001")})
		for _, line := range []string{
			`{"accessToken":"abcdabcdabcd","user":"me"}`, `Error: request failed for tracker-live-0001 (401)`,
			"Authorization: Bearer " + jwt, `password = hunter2hunter2`, `api_key: "x y z secret"`,
		} {
			got := r.Log(line)
			for _, secret := range []string{"abcdabcdabcd", "tracker-live", "eyJ", "hunter2", "x y z"} {
				if strings.Contains(got, secret) {
					t.Errorf("%s became %s", line, got)
				}
			}
			if !strings.Contains(got, Mask) {
				t.Errorf("%s became %s", line, got)
			}
		}
		if got := r.Log(`{"accessToken":"abcdabcdabcd","user":"me"}`); !strings.Contains(got, `"user":"me"`) {
			t.Errorf("too much is gone: %s", got)
		}
	})
}

// shows says whether a secret can be read in text in any of the forms that are covered.
func shows(text, secret string) bool {
	plain := strings.NewReplacer("\\", "", "\n", "").Replace(text)
	return strings.Contains(plain, secret) || strings.Contains(plain, secret[4:]) || strings.Contains(plain, base64.StdEncoding.EncodeToString([]byte("user:" + secret))[6:20])
}

func read(t *testing.T, name string, to any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

func TestAttacks(t *testing.T) {
	t.Run("attack_H34", func(t *testing.T) {
		for _, key := range []string{awsKey, githubKey, jwt} {
			for name, v := range map[string]string{
				"text":              `{"content":[{"type":"text","text":"the key is %s, keep it"}]}`,
				"structuredContent": `{"content":[],"structuredContent":{"a":{"key":"%s"}}}`,
				"resource text":     `{"contents":[{"uri":"x://y","text":"KEY=%s"}]}`,
				"error.message":     `{"code":1,"message":"401 for %s"}`,
				"error.data":        `{"code":1,"message":"no","data":["%s"]}`,
			} {
				out, findings := New().JSON(jsontext.Value(fmt.Sprintf(v, key)))
				if strings.Contains(string(out), key) || len(findings) == 0 || !strings.Contains(string(out), Mask) {
					t.Errorf("%s: %s %v", name, out, findings)
				}
			}
			blob := fmt.Sprintf(`{"contents":[{"uri":"x://y","blob":"%s"}]}`, base64.StdEncoding.EncodeToString([]byte("a "+key+" b")))
			if out, _ := New().JSON(jsontext.Value(blob)); !strings.Contains(string(out), withheldItem) {
				t.Errorf("blob: %s", out)
			}
			if got := (*Redactor)(nil).Log("a log of ours: " + key); strings.Contains(got, key) {
				t.Errorf("log: %s", got)
			}
		}
	})
	t.Run("attack_H36", func(t *testing.T) {
		secret := "tracker-secret/0001"
		r := New(Secret{"tracker", []byte(secret)})
		code := base64.StdEncoding.EncodeToString([]byte(secret))
		for name, v := range map[string]string{
			"escapes":                         `{"content":[{"type":"text","text":"\u0074\u0072acker-secret\/0001"}]}`,
			"escaped twice":                   `{"content":[{"type":"text","text":"{\"a\":\"\\u0074racker-secret\\/0001\"}"}]}`,
			"an AWS key in escapes":           `{"content":[{"type":"text","text":"\u0041KIA` + awsKey[4:] + `"}]}`,
			"an AWS key in escapes in a text": `{"content":[{"type":"text","text":"\\u0041KIA` + awsKey[4:] + `"}]}`,
			"two blocks":                      `{"content":[{"type":"text","text":"so: tracker-sec"},{"type":"text","text":"ret/0001 it was"}]}`,
			"many blocks":                     `{"content":[{"text":"track"},{"text":"er-s"},{"text":"ec"},{"text":""},{"text":"ret/"},{"text":"0001"}]}`,
			"two lines":                       `{"content":[{"type":"text","text":"tracker-sec\nret/0001"}]}`,
			"base64":                          `{"content":[{"type":"text","text":"` + code + `"}]}`,
			"base64, wrapped":                 `{"content":[{"type":"text","text":"` + code[:9] + `\n` + code[9:] + `"}]}`,
			"base64, behind one byte":         `{"a":"` + base64.URLEncoding.EncodeToString([]byte("x"+secret+"y")) + `"}`,
			"hex":                             `{"a":"` + strings.ToUpper(hex.EncodeToString([]byte(secret))) + `"}`,
			"a URL":                           `{"a":"https://e.example/?t=` + url.QueryEscape(secret) + `&x=1"}`,
			"percent twice":                   `{"a":"tracker-secret%252F0001"}`,
			"HTML":                            `{"a":"tracker-secret&#x2f;0001"}`,
			"a key":                           `{"structuredContent":{"tracker-secret/0001":1,"` + githubKey + `":2}}`,
			"a number":                        `{"a":[123456789]}`,
		} {
			r := r
			if name == "a number" {
				r = New(Secret{"pin", []byte("123456789")})
			}
			out, findings := r.JSON(jsontext.Value(v))
			left := canonical(nil, out)
			for _, gone := range []string{"tracker+secret", "cret/0001", "AKIA", "ghp/", code[4:16], "7365637265742f", "123456789"} {
				if strings.Contains(string(left), gone) {
					t.Errorf("%s: %s still shows %s", name, out, gone)
				}
			}
			if len(findings) == 0 || !out.IsValid() {
				t.Errorf("%s: %s, findings %v", name, out, findings)
			}
		}
	})
}

func TestOrdinaryResultsKeepTheirBytes(t *testing.T) {
	for name, v := range map[string]string{
		"code":           `{"content":[{"type":"text","text":"const token = await getAccessToken(user);\nfunc s.getElementsByClassName_abcdefgh;\nexport npm_package_dependencies_of_everything_and_more=1"}]}`,
		"a lock file":    `{"content":[{"type":"text","text":"\"integrity\": \"sha512-m7LbUxsq3WpVKvX3bXrlyMwL7LwSyN+dG0dE8VlNGVEOYpUsm8QDdXqoXqHZrfrUFwE0zIGFkW7f1DqLPVfxzw==\",\n\"resolved\": \"https://registry.npmjs.org/a/-/a-1.0.0.tgz\""}]}`,
		"hashes":         `{"a":["3f786850e387550fdab836ed7e6dc881de23001b","d41d8cd98f00b204e9800998ecf8427e"],"b":"123e4567-e89b-12d3-a456-426614174000"}`,
		"escapes":        `{"text":"C:\\new\\table \u00e4 \/ 100%25 %41"}`,
		"a certificate":  `{"text":"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"}`,
		"an empty value": `{}`,
	} {
		in := jsontext.Value(v)
		out, findings := New(Secret{"tracker", []byte("tracker-secret-0001")}).JSON(in)
		if &out[0] != &in[0] || findings != nil {
			t.Errorf("%s: %s %v", name, out, findings)
		}
	}
}

func TestSecretNames(t *testing.T) {
	in := `{"user":"me","password":"hunter2","pin":{"token":12345},"auth":{"secret":["a","b"]},"note":"password: swordfish, then"}`
	want := `{"user":"me","password":"[redacted]","pin":{"token":"[redacted]"},"auth":{"secret":["[redacted]","[redacted]"]},"note":"password: [redacted], then"}`
	if got := string(New().Record([]byte(in))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(New().Record([]byte("no JSON, password=swordfish"))); got != `"no JSON, password=[redacted]"` {
		t.Errorf("got %s", got)
	}
}

func TestMediaKeepTheirBytes(t *testing.T) {
	raw := make([]byte, 1<<20)
	for i := range raw {
		raw[i] = byte(i*i>>3) ^ byte(i>>8)
	}
	code := base64.StdEncoding.EncodeToString(raw)
	for _, v := range []string{
		`{"content":[{"type":"image","data":"%s","mimeType":"image/png"}]}`, `{"content":[{"data":"%s","type":"audio"}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"x://y","blob":"%s"}}]}`, `{"contents":[{"uri":"x://y","blob":"%s"}]}`,
		`{"messages":[{"role":"user","content":{"type":"image","data":"%s"}}]}`, `{"content":[{"type":"text","text":"![a](data:image/png;base64,%s)"}]}`,
	} {
		in := jsontext.Value(fmt.Sprintf(v, code))
		out, findings := New(Secret{"tracker", []byte("tracker-secret-0001")}).JSON(in)
		if string(out) != string(in) || findings != nil {
			t.Errorf("%.60s: changed, findings %v", v, findings)
		}
	}
}

func TestEveryRuleCompiles(t *testing.T) {
	for _, r := range everyRule() {
		if r.compiled() == nil || r.run < anyRun || r.after < r.run/2 || len(r.Keywords) == 0 {
			t.Errorf("%s: run %d, after %d", r.ID, r.run, r.after)
		}
	}
	if n := len(precise().all); n < 200 {
		t.Errorf("%d rules", n)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"tracker\u002dsecret%2F0001 ghp_"}]}`))
	f.Add([]byte(`["-----BEGIN PRIVATE KEY-----",{"blob":"QUtJQQ==","data":"x"}]`))
	r := New(Secret{"tracker", []byte("tracker-secret/0001")})
	f.Fuzz(func(t *testing.T, b []byte) {
		r.Log(string(b))
		r.Text(string(b))
		if out := jsontext.Value(r.Record(b)); !out.IsValid(jsontext.AllowDuplicateNames(true)) {
			t.Fatalf("%q became %q", b, out)
		}
		v := jsontext.Value(b)
		if !v.IsValid() {
			return
		}
		out, findings := r.JSON(v)
		if !out.IsValid() || (len(findings) == 0) != (string(out) == string(v)) {
			t.Fatalf("%q became %q, found %v", v, out, findings)
		}
	})
}

// TestSecretsOfSeveralLinesInALog: it is read line by line.
func TestSecretsOfSeveralLinesInALog(t *testing.T) {
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\r\nAAAA-line-one-secret\r\n  BBBB-line-two-secret\r\nshort\r\nCCCC-line-three\r\n-----END OPENSSH PRIVATE KEY-----\r\n"
	r := New(Secret{Name: "key", Value: []byte(key)}, Secret{Name: "plain", Value: []byte("one-line-of-text")})
	for name, tt := range map[string]struct{ line, want string }{
		"the first":            {"AAAA-line-one-secret", Mask},
		"within a line":        {"read: BBBB-line-two-secret!", "read: " + Mask + "!"},
		"escaped":              {`{"msg":"AAAA-line\u002done-secret"}`, `{"msg":"` + Mask + `"}`},
		"too short":            {"short", "short"},
		"of every PEM file":    {"-----END OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"},
		"a secret of one line": {"one-line-of-text", Mask},
		"part of a line":       {"AAAA-line-one", "AAAA-line-one"},
		"all of it on one line": {
			strings.ReplaceAll(key, "\r\n", `\n`), Mask,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.Log(tt.line); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got, found := r.Text("BBBB-line-two-secret"); len(found) > 0 { // what is no log is read whole
		t.Errorf("%q, %v", got, found)
	}
	var none *Redactor
	if got := none.LogCut("nothing"); got != "nothing" {
		t.Error(got)
	}
}

// TestALineThatIsCutWithinASecret: what is left of it is a part of a secret.
func TestALineThatIsCutWithinASecret(t *testing.T) {
	value := "0123-abcdefghijklmnopqrstuvwxyz\nsecond-line-of-it-all"
	r := New(Secret{Name: "n", Value: []byte(value)})
	for name, tt := range map[string]struct{ line, want string }{
		"its beginning":             {"saw 0123-abcdefg", "saw " + Mask},
		"escaped":                   {`saw 0123\u002dabcdefg`, "saw " + Mask},
		"the beginning of a line":   {"saw second-li", "saw " + Mask},
		"nothing but a piece":       {"0123-abcdefghijklmnop", Mask},
		"after one that is whole":   {"second-line-of-it-all 0123-abc", Mask + " " + Mask},
		"its beginning, in hex":     {"saw 303132332d6162", "saw " + Mask},
		"less than the least":       {"saw 012", "saw 012"},
		"not at the end":            {"saw 0123-abc, and", "saw 0123-abc, and"},
		"what is part of no secret": {"saw 1123", "saw 1123"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.LogCut(tt.line); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := r.Log("saw 0123-abcdefg"); got != "saw 0123-abcdefg" {
		t.Errorf("a line that was not cut: %q", got)
	}
}
