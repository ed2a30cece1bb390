package phone

import "github.com/nyaruka/phonenumbers"

// Identity is what a number is, however it was typed. Two texts that ring the same telephone
// have the same Number, which opt-outs, caps and gaps count by.
type Identity struct {
	Number    Number
	Extension string   // sent as tones after the answer: digits, * and #, and w for half a second's pause
	Region    string   // ISO 3166 alpha-2, or "001" for numbers of no country
	Place     string   // ISO 3166-2 where the number tells (US-FL), else its country; "" where it has none
	Zones     []string // candidate IANA time zones, see ZonesOf
	Kind      Kind     // "" where the identity was read back and not parsed
}

// Restore is the identity of a number that was parsed before and is read back from the database.
// The text that was typed is not needed, and no numbering plan is asked.
func Restore(e164, extension, region string) Identity {
	n := FromE164(e164)
	return Identity{Number: n, Extension: extension, Region: region, Place: PlaceOf(n, region), Zones: ZonesOf(n)}
}

// Kind is what a number is for, by its country's numbering plan.
type Kind string

// The kinds of a number that may be rung. Premium and shared cost numbers are Problems.
const (
	FixedLine     Kind = "fixed_line"
	Mobile        Kind = "mobile"
	FixedOrMobile Kind = "fixed_or_mobile" // +1 and a few others do not tell them apart
	TollFree      Kind = "toll_free"
	VoIP          Kind = "voip"
	Personal      Kind = "personal" // follows a person from line to line
	Pager         Kind = "pager"
	Universal     Kind = "universal" // one number of a company's many offices
	Voicemail     Kind = "voicemail"
	OtherKind     Kind = "other"
)

func kindOf(t phonenumbers.PhoneNumberType) Kind {
	switch t {
	case phonenumbers.FIXED_LINE:
		return FixedLine
	case phonenumbers.MOBILE:
		return Mobile
	case phonenumbers.FIXED_LINE_OR_MOBILE:
		return FixedOrMobile
	case phonenumbers.TOLL_FREE:
		return TollFree
	case phonenumbers.VOIP:
		return VoIP
	case phonenumbers.PERSONAL_NUMBER:
		return Personal
	case phonenumbers.PAGER:
		return Pager
	case phonenumbers.UAN:
		return Universal
	case phonenumbers.VOICEMAIL:
		return Voicemail
	default:
		return OtherKind
	}
}
