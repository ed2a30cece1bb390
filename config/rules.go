package config

import (
	_ "embed" // the built-in rules
	"errors"
	"strings"
	"time"

	"chasephone/internal/rules"
)

// The words that GATE_CALLING_HOURS takes besides the path of a file.
const (
	rulesOn  = "on"
	rulesOff = "off"
)

//go:embed calling_hours.yaml
var builtInRules string

// BuiltInRules is the text of the calling rules that are in force with GATE_CALLING_HOURS=on: what
// somebody who wants others begins with.
func BuiltInRules() string { return builtInRules }

// readRules reads the calling rules that a setting names; with off there are none. All that is
// wrong with a file is marked as mistakes of the variable, one for each.
func (l *loader) readRules(g *Gates, today time.Time) {
	if g.CallingHours == rulesOff {
		return
	}
	set, err := parseRules(g.CallingHours, today)
	if err == nil {
		g.Rules = set
		return
	}
	v := l.variable("GATE_CALLING_HOURS")
	found := []Mistake{l.refuse(v, "accepts on, off or a rules file that can be read: "+err.Error())}
	if wrong, ok := errors.AsType[rules.Mistakes](err); ok {
		found = nil
		for _, m := range wrong {
			found = append(found, l.refuse(v, m.Error()))
		}
	}
	l.mark(v, found...)
}

func parseRules(setting string, today time.Time) (*rules.Set, error) {
	if setting == rulesOn {
		// On no day: their dates were checked when they were written, and a machine that takes
		// the date to be another one must start all the same.
		return rules.Parse([]byte(builtInRules), time.Time{})
	}
	text, err := readBytes(setting, rules.Longest)
	if err != nil {
		return nil, err
	}
	return rules.Parse(text, today)
}

// gateSettings are the settings that the gates judge by.
func (l *loader) gateSettings(g Gates) map[string]string {
	all := map[string]string{}
	for _, v := range l.vars {
		if strings.HasPrefix(v.name, "GATE_") || v.name == "PHONE_DEFAULT_REGION" {
			all[v.name] = l.clean[v.name]
		}
	}
	if g.Rules != nil {
		all["GATE_CALLING_HOURS"] = "rules " + g.Rules.Digest()
	}
	return all
}
