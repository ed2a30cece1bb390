// Package proof holds no code, only tests: that a phone rings once whatever fails, and when.
//
// The walk (TestCrashPoints) runs the real drain, store, carrier, webhooks and desk against a
// real PostgreSQL and a simulated telephone company, and lets something go wrong at every point
// between two effects: before and after every statement, at the connection to the carrier, at
// the request and at the reply. What can go wrong is a fault; what the company answers, and when
// its webhooks come, is a variant. After each a person and a daemon that nothing happened to put
// things right as they would in production, and the tables and the company's ring book are
// compared with the invariants of ARCHITECTURE.md.
//
// The points are not listed by hand: a story is lived once without a fault and says by which it
// came, so a statement that is added to the product is walked from then on.
//
//	go test ./internal/proof                           every point, fault and answer at least once
//	go test ./internal/proof -run CrashPoints -full    all of them with each other
//	go test -tags mutants -run Mutants ./internal/proof
//
// The last one takes guards out of the product, one at a time (internal/mutants), and wants the
// walk to find a violation each time.
//
// TestEveryWriteFails makes each write of the product fail, and each connection drop at it.
//
// # How a process is made to die
//
// A machine is one process: its connections to the database are seen statement by statement
// (wire), those to the company request by request (exchange). Killed, nothing of it reaches
// anybody from that point on. Paused, nothing of it goes on while others sweep, settle and ring;
// then it does, not knowing. Time is passed by making everything of a tenant older in the
// database, and only while no machine can have anything to send by an instant of before.
package proof
