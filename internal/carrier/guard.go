package carrier

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// guard decides which addresses a request may go to. A base URL is checked twice: as
// text when it is configured, and as an address when it is dialed, because a public name
// may point anywhere by then.
type guard struct {
	loopback bool // CARRIER_ALLOW_LOOPBACK: the simulator on this machine, an exchange of one's own
}

var errThisMachine = errors.New("is on this machine, which CARRIER_ALLOW_LOOPBACK does not allow")

// CheckURL says why requests of a carrier may not go to a base URL, as far as its text shows: what
// Transport.CheckURL says of the same setting, for those who read the configuration.
func CheckURL(raw string, allowLoopback bool) error {
	_, err := guard{loopback: allowLoopback}.url(raw)
	return err
}

// CheckHost says so of the host of a trunk.
func CheckHost(host string, allowLoopback bool) error {
	_, err := guard{loopback: allowLoopback}.host(host)
	return err
}

// url parses a carrier's URL and refuses any that is not https and public. With loopback
// allowed, http is too, but only to this machine: credentials never cross a wire in the clear.
func (g guard) url(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("not a URL") // url.Error repeats the text, and with it any password
	}
	local, err := g.host(u.Hostname())
	switch {
	case err != nil:
		return nil, err
	case u.User != nil:
		return nil, errors.New("carries a user or a password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("carries a query or a fragment")
	case u.Scheme == "http" && local, u.Scheme == "https":
		return u, nil
	}
	return nil, fmt.Errorf("is %q, not https", u.Scheme)
}

// host refuses the name or address of a host that is not public, as far as the text shows,
// and says whether it is this machine.
func (g guard) host(name string) (local bool, err error) {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == "" {
		return false, errors.New("has no host")
	}
	local = name == "localhost" || strings.HasSuffix(name, ".localhost")
	if ip, err := netip.ParseAddr(name); err == nil {
		if err := g.addr(ip); err != nil {
			return false, err
		}
		local = ip.Unmap().IsLoopback()
	}
	if local && !g.loopback {
		return true, errThisMachine
	}
	return local, nil
}

// addr refuses every address that is not public, but for loopback and private ones where that is allowed.
func (g guard) addr(ip netip.Addr) error {
	ip = ip.Unmap()
	switch {
	case (ip.IsLoopback() || ip.IsPrivate()) && g.loopback:
		return nil
	case ip.IsLoopback():
		return errThisMachine
	case !ip.IsGlobalUnicast(), ip.IsPrivate():
		return fmt.Errorf("is %s, not a public address", ip)
	}
	for _, block := range notPublic {
		if block.Contains(ip) {
			return fmt.Errorf("is %s, not a public address (%s)", ip, block)
		}
	}
	return nil
}

// notPublic are the special-purpose blocks that netip does not know of (the registries of
// RFC 6890). The last ones wrap an IPv4 address, which could be a private one.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
}

// control is a net.Dialer's: it sees the address that is really dialed.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	if err := g.addr(ap.Addr()); err != nil {
		return fmt.Errorf("where the carrier's name leads %w", err)
	}
	return nil
}
