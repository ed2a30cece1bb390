package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"chasephone/config"
	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/phone"
	"chasephone/internal/store"
	"chasephone/internal/telemetry"
)

type lineCmd struct {
	Add     lineAddCmd     `cmd:"" help:"Add a line, or change the one of this name."`
	Hold    lineHoldCmd    `cmd:"" help:"Ring nobody on a line for now: its follow-ups wait."`
	Release lineReleaseCmd `cmd:"" help:"Make a line ready, whatever held it: what waited for it is due at once."`
	List    lineListCmd    `cmd:"" help:"List the lines, and why one is not ready."`
}

// oneLineOf names a line.
type oneLineOf struct {
	Name   string `arg:"" help:"The line's name."`
	Tenant string `default:"default" placeholder:"TENANT" help:"Whose line it is (default: ${default})."`
}

type lineAddCmd struct {
	oneLineOf
	Carrier        string   `required:"" placeholder:"CARRIER" help:"The telephone company: twilio or telnyx, or sip for a trunk."`
	AccountEnv     *string  `placeholder:"PREFIX" help:"What the variables that hold the account begin with: ACME for ACME_ACCOUNT_SID (default: the carrier's own)."`
	Caller         caller   `required:"" placeholder:"+NUMBER" help:"The number that calls come from, in E.164 form."`
	URL            string   `name:"url" placeholder:"URL" help:"What speaks instead of the script, over https."`
	CallsPerSecond *float64 `placeholder:"N" help:"Calls begun in a second; 0 is no pacing (default: the carrier's)."`
	by
	JSON bool `name:"json" help:"Print JSON."`
}

// lineChange is what add prints as JSON.
type lineChange struct {
	Tenant  string `json:"tenant_id"`
	Name    string `json:"name"`
	Carrier string `json:"carrier"` // with the account's prefix, as line list has it
	Changed bool   `json:"changed"` // false: it was just so already
}

func (c lineAddCmd) Run(ctx context.Context, p process) error {
	db, conf, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := c.check(conf.Carriers.AllowLoopback); err != nil {
		return err
	}
	account := c.account()
	changed, err := db.AddLine(ctx, store.Line{
		Tenant: c.Tenant, Name: c.Name, Carrier: account, Caller: c.Caller.Number, URL: c.URL, CallsPerSecond: c.CallsPerSecond, By: who,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, lineChange{c.Tenant, c.Name, account, changed})
	}
	says := "is set"
	if !changed {
		says = "was just so already"
	}
	_, err = fmt.Fprintf(p.stdout, "line %s of tenant %s %s: %s, calling from %v\n", plain(c.Name), plain(c.Tenant), says, account, c.Caller.Number)
	return err
}

// account names the account by its prefix alone. The variables are not read: the daemons have
// them, and the one who adds a line need not.
func (c lineAddCmd) account() string {
	if c.AccountEnv == nil {
		return c.Carrier
	}
	return carrier.Account(c.Carrier, *c.AccountEnv)
}

