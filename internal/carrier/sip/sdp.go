package sip

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Payload types of what we offer: sound, and keys (RFC 4733).
const (
	payloadSound = 0
	payloadKeys  = 101
)

// offer says where and how we take sound.
func offer(at netip.AddrPort) []byte {
	family := "IP4"
	if at.Addr().Is6() {
		family = "IP6"
	}
	return fmt.Appendf(nil, "v=0\r\no=chasephone 1 1 IN %[1]s %[2]s\r\ns=-\r\nc=IN %[1]s %[2]s\r\nt=0 0\r\n"+
		"m=audio %[3]d RTP/AVP 0 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\n"+
		"a=ptime:20\r\na=sendrecv\r\n", family, at.Addr().WithZone(""), at.Port())
}

// accepted is what the other side made of the offer. The zero value takes nothing.
type accepted struct {
	to   netip.AddrPort // valid: our sound goes there
	keys byte           // the payload type for keys; 0: it takes none
}

// readAnswer reads the first audio stream of an answer. A host that has to be looked up is
// none: nothing is asked of DNS while somebody listens.
func readAnswer(sdp []byte) accepted {
	var got accepted
	var addr netip.Addr
	var port uint64
	var formats []string
	session := true
	for line := range strings.Lines(string(sdp)) {
		kind, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		f := strings.Fields(value)
		switch {
		case kind == "m" && port != 0:
			return got.at(addr, port, formats) // the next stream
		case kind == "m":
			session = false
			if len(f) > 3 && f[0] == "audio" && f[2] == "RTP/AVP" {
				port, _ = strconv.ParseUint(f[1], 10, 16)
				formats = f[3:]
			}
		case kind == "c" && (session || port != 0) && len(f) == 3:
			addr, _ = netip.ParseAddr(f[2])
		case kind == "a" && port != 0 && len(f) == 2 && strings.EqualFold(f[1], "telephone-event/8000"):
			number, err := strconv.ParseUint(strings.TrimPrefix(f[0], "rtpmap:"), 10, 7)
			if err == nil && number >= 96 {
				got.keys = byte(number)
			}
		}
	}
	return got.at(addr, port, formats)
}

// at is the stream, if it takes what we send.
func (a accepted) at(addr netip.Addr, port uint64, formats []string) accepted {
	for _, f := range formats {
		if f == strconv.Itoa(payloadSound) && port != 0 && addr.IsValid() {
			a.to = netip.AddrPortFrom(addr.Unmap(), uint16(port))
			return a
		}
	}
	return accepted{}
}
