package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"chasephone/internal/phone"
)

// Options are the flags that change what the environment must hold.
type Options struct {
	// Embedded is a daemon that brings its own PostgreSQL: DATABASE_URL is not needed, and
	// ignored, with a warning, where it is set.
	Embedded bool
	// Demo rings nobody. CARRIER_ALLOW_LOOPBACK is on, and a carrier that is not on this very
	// machine is left out, with a warning, though the environment has its credentials.
	Demo bool
	// Today is what the dates in a file of rules are checked against; the zero time is now.
	Today time.Time
}

// Load reads an environment, given as os.Environ gives it. Besides it, only the files that
// NAME_FILE variables and GATE_CALLING_HOURS name are read. The error, if any, is of type Mistakes
// and holds all mistakes at once. An empty value is an unset one.
func Load(environ []string, o Options) (Config, error) {
	l := newLoader(variables(), environ)
	ignored := l.ignore(o)
	var c Config
	if err := l.readInto(&c); err != nil {
		return Config{}, err
	}
	c.ignored = ignored
	c.complete(o)
	l.readRules(&c.Gates, cmp.Or(o.Today, time.Now()))
	c.Gates.settings = l.gateSettings(c.Gates)
	l.judgeTogether(c, o)
	if mistakes := append(l.mistakes(), l.unknown()...); len(mistakes) > 0 {
		return Config{}, mistakes
	}
	return c, nil
}

// complete fills in what follows from other settings.
func (c *Config) complete(o Options) {
	if !o.Demo {
		return
	}
	c.Carriers.AllowLoopback = true
	for _, carrier := range CarrierNames() {
		if a := c.Carriers.of(carrier); a.Configured() && !isLoopback(a.host()) {
			a.leaveOut()
			c.ignored = append(c.ignored,
				ownVariables(carrier)[0].name+" is set: this is a demo, which rings nobody, so the account is left out")
		}
	}
}

// loader is an environment on its way to a Config.
type loader struct {
	vars  []variable
	set   map[string]string   // the environment as it is
	clean map[string]string   // values that passed, or defaults, by variable
	from  map[string]origin   // where the values came from, by variable
	bad   map[string]Mistakes // by variable; the first finding stands
}

func newLoader(vars []variable, environ []string) *loader {
	return &loader{
		vars:  vars,
		set:   env.ToMap(environ),
		clean: make(map[string]string),
		from:  make(map[string]origin),
		bad:   make(map[string]Mistakes),
	}
}

// readInto reads all variables and fills in the struct that has them.
func (l *loader) readInto(group any) error {
	tagged := make(map[string]string) // the parser knows variables by their tags
	for _, v := range l.vars {
		l.read(v)
		if value, ok := l.clean[v.name]; ok {
			tagged[v.tag.Get("env")] = value
		}
	}
	err := env.ParseWithOptions(group, env.Options{
		Environment: tagged,
		FuncMap: map[reflect.Type]env.ParserFunc{
			reflect.TypeFor[phone.Number](): func(s string) (any, error) { return phone.FromE164(s), nil },
		},
	})
	if err != nil { // what passed our checks parses; this would be a fault of this package
		return fmt.Errorf("parsing the checked environment: %w", err)
	}
	return nil
}

// origin is a value before it was cleaned, and the name that brought it.
type origin struct{ name, raw string }

// ignore takes out what the options make pointless, and says so.
func (l *loader) ignore(o Options) (ignored []string) {
	const name = "DATABASE_URL"
	if o.Embedded && l.given(name) {
		ignored = append(ignored, name+" is set: the daemon runs embedded, on a PostgreSQL of its own, so it is ignored")
	}
	if o.Embedded {
		delete(l.set, name)
		delete(l.set, name+fileSuffix)
	}
	return ignored
}

// read finds one variable's value and checks it by itself. Where it is wrong the default
// stands in, so that the others can still be judged.
func (l *loader) read(v variable) {
	if v.preset != "" {
		l.clean[v.name], _ = v.clean(v.preset)
	}
	raw, path := l.set[v.name], l.set[v.name+fileSuffix]
	l.from[v.name] = origin{v.name, raw}
	switch {
	case path == "" && raw == "":
		return
	case path != "" && raw != "":
		l.mark(v, Mistake{v.name + fileSuffix, v.showFile(path), "accepts nothing while " + v.name + " is set too: unset one of them"})
		return
	case path != "":
		content, err := readFile(path)
		if err != nil {
			l.mark(v, Mistake{v.name + fileSuffix, v.showFile(path), "accepts a file to read the value from: " + err.Error()})
			return
		}
		raw = content
		l.from[v.name] = origin{v.name + fileSuffix, raw}
	}
	value, ok := v.clean(raw)
	if !ok {
		l.mark(v, l.refuse(v, "accepts "+v.accepts()))
		return
	}
	l.clean[v.name] = value
}

// refuse is the mistake that a variable's value is.
func (l *loader) refuse(v variable, text string) Mistake {
	from := l.from[v.name]
	switch {
	case from.raw == "":
		return Mistake{v.name, unset, text}
	case from.name != v.name:
		return Mistake{from.name, "a file that holds " + v.show(from.raw), text}
	}
	return Mistake{v.name, v.show(from.raw), text}
}

func (l *loader) mark(v variable, found ...Mistake) {
	if !l.isBad(v.name) {
		l.bad[v.name] = found
	}
}

// mistakes are all that were found, in the variables' order.
func (l *loader) mistakes() (found Mistakes) {
	for _, v := range l.vars {
		found = append(found, l.bad[v.name]...)
	}
	return found
}

// unknown are the names that are ours alone, and mean nothing.
func (l *loader) unknown() (found Mistakes) {
	known := make([]string, 0, 2*len(l.vars))
	for _, v := range l.vars {
		known = append(known, v.name)
	}
	for _, v := range l.vars {
		known = append(known, v.name+fileSuffix)
	}
	var unknown []string
	for name, value := range l.set {
		if value != "" && guard(name) != "" && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		found = append(found, Mistake{
			Name:  plain(name),
			Value: showText(l.set[name]),
			Text:  "there is no such variable; did you mean " + nearest(name, known) + "?",
		})
	}
	return found
}

// plain keeps a name on its line, whatever is in it.
func plain(name string) string {
	if printable.MatchString(name) && !strings.Contains(name, `"`) {
		return name
	}
	return strconv.Quote(name)
}
