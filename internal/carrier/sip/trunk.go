package sip

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	sipgo "github.com/emiago/sipgo/sip"
)

// trunk is where a call's connection goes.
type trunk struct {
	host string
	port uint16
	tls  bool
}

// protocol is the transport's name in Via and Contact.
func (t trunk) protocol() string {
	if t.tls {
		return "TLS"
	}
	return "TCP"
}

// parseTrunk reads "sip:host[:port][;transport=tcp|tls]" and "sips:host[:port]". A plain sip
// URI would mean UDP; there requests are sent again until somebody answers, so it is not spoken.
func parseTrunk(raw string) (trunk, error) {
	var u sipgo.Uri
	if sipgo.ParseUri(raw, &u) != nil { // its error repeats the text, and with it any password
		return trunk{}, errors.New("is no SIP URI: accepted is sip:host, sip:host:port or the same with sips")
	}
	_, hasTransport := u.UriParams.Get("transport")
	over := strings.ToLower(u.UriParams.GetOr("transport", "tcp"))
	host := strings.TrimSuffix(strings.TrimPrefix(u.Host, "["), "]")
	ip, ipErr := netip.ParseAddr(host)
	switch {
	case u.Scheme != "sip" && u.Scheme != "sips", u.HierarhicalSlashes:
		return trunk{}, errors.New("begins with neither sip: nor sips: and a host")
	case u.User != "" || u.Password != "":
		return trunk{}, errors.New("carries a user or a password")
	case len(u.Headers) > 0, len(u.UriParams) > 1, len(u.UriParams) == 1 && !hasTransport:
		return trunk{}, errors.New("carries more than a host, a port and a transport")
	case over != "tcp" && over != "tls":
		return trunk{}, fmt.Errorf("goes by %q: accepted are tcp and tls", over)
	case u.Port < 0 || u.Port > 65535:
		return trunk{}, fmt.Errorf("has port %d: accepted is up to 65535", u.Port)
	case ipErr != nil && !hostName.MatchString(host), ip.Zone() != "":
		return trunk{}, errors.New("has no host that is a name or an address")
	}
	t := trunk{host: host, port: uint16(u.Port), tls: u.Scheme == "sips" || over == "tls"}
	switch {
	case t.port != 0:
	case t.tls:
		t.port = 5061
	default:
		t.port = 5060
	}
	return t, nil
}
