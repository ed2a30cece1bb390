// Package sequences is nothing but tests: a state machine that has the real drain and the real
// desk work long, hostile sequences of events over two stores, and asks after every event whether
// what must never happen has happened.
//
// One store is PostgreSQL, the other is in memory: the rules said a second time, plainly and
// without a database. Where the two differ, one of them is wrong. Sequences over memory are cheap, so
// there are many; over both stores at once they are fewer, and after every event both must show the
// same follow-ups, attempts, approvals, evidence, lines and ledger.
//
// Time stands still unless the sequence moves it, in both stores, and the telephone company
// answers when the sequence says so: between a request and its answer anything can happen. It
// keeps a book of its own of what rang.
//
// Not covered: pacing, caps and budgets, calling hours, opt-outs, calls that are looked up in the
// carrier's records, and rows that the database refuses. Other tests are about those.
//
//	go test ./internal/sequences                                                  what CI runs
//	go test ./internal/sequences -run TestSequencesInMemory -rapid.checks=3334    about 100,000
package sequences
