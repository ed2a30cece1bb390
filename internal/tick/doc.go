// Package tick is the alarm clock. River carries one job per slot; every daemon offers that
// job at the slot's boundary by the database's clock, so no slot hangs on River's leader,
// and one row in the database (the fence) lets a slot be worked once.
//
// A job carries a slot and no follow-up. It may be lost, doubled, late or rescued, and
// nothing follows from that: how many follow-ups a slot may drain is the database's to hold.
package tick
