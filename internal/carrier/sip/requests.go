package sip

import (
	"crypto/rand"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	sipgo "github.com/emiago/sipgo/sip"
)

// letters writes down what one call sends.
type letters struct {
	protocol string // "TCP", "TLS"
	local    netip.AddrPort
	domain   string
	from, to string // numbers
	callID   string
	fromTag  string
	sdp      []byte // the offer

	// credentials go along with every request once they were asked for; nil until then.
	credentials func(method, uri string) (name, value string)
}

// callIDOf names an attempt's call: whoever has the one has the other.
func callIDOf(token string) string { return url.QueryEscape(token) + "@chasephone.invalid" }

// newBranch names a transaction. It begins as RFC 3261 has it and is never used twice.
func newBranch() string { return "z9hG4bK" + rand.Text() }

func (l *letters) uri(number string) sipgo.Uri {
	return sipgo.Uri{Scheme: "sip", User: number, Host: l.domain, UriParams: sipgo.HeaderParams{{K: "user", V: "phone"}}}
}

// request has what every one has. to is To's value; empty is that of a call's first request.
func (l *letters) request(method sipgo.RequestMethod, target sipgo.Uri, branch, to string, seq uint32) *sipgo.Request {
	r := sipgo.NewRequest(method, target)
	r.AppendHeader(&sipgo.ViaHeader{
		ProtocolName: "SIP", ProtocolVersion: "2.0", Transport: l.protocol,
		Host: l.local.Addr().WithZone("").String(), Port: int(l.local.Port()),
		Params: sipgo.HeaderParams{{K: "branch", V: branch}},
	})
	if to == "" {
		callee := l.uri(l.to)
		to = "<" + callee.String() + ">"
	}
	hops := sipgo.MaxForwardsHeader(70)
	id := sipgo.CallIDHeader(l.callID)
	r.AppendHeader(&hops)
	r.AppendHeader(&sipgo.FromHeader{Address: l.uri(l.from), Params: sipgo.HeaderParams{{K: "tag", V: l.fromTag}}})
	r.AppendHeader(sipgo.NewHeader("To", to))
	r.AppendHeader(&id)
	r.AppendHeader(&sipgo.CSeqHeader{SeqNo: seq, MethodName: method})
	r.AppendHeader(sipgo.NewHeader("User-Agent", "chasephone"))
	return r
}

// authorize adds the credentials for method; an ACK has those of its INVITE (RFC 3261, 22.1).
func (l *letters) authorize(r *sipgo.Request, method sipgo.RequestMethod) {
	if l.credentials == nil {
		return
	}
	if name, value := l.credentials(string(method), r.Recipient.String()); value != "" {
		r.AppendHeader(sipgo.NewHeader(name, value))
	}
}

// newInvite is the one request that rings the phone.
func (l *letters) newInvite(seq uint32) *sipgo.Request {
	r := l.request(sipgo.INVITE, l.uri(l.to), newBranch(), "", seq)
	r.AppendHeader(&sipgo.ContactHeader{Address: sipgo.Uri{
		Scheme: "sip", User: l.from, Host: l.local.Addr().WithZone("").String(), Port: int(l.local.Port()),
		UriParams: sipgo.HeaderParams{{K: "transport", V: strings.ToLower(l.protocol)}},
	}})
	r.AppendHeader(sipgo.NewHeader("Allow", "INVITE, ACK, CANCEL, BYE, OPTIONS"))
	l.authorize(r, sipgo.INVITE)
	r.AppendHeader(sipgo.NewHeader("Content-Type", "application/sdp"))
	r.SetBody(l.sdp)
	return r
}

// newCancel asks that an INVITE ring no longer: of the same transaction, as it was sent.
func (l *letters) newCancel(invite *sipgo.Request) *sipgo.Request {
	r := l.request(sipgo.CANCEL, invite.Recipient, branchOf(invite), raw(invite, "To"), invite.CSeq().SeqNo)
	r.SetBody(nil)
	return r
}

// ackRefusal ends an INVITE that was answered by anything but 2xx.
func (l *letters) ackRefusal(invite *sipgo.Request, final *sipgo.Response) *sipgo.Request {
	r := l.request(sipgo.ACK, invite.Recipient, branchOf(invite), raw(final, "To", "t"), invite.CSeq().SeqNo)
	r.SetBody(nil)
	return r
}

// dialog is a call that somebody answered, as far as requests within it need.
type dialog struct {
	to     string // To's value, with the other side's tag
	tag    string
	target sipgo.Uri
	routes []string
}

// dialogOf reads a 2xx. Requests in it go out on the call's own connection, wherever target
// and routes point: a trunk that is not its own proxy sends them on.
func dialogOf(invite *sipgo.Request, answered *sipgo.Response) dialog {
	d := dialog{to: raw(answered, "To", "t"), target: invite.Recipient}
	d.tag = tag(d.to)
	if c := answered.Contact(); c != nil && (c.Address.Scheme == "sip" || c.Address.Scheme == "sips") && c.Address.Host != "" {
		if target := c.Address; !strings.ContainsAny(target.String(), " \t<>") {
			target.Headers = nil
			d.target = target
		}
	}
	for _, h := range answered.GetHeaders("Record-Route") {
		d.routes = append(d.routes, splitValues(h.Value())...)
	}
	slices.Reverse(d.routes)
	return d
}

// splitValues takes apart what one header line lists.
func splitValues(line string) []string {
	var values []string
	var quoted, inURI bool
	begin := 0
	for i := range len(line) {
		switch c := line[i]; {
		case c == '"' && !inURI:
			quoted = !quoted
		case quoted:
		case c == '<', c == '>':
			inURI = c == '<'
		case c == ',' && !inURI:
			values, begin = append(values, strings.TrimSpace(line[begin:i])), i+1
		}
	}
	return append(values, strings.TrimSpace(line[begin:]))
}

// within is a request in a dialog.
func (l *letters) within(d dialog, method sipgo.RequestMethod, seq uint32) *sipgo.Request {
	r := l.request(method, d.target, newBranch(), d.to, seq)
	for _, route := range d.routes {
		r.AppendHeader(sipgo.NewHeader("Route", route))
	}
	return r
}

// ackAnswer ends an INVITE that was answered by 2xx.
func (l *letters) ackAnswer(d dialog, invite *sipgo.Request) *sipgo.Request {
	r := l.within(d, sipgo.ACK, invite.CSeq().SeqNo)
	for _, name := range []string{"Authorization", "Proxy-Authorization"} {
		sipgo.CopyHeaders(name, invite, r)
	}
	r.SetBody(nil)
	return r
}

// newBye ends it.
func (l *letters) newBye(d dialog, seq uint32) *sipgo.Request {
	r := l.within(d, sipgo.BYE, seq)
	l.authorize(r, sipgo.BYE)
	r.SetBody(nil)
	return r
}

func branchOf(m sipgo.Message) string { return m.Via().Params.GetOr("branch", "") }

// reply answers a request of the other side's.
func reply(to *sipgo.Request, code int, reason string) *sipgo.Response {
	r := sipgo.NewResponse(code, reason)
	for _, names := range [][]string{{"Via", "v"}, {"From", "f"}, {"To", "t"}, {"Call-ID", "i"}, {"CSeq"}} {
		for _, name := range names {
			for _, h := range to.GetHeaders(name) {
				r.AppendHeader(sipgo.NewHeader(names[0], h.Value()))
			}
		}
	}
	r.AppendHeader(sipgo.NewHeader("Allow", "ACK, BYE, OPTIONS"))
	r.SetBody(nil)
	return r
}
