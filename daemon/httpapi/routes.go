package httpapi

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// door is a set of ways in.
type door uint8

const (
	bySocket  door = 1 << iota // a program of this user, on the unix socket
	byPage                     // a browser with a session
	byClaim                    // a browser that has none yet; the handler checks the link's token itself
	anyone    = bySocket | byPage
	nobodyYet = byClaim
)

// route is one line of the permission table.
type route struct {
	method, path string
	doors        door
	name         string // the operation's id, and in words its summary
	endpoint     endpoint
}

// routes is everything that can be asked. What is not here does not exist; what a door is not
// named for is refused there.
func (s *Server) routes() []route {
	return []route{
		{"GET", "/api/v1/status", anyone, "get-status", answer(s.status)},
		{"GET", "/api/v1/doctor", anyone, "get-doctor", answer(s.doctor)},
		{"GET", "/api/v1/events", anyone, "follow-events", raw(s.events)},

		{"GET", "/api/v1/calls", anyone, "list-calls", answer(s.calls)},
		{"GET", "/api/v1/calls/{id}", anyone, "get-call", answer(s.call)},

		{"GET", "/api/v1/approvals", anyone, "list-approvals", answer(s.approvals)},
		{"GET", "/api/v1/approvals/{id}", anyone, "get-approval", answer(s.approval)},
		{"POST", "/api/v1/approvals/{id}", anyone, "answer-approval", answer(s.answer)},
		{"POST", "/api/v1/approvals/{id}/preview", anyone, "preview-permit", answer(s.preview)},
		{"GET", "/api/v1/approval-groups", anyone, "list-approval-groups", answer(s.approvalGroups)},
		{"POST", "/api/v1/approval-answers", anyone, "answer-approvals", answer(s.answerGroup)},
		{"GET", "/api/v1/expired-approvals", anyone, "list-expired-approvals", answer(s.expired)},
		{"POST", "/api/v1/expired-approvals", anyone, "see-expired-approvals", act(s.seeExpired)},
		{"GET", "/api/v1/grants", anyone, "list-grants", answer(s.grants)},
		{"DELETE", "/api/v1/grants/{id}", anyone, "revoke-grant", act(s.revokeGrant)},

		{"GET", "/api/v1/servers", anyone, "list-servers", answer(s.servers)},
		{"GET", "/api/v1/servers/{name}", anyone, "get-server", answer(s.server)},
		{"GET", "/api/v1/servers/{name}/log", anyone, "get-server-log", answer(s.serverLog)},
		{"GET", "/api/v1/servers/{name}/pins", anyone, "get-pins", answer(s.pins)},
		{"POST", "/api/v1/servers/{name}/pins", anyone, "answer-pins", answer(s.answerPins)},
		{"GET", "/api/v1/servers/{name}/network", anyone, "get-network", answer(s.network)},
		{"POST", "/api/v1/servers/{name}/network", anyone, "change-network", answer(s.changeNetwork)},
		{"GET", "/api/v1/observations", anyone, "list-observations", answer(s.observations)},
		{"GET", "/api/v1/servers/{name}/observation", anyone, "get-observation", answer(s.observation)},
		{"POST", "/api/v1/servers/{name}/observation", anyone, "observe-server", answer(s.observe)},
		{"POST", "/api/v1/servers/{name}/observation/end", anyone, "end-observation", answer(s.endObservation)},
		{"POST", "/api/v1/servers/{name}/observation/mounts", anyone, "choose-mounts", answer(s.chooseMounts)},
		{"POST", "/api/v1/servers/{name}/observation/accept", anyone, "accept-observation", answer(s.acceptObservation)},
		{"DELETE", "/api/v1/servers/{name}/observation", anyone, "forget-observation", act(s.forgetObservation)},
		{"POST", "/api/v1/servers/{name}/update", anyone, "update-server", answer(s.update)},
		{"POST", "/api/v1/servers/{name}/update/accept", anyone, "accept-update", answer(s.acceptUpdate)},
		{"POST", "/api/v1/servers/{name}/start", anyone, "start-server", act(s.startServer)},
		{"POST", "/api/v1/servers/{name}/restart", anyone, "restart-server", act(s.restartServer)},
		{"POST", "/api/v1/servers/{name}/freeze", anyone, "freeze-server", act(s.freezeServer)},
		{"POST", "/api/v1/servers/{name}/thaw", anyone, "thaw-server", act(s.thawServer)},
		{"DELETE", "/api/v1/servers/{name}", anyone, "remove-server", act(s.removeServer)},
		{"POST", "/api/v1/servers/{name}/stop", anyone, "stop-server", act(s.stopServer)},

		{"GET", "/api/v1/workspaces", anyone, "list-workspaces", answer(s.workspaces)},
		{"GET", "/api/v1/workspaces/{name}/diff", anyone, "diff-workspace", answer(s.workspaceDiff)},
		{"POST", "/api/v1/workspaces/{name}/apply", anyone, "apply-workspace", answer(s.applyWorkspace)},
		{"POST", "/api/v1/workspaces/{name}/discard", anyone, "discard-workspace", answer(s.discardWorkspace)},

		{"GET", "/api/v1/sessions", anyone, "list-sessions", answer(s.clientSessions)},
		{"GET", "/api/v1/sessions/{id}/trace", anyone, "get-trace", answer(s.trace)},
		{"GET", "/api/v1/tracing", anyone, "get-tracing", answer(s.tracing)},
		{"POST", "/api/v1/tracing", bySocket, "set-tracing", answer(s.setTracing)},

		{"GET", "/api/v1/tokens", anyone, "list-tokens", answer(s.tokens)},
		{"POST", "/api/v1/tokens", bySocket, "create-token", answer(s.createToken)},
		{"DELETE", "/api/v1/tokens/{id}", anyone, "revoke-token", act(s.revokeToken)},

		{"GET", "/api/v1/secrets", anyone, "list-secrets", answer(s.secrets)},
		{"POST", "/api/v1/secrets", anyone, "set-secret", answer(s.setSecret)},
		{"POST", "/api/v1/secrets/keeper", anyone, "open-keeper", answer(s.openKeeper)},
		{"DELETE", "/api/v1/secrets/{name}", anyone, "remove-secret", act(s.removeSecret)},
		{"POST", "/api/v1/secrets/{name}/grants", anyone, "grant-secret", answer(s.grantSecret)},
		{"POST", "/api/v1/secrets/{name}/grants/proposal", anyone, "propose-grant", answer(s.proposeGrant)},
		{"DELETE", "/api/v1/secrets/{name}/grants/{server}", anyone, "revoke-secret", answer(s.revokeSecret)},
		{"GET", "/api/v1/secrets/{name}/uses", anyone, "list-secret-uses", answer(s.secretUses)},
		{"POST", "/api/v1/secrets/{name}/rotate", anyone, "rotate-secret", answer(s.rotateSecret)},

		{"GET", "/api/v1/policy", anyone, "get-policy", answer(s.policy)},
		{"POST", "/api/v1/policy/explain", anyone, "explain-policy", answer(s.explainPolicy)},
		{"POST", "/api/v1/policy/replay", anyone, "replay-policy", answer(s.replayPolicy)},
		{"GET", "/api/v1/policy/project", anyone, "get-project-policy", answer(s.projectPolicy)},
		{"POST", "/api/v1/policy/project", anyone, "accept-project-policy", answer(s.acceptPolicy)},

		{"GET", "/api/v1/audit", anyone, "list-audit", answer(s.audit)},
		{"POST", "/api/v1/audit/verify", anyone, "verify-audit", answer(s.verifyAudit)},

		// These change settings files, name programs to run, or speak for a client.
		{"POST", "/api/v1/imports", bySocket, "import", answer(s.importServers)},
		{"POST", "/api/v1/restores", bySocket, "restore", answer(s.restore)},
		{"POST", "/api/v1/tool-calls", bySocket, "call-tool", answer(s.callTool)},
		{"GET", "/api/v1/attach", bySocket, "attach", raw(s.attach)},
		{"POST", "/api/v1/hooks", bySocket, "set-hooks", answer(s.setHooks)},
		{"POST", "/api/v1/hooks/before", bySocket, "before-tool", answer(s.beforeTool)},
		{"POST", "/api/v1/hooks/after", bySocket, "after-tool", act(s.afterTool)},
		{"POST", "/api/v1/shutdown", bySocket, "shut-down", act(s.shutdown)},

		{"POST", "/api/v1/browser-sessions", bySocket, "make-link", answer(s.makeLink)},
		{"POST", "/api/v1/browser-sessions/claim", nobodyYet, "claim-link", raw(s.claim)},
		{"DELETE", "/api/v1/browser-sessions", byPage, "sign-out", raw(s.signOut)}, // the last: tests try them in turn
	}
}

// endpoint puts one route's handler into a mux, by way of h, which also describes it.
type endpoint func(mux *http.ServeMux, h huma.API, op huma.Operation)

// operation describes r.
func (r route) operation() huma.Operation {
	return huma.Operation{
		Method:          r.method,
		Path:            r.path,
		OperationID:     r.name,
		Summary:         strings.ToUpper(r.name[:1]) + strings.ReplaceAll(r.name[1:], "-", " "),
		Description:     "May be called by: " + r.doors.String() + ".",
		MaxBodyBytes:    maxBody,
		BodyReadTimeout: -1, // bodies are read whole before: see readWhole
	}
}

// String names the ways in, for a person.
func (d door) String() string {
	switch d {
	case anyone:
		return "programs of this user, the page"
	case bySocket:
		return "programs of this user"
	case byPage:
		return "the page"
	case nobodyYet:
		return "a browser with a one-time link"
	default:
		return "nobody"
	}
}
