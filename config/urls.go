package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"chasephone/internal/carrier"
)

// isURL reports whether a text is an http or https URL that paths can be appended to.
func isURL(raw string) bool {
	if !printable.MatchString(raw) || strings.ContainsAny(raw, `?#\`) {
		return false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return u.Opaque == "" && u.User == nil && isHost(u.Hostname()) && (u.Port() == "" || isPort(u.Port()))
}

// trunkHost is the host of a trunk's address: after sip or sips a host and perhaps a port. Users
// and parameters are no part of it.
func trunkHost(raw string) (host string, ok bool) {
	scheme, rest, _ := strings.Cut(raw, ":")
	if scheme = strings.ToLower(scheme); scheme != "sip" && scheme != "sips" {
		return "", false
	}
	if !printable.MatchString(rest) || strings.ContainsAny(rest, `@/?#%;\`) || strings.HasSuffix(rest, ":") {
		return "", false
	}
	u, err := url.Parse("//" + rest)
	if err != nil {
		return "", false
	}
	host = u.Hostname()
	if strings.Contains(host, ":") != strings.HasPrefix(rest, "[") { // an IPv6 address has brackets, and nothing else
		return "", false
	}
	return host, (isDomain(host) || isIP(host)) && (u.Port() == "" || isPort(u.Port()) && strings.Trim(u.Port(), "0") != "")
}

// isDatabase checks the outside of a database's URL, hosts separated by commas included. It
// leaves the parameters to pgx: see judgeDatabase.
func isDatabase(raw string) bool {
	if !isText(raw) {
		return false
	}
	if !strings.Contains(raw, "://") {
		key, _, isPair := strings.Cut(raw, "=")
		return isPair && wordOnly(strings.TrimSpace(key))
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return false
	}
	if strings.Contains(u.EscapedPath(), "@") {
		return false // a password with a bare / in it: what follows would be taken for the database
	}
	for host := range strings.SplitSeq(u.Host, ",") {
		if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") && !isPort(host[i+1:]) {
			return false
		}
	}
	return true
}

func wordOnly(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// isPublic reports whether a host may be on the internet, by its looks alone: no name is
// resolved here, so the transport must look again at the address it connects to.
func isPublic(host string) bool {
	if isIP(host) {
		return carrier.CheckHost(host, false) == nil
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	last := labels[len(labels)-1]
	// A last label that begins with a digit is an address in an old spelling: 127.1, 0x7f.1.
	if len(labels) < 2 || last[0] >= '0' && last[0] <= '9' {
		return false
	}
	return !slices.Contains([]string{"localhost", "local", "internal", "localdomain"}, last)
}

func isLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}
