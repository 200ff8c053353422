package redact

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// deepest is how far down items of content are: result/messages/N/content/resource/blob and one more.
// Deeper ones are text like any other, so that what is withheld nests but a few times.
const deepest = 7

// media says whether a scalar is the bytes of an image, of audio or of a resource, in base64, and
// where the item of content begins that they belong to.
func media(s protocol.Scalar, text []byte) (item int, ok bool) {
	path := s.Path
	if len(path) == 0 || len(path) > deepest || s.Name || s.Number {
		return 0, false
	}
	switch name := string(path[len(path)-1].Name); {
	case name == "blob" && len(path) >= 3 && string(path[len(path)-2].Name) == "resource":
		return path[len(path)-2].At, isBase64(text) // content/N/resource/blob: the item has the resource
	case name == "blob" && len(path) >= 2:
		return path[len(path)-1].At, isBase64(text)
	case name == "data" && len(path) >= 2 && contentItem(path[:len(path)-1]):
		return path[len(path)-1].At, isBase64(text)
	}
	return 0, false
}

// contentItem says whether a path leads to an item of content: content/N, or content itself in a
// message of a prompt.
func contentItem(path []protocol.Step) bool {
	last := path[len(path)-1]
	if last.Name == nil && len(path) >= 2 {
		last = path[len(path)-2]
	}
	return string(last.Name) == "content"
}

func isBase64(text []byte) bool {
	for _, c := range text {
		if !coded(c) && c != '\n' && c != '\r' {
			return false
		}
	}
	return true
}

// blob withholds the whole item of an image or another blob that holds a secret: a part of it
// taken out leaves something broken that nobody can tell from a fault. Bytes that are no text have
// the shape of a token by chance, and are searched for granted secrets only.
func (p *pass) blob(v jsontext.Value, code []byte, hits []hit, item int) {
	found := hits != nil
	if found {
		p.countHits(hits, true)
	}
	code = bytes.ReplaceAll(bytes.ReplaceAll(code, []byte("\n"), nil), []byte("\r"), nil)
	if b, ok := decoded(code); ok && !binary(code) {
		s := p.rules().apply(b, &p.budget)
		for id, n := range s.ids {
			p.counts[Finding{What: id, Blocked: true}] += n
		}
		if len(privateKeys(b)) > 0 {
			p.count("private key", true)
			found = true
		}
		found = found || len(s.found) > 0
	}
	if found {
		p.withhold(v, item)
	}
}

const withheldItem = "[Garita withheld this item: it holds a secret]"

// withhold puts words in the place of an item of content.
func (p *pass) withhold(v jsontext.Value, item int) {
	whole := itemAt(v, item)
	members, err := protocol.Members(whole)
	words := jsontext.Value(`{"type":"text","text":` + string(protocol.Quote(withheldItem)) + `}`)
	if uri := members["uri"]; err == nil && uri != nil && members["type"] == nil {
		words = jsontext.Value(`{"uri":` + string(protocol.Quote("garita:withheld")) + `,"mimeType":"text/plain","text":` + string(protocol.Quote(withheldItem)) + `}`)
	}
	p.splices = append(p.splices, protocol.Splice{From: item, To: item + len(whole), New: words})
}

// itemAt is the object that begins at a place.
func itemAt(v jsontext.Value, at int) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewBuffer(v[at:]))
	object, err := d.ReadValue()
	if err != nil {
		return v[at:]
	}
	return object.Clone()
}
