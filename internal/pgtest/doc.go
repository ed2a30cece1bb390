// Package pgtest gives every test a migrated PostgreSQL database of its own.
//
//	func TestClaim(t *testing.T) {
//		t.Parallel()
//		pool := pgtest.New(t)
//		...
//	}
//
// The database is a copy of a template that is migrated once, and is dropped when the test
// ends, whether it passed or not. The packages that the migration needs (see migration.go)
// test themselves from outside, as package store_test does, or they would import themselves.
//
// # The server
//
// With DATABASE_URL in the environment that server is used, as that role, which must be
// allowed to create databases. Otherwise each test binary starts a PostgreSQL of its own at
// its first database (internal/pgserver, fsync off), and its tests connect as a role that
// owns its databases and is no superuser. Nothing needs to be started, or written into a
// TestMain: the server hangs on the test binary by a pipe, so it ends a moment after the
// binary does, be it by success, panic, timeout, Ctrl-C or kill -9.
//
// One server per binary, and not one for the whole run, because that needs no agreement
// between processes about who stops it. What makes it cheap: the data folders stay, as
// numbered slots in a folder of the system's temporary one, and a binary takes the first slot
// that is free. So initdb runs once for each binary that runs at the same time (go test -p),
// and the template is made once per slot and run of go test. A slot that does not start is
// made anew; deleting the folder while no test runs is safe.
//
// # Why not a library
//
// peterldowns/pgtestdb was measured first. It marks a template by an update of pg_database,
// which needs a superuser; it keeps the database of a failed test; and it leaves PostgreSQL
// to copy a template through the write-ahead log, which takes 67 ms where copying the files
// takes 13 with fsync off, and that is most of what a database costs.
package pgtest
