// Package pgtest gives every test a migrated PostgreSQL database of its own.
//
//	func TestClaim(t *testing.T) {
//		t.Parallel()
//		pool := pgtest.New(t)
//		...
//	}
//
// The database is a copy of a template that is migrated once, and is dropped when the test
// ends, whether it passed or not; the role that a test connects with owns its database and
// is no superuser.
//
// # The server
//
// With DATABASE_URL in the environment that server is used; its role must be a superuser.
// Otherwise each test binary starts a PostgreSQL of its own at its first database
// (internal/pgserver, fsync off), and nothing needs to be installed, started or written into
// a TestMain: the server hangs on the test binary by a pipe, so it ends a moment after the
// binary does, be it by success, panic, timeout, Ctrl-C or kill -9.
//
// One server per binary, and not one for the whole run, because that needs no agreement
// between processes about who stops it. What makes it cheap: the data folders stay, as
// numbered slots in a folder of the system's temporary one, and a binary takes the first slot
// that is free. So initdb runs once for each binary that runs at the same time (go test -p),
// and the template is made once per slot and run of go test. A slot that does not start is
// made anew; deleting the folder while no test runs is safe.
package pgtest
