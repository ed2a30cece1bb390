package config

import (
	"net"
	"net/url"
	"slices"
)

// judgeTogether finds what is wrong between variables that are each right. A rule is
// skipped where one of its own variables is a mistake already.
func (l *loader) judgeTogether(c Config, o Options) {
	account := l.given("TWILIO_ACCOUNT_SID") || l.given("TWILIO_AUTH_TOKEN") || l.given("TWILIO_FROM")
	for _, rule := range []struct {
		among  []string // the first is the one that is named
		broken bool
		text   string
	}{
		{
			[]string{"DATABASE_URL"},
			!o.Embedded && c.Database.URL.IsZero(),
			"accepts " + l.variable("DATABASE_URL").accepts() + "; serve --embedded needs none",
		},
		{
			[]string{"METRICS_ADDR", "HTTP_ADDR"},
			samePort(c.HTTP.MetricsAddr, c.HTTP.Addr),
			"accepts another address than HTTP_ADDR's",
		},
		{
			[]string{"TWILIO_ACCOUNT_SID"},
			account && !l.given("TWILIO_ACCOUNT_SID"),
			"accepts " + l.variable("TWILIO_ACCOUNT_SID").accepts() + "; it is needed with the others of Twilio",
		},
		{
			[]string{"TWILIO_AUTH_TOKEN"},
			account && !l.given("TWILIO_AUTH_TOKEN"),
			"accepts " + l.variable("TWILIO_AUTH_TOKEN").accepts() + "; it is needed with the others of Twilio",
		},
		{
			[]string{"TWILIO_BASE_URL", "CARRIER_ALLOW_LOOPBACK"},
			!mayReach(c.Carriers.Twilio.BaseURL, c.Carriers.AllowLoopback),
			"accepts an https URL of a public host, and with CARRIER_ALLOW_LOOPBACK=on an http or https one of a loopback or private host",
		},
	} {
		if rule.broken && !slices.ContainsFunc(rule.among, l.isBad) {
			v := l.variable(rule.among[0])
			l.mark(v, l.refuse(v, rule.text))
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

// mayReach reports whether a carrier's requests, which bear credentials, may go to a URL.
// Plain http is never for a public host.
func mayReach(base string, allowLoopback bool) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	if isPublic(u.Hostname()) {
		return u.Scheme == "https"
	}
	return allowLoopback
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
