package assets

import _ "embed"

// Secrets is what we know of variables in which servers are given secrets: to which hosts, and in which
// headers, parameters or members of a body those are sent. A JSON list; headers is ["Authorization"]
// where it is missing, and one of the variables of unless says that the server talks to another host. The
// servers of profile read the first of the variables, and prefixes are how such secrets begin. It is knowledge, never a grant.
//
//go:embed secrets.json
var Secrets []byte
