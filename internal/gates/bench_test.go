package gates

import (
	"testing"
	"time"

	"chasephone/internal/phone"
)

// BenchmarkJudge is what the whole chain costs for one call, with every limit set.
func BenchmarkJudge(b *testing.B) {
	for _, bb := range []struct{ name, number, now string }{
		{"one zone, passes", "+12125550123", "2026-10-06T16:00:00Z"},
		{"one zone, waits", "+12125550123", "2026-10-06T05:00:00Z"},
		{"two zones, passes", "+13085550123", "2026-10-06T16:00:00Z"},
		{"toll-free, waits", "+18005550123", "2026-10-06T16:00:00Z"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			chain := Chain(everyLimit(b))
			c := good()
			c.Now = at(bb.now)
			c.Number = phone.Restore(bb.number, "", "US")
			c.Calls = Known(Calls{At: []time.Time{c.Now.Add(-5 * time.Hour), c.Now.Add(-30 * time.Hour)}})
			for b.Loop() {
				Judge(chain, c)
			}
		})
	}
}

func BenchmarkJudgeApproved(b *testing.B) {
	b.ReportAllocs()
	chain := Chain(everyLimit(b))
	c := good()
	c.NeedsApproval = true
	c.Approval = yes(c, CodeApprovalRequired)
	for b.Loop() {
		Judge(chain, c)
	}
}
