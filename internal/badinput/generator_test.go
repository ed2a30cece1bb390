package badinput_test

import (
	"math/rand/v2"
	"strings"
)

// generator makes the same bad input in every run.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 5000))} }

func (g generator) bytes(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(g.Uint32())
	}
	return string(out)
}

// of is one of several.
func of[T any](g generator, all []T) T { return all[g.IntN(len(all))] }

// text is one that PostgreSQL takes and nobody expects.
func (g generator) text() string {
	return of(g, []string{
		"", " ", "\t\n\r", "\x01\x02\x1b[2J\x7f", "\u202e\u2066\u2028\ufeff", "\u200b", `\u0000`, `\000`, `\x00`, "%00", "NULL", "null", "'; drop table attempts; --", `{"a":[`,
		"${jndi:x}", "../../etc/passwd", "<script>alert(1)</script>", strings.Repeat("a", 300), strings.Repeat("\U0001f600", 120), strings.Repeat("e\u0301", 400),
		"-1", "NaN", "1e999", "99999999999999999999999", "\ufffd\uffff", "infinity", strings.Repeat("(", 3000), g.letters(40),
	})
}

// letters are letters of many scripts.
func (g generator) letters(most int) string {
	var b strings.Builder
	for range 1 + g.IntN(most) {
		b.WriteRune(of(g, []rune("aZ09 -+.,;:/\\'\"()[]{}<>#*%&=?!@~\u00e9\u0431\u05d0\u0660\uff11\u4e00\U0001f4de\u200d\u00ad")))
	}
	return b.String()
}
