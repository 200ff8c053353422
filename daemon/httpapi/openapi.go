package httpapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/garita-dev/garita/daemon/api"
)

// OpenAPI describes every route of both doors, as YAML. The frontend's types are made of it.
func OpenAPI() ([]byte, error) {
	mux := http.NewServeMux()
	h := newAPI(mux, "1")
	s := New(nil, Options{})
	for _, r := range s.routes() {
		r.endpoint(mux, h, r.operation())
	}
	for _, schema := range h.OpenAPI().Components.Schemas.Map() {
		listsAreLists(schema)
	}
	for _, item := range h.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Delete} {
			listsInAnswers(op)
		}
	}
	return h.OpenAPI().YAML()
}

// listsAreLists says that lists are never null: strictJSON writes [] instead.
func listsAreLists(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	listsAreLists(s.Items)
	for _, p := range s.Properties {
		listsAreLists(p)
	}
}

func listsInAnswers(op *huma.Operation) {
	if op == nil {
		return
	}
	for _, resp := range op.Responses {
		for _, media := range resp.Content {
			listsAreLists(media.Schema)
		}
	}
}

// describeRaw adds a route that speaks HTTP itself to the description.
func describeRaw(h huma.API, op *huma.Operation) {
	reg := h.OpenAPI().Components.Schemas
	body := func(t reflect.Type) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{"application/json": {Schema: reg.Schema(t, true, "")}}
	}
	op.Responses = map[string]*huma.Response{}
	switch op.OperationID {
	case "follow-events":
		op.Parameters = []*huma.Param{{Name: "since", In: "query", Schema: &huma.Schema{Type: huma.TypeInteger, Format: "int64"}}}
		op.Responses["101"] = &huma.Response{Description: "A WebSocket; each message is one Event"}
		op.Responses["200"] = &huma.Response{Description: "Never; each message of the WebSocket looks like this", Content: body(reflect.TypeFor[api.Event]())}
	case "claim-link":
		op.RequestBody = &huma.RequestBody{Required: true, Content: body(reflect.TypeFor[api.Claim]())}
		op.Responses["200"] = &huma.Response{Description: "OK, and a cookie", Content: body(reflect.TypeFor[api.Claimed]())}
	case "sign-out":
		op.Responses["204"] = &huma.Response{Description: "The session is over"}
	default:
		op.Responses["101"] = &huma.Response{Description: "The connection is the client's stdio from here on"}
	}
	h.OpenAPI().AddOperation(op)
}
