package phone

import (
	"slices"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// ZonesOf lists the candidate time zones of a number: where its owner may be, as far as the
// number tells. A toll-free number of +1 has about forty, a satellite telephone none. A call must
// be lawful in all of them. It costs a few look-ups by prefix, and the slice is the caller's.
func ZonesOf(n Number) []string {
	e164 := n.E164()
	if zones := splitAreaCode(e164); zones != nil {
		return zones
	}
	if zones := placeless(e164); zones != nil {
		return zones
	}
	// The error says that there are no digits; then there is no zone either.
	shared, _ := phonenumbers.GetTimezonesForPrefix(e164)
	if slices.Contains(shared, phonenumbers.UNKNOWN_TIMEZONE) {
		return nil
	}
	return slices.Clone(shared) // the library's own table
}

// splitAreaCode knows the area codes of +1 that span zones. The number library places them by
// exchange (the next three digits), with the larger part of the code for the exchanges it does
// not list, and a number keeps its exchange when its owner moves within the area code. So every
// zone of the area code is a candidate, by the law or by the clocks of a town.
//
// Sources: the exchanges of libphonenumber 9.0.32 (a test derives the table from them anew), the
// North American Numbering Plan's overlays, the zones and remarks of tzdata 2025b, 49 CFR 71;
// read 2025-11.
func splitAreaCode(e164 string) []string {
	switch areaCode(e164) {
	case "208", "986": // Idaho
		return []string{"America/Boise", "America/Los_Angeles"}
	case "219", "574": // northern Indiana
		return []string{"America/Chicago", "America/New_York"}
	case "236", "250", "257", "672", "778": // British Columbia; its east keeps mountain time, parts without summer time
		return []string{"America/Edmonton", "America/Fort_Nelson", "America/Vancouver"}
	case "270", "364", "606": // Kentucky
		return []string{"America/Chicago", "America/New_York"}
	case "306", "474", "639": // Saskatchewan; Lloydminster keeps Alberta's time, Creighton Manitoba's
		return []string{"America/Edmonton", "America/Regina", "America/Winnipeg"}
	case "308", "402", "531": // Nebraska; in the east Cody alone, which the library does not list
		return []string{"America/Chicago", "America/Denver"}
	case "334", "483": // south-eastern Alabama; Phenix City and its neighbours keep Georgia's time
		return []string{"America/Chicago", "America/New_York"}
	case "367", "418", "581": // eastern Québec; the Magdalen Islands and the lower north shore
		return []string{"America/Halifax", "America/Toronto"}
	case "423", "729": // eastern Tennessee
		return []string{"America/Chicago", "America/New_York"}
	case "448", "850": // the Florida panhandle
		return []string{"America/Chicago", "America/New_York"}
	case "458", "541": // Oregon; Malheur County
		return []string{"America/Boise", "America/Denver", "America/Los_Angeles"}
	case "605": // South Dakota
		return []string{"America/Chicago", "America/Denver", "America/North_Dakota/Center"}
	case "620", "785": // Kansas
		return []string{"America/Chicago", "America/Denver"}
	case "701": // North Dakota
		return []string{"America/Chicago", "America/Denver", "America/North_Dakota/Center"}
	case "709", "879": // Newfoundland and Labrador; the library has Puerto Rico's time for Labrador
		return []string{"America/Goose_Bay", "America/Halifax", "America/St_Johns"}
	case "775": // Nevada; West Wendover and Jackpot
		return []string{"America/Boise", "America/Denver", "America/Los_Angeles"}
	case "807": // north-western Ontario
		return []string{"America/Toronto", "America/Winnipeg"}
	case "812", "930": // southern Indiana
		return []string{"America/Chicago", "America/New_York"}
	case "867": // Yukon, the Northwest Territories, Nunavut
		return []string{
			"America/Edmonton", "America/Fort_Nelson", "America/Toronto", "America/Vancouver",
			"America/Whitehorse", "America/Winnipeg",
		}
	case "906": // upper Michigan
		return []string{"America/Chicago", "America/New_York"}
	case "907": // Alaska
		return []string{"America/Adak", "America/Anchorage", "America/Juneau", "Pacific/Honolulu"}
	case "928": // northern Arizona; the Navajo Nation keeps summer time
		return []string{"America/Denver", "America/Phoenix"}
	}
	return nil
}

// placeless knows numbers that belong to no place in a country of several zones, mobile ones
// above all, for which the number library names the zone of the capital or the largest city.
//
// Sources: the countries' numbering plans as filed with the ITU, the zones of tzdata 2025b; read 2025-11.
func placeless(e164 string) []string {
	has := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(e164, p) })
	}
	switch {
	case has("+614", "+6113", "+6114", "+6116", "+6118"): // Australia: mobile, 13 and 1300, VoIP, pagers, 1800
		return []string{
			"Australia/Adelaide", "Australia/Brisbane", "Australia/Darwin", "Australia/Perth", "Australia/Sydney",
		}
	case has("+346", "+347"): // Spain: mobile
		return []string{"Atlantic/Canary", "Europe/Madrid"}
	case has("+628"): // Indonesia: mobile, toll-free
		return []string{"Asia/Jakarta", "Asia/Jayapura", "Asia/Makassar"}
	case has("+79"): // Russia: mobile; each prefix has a region, which the library does not know
		return []string{
			"Asia/Irkutsk", "Asia/Kamchatka", "Asia/Krasnoyarsk", "Asia/Magadan", "Asia/Novosibirsk", "Asia/Omsk",
			"Asia/Vladivostok", "Asia/Yakutsk", "Asia/Yekaterinburg", "Europe/Kaliningrad", "Europe/Moscow", "Europe/Samara",
		}
	}
	return nil
}
