package gates

import "time"

// Verdict is what one gate says: Pass, Wait, Hold or Refuse, and nothing else.
type Verdict interface {
	// Grounds is what the verdict rests on.
	grounds() Grounds
	strictness() int
}

// Grounds are why a gate says what it says: a code from a closed set, and the inputs it was
// judged on. They are kept in the ledger, so they hold no telephone number and no sentence.
type Grounds struct {
	Code string            // "" for a plain pass
	On   map[string]string // for instance zone, local time, window
}

// Pass sees no reason against the call.
type Pass struct{ Grounds }

// Wait says not now: not before Until.
type Wait struct {
	Grounds
	Until time.Time
}

// Hold asks for a person's approval. An approval that names Code answers it.
type Hold struct{ Grounds }

// Refuse says never.
type Refuse struct{ Grounds }

func (v Pass) grounds() Grounds   { return v.Grounds }
func (v Wait) grounds() Grounds   { return v.Grounds }
func (v Hold) grounds() Grounds   { return v.Grounds }
func (v Refuse) grounds() Grounds { return v.Grounds }

func (Pass) strictness() int   { return 0 }
func (Wait) strictness() int   { return 1 }
func (Hold) strictness() int   { return 2 }
func (Refuse) strictness() int { return 3 }

// stricter is the stricter of two verdicts of one gate; of waits the longer; else the first.
func stricter(a, b Verdict) Verdict {
	wa, _ := a.(Wait)
	wb, _ := b.(Wait)
	if b.strictness() > a.strictness() || b.strictness() == a.strictness() && wb.Until.After(wa.Until) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
