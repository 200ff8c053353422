package config

import (
	"slices"
	"strings"
)

// steering are variables that change what is executed, whom it trusts or where it sends things.
// They are the host's business; a sandbox has its own. Names are compared without regard to case.
var steering = []string{
	"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SHELL", "USER", "LOGNAME", "PWD", "OLDPWD", "IFS", "ENV", "BASH_ENV", "ZDOTDIR", "PROMPT_COMMAND",
	"NODE_OPTIONS", "NODE_PATH", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "NODE_REPL_EXTERNAL_MODULE",
	"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONUSERBASE", "PYTHONEXECUTABLE", "PYTHONBREAKPOINT", "VIRTUAL_ENV",
	"PERL5LIB", "PERL5OPT", "PERLLIB", "RUBYLIB", "RUBYOPT", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH",
	"DOTNET_STARTUP_HOOKS", "GOFLAGS", "LUA_PATH", "LUA_CPATH", "GCONV_PATH", "LOCPATH", "NLSPATH",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"SSLKEYLOGFILE", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "SSH_AUTH_SOCK", "GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_NO_VERIFY", "GIT_PROXY_COMMAND", "DENO_TLS_CA_STORE", "DENO_CERT", "EDITOR", "VISUAL", "PAGER", "BROWSER",
	"DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DOCKER_HOST", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
}

// steeringPrefixes are families of such variables.
var steeringPrefixes = []string{"LD_", "DYLD_", "NPM_CONFIG_", "XDG_", "GARITA_", "BASH_FUNC_", "UV_", "PIP_", "GIT_CONFIG_"}

// Steers says whether a variable changes what is executed, whom it trusts or where it sends things.
func Steers(name string) bool {
	upper := strings.ToUpper(name)
	return slices.Contains(steering, upper) ||
		slices.ContainsFunc(steeringPrefixes, func(p string) bool { return strings.HasPrefix(upper, p) })
}
