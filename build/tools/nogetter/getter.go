// Package getter stands in for hashicorp/go-getter in the build of the task tool.
//
// Task needs it for Taskfiles fetched from git, which we never use; the real one brings the AWS
// and Google Cloud clients along, three minutes of compiling on a fresh machine. This one has the
// few names task mentions and refuses to fetch anything.
package getter

import (
	"context"
	"errors"
)

// ClientMode says what is to be fetched.
type ClientMode uint

// ClientModeDir asks for a directory.
const ClientModeDir ClientMode = 1

// Client is one fetch that will be refused.
type Client struct {
	Ctx      context.Context
	Src, Dst string
	Mode     ClientMode
}

// Get refuses: this build of task has no remote Taskfiles.
func (*Client) Get() error {
	return errors.New("remote Taskfiles are not built into this task tool")
}
