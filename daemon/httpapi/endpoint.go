package httpapi

import (
	"context"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/api"
)

// reply is an answer with a body.
type reply[T any] struct {
	Body T
}

// nothing is the input of a route that takes none.
type nothing struct{}

// answer makes an endpoint of a handler whose result is the answer's body.
func answer[I, T any](handle func(context.Context, *I) (T, error)) endpoint {
	return func(_ *http.ServeMux, h huma.API, op huma.Operation) {
		huma.Register(h, op, func(ctx context.Context, in *I) (*reply[T], error) {
			out, err := handle(ctx, in)
			if err != nil {
				return nil, problemOf(err)
			}
			return &reply[T]{Body: out}, nil
		})
	}
}

// act makes an endpoint of a handler that has nothing to tell but its success.
func act[I any](handle func(context.Context, *I) error) endpoint {
	return func(_ *http.ServeMux, h huma.API, op huma.Operation) {
		op.DefaultStatus = http.StatusNoContent
		huma.Register(h, op, func(ctx context.Context, in *I) (*struct{}, error) {
			if err := handle(ctx, in); err != nil {
				return nil, problemOf(err)
			}
			return nil, nil
		})
	}
}

// raw makes an endpoint of a handler that speaks HTTP itself.
func raw(handle http.HandlerFunc) endpoint {
	return func(mux *http.ServeMux, h huma.API, op huma.Operation) {
		mux.HandleFunc(op.Method+" "+op.Path, handle)
		describeRaw(h, &op)
	}
}

// newAPI returns a huma API that registers routes in mux, speaks JSON only and says Problem.
func newAPI(mux *http.ServeMux, version string) huma.API {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[api.Problem]())
	return humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{Title: "Garita", Version: version, Description: "The daemon's API."},
			Components: &huma.Components{Schemas: registry},
		},
		Formats:                      map[string]huma.Format{"application/json": strictJSON(), "json": strictJSON()},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{sayProblem},
	})
}

// strictJSON reads JSON that every reader understands alike: no repeated names, no other case. It
// writes lists that are empty as [], never null, and raw parts as they are.
func strictJSON() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			return json.MarshalWrite(w, v, jsontext.PreserveRawStrings(true))
		},
		Unmarshal: func(data []byte, v any) error {
			return withoutQuote(json.Unmarshal(data, v, json.RejectUnknownMembers(true)))
		},
	}
}
