// Package pgserver runs a PostgreSQL server of the program's own, for those who bring none.
//
//	server, err := pgserver.Start(ctx, pgserver.Options{DataDir: "/var/lib/chasephone/postgres", Log: log})
//	...
//	defer server.Stop()
//	pool, err := pgxpool.New(ctx, server.URL())
//
// # What it promises
//
// The server lives as long as the process that started it and no longer. PostgreSQL is the
// child of a small shell script (leash.sh) that holds the reading end of a pipe; the writing
// end is ours alone, so the kernel closes it when we end, however we end, and the script then
// stops the server. Should the script be killed too, the next Start finds the orphan by
// postmaster.pid, makes sure that it is a PostgreSQL working in our folder, and stops it.
//
// One process at a time has the folder. Two locks say so, both held by the kernel for whoever
// has the file open: owner.lock is ours and is not inherited, so a second Start is refused
// (ErrInUse) exactly as long as the first process lives; helper.lock is inherited by the
// script and by initdb, so a Start that follows a killed process waits (15 s at most) until
// what that one left behind has finished.
//
// Nothing is ever deleted or converted: data of another major version is refused.
//
// # The folder
//
//	owner.lock, helper.lock   see above; owner.lock names the process
//	password                  of the database's one user; random, mode 0600
//	pgdata/                   PostgreSQL's own data folder; settings go into its postgresql.conf
//
// The settings that this package depends on are given on PostgreSQL's command line, which
// wins over postgresql.conf (see settings in launch.go). The server listens on 127.0.0.1
// only, on a port that was free.
//
// # Whom it runs as
//
// PostgreSQL refuses to run as root. A process that is root runs it as the owner of DataDir,
// if that is somebody else; a new folder is given to the user postgres, or nobody where there
// is no postgres. That user must be able to enter every folder on the way to DataDir. A
// process that is not root runs it as itself.
//
// # Under a service manager
//
// The script and PostgreSQL are in a session of their own: Ctrl-C in a terminal does not
// reach them. A service manager that signals every process of a unit does: have it signal
// the main process only (systemd: KillMode=mixed), so that what is in flight can be recorded.
//
// # Why not a library
//
// fergusstrange/embedded-postgres was measured first. It deletes a data folder whose
// PG_VERSION it does not expect, fetches binaries from the network when it finds none where
// it looks, keeps its log in a temporary file, lets pg_ctl detach the server so that nobody
// learns of its end, and cannot run for root, so it would have to run in a copy of our own
// binary that every main and every TestMain makes way for. What remained to be used of it
// was one call of initdb and one of postgres. A POSIX shell as the leash needs none of that.
package pgserver
