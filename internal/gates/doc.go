// Package gates decides whether one outbound call may be placed now.
//
// A gate is a name and a pure function from a Case to a Verdict: Pass, Wait, Hold or Refuse. Judge
// asks all of them, records every finding, and rules by the strictest: refuse over hold over wait
// over pass, whatever the order of the gates. Gates do no I/O; everything they judge on is
// loaded into the Case before, at one instant of the database's clock.
//
// Gates fail closed. What could not be loaded makes a call wait with the true cause, and so does
// a gate that panics: neither ever passes, and neither refuses, which would be for good.
//
// A new gate is one file with a constructor, its codes in codes.go with their sentences in
// explain.go, one line in Chain, and one table test.
package gates
