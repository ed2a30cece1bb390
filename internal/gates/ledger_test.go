package gates

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever gates find, the ledger gives it back as it was.
func TestLedgerKeepsFindings(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.StringMatching(`[a-z_]{0,12}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		findings := make([]Finding, rapid.IntRange(0, 13).Draw(t, "findings"))
		for i := range findings {
			g := Grounds{Code: text.Draw(t, "code"), On: rapid.MapOfN(text, text, 0, 3).Draw(t, "on")}
			if len(g.On) == 0 {
				g.On = nil
			}
			findings[i] = Finding{text.Draw(t, "gate"), rapid.SampledFrom([]Verdict{
				Pass{}, Pass{g}, Hold{g}, Refuse{g}, Wait{g, time.UnixMicro(rapid.Int64Range(0, 1e16).Draw(t, "until")).UTC()},
			}).Draw(t, "verdict")}
		}
		kept := AppendLedger(nil, findings)
		var shown []byte
		var back, again []Finding
		shown, err := json.Marshal(findings)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(shown, &again); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(kept, &back); err != nil {
			t.Fatalf("%s: %v", kept, err)
		}
		if len(back)+len(findings) > 0 && !reflect.DeepEqual(back, again) {
			t.Fatalf("%v became %v by %s", again, back, kept)
		}
	})
	if got := string(AppendLedger(nil, []Finding{{"number", Pass{}}, {"line", Wait{Grounds{Code: "x"}, time.Unix(0, 0)}}})); got !=
		`["number",{"gate":"line","finding":"wait","code":"x","until":"1970-01-01T00:00:00Z"}]` {
		t.Error(got)
	}
}
