package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"chasephone/config"
	"chasephone/internal/carrier/sip"
	"chasephone/internal/carrier/telnyx"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/followup"
	"chasephone/internal/store"
)

// databaseSays is what is told of the database and the fleet.
type databaseSays struct {
	Reachable bool        `json:"reachable"`
	Usable    bool        `json:"schema_usable"`
	Error     string      `json:"error,omitempty"` // why it could not be asked, or not everything
	Pooled    bool        `json:"behind_a_pooler"`
	Role      *store.Role `json:"role,omitempty"` // that this command is connected as
	// Forgets are settings with which a crash can forget calls: serve refuses to start.
	Forgets  []store.Forgetting `json:"forgets"`
	Demo     bool               `json:"demo"`
	Limits   map[string]string  `json:"limits,omitempty"` // in force
	LimitsAt *time.Time         `json:"limits_set_at,omitempty"`
	LimitsBy string             `json:"limits_set_by,omitempty"`
	Daemons  []store.Daemon     `json:"daemons"`
	// OtherGates is how live daemons' gates are set otherwise than by this environment.
	OtherGates []note       `json:"other_gate_settings"`
	Holds      []store.Hold `json:"holds"` // stops and held lines, in force now
	Lines      int          `json:"lines"`
	Ready      int          `json:"lines_ready"`
}

// facts are what the database was asked; all is said of it only where whole.
type facts struct {
	reachable, usable, pooled, whole bool

	forgets  []store.Forgetting
	role     *store.Role
	fleet    store.Fleet
	daemons  []store.Daemon
	holds    []store.Hold
	lines    []store.Line
	tenants  []store.Tenant
	open     []store.Open
	settings []note // see databaseSays.OtherGates
}

// ask asks everything, and gives what it got before the error.
func ask(ctx context.Context, conf config.Config) (f facts, err error) {
	db, err := store.Connect(ctx, conf.Database.URL.Reveal(), commandConns)
	if err != nil {
		return f, err
	}
	defer db.Close()
	f.reachable, f.pooled = true, db.Pooled
	if f.forgets, err = db.Forgets(ctx); err != nil {
		return f, err
	}
	if role, err := db.Role(ctx); err == nil { // who may not be asked about himself is told below
		f.role = &role
	}
	if err := db.Usable(ctx); err != nil {
		return f, err
	}
	f.usable = true
	var errs [6]error
	f.fleet, errs[0] = db.Fleet(ctx)
	f.daemons, errs[1] = db.Daemons(ctx)
	f.holds, errs[2] = db.Holds(ctx)
	f.lines, errs[3] = db.Lines(ctx, "")
	f.tenants, errs[4] = db.Tenants(ctx)
	f.open, errs[5] = db.OpenByRegion(ctx)
	f.settings = differing(f.daemons, conf.Gates.Settings())
	err = errors.Join(errs[:]...)
	f.whole = err == nil
	return f, err
}

// fleet tells how the fleet stands, and what in it is in the way.
func (d *diagnosis) fleet(f facts) {
	s := &d.Database
	s.Reachable, s.Usable, s.Pooled = f.reachable, f.usable, f.pooled
	s.Forgets = append(s.Forgets, f.forgets...)
	d.role(f)
	for _, one := range f.forgets {
		d.remark("%s: what was committed can be lost, and a lost call is rung twice; a daemon refuses to start", one)
	}
	if !f.whole {
		return
	}
	s.Demo, s.Limits, s.LimitsAt, s.LimitsBy = f.fleet.Demo, settingsOf(f.fleet.Limits), &f.fleet.LimitsAt, f.fleet.LimitsBy
	s.Daemons, s.Holds, s.Lines = append(s.Daemons, f.daemons...), append(s.Holds, f.holds...), len(f.lines)
	s.OtherGates = append(s.OtherGates, f.settings...)
	for _, l := range f.lines {
		if l.Ready {
			s.Ready++
		}
	}
	if f.fleet.Demo {
		d.remark("this is the database of a demonstration (serve --demo): nobody is rung for real")
	}
	d.ring(f)
	d.lines(f)
	if others := differentLimits(f); others != "" {
		d.remark("%s: those of the daemon that started last are in force", others)
	}
	for _, n := range f.settings {
		d.remark("%s", n)
	}
}

// role tells what the role may that this command is connected as, which should be the daemons':
// the database holds nothing against an owner.
func (d *diagnosis) role(f facts) {
	r := f.role
	if d.Database.Role = r; r == nil || !f.usable {
		return
	}
	switch unbounded := r.Unbounded(); {
	case unbounded != "":
		d.remark("the role %s %s: if daemons run as it, nothing keeps them from changing what was said and done; make a role of their own: chasephone migrate --daemon-role", r.Name, unbounded)
	case len(r.Lacks) > 0:
		d.remark("the role %s may not do all that a daemon does (%s): if daemons run as it, chasephone migrate --daemon-role %s", r.Name, several(r.Lacks), r.Name)
	default:
		for _, one := range r.Beyond {
			d.remark("the role %s %s", r.Name, one)
		}
	}
}

