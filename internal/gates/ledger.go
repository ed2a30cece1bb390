package gates

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// AppendLedger appends findings as the ledger keeps them: a JSON array of them in which a pass
// that rests on nothing, as most do, is only its gate's name. Finding reads both forms.
func AppendLedger(to []byte, findings []Finding) []byte {
	to = append(to, '[')
	for i, f := range findings {
		if i > 0 {
			to = append(to, ',')
		}
		to = f.appendLedger(to)
	}
	return append(to, ']')
}

func (f Finding) appendLedger(to []byte) []byte {
	g := f.Verdict.grounds()
	if _, passes := f.Verdict.(Pass); passes && g.Code == "" && len(g.On) == 0 {
		return appendQuoted(to, f.Gate)
	}
	to = appendQuoted(append(to, `{"gate":`...), f.Gate)
	to = appendQuoted(append(to, `,"finding":`...), f.Kind())
	if g.Code != "" {
		to = appendQuoted(append(to, `,"code":`...), g.Code)
	}
	if until := f.Until(); !until.IsZero() {
		to = append(to, `,"until":"`...)
		to = append(until.UTC().AppendFormat(to, time.RFC3339Nano), '"')
	}
	if len(g.On) == 0 {
		return append(to, '}')
	}
	to = append(to, `,"on":`...)
	opening := byte('{')
	for _, key := range slices.Sorted(maps.Keys(g.On)) {
		to = appendQuoted(append(to, opening), key)
		to = appendQuoted(append(to, ':'), g.On[key])
		opening = ','
	}
	return append(to, "}}"...)
}

// appendQuoted appends s as a JSON string.
func appendQuoted(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // no string fails
			return append(to, quoted...)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}
