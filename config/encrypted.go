package config

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net/netip"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// judgeDatabase finds a database that would be reached over a network in the clear: its
// password, every number and every script could be read, and answers could be forged.
//
// pgx itself resolves the address, because it is pgx that connects: it also goes by PGHOST,
// PGSSLMODE and the like of this process, and by service files.
func (l *loader) judgeDatabase(d Database) {
	const url, allow = "DATABASE_URL", "DATABASE_ALLOW_PLAIN"
	if d.URL.IsZero() {
		return
	}
	resolved, err := pgconn.ParseConfig(d.URL.Reveal())
	if err != nil { // of the rest, whoever connects says what pgx makes of it
		file, unreadable := errors.AsType[*fs.PathError](err)
		if unreadable {
			l.judge(between{[]string{url}, true, "accepts files that can be read, and one that it names (sslrootcert, sslcert, sslkey) cannot: " + file.Err.Error()})
		}
		return
	}
	l.judge(between{
		[]string{url, allow},
		inTheClear(resolved) && !d.AllowPlain,
		"accepts a host that is not this machine with TLS only, on every host it names: add sslmode=verify-full, or at least sslmode=require " +
			"(PGSSLMODE, PGHOST and service files count too); with " + allow + "=on it accepts a network that nobody else is on",
	})
}

// inTheClear reports whether any of the connections that would be tried, one after the other,
// leaves this machine without TLS.
func inTheClear(c *pgconn.Config) bool {
	plain := func(host string, t *tls.Config) bool { return t == nil && !isHere(host) }
	if plain(c.Host, c.TLSConfig) {
		return true
	}
	for _, f := range c.Fallbacks {
		if plain(f.Host, f.TLSConfig) {
			return true
		}
	}
	return false
}

// isHere reports whether a database's host is this machine: a socket's folder, or a loopback
// address. Of names only localhost is certain; what is below it some resolvers ask others for.
func isHere(host string) bool {
	if network, _ := pgconn.NetworkAddress(host, 1); network == "unix" || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