// ring looks for what keeps every call from being rung, and tells its cause alone: where no
// daemon runs no line can be ready.
func (d *diagnosis) ring(f facts) {
	stopped := false
	for _, h := range f.holds {
		switch {
		case h.All():
			stopped = true
			d.problem("all ringing is held: the database may have forgotten attempts, and whom they rang would be rung again: chasephone release shows what the carriers list, and lifts it")
		case h.Tenant == "":
			stopped = true
			d.problem("everything is stopped, by %s: chasephone resume lifts it", h.By)
		}
	}
	if len(f.lines) == 0 {
		d.problem("there are no lines: every follow-up waits for one: chasephone line add, or TWILIO_FROM in the daemon's environment")
	}
	callable := slices.ContainsFunc(f.lines, func(l store.Line) bool { return callable(l, f.daemons) })
	switch {
	case len(f.daemons) == 0:
		d.problem("no daemon is running: nothing is rung until one runs: chasephone serve")
	case len(f.lines) == 0:
	case !callable:
		d.problem("no line can be rung on: no daemon that runs has an account with %s", several(carriersOf(f.lines)))
	case d.Database.Ready == 0 && !stopped:
		d.problem("no line is ready: chasephone line list says why")
	}
}

// lines remarks on single lines, where others can be rung on.
func (d *diagnosis) lines(f facts) {
	if len(f.lines) == 0 {
		return
	}
	has := map[[2]string]bool{}
	var silent, alone, lacking []string
	for _, l := range f.lines {
		has[[2]string{l.Tenant, l.Name}] = true
		name := l.Name + " of tenant " + l.Tenant
		switch {
		case !callable(l, f.daemons):
			silent = append(silent, name+" ("+l.Carrier+")")
		case l.UnfitDaemons > 0:
			alone = append(alone, fmt.Sprintf("%s (%d)", name, l.UnfitDaemons))
		}
	}
	for _, t := range f.tenants {
		if !has[[2]string{t.ID, t.DefaultLine}] {
			lacking = append(lacking, t.ID+" (line "+t.DefaultLine+")")
		}
	}
	if len(f.daemons) > 0 && len(silent) > 0 {
		d.remark("no daemon that runs has an account with the carrier of line %s", several(silent))
	}
	if len(alone) > 0 {
		d.remark("left alone for now by daemons that could not reach the carrier: line %s", several(alone))
	}
	if len(lacking) > 0 {
		d.remark("the default line is not there, and follow-ups that name no line wait for it: tenant %s", several(lacking))
	}
}

// callable reports whether a daemon that runs has the carrier of a line.
func callable(l store.Line, daemons []store.Daemon) bool {
	return slices.ContainsFunc(daemons, func(d store.Daemon) bool { return slices.Contains(d.Carriers, l.Carrier) })
}

func carriersOf(lines []store.Line) []string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = l.Carrier
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ownAccounts are the carriers that an environment can call with, but for accounts that lines name.
func ownAccounts(c config.Carriers) []string {
	all := []string{}
	for name, is := range map[string]bool{twilio.Name: c.Twilio.Configured(), telnyx.Name: c.Telnyx.Configured(), sip.Name: c.SIP.Configured()} {
		if is {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// settingsOf names limits as the environment does.
func settingsOf(l followup.Limits) map[string]string {
	return map[string]string{
		"PHONE_FOLLOWUP_TICK":           l.Tick.String(),
		"PHONE_FOLLOWUP_PER_TICK":       strconv.Itoa(l.PerTick),
		"PHONE_FOLLOWUP_RETRY_AFTER":    l.RetryAfter.String(),
		"PHONE_FOLLOWUP_MAX_LATE_HOURS": strconv.Itoa(int(l.MaxLate / time.Hour)),
		"PHONE_FOLLOWUP_DIAL_TIMEOUT":   l.DialTimeout.String(),
		"PHONE_FOLLOWUP_DIAL_SLOTS":     strconv.Itoa(l.DialSlots),
		"PHONE_FOLLOWUP_DRAINERS":       strconv.Itoa(l.Drainers),
		"PHONE_FOLLOWUP_QUARANTINE":     l.Quarantine.String(),
	}
}

// differentLimits says which daemons' environments ask for other limits than are in force.
func differentLimits(f facts) string {
	inForce := settingsOf(f.fleet.Limits)
	names, daemons := map[string]bool{}, 0
	for _, d := range f.daemons {
		if d.Limits == f.fleet.Limits {
			continue
		}
		daemons++
		for name, value := range settingsOf(d.Limits) {
			if value != inForce[name] {
				names[name] = true
			}
		}
	}
	if daemons == 0 {
		return ""
	}
	return counted(daemons, "daemon has", "daemons have") + " other limits in the environment (" +
		strings.Join(slices.Sorted(maps.Keys(names)), ", ") + ")"
}