func (c lineAddCmd) check(http bool) error {
	if c.AccountEnv != nil { // given empty, by a variable that is not set, it is a mistake and not the carrier's own
		if err := config.CheckPrefix(*c.AccountEnv); err != nil {
			return &desk.Misuse{Says: "--account-env " + err.Error()}
		}
	}
	switch n := utf8.RuneCountInString(c.Name); {
	case n < 1 || n > 100 || strings.ContainsFunc(c.Name, acts):
		return &desk.Misuse{Says: "a line's name is 1 to 100 printable characters"}
	case telemetry.MaskText(c.Name) != c.Name: // it is a label of a metric, and in the log
		return &desk.Misuse{Says: "a line's name is no telephone number: it is shown where none may be; name it by what it is for"}
	case !slices.Contains(config.CarrierNames(), c.Carrier):
		return &desk.Misuse{Says: fmt.Sprintf("there is no carrier %s: there are %s", c.Carrier, strings.Join(config.CarrierNames(), ", "))}
	case c.CallsPerSecond != nil && !(*c.CallsPerSecond >= 0 && *c.CallsPerSecond <= 1000): // NaN too
		return &desk.Misuse{Says: "--calls-per-second accepts 0 to 1000"}
	case c.CallsPerSecond != nil && *c.CallsPerSecond > 0 && *c.CallsPerSecond < 0.001:
		return &desk.Misuse{Says: "--calls-per-second accepts 0, which is no pacing, or 0.001 and more"}
	case c.URL != "" && c.Carrier == config.CarrierSIP:
		return &desk.Misuse{Says: "--url is nothing for a SIP trunk, which fetches no document: it plays the file that " + c.soundVariable() + " names"}
	case c.URL != "" && !speaks(c.URL, http):
		return &desk.Misuse{Says: "--url accepts an https URL without a user, which the carrier can reach"}
	}
	return nil
}

// soundVariable is where the daemons find what a trunk plays.
func (c lineAddCmd) soundVariable() string {
	prefix := "SIP"
	if c.AccountEnv != nil {
		prefix = *c.AccountEnv
	}
	return prefix + "_SOUND"
}

// speaks reports whether a URL can be given to a carrier to fetch.
func speaks(raw string, http bool) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "https" || http && u.Scheme == "http") && u.Hostname() != "" && u.User == nil && u.Fragment == "" &&
		!strings.ContainsFunc(raw, acts)
}

// caller is a number that calls come from. It need not be one that a numbering plan knows:
// carriers have numbers for trials.
type caller struct{ phone.Number }

// UnmarshalText reads E.164 and nothing else.
func (c *caller) UnmarshalText(text []byte) error {
	if !regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`).Match(text) {
		return errors.New("accepts E.164 form: + and 7 to 15 digits, nothing between")
	}
	c.Number = phone.FromE164(string(text))
	return nil
}

type lineHoldCmd struct {
	oneLineOf
	Until *moment `placeholder:"T" help:"RFC 3339, or a time from now such as +2h (default: until it is released)."`
	by
	JSON bool `name:"json" help:"Print JSON."`
}

type held struct {
	Tenant string     `json:"tenant_id"`
	Name   string     `json:"name"`
	Until  *time.Time `json:"held_until,omitempty"`
	By     string     `json:"held_by"`
}

func (c lineHoldCmd) Run(ctx context.Context, p process) error {
	db, _, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	answer := held{Tenant: c.Tenant, Name: c.Name, By: who}
	ends := "until it is released"
	if c.Until != nil {
		now, err := databaseNow(ctx, db)
		if err != nil {
			return err
		}
		at := c.Until.from(now)
		if !at.After(now) {
			return &desk.Misuse{Says: "--until is over already: it is " + when(now)}
		}
		answer.Until, ends = &at, "until "+when(at)
	}
	if err := db.HoldLine(ctx, c.Tenant, c.Name, who, answer.Until); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, answer)
	}
	_, err = fmt.Fprintf(p.stdout, "line %s of tenant %s is held %s, by %s\n", plain(c.Name), plain(c.Tenant), ends, plain(who))
	return err
}

type lineReleaseCmd struct {
	oneLineOf
	by
	JSON bool `name:"json" help:"Print JSON."`
}

type released struct {
	Tenant string `json:"tenant_id"`
	Name   string `json:"name"`
	Due    int    `json:"due_again"`
}

func (c lineReleaseCmd) Run(ctx context.Context, p process) error {
	db, _, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	due, err := db.ReleaseLine(ctx, c.Tenant, c.Name, who)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, released{c.Tenant, c.Name, due})
	}
	_, err = fmt.Fprintf(p.stdout, "line %s of tenant %s is released; %d follow-up(s) that waited for it are due at once\n", plain(c.Name), plain(c.Tenant), due)
	return err
}
