package phone

// Problem is a code that says why a text has no identity, or has one that is never rung.
// "" is no problem. Codes are kept in the ledger and never change their meaning.
type Problem string

// The closed set of problems.
const (
	NoNumber           Problem = "no_number"
	NotANumber         Problem = "not_a_number"
	OddCharacter       Problem = "odd_character"
	Letters            Problem = "letters"
	SeveralNumbers     Problem = "several_numbers"
	BadExtension       Problem = "bad_extension"
	TooLong            Problem = "too_long"
	TooShort           Problem = "too_short"
	UnknownRegion      Problem = "unknown_region"
	UnknownCountryCode Problem = "unknown_country_code"
	NotInUse           Problem = "not_in_use"
	ServiceCode        Problem = "service_code"
	Emergency          Problem = "emergency"
	ShortCode          Problem = "short_code"
	Premium            Problem = "premium"
	SharedCost         Problem = "shared_cost"
)

// Problems lists every problem there is.
func Problems() []Problem {
	return []Problem{
		NoNumber, NotANumber, OddCharacter, Letters, SeveralNumbers, BadExtension, TooLong, TooShort,
		UnknownRegion, UnknownCountryCode, NotInUse, ServiceCode, Emergency, ShortCode, Premium, SharedCost,
	}
}

// Sentence says the problem in plain English, without the number. It is "" for no problem.
func (p Problem) Sentence() string {
	switch p {
	case "":
		return ""
	case NoNumber:
		return "no telephone number was given"
	case OddCharacter:
		return "the number holds a character that no telephone number has"
	case Letters:
		return "the number holds letters: write it in digits, and an extension as x44"
	case SeveralNumbers:
		return "this looks like more than one telephone number"
	case BadExtension:
		return "what follows the number cannot be read as an extension (digits, * and #, at most 32)"
	case TooLong:
		return "the number is too long for its country"
	case TooShort:
		return "the number is too short for its country: its area code or some digits are missing"
	case UnknownRegion:
		return "the number has no country code, and the default region is not one that is known"
	case UnknownCountryCode:
		return "no country has this country code"
	case NotInUse:
		return "no number like this is in use in its country"
	case ServiceCode:
		return "this is a code for the telephone itself (with * or #), not a number"
	case Emergency:
		return "this is an emergency number"
	case ShortCode:
		return "this is a short code, which cannot be called back"
	case Premium:
		return "this is a premium rate number"
	case SharedCost:
		return "this is a shared cost number"
	default: // NotANumber, and what a later version may have written
		return "this is not a telephone number"
	}
}
