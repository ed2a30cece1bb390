package phone

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
)

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ e164, region, want string }{
		{"+13055550123", "US", "US-FL"},
		{"+12025550123", "US", "US-DC"},
		{"+15145550123", "CA", "CA-QC"},
		{"+19025550123", "CA", "CA"}, // Nova Scotia or Prince Edward Island
		{"+18675550123", "CA", "CA"}, // one of three territories
		{"+16005550123", "CA", "CA"},
		{"+13101234", "CA", "CA"}, // seven digits for all of Canada, and not Los Angeles's area code
		{"+18005550123", "US", "US"},
		{"+18335550123", "US", "US"},
		{"+15005550123", "US", "US"},
		{"+17875550123", "PR", "PR"},
		{"+19395550123", "PR", "PR"},
		{"+16715550123", "GU", "GU"},
		{"+13405550123", "VI", "VI"},
		{"+16845550123", "AS", "AS"},
		{"+16705550123", "MP", "MP"},
		{"+18095550123", "DO", "DO"},
		{"+442079460123", "GB", "GB"},
		{"+33199001234", "FR", "FR"},
		{"+61491570156", "AU", "AU"},
		{"+3055550123", "GR", "GR"}, // 305 is Florida's behind +1 only
		{"+870773123456", "001", ""},
		{"+80012345678", "001", ""},
		{"+881612345678", "001", ""},
		{"+13055550123", "", "US-FL"},
		{"+33199001234", "", ""},
		{"", "", ""},
		{"", "US", ""},
		{"nonsense", "", ""},
		{"+", "", ""},
		{"+1", "US", "US"},
		{"+130", "US", "US"},
	} {
		if got := PlaceOf(FromE164(tt.e164), tt.region); got != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.e164, tt.region, got, tt.want)
		}
	}
	if got := PlaceOf(Number{}, ""); got != "" {
		t.Errorf("no number is in %q", got)
	}
}

func TestParseTellsThePlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, region, want string }{
		{"(305) 555-0123", "US", "US-FL"},
		{"+1 514 555 0123", "FR", "CA-QC"},
		{"+1 800 555 0123", "CA", "US"}, // of all +1; the library names its main country
		{"+1 787 555 0123", "US", "PR"},
		{"020 7946 0123", "GB", "GB"},
		{"+870 773 123 456", "US", ""},
		{"+800 1234 5678", "US", ""},
	} {
		id, p := Parse(tt.raw, tt.region)
		if p != "" || id.Place != tt.want {
			t.Errorf("%s in %s: %q, problem %q, want %q", tt.raw, tt.region, id.Place, p, tt.want)
		}
		if back := Restore(id.Number.E164(), "", id.Region); back.Place != tt.want {
			t.Errorf("%s in %s: restored to %q, want %q", tt.raw, tt.region, back.Place, tt.want)
		}
	}
}

// All area codes of states with laws of their own, written down apart from the table.
func TestAreaCodesOfStates(t *testing.T) {
	t.Parallel()
	codes := areaCodes()
	for place, want := range map[string]string{
		"US-AL": "205 251 256 334 483 659 938",
		"US-CT": "203 475 860 959",
		"US-FL": "239 305 321 324 352 386 407 448 561 645 656 689 727 728 754 772 786 813 850 863 904 941 954",
		"US-MD": "227 240 301 410 443 667",
		"US-MI": "231 248 269 313 517 586 616 679 734 810 906 947 989",
		"US-MS": "228 471 601 662 769",
		"US-NM": "505 575",
		"US-OK": "405 539 572 580 918",
		"US-RI": "401",
		"US-UT": "385 435 801",
		"US-WA": "206 253 360 425 509 564",
	} {
		if got := strings.Join(codes[place], " "); got != want {
			t.Errorf("%s: %s, want %s", place, got, want)
		}
	}
}

