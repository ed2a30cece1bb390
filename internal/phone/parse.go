package phone

import (
	"errors"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

const (
	// maxE164 is the most digits a number of ITU-T E.164 has, its country code included.
	maxE164 = 15
	// maxDialled adds the longest way to dial abroad and a home "0" to that.
	maxDialled = maxE164 + 7
	// nowhere is a region without rules: what is parsed in it must bring its country code.
	nowhere = "ZZ"
)

// Parse gives the identity of a number as somebody typed it in a region (ISO 3166 alpha-2, which
// says how a number without a country code is dialled), or the problem with it. With a problem
// the identity is zero. It never panics, and depends on nothing but its arguments.
func Parse(raw, region string) (id Identity, problem Problem) {
	// The number library is ours neither to prove nor to mend, and one row that brings it down
	// would bring its neighbours down too.
	defer func() {
		if recover() != nil {
			id, problem = Identity{}, NotANumber
		}
	}()
	return parse(raw, region)
}

func parse(raw, region string) (Identity, Problem) {
	t, p := read(raw)
	if p != "" {
		return Identity{}, p
	}
	if len(t.digits) > maxDialled {
		return Identity{}, TooLong
	}
	region = strings.ToUpper(strings.TrimSpace(region))
	if isEmergency(t, region) {
		return Identity{}, Emergency
	}
	if !t.plus && phonenumbers.GetCountryCodeForRegion(region) == 0 {
		return Identity{}, UnknownRegion
	}

	readings := t.readings(region)
	for _, r := range readings {
		n, err := r.parse()
		if err != nil {
			continue
		}
		// What IsValidNumber asks, and the region once only: it takes most of the time.
		if in := phonenumbers.GetRegionCodeForNumber(n); phonenumbers.IsValidNumberForRegion(n, in) {
			return identify(n, in, t.extension)
		}
	}
	return Identity{}, readings[0].problem(region)
}

// reading is one way to understand the digits.
type reading struct{ digits, region string }

func (r reading) parse() (*phonenumbers.PhoneNumber, error) {
	return phonenumbers.Parse(r.digits, r.region)
}

// readings lists the ways to understand what was typed, the likeliest first. The later ones
// count only where the ones before make no valid number.
func (t typed) readings(region string) []reading {
	if t.plus {
		region = nowhere // a + leaves nothing to the region
	}
	var out []reading
	for _, digits := range []string{t.digits, t.bare} {
		switch {
		case digits == "":
		case t.plus:
			out = append(out, reading{"+" + digits, region})
		default:
			out = append(out, reading{digits, region})
			// 00 leads abroad nearly everywhere, and is written for the + by people who
			// dial from where it does not.
			if rest, found := strings.CutPrefix(digits, "00"); found {
				out = append(out, reading{"+" + rest, nowhere})
			}
		}
	}
	return out
}

// identify gives a valid number its identity, unless it is of a kind that is never rung.
func identify(n *phonenumbers.PhoneNumber, region, extension string) (Identity, Problem) {
	e164 := phonenumbers.Format(n, phonenumbers.E164)
	if len(e164) > len("+")+maxE164 {
		return Identity{}, TooLong
	}
	kind := phonenumbers.GetNumberType(n)
	switch kind {
	case phonenumbers.PREMIUM_RATE:
		return Identity{}, Premium
	case phonenumbers.SHARED_COST:
		return Identity{}, SharedCost
	}
	number := FromE164(e164)
	return Identity{
		Number:    number,
		Extension: extension,
		Region:    region,
		Place:     PlaceOf(number, region),
		Zones:     ZonesOf(number),
		Kind:      kindOf(kind),
	}, ""
}

// isEmergency looks at what would be dialled as it stands: matched exactly, because +1 909 and
// +47 911 are ordinary. Four numbers reach help from a mobile telephone of any country.
func isEmergency(t typed, region string) bool {
	switch t.digits {
	case "000", "112", "911", "999":
		return true
	}
	return !t.plus && phonenumbers.IsEmergencyNumber(t.digits, region)
}

// problem says why a reading makes no valid number.
func (r reading) problem(dialledIn string) Problem {
	n, err := r.parse()
	switch {
	case errors.Is(err, phonenumbers.ErrInvalidCountryCode):
		return UnknownCountryCode
	case errors.Is(err, phonenumbers.ErrNumTooLong):
		return TooLong
	case err != nil: // the digits are there, so there are too few
		return TooShort
	}

	national := phonenumbers.GetNationalSignificantNumber(n)
	for _, region := range phonenumbers.GetRegionCodesForCountryCode(int(n.GetCountryCode())) {
		if phonenumbers.IsEmergencyNumber(national, region) {
			return Emergency
		}
	}
	// +1 911 555 0123: no area code, but a switch may stop listening after the 911.
	if n.GetCountryCode() == 1 && strings.HasPrefix(national, "911") {
		return Emergency
	}
	if r.region == dialledIn && phonenumbers.IsValidShortNumberForRegion(n, dialledIn) ||
		r.region == nowhere && phonenumbers.IsValidShortNumber(n) {
		return ShortCode
	}

	switch phonenumbers.IsPossibleNumberWithReason(n) {
	case phonenumbers.TOO_LONG:
		return TooLong
	case phonenumbers.TOO_SHORT, phonenumbers.IS_POSSIBLE_LOCAL_ONLY:
		return TooShort
	case phonenumbers.INVALID_COUNTRY_CODE:
		return UnknownCountryCode
	default:
		return NotInUse
	}
}
