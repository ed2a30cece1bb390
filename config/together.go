package config

import (
	"net"
	"net/url"
	"slices"

	"chasephone/internal/carrier"
)

// between is something that must hold between variables that are each right. It is skipped
// where one of its own variables is a mistake already.
type between struct {
	among  []string // the first is the one that is named
	broken bool
	text   string
}

func (l *loader) judge(all ...between) {
	for _, one := range all {
		if one.broken && !slices.ContainsFunc(one.among, l.isBad) {
			v := l.variable(one.among[0])
			l.mark(v, l.refuse(v, one.text))
		}
	}
}

// judgeTogether finds what is wrong between variables of the whole environment.
func (l *loader) judgeTogether(c Config, o Options) {
	l.judge(
		between{
			[]string{"DATABASE_URL"},
			!o.Embedded && c.Database.URL.IsZero(),
			"accepts " + l.variable("DATABASE_URL").accepts() + "; serve --embedded needs none",
		},
		between{
			[]string{"METRICS_ADDR", "HTTP_ADDR"},
			samePort(c.HTTP.MetricsAddr, c.HTTP.Addr),
			"accepts another address than HTTP_ADDR's",
		},
	)
	l.judgeDatabase(c.Database)
	caller := ""
	for _, carrier := range CarrierNames() {
		own := ownVariables(carrier)
		if slices.ContainsFunc(own, func(v variable) bool { return v.preset == "" && l.given(v.name) }) {
			l.judgeWhole(own, "with the others of "+own[0].title)
		}
		if c.Carriers.of(carrier).Configured() { // in a demonstration it may be left out
			l.judgeVerified(own)
		}
		l.judgeReach(own, c.Carriers.AllowLoopback)
		// Each would be the caller number of the one line named default.
		switch from := callerOf(carrier); {
		case !l.given(from):
		case caller == "":
			caller = from
		default:
			l.judge(between{[]string{from, caller}, true, "accepts nothing while " + caller + " is set too, for the same line: unset one of them, and use line add"})
		}
	}
}

// judgeWhole finds what an account lacks.
func (l *loader) judgeWhole(vars []variable, needed string) {
	for _, v := range vars {
		l.judge(between{
			[]string{v.name},
			v.needed() && !l.given(v.name),
			"accepts " + v.accepts() + "; it is needed " + needed,
		})
		l.judge(between{
			[]string{v.name},
			v.with != "" && l.given(v.with) && !l.given(v.name),
			"accepts " + v.accepts() + "; it is needed with " + v.with,
		})
	}
}

// judgeVerified finds an account whose webhooks nobody could tell from forged ones, although its
// carrier is told where to send them.
func (l *loader) judgeVerified(vars []variable) {
	for _, v := range vars {
		l.judge(between{
			[]string{v.name},
			v.tag.Get("verifies") == "true" && l.given("PUBLIC_URL") && !l.given(v.name),
			"accepts " + v.accepts() + "; it is needed with PUBLIC_URL: nothing else tells this account's webhooks from forged ones",
		})
	}
}

// judgeReach finds where an account's requests must not go.
func (l *loader) judgeReach(vars []variable, allowLoopback bool) {
	const allow = "CARRIER_ALLOW_LOOPBACK"
	for _, v := range vars {
		value := l.clean[v.name]
		switch v.tag.Get("form") {
		case "url":
			l.judge(between{
				[]string{v.name, allow},
				!mayReach(value, allowLoopback),
				"accepts an https URL of a public host, and with " + allow + "=on one of a private host or this machine, which alone may be http",
			})
		case "trunk":
			host, ok := trunkHost(value)
			l.judge(between{
				[]string{v.name, allow},
				ok && !mayReachHost(host, allowLoopback),
				"accepts the trunk of a public host, and with " + allow + "=on that of a loopback or private one",
			})
		}
	}
}

// given reports whether a variable was set at all, rightly or not.
func (l *loader) given(name string) bool { return l.set[name]+l.set[name+fileSuffix] != "" }

func (l *loader) isBad(name string) bool {
	_, bad := l.bad[name]
	return bad
}

func (l *loader) variable(name string) variable {
	i := slices.IndexFunc(l.vars, func(v variable) bool { return v.name == name })
	return l.vars[i]
}

// samePort reports whether two addresses are spelled the same. Port 0 is a free one each time.
func samePort(a, b string) bool {
	_, port, err := net.SplitHostPort(a)
	return err == nil && a == b && port != "0"
}

// mayReach reports whether a carrier's requests, which bear credentials, may go to a URL: what the
// transport says of it, and by its looks alone more where nothing but public hosts is allowed,
// because no name is resolved here.
func mayReach(base string, allowLoopback bool) bool {
	return carrier.CheckURL(base, allowLoopback) == nil && (allowLoopback || isPublic(hostOf(base)))
}

func mayReachHost(host string, allowLoopback bool) bool {
	return carrier.CheckHost(host, allowLoopback) == nil && (allowLoopback || isPublic(host))
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
