package query

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
)

// stages of a MongoDB aggregation that only read.
var stages = set(`$addFields $bucket $bucketAuto $count $densify $documents $facet $fill $geoNear $graphLookup $group
	$lookup $match $project $redact $replaceRoot $replaceWith $sample $search $searchMeta $set $setWindowFields $skip
	$limit $sort $sortByCount $unionWith $unset $unwind $vectorSearch $rankFusion $scoreFusion $collStats $indexStats
	$planCacheStats $listSearchIndexes`)

// Pipeline says what a MongoDB aggregation pipeline does: JSON, a list of stages or one stage, or a
// string that holds such JSON.
func Pipeline(raw []byte) Verdict {
	v := Verdict{Class: approvals.Read, Why: "Its pipeline only reads."}
	d := decoder(raw)
	if d == nil {
		return unreadable("Its pipeline cannot be read.")
	}
	outer, err := d.ReadToken()
	if err != nil || outer.Kind() != '[' && outer.Kind() != '{' {
		return unreadable("Its pipeline is no list of stages.")
	}
	stageDepth := 1
	if outer.Kind() == '[' {
		stageDepth = 2
	}
	for {
		t, err := d.ReadToken()
		switch {
		case err != nil && d.StackDepth() > 0:
			return unreadable("Its pipeline cannot be read.")
		case err != nil:
			return v
		case t.Kind() != '"' || !isName(d):
			continue
		}
		name := t.String()
		v = worse(v, operator(name))
		if d.StackDepth() == stageDepth && !stages[name] {
			v = worse(v, Verdict{Class: approvals.Write, Why: "Its pipeline has a stage that is not known to only read (" + clip(name) + ")."})
		}
	}
}

// Filter says what there is in a MongoDB filter, or anything that may hold one, that does more than
// filter: Read for nothing.
func Filter(raw []byte) Verdict {
	v := Verdict{Class: approvals.Read, Why: "Its filter only reads."}
	if !bytes.ContainsAny(raw, `$\`) {
		return v
	}
	d := decoder(raw)
	if d == nil {
		return v
	}
	for {
		t, err := d.ReadToken()
		if err != nil {
			return v
		}
		if t.Kind() == '"' && isName(d) {
			v = worse(v, operator(t.String()))
		}
	}
}

// operator says what an operator or stage does wherever it stands.
func operator(name string) Verdict {
	switch name {
	case "$out", "$merge":
		return Verdict{Class: approvals.Destroy, Why: "Its pipeline replaces documents of a collection (" + name + ")."}
	case "$function", "$accumulator", "$where":
		return Verdict{Class: approvals.Execute, Why: "It runs JavaScript in the database (" + name + ")."}
	}
	return Verdict{Class: approvals.Read, Why: "Its pipeline only reads."}
}

// isName says whether the token just read was the name of a member.
func isName(d *jsontext.Decoder) bool {
	kind, length := d.StackIndex(d.StackDepth())
	return kind == '{' && length%2 == 1
}

// decoder reads raw, or the JSON in it where it is a string; nil for a string that cannot be JSON.
func decoder(raw []byte) *jsontext.Decoder {
	if jsontext.Value(raw).Kind() != '"' {
		return jsontext.NewDecoder(bytes.NewReader(raw))
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return nil
	}
	return jsontext.NewDecoder(strings.NewReader(string(text)))
}
