package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var accountPrefix = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,39}$`)

// ReadAccount reads a further account of a carrier, whose variables begin with a prefix of its
// own: ACME_ACCOUNT_SID as TWILIO_ACCOUNT_SID is read, ACME_ACCOUNT_SID_FILE too. A caller number
// is not read: it is the line's. All but the account's field and AllowLoopback is empty. The
// error is of type Mistakes where the variables are wrong or missing, and any other where
// carrier or prefix is.
//
// In a demonstration nobody may ask for one: ReadAccount does not leave out what rings people.
func ReadAccount(environ []string, carrier, prefix string, allowLoopback bool) (Carriers, error) {
	c := Carriers{AllowLoopback: allowLoopback}
	into := c.of(carrier)
	if into == nil {
		return Carriers{}, fmt.Errorf("there is no carrier %q: there are %s", carrier, strings.Join(CarrierNames(), ", "))
	}
	if err := CheckPrefix(prefix); err != nil {
		return Carriers{}, fmt.Errorf("the prefix of an account of %s: %w", carrier, err)
	}
	l := newLoader(accountVariables(carrier, prefix), environ)
	if err := l.readInto(into); err != nil {
		return Carriers{}, err
	}
	l.judgeWhole(l.vars, "for the account "+carrier+"/"+prefix)
	l.judgeVerified(l.vars)
	l.judgeReach(l.vars, allowLoopback)
	l.judgeShared(carrier, prefix)
	if mistakes := l.mistakes(); len(mistakes) > 0 {
		return Carriers{}, mistakes
	}
	return c, nil
}

// judgeShared finds a base URL that two carriers' accounts of one prefix would both take for
// theirs: the credentials of one would go to the other.
func (l *loader) judgeShared(carrier, prefix string) {
	lacking := func(v variable) bool { return v.needed() && !l.given(v.name) }
	for _, other := range CarrierNames() {
		others := accountVariables(other, prefix)
		for _, v := range l.vars {
			shared := slices.ContainsFunc(others, func(o variable) bool { return o.name == v.name })
			l.judge(between{
				[]string{v.name},
				other != carrier && shared && v.tag.Get("form") == "url" && l.given(v.name) && !slices.ContainsFunc(others, lacking),
				"accepts nothing while there is an account " + other + "/" + prefix + " too, which it would be the URL of: give one of them another prefix",
			})
		}
	}
}

// CheckPrefix says why variables of a further account cannot begin with a prefix.
func CheckPrefix(prefix string) error {
	if !accountPrefix.MatchString(prefix) { // it is not shown: it may be the secret itself
		return errors.New("accepts what the account's variables begin with, such as ACME for ACME_ACCOUNT_SID: a capital letter, then at most 39 capitals, digits and _")
	}
	// Nothing collides but the carriers' own prefixes, until a variable is added that does.
	var taken []string
	for _, v := range variables() {
		taken = append(taken, v.name, v.name+fileSuffix)
	}
	if slices.Contains(CarrierNames(), strings.ToLower(prefix)) {
		return fmt.Errorf("accepts no %s: its variables are those of the account that needs no prefix", prefix)
	}
	for _, carrier := range CarrierNames() {
		for _, v := range accountVariables(carrier, prefix) {
			for _, name := range []string{v.name, v.name + fileSuffix} {
				if ours := reserved(name); ours != "" {
					return fmt.Errorf("accepts no %s: what begins with %s is chasephone's own", prefix, ours)
				}
				if slices.Contains(taken, name) {
					return fmt.Errorf("accepts no %s: %s is another variable", prefix, name)
				}
			}
		}
	}
	return nil
}

// reserved is the beginning that keeps a name from being an account's, or "".
func reserved(name string) string {
	if strings.HasPrefix(name, "CARRIER_") {
		return "CARRIER_"
	}
	return guard(name)
}

// ownPrefix is what the variables of a carrier's own account begin with.
func ownPrefix(carrier string) string { return strings.ToUpper(carrier) }

// ownVariables are those of a carrier's own account, the one that says whether there is one first.
func ownVariables(carrier string) (own []variable) {
	for _, v := range variables() {
		if strings.HasPrefix(v.name, ownPrefix(carrier)+"_") {
			own = append(own, v)
		}
	}
	return own
}

// accountVariables are those of a further account.
func accountVariables(carrier, prefix string) (further []variable) {
	rename := func(name string) string { return prefix + strings.TrimPrefix(name, ownPrefix(carrier)) }
	for _, v := range ownVariables(carrier) {
		if v.name == callerOf(carrier) {
			continue
		}
		v.name = rename(v.name)
		if v.with != "" {
			v.with = rename(v.with)
		}
		further = append(further, v)
	}
	return further
}

// callerOf is the variable that has the caller number of a carrier's own account.
func callerOf(carrier string) string { return ownPrefix(carrier) + "_FROM" }
