package engine

import "github.com/containerd/errdefs"

func isNotFound(err error) bool { return errdefs.IsNotFound(err) }
