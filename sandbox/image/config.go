package image

import (
	"fmt"
	"runtime"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
)

// Config is what the image says about running it: data from outside, to be checked where used.
type Config struct {
	Entrypoint []string
	Cmd        []string
	Env        []string
	WorkingDir string
	User       string
}

// parseConfig refuses images for other machines; one that does not say is taken for ours.
func parseConfig(raw []byte) (Config, error) {
	var file struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
		Config       Config `json:"config"`
	}
	if len(raw) > maxJSON {
		return Config{}, fmt.Errorf("the image's configuration is too large: %w", errdefs.ErrInvalidArgument)
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return Config{}, fmt.Errorf("read the image's configuration: %v: %w", err, errdefs.ErrInvalidArgument)
	}
	if file.OS != "" && file.OS != "linux" || file.Architecture != "" && file.Architecture != runtime.GOARCH {
		return Config{}, fmt.Errorf("the image is for %s/%s, this machine is linux/%s: %w", file.OS, file.Architecture, runtime.GOARCH, errdefs.ErrFailedPrecondition)
	}
	return file.Config, nil
}
