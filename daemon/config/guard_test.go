package config

import "testing"

func TestGuardRefuses(t *testing.T) {
	g := Guard{Home: "/home/ana", Own: []string{"/home/ana/.config/garita", "/run/user/1000/garita"}}
	for _, path := range []string{
		"/", "//", "/usr", "/usr/share/x", "/etc/hosts", "/proc/1", "/dev/null", "/run/user/1000", "/sys", "/boot", "/bin", "/lib64",
		"/home", "/home/ana", "/home/ana/", "/home/ana/.", "/home/ana/x/..", "/tmp", "/var", "/var/run/docker.sock",
		"/home/ana/.config/garita", "/home/ana/.config/garita/servers.yaml", "/home/ana/.config", "x", "", "./x", "/a\x00b",
	} {
		if g.Refuse(path) == "" {
			t.Errorf("%q may enter a sandbox, want a reason against it", path)
		}
	}
	for _, path := range []string{"/home/ana/shop", "/tmp/x", "/srv/data", "/home/anabel", "/usrlocal", "/var/www/site", "/opt/tool"} {
		if why := g.Refuse(path); why != "" {
			t.Errorf("%q is refused: %s; want it allowed", path, why)
		}
	}
}

func TestGuardKnowsCredentials(t *testing.T) {
	g := Guard{Home: "/home/ana"}
	for path, want := range map[string]bool{
		"/home/ana/.ssh": true, "/home/ana/.ssh/id_ed25519": true, "/home/ana/.config": true, "/home/ana/.aws": true,
		"/home/ana/shop": false, "/home/ana/.sshx": false,
	} {
		if got := g.Credential(path); got != want {
			t.Errorf("Credential(%q) = %v, want %v", path, got, want)
		}
	}
}
