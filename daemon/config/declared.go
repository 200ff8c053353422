package config

// version is the only version of the settings files there is.
const version = 1

// serversFile is servers.yaml as written.
type serversFile struct {
	Version *int                 `yaml:"version"`
	Servers map[string]*declared `yaml:"servers"`
}

// declared is one server as written. Fields of walls that do not exist yet are known here, so
// that writing one is refused with a reason instead of being taken for a grant.
type declared struct {
	Run       string            `yaml:"run,omitempty"`
	Command   []string          `yaml:"command,omitempty"`
	Image     string            `yaml:"image,omitempty"`
	Args      []string          `yaml:"args,omitempty"`
	URL       string            `yaml:"url,omitempty"`
	Headers   map[string]string `yaml:"headers,omitempty"`
	Listen    string            `yaml:"listen,omitempty"`
	Protocol  string            `yaml:"protocol,omitempty"`
	Placement string            `yaml:"placement,omitempty"`
	Runtime   string            `yaml:"runtime,omitempty"`
	Workspace string            `yaml:"workspace,omitempty"`
	Folders   []string          `yaml:"folders,omitempty"`
	Mounts    []declaredMount   `yaml:"mounts,omitempty"`
	Env       map[string]string `yaml:"env,omitempty"`
	Network   *declaredNetwork  `yaml:"network,omitempty"`
	Secrets   []declaredSecret  `yaml:"secrets,omitempty"`
	Limits    declaredLimits    `yaml:"limits,omitempty"`
	Lifecycle declaredLifecycle `yaml:"lifecycle,omitempty"`
	Tools     declaredTools     `yaml:"tools,omitempty"`
	Requests  declaredRequests  `yaml:"requests,omitempty"`
	Install   declaredInstall   `yaml:"install,omitempty"`
	Exec      *declaredExec     `yaml:"exec,omitempty"`
}

type declaredMount struct {
	Host string `yaml:"host"`
	At   string `yaml:"at,omitempty"` // "" means the same path as on the host
	Mode string `yaml:"mode,omitempty"`
}

type declaredLimits struct {
	Memory    string  `yaml:"memory,omitempty"`
	PIDs      int64   `yaml:"pids,omitempty"`
	CPUs      float64 `yaml:"cpus,omitempty"`
	Disk      string  `yaml:"disk,omitempty"`
	Calls     string  `yaml:"calls,omitempty"`
	Instances int     `yaml:"instances,omitempty"`
}

type declaredLifecycle struct {
	Idle   string `yaml:"idle,omitempty"`
	Freeze string `yaml:"freeze,omitempty"`
	Hard   string `yaml:"hard,omitempty"`
	Call   string `yaml:"call,omitempty"`
	Start  string `yaml:"start,omitempty"`
}

type declaredTools struct {
	Allow []string `yaml:"allow,omitempty"`
}

type declaredRequests struct {
	Deny  []string `yaml:"deny,omitempty"`
	Allow []string `yaml:"allow,omitempty"` // sampling, which is denied otherwise
}

type declaredInstall struct {
	Scripts []string `yaml:"scripts,omitempty"` // packages whose install scripts may run, by name
}
