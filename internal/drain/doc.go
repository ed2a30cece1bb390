// Package drain is the verb of the house: close what is late, claim what is due, put it
// through the gates, dial, record.
//
// What is authoritative: the database. A claim (T1) judges a set of due rows and commits,
// for those that pass, an attempt each; the attempt is the right to ring once. Only the
// process that saw that commit succeed may send, once, before the attempt's send_by, and
// what it learned is recorded by compare-and-set (T2). Whatever is not proven to be "not
// placed" is uncertain and nothing here ever sends it again.
//
// The package owns the two interfaces it needs: Store and Carrier.
package drain