// Every state and province has an area code of its own, save the five that share theirs.
func TestEveryStateAndProvinceIsAPlace(t *testing.T) {
	t.Parallel()
	want := slices.Collect(maps.Values(placeNames()))
	want = slices.DeleteFunc(want, func(place string) bool {
		return slices.Contains([]string{"CA-NS", "CA-PE", "CA-YT", "CA-NT", "CA-NU"}, place)
	})
	want = append(want, "CA")
	slices.Sort(want)
	want = slices.Compact(want) // a name may be spelt in two ways
	if got := slices.Sorted(maps.Keys(areaCodes())); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// An area code that a new library knows and the table does not would have its state's law ignored.
func TestAreaCodesAgreeWithTheLibrary(t *testing.T) {
	t.Parallel()
	// Announced, or in service with hardly a number given out: the library refuses them still.
	ahead := []string{
		"357", "436", "457", "465", "471", "483", "565", "621", "624", "679", "729", "837", "861", "924",
	}
	slips := map[string]string{
		"201": "US-NY", // one exchange of New Jersey's, 631, is put in New York
	}
	names := placeNames()
	for _, place := range slices.Collect(maps.Values(names)) {
		_, short, _ := strings.Cut(place, "-")
		names[short] = place
	}
	geographic := 0
	for area := 200; area < 1000; area++ {
		code := fmt.Sprint(area)
		place := placeOfAreaCode(code)
		region, subscribers := libraryRegion(t, area)
		country, _, _ := strings.Cut(place, "-")
		switch ours := region == "US" || region == "CA"; {
		case ours && subscribers && country != region:
			t.Errorf("+1 %s is of %s, and of %q in the table", code, region, place)
		case place != "" && region == "" && !slices.Contains(ahead, code):
			t.Errorf("+1 %s is of %s in the table, and of no country", code, place)
		case place != "" && region != "" && (!ours || !subscribers):
			t.Errorf("+1 %s is of %s in the table, and not geographic in %s", code, place, region)
		}
		if place == "" || region == "" {
			continue
		}
		geographic++

		named := libraryPlaces(t, area, names)
		delete(named, slips[code])
		switch where := slices.Sorted(maps.Keys(named)); {
		case len(where) == 0:
			t.Errorf("+1 %s is of %s in the table, and of no place the library names", code, place)
		case len(where) == 1 && where[0] != place:
			t.Errorf("+1 %s is of %s, and of %s in the table", code, where[0], place)
		case len(where) > 1 && place != country:
			t.Errorf("+1 %s is of %v, and of %s in the table", code, where, place)
		}
	}
	if geographic < 400 {
		t.Errorf("only %d area codes", geographic)
	}
}

// What Parse lets through is somewhere: in its region, or in a part of it.
func TestPlacesOfEveryRegion(t *testing.T) {
	t.Parallel()
	for region := range phonenumbers.GetSupportedRegions() {
		for kind := phonenumbers.FIXED_LINE; kind <= phonenumbers.VOICEMAIL; kind++ {
			example := phonenumbers.GetExampleNumberForType(region, kind)
			if example == nil {
				continue
			}
			id, p := Parse(phonenumbers.Format(example, phonenumbers.E164), region)
			if p != "" {
				continue
			}
			if country, part, _ := strings.Cut(id.Place, "-"); country != id.Region || part != "" && country != "US" && country != "CA" {
				t.Errorf("%s: %q, of region %s", id.Number.E164(), id.Place, id.Region)
			}
		}
	}
}

// Not parallel: the runtime counts allocations for all tests at once.
func TestPlaceOfAllocatesNothing(t *testing.T) {
	numbers := []Number{FromE164("+19545550123"), FromE164("+18005550123"), FromE164("+33199001234"), {}}
	if n := testing.AllocsPerRun(100, func() {
		for _, number := range numbers {
			PlaceOf(number, "US")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPlaceOf(b *testing.B) {
	b.ReportAllocs()
	n := FromE164("+19545550123")
	for b.Loop() {
		PlaceOf(n, "US")
	}
}

// areaCodes turns the table round: the area codes of each place, in order.
func areaCodes() map[string][]string {
	codes := map[string][]string{}
	for area := 200; area < 1000; area++ {
		code := fmt.Sprint(area)
		if place := placeOfAreaCode(code); place != "" {
			codes[place] = append(codes[place], code)
		}
	}
	return codes
}

// libraryRegion is the country of an area code, "" where it is not in use, and whether ordinary
// subscribers have its numbers. Exchanges are sampled: those of an area code differ by their
// first two digits at most.
func libraryRegion(t *testing.T, area int) (region string, subscribers bool) {
	t.Helper()
	for exchange := 200; exchange < 1000; exchange += 10 {
		n := american(area, exchange+5)
		at := phonenumbers.GetRegionCodeForNumber(n)
		if at == "" {
			continue
		}
		if region != "" && at != region {
			t.Errorf("+1 %d is of %s and of %s", area, region, at)
		}
		region = at
		switch phonenumbers.GetNumberType(n) {
		case phonenumbers.FIXED_LINE, phonenumbers.MOBILE, phonenumbers.FIXED_LINE_OR_MOBILE:
			return region, true
		}
	}
	return region, false
}

// libraryPlaces are the states and provinces that the library names for some exchange of an area
// code. It says "Florida", "Miami, FL", or several at once with strokes between them.
func libraryPlaces(t *testing.T, area int, names map[string]string) map[string]bool {
	t.Helper()
	places := map[string]bool{}
	for exchange := 200; exchange < 1000; exchange++ {
		said, err := phonenumbers.GetGeocodingForNumber(american(area, exchange), "en")
		if err != nil {
			t.Fatal(err)
		}
		if _, state, found := strings.Cut(said, ", "); found {
			said = state
		}
		for name := range strings.SplitSeq(said, "/") {
			if place, found := names[name]; found {
				places[place] = true
			}
		}
	}
	return places
}

func american(area, exchange int) *phonenumbers.PhoneNumber {
	country, national := int32(1), uint64(area)*1e7+uint64(exchange)*1e4+123
	return &phonenumbers.PhoneNumber{CountryCode: &country, NationalNumber: &national}
}

// placeNames are the states and provinces as the library spells them.
func placeNames() map[string]string {
	return map[string]string{
		"Alabama": "US-AL", "Alaska": "US-AK", "Arizona": "US-AZ", "Arkansas": "US-AR", "California": "US-CA",
		"Colorado": "US-CO", "Connecticut": "US-CT", "Delaware": "US-DE", "Florida": "US-FL", "Georgia": "US-GA",
		"Hawaii": "US-HI", "Idaho": "US-ID", "Illinois": "US-IL", "Indiana": "US-IN", "Iowa": "US-IA",
		"Kansas": "US-KS", "Kentucky": "US-KY", "Louisiana": "US-LA", "Maine": "US-ME", "Maryland": "US-MD",
		"Massachusetts": "US-MA", "Michigan": "US-MI", "Minnesota": "US-MN", "Mississippi": "US-MS",
		"Missouri": "US-MO", "Montana": "US-MT", "Nebraska": "US-NE", "Nevada": "US-NV", "New Hampshire": "US-NH",
		"New Jersey": "US-NJ", "New Mexico": "US-NM", "New York": "US-NY", "North Carolina": "US-NC",
		"North Dakota": "US-ND", "Ohio": "US-OH", "Oklahoma": "US-OK", "Oregon": "US-OR", "Pennsylvania": "US-PA",
		"Rhode Island": "US-RI", "South Carolina": "US-SC", "South Dakota": "US-SD", "Tennessee": "US-TN",
		"Texas": "US-TX", "Utah": "US-UT", "Vermont": "US-VT", "Virginia": "US-VA", "Washington State": "US-WA",
		"Washington D.C.": "US-DC", "West Virginia": "US-WV", "Wisconsin": "US-WI", "Wyoming": "US-WY",
		"Alberta": "CA-AB", "British Columbia": "CA-BC", "Manitoba": "CA-MB", "New Brunswick": "CA-NB",
		"Newfoundland and Labrador": "CA-NL", "Northwest Territories": "CA-NT", "Nova Scotia": "CA-NS",
		"Nunavut": "CA-NU", "Ontario": "CA-ON", "Prince Edward Island": "CA-PE", "Quebec": "CA-QC",
		"Saskatchewan": "CA-SK", "Yukon": "CA-YT",
		"British Colombia": "CA-BC", // so spelt for 257
	}
}
