package engine

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
)

// maxWords bounds what is told of an image.
const maxWords = 1000

// aboutImage says what an image that is there says of itself. NotFound.
func (e *Engine) aboutImage(r *http.Request) (any, error) {
	req, err := decode[wire.Imported](r)
	if err != nil {
		return nil, err
	}
	words, err := e.imageWords(r, req.Digest)
	if err != nil {
		return nil, fmt.Errorf("look at image %s: %w", req.Digest, err)
	}
	return wire.ImageAbout{Words: words}, nil
}

func (e *Engine) imageWords(r *http.Request, d sandbox.Digest) (map[string]string, error) {
	ctx := inNamespace(r.Context())
	record, err := e.ct.client.GetImage(ctx, imageName(d))
	if err != nil {
		return nil, err
	}
	layers, err := record.RootFS(ctx)
	if err != nil {
		return nil, err
	}
	spec, err := record.Spec(ctx)
	if err != nil {
		return nil, err
	}
	c := spec.Config
	words := map[string]string{
		"entrypoint": fmt.Sprintf("%q", c.Entrypoint), "command": fmt.Sprintf("%q", c.Cmd), "directory": c.WorkingDir, "user": c.User,
	}
	for i, layer := range layers {
		words[fmt.Sprintf("layer %02d", i+1)] = layer.String()
	}
	for _, v := range c.Env[:min(len(c.Env), maxWords)] {
		name, value, _ := strings.Cut(v, "=")
		words["env "+name] = value
	}
	return words, nil
}
