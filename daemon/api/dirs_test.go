package api

import "testing"

func TestFindDirs(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	got, err := findDirs(env(map[string]string{"HOME": "/home/ana", "XDG_STATE_HOME": "/s", "XDG_DATA_HOME": "relative"}))
	want := Dirs{Config: "/home/ana/.config/garita", State: "/s/garita", Data: "/home/ana/.local/share/garita"}
	if err != nil || got != want {
		t.Errorf("got %+v %v, want %+v", got, err, want)
	}
	got, err = findDirs(env(map[string]string{"GARITA_HOME": "/g", "HOME": "/home/ana"}))
	if want := (Dirs{Config: "/g/config", State: "/g/state", Data: "/g/data", Isolated: true}); err != nil || got != want {
		t.Errorf("under GARITA_HOME: %+v %v, want %+v", got, err, want)
	}
	if got, err := findDirs(env(nil)); err == nil {
		t.Errorf("without HOME: %+v, want an error", got)
	}
}
