package gates

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// Words is the digest of what would be said: the script, and the URL that speaks where there is
// one. An approval binds it, so that what was approved is what is said, or nothing is.
func Words(script, url string) string {
	h := sha256.New()
	h.Write([]byte("chasephone words v1"))
	for _, part := range []string{script, url} {
		// With its length before it no part can pass for another's beginning.
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// answers reports whether the approval was asked for about a reason. Somebody who called in again
// did so after it was given: that is never what it was about. For the approval that follows it is
// an ordinary contact.
func (a *Approval) answers(code string) bool {
	switch code {
	case CodeCalledInAgain:
		return false
	case CodeCalledIn:
		return slices.Contains(a.Reasons, CodeCalledIn) || slices.Contains(a.Reasons, CodeCalledInAgain)
	default:
		return slices.Contains(a.Reasons, code)
	}
}

// differs names the first thing an approval bound that is no longer so; "" where it stands.
func (a *Approval) differs(c *Case) string {
	switch {
	case a.Number != c.Number.Number:
		return "number"
	case a.Line != c.Line.Name:
		return "line"
	case a.Caller != c.Line.Caller:
		return "caller"
	case a.Words != Words(c.Script, c.Line.URL):
		return "words"
	default:
		return ""
	}
}
