package fakedns

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/garita-dev/garita/sandbox"
)

// Answerer answers questions. Its methods may be called at the same time.
type Answerer struct {
	Names *Names
	// Resolves says whether name may have an address, and why not: it is allowed at some port, or a
	// person may be asked about it.
	Resolves func(name string) bool
	// Refused is told of a name that got no address.
	Refused func(name string)
}

// ttl of an address in seconds. It never changes.
const ttl = 60

// Answer is the answer to one message; nil for what is no question.
func (a *Answerer) Answer(message []byte) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(message)
	if err != nil || h.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil || h.OpCode != 0 {
		return a.build(h, nil, dnsmessage.RCodeFormatError, netip.Addr{}, false)
	}
	edns := hasOPT(&p)
	code, ip := a.resolve(q)
	return a.build(h, &q, code, ip, edns)
}

// hasOPT says whether the other side speaks EDNS: then it may be told why.
func hasOPT(p *dnsmessage.Parser) bool {
	if p.SkipAllQuestions() != nil || p.SkipAllAnswers() != nil || p.SkipAllAuthorities() != nil {
		return false
	}
	for {
		h, err := p.AdditionalHeader()
		if err != nil {
			return false
		}
		if h.Type == dnsmessage.TypeOPT {
			return true
		}
		if p.SkipAdditional() != nil {
			return false
		}
	}
}

// resolve gives a name its address. A name that has none does not exist: programs that are told so
// do not try again, as they would after a refusal.
func (a *Answerer) resolve(q dnsmessage.Question) (dnsmessage.RCode, netip.Addr) {
	name, err := sandbox.Name(q.Name.String())
	if err != nil || q.Class != dnsmessage.ClassINET {
		a.Refused(printable(q.Name.String()))
		return dnsmessage.RCodeRefused, netip.Addr{}
	}
	if name == "localhost" {
		return localhost(q.Type)
	}
	if !a.Resolves(name) {
		a.Refused(name)
		return dnsmessage.RCodeNameError, netip.Addr{}
	}
	if q.Type != dnsmessage.TypeA {
		return dnsmessage.RCodeSuccess, netip.Addr{} // it is there, and has nothing of that kind
	}
	ip, ok := a.Names.Address(name)
	if !ok {
		a.Refused(name)
		return dnsmessage.RCodeRefused, netip.Addr{}
	}
	return dnsmessage.RCodeSuccess, ip
}

func localhost(t dnsmessage.Type) (dnsmessage.RCode, netip.Addr) {
	switch t { //nolint:exhaustive // it has nothing else
	case dnsmessage.TypeA:
		return dnsmessage.RCodeSuccess, netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case dnsmessage.TypeAAAA:
		return dnsmessage.RCodeSuccess, netip.IPv6Loopback()
	}
	return dnsmessage.RCodeSuccess, netip.Addr{}
}

// printable is a name that is none, in the alphabet of names.
func printable(name string) string {
	const limit = 100
	out := []byte(name[:min(len(name), limit)])
	for i, c := range out {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			out[i] = '?'
		}
	}
	return string(out)
}

// blocked is the code of RFC 8914 for a name that a policy on the way has refused.
const blocked = 15

func (a *Answerer) build(h dnsmessage.Header, q *dnsmessage.Question, code dnsmessage.RCode, ip netip.Addr, edns bool) []byte {
	b := dnsmessage.NewBuilder(make([]byte, 0, 512), dnsmessage.Header{
		ID: h.ID, Response: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true, RCode: code,
	})
	b.EnableCompression()
	err := b.StartQuestions()
	if err == nil && q != nil {
		err = b.Question(*q)
	}
	if err == nil && ip.IsValid() {
		err = answer(&b, q.Name, ip)
	}
	if err == nil && edns {
		err = option(&b, code)
	}
	if err != nil {
		return nil
	}
	out, err := b.Finish()
	if err != nil {
		return nil
	}
	return out
}

func answer(b *dnsmessage.Builder, name dnsmessage.Name, ip netip.Addr) error {
	if err := b.StartAnswers(); err != nil {
		return err
	}
	h := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: ttl}
	if ip.Is4() {
		return b.AResource(h, dnsmessage.AResource{A: ip.As4()})
	}
	return b.AAAAResource(h, dnsmessage.AAAAResource{AAAA: ip.As16()})
}

// option says, to who asked for such, that a name is blocked and by whom.
func option(b *dnsmessage.Builder, code dnsmessage.RCode) error {
	if err := b.StartAdditionals(); err != nil {
		return err
	}
	var h dnsmessage.ResourceHeader
	if err := h.SetEDNS0(1232, dnsmessage.RCodeSuccess, false); err != nil {
		return err
	}
	var r dnsmessage.OPTResource
	if code == dnsmessage.RCodeNameError || code == dnsmessage.RCodeRefused {
		r.Options = []dnsmessage.Option{{Code: 15, Data: append([]byte{0, blocked}, "not allowed by Garita"...)}}
	}
	return b.OPTResource(h, r)
}

// ServeTCP answers the questions on one connection, and closes it.
func (a *Answerer) ServeTCP(c net.Conn) {
	defer c.Close()
	for {
		if err := a.one(c); err != nil {
			return
		}
	}
}

// patience is how long a connection may be silent.
const patience = 10 * time.Second

func (a *Answerer) one(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	message := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, message); err != nil {
		return err
	}
	out := a.Answer(message)
	if out == nil {
		return fmt.Errorf("no question")
	}
	_, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)) //nolint:gosec // of ours, and short
	return err
}
