package door

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// ended answers what a server leaves unanswered.
func (x *all) ended(r *run) {
	x.mu.Lock()
	var left []*flight
	for number, f := range x.flights {
		if f.run == r {
			left = append(left, f)
			delete(x.flights, number)
		}
	}
	x.mu.Unlock()
	for _, f := range left {
		answer, err := protocol.Parse(protocol.NewError(protocol.ID(f.number), protocol.CodeInternal, f.name+": "+r.why().Error()))
		if err == nil {
			x.answer(f, answer)
		}
	}
}

func (x *all) write(raw []byte) { _ = x.client.Write(raw) } // a client that is gone ends the session by Read

// fromClient takes one message of the client.
func (x *all) fromClient(m protocol.Message) {
	switch m.Kind {
	case protocol.Request:
		x.begin(m.ID)
		x.runs.Go(func() { x.request(withoutTasks(m)) })
	case protocol.Response:
		x.answered(m)
	case protocol.Notification:
		x.notified(m)
	case protocol.Batch:
		x.batch(m)
	}
}

// batch takes a batch apart; each answer comes for itself.
func (x *all) batch(m protocol.Message) {
	messages, errs, _ := m.Batch() // the door has read it
	for i, one := range messages {
		if errs[i] == nil {
			x.fromClient(one)
		}
	}
}

// answered passes the client's answer to the server that asked.
func (x *all) answered(m protocol.Message) {
	x.mu.Lock()
	q, ok := x.asked[string(m.ID)]
	delete(x.asked, string(m.ID))
	x.mu.Unlock()
	if ok {
		_ = q.run.pipe.send(x.ctx, m.WithID(q.id))
	}
}

// notified passes the client's notification to whom it concerns.
func (x *all) notified(m protocol.Message) {
	switch m.Method {
	case protocol.MethodInitialized:
		return // each server was told when it was greeted
	case protocol.MethodCancelled:
		x.cancelled(protocol.Cancelled(m.Params), m.Params)
	case protocol.MethodProgress:
		x.progressed(m)
	default:
		x.each(func(r *run) { _ = r.pipe.send(x.ctx, m) })
	}
}

// each calls f for each server that runs.
func (x *all) each(f func(*run)) {
	for _, m := range x.members {
		m.mu.Lock()
		r := m.run
		m.mu.Unlock()
		if r != nil && !r.pipe.isGone() {
			f(r)
		}
	}
}

// cancelled tells the servers that work for a request of the client.
func (x *all) cancelled(id protocol.ID, params jsontext.Value) {
	x.mu.Lock()
	if _, open := x.open[id]; open {
		x.open[id] = true
	}
	var of []*flight
	for _, f := range x.flights {
		if f.id == id && id != "" {
			of = append(of, f)
		}
	}
	x.mu.Unlock()
	for _, f := range of {
		p, err := protocol.Replace(params, "requestId", jsontext.Value(f.number))
		if err != nil {
			continue
		}
		if m, err := protocol.Parse(protocol.NewNotification(protocol.MethodCancelled, p)); err == nil {
			_ = f.run.pipe.send(x.ctx, m)
		}
		x.forget(f)
	}
}

// progressed passes progress with a server's request on.
func (x *all) progressed(m protocol.Message) {
	members, err := protocol.Members(m.Params, "progressToken")
	if err != nil {
		return
	}
	x.mu.Lock()
	q, ok := x.asked[string(members["progressToken"])]
	x.mu.Unlock()
	if !ok || q.token == nil {
		return
	}
	if params, err := protocol.Replace(m.Params, "progressToken", q.token); err == nil {
		_ = q.run.pipe.send(x.ctx, m.WithBody(params))
	}
}

// fromServer takes one message of a server.
func (x *all) fromServer(r *run, msg protocol.Message) {
	switch msg.Kind {
	case protocol.Response:
		x.mu.Lock()
		f := x.flights[string(msg.ID)]
		if f != nil && f.run == r {
			delete(x.flights, f.number)
		}
		x.mu.Unlock()
		if f != nil && f.run == r {
			x.answer(f, msg)
		}
	case protocol.Request:
		x.question(r, msg)
	case protocol.Notification:
		x.tell(r, msg)
	case protocol.Batch: // the session behind a server takes batches apart
	}
}

// answer gives an answer to whoever asked.
func (x *all) answer(f *flight, m protocol.Message) {
	switch {
	case f.ours != nil:
		f.ours <- m // has room for the one answer
	case f.listen != nil:
		f.listen.over(x, f)
	default:
		x.write(m.WithID(f.id).Raw)
	}
}

// question passes a server's request to the client, under a number of ours.
func (x *all) question(r *run, m protocol.Message) {
	q := question{run: r, id: m.ID, token: progressToken(m.Params)}
	x.mu.Lock()
	number := x.next()
	x.asked[number] = q
	x.mu.Unlock()
	if q.token != nil {
		params, err := protocol.WithMeta(m.Params, "progressToken", jsontext.Value(number))
		if err != nil {
			return
		}
		m = m.WithBody(params)
	}
	x.write(m.WithID(protocol.ID(number)).Raw)
}

// tell passes a server's notification on, if it is the server's to send.
func (x *all) tell(r *run, msg protocol.Message) {
	switch msg.Method {
	case protocol.MethodProgress:
		if !x.progresses(r, msg) {
			return
		}
	case protocol.MethodCancelled:
		x.withdrawn(r, msg)
		return
	}
	if meta, err := protocol.Meta(msg.Params); err == nil && meta[protocol.MetaSubscription] != nil {
		x.subscribed(r, msg, meta[protocol.MetaSubscription])
		return
	}
	x.write(msg.Raw)
}

// progresses tells whether the server works for a request with that progress token.
func (x *all) progresses(r *run, m protocol.Message) bool {
	members, err := protocol.Members(m.Params, "progressToken")
	if err != nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.flights {
		if f.run == r && f.token != "" && f.token == string(members["progressToken"]) {
			return true
		}
	}
	return false
}

// withdrawn tells the client that a server does not wait for an answer any more.
func (x *all) withdrawn(r *run, m protocol.Message) {
	id := protocol.Cancelled(m.Params)
	x.mu.Lock()
	number := ""
	for n, q := range x.asked {
		if q.run == r && q.id == id {
			number = n
			delete(x.asked, n)
		}
	}
	x.mu.Unlock()
	if number == "" {
		return
	}
	if params, err := protocol.Replace(m.Params, "requestId", jsontext.Value(number)); err == nil {
		x.write(m.WithBody(params).Raw)
	}
}
