package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nyaruka/phonenumbers"
	"go.yaml.in/yaml/v3"
)

var placeForm = regexp.MustCompile(`^[A-Z]{2}(-[A-Z0-9]{1,3})?$`)

func (r *reader) places(n *yaml.Node) []string {
	var places []string
	for _, one := range r.words(n, "places") {
		if wrong := place(one.Value); wrong != "" {
			r.say(one, "%s is no place: %s", quote(one.Value), wrong)
			continue
		}
		places = append(places, one.Value)
	}
	return places
}

// place says what is wrong with the name of a place: "" is nothing. Only what a number can tell
// is a place: a rule for another one would never bind anybody, and look as if it did.
func place(name string) string {
	if upper := strings.ToUpper(name); upper != name && placeForm.MatchString(upper) {
		return "write it in capitals, " + upper
	}
	if strings.ContainsAny(name, ", ") {
		return "write several as a list, such as [US, CA-ON]"
	}
	if !placeForm.MatchString(name) {
		return "write a country as FR, or a part of the US or of Canada as US-FL"
	}
	country, part, divided := strings.Cut(name, "-")
	switch known := parts(country); {
	case country == "UK":
		return "write GB"
	case !phonenumbers.GetSupportedRegions()[country]:
		return "there are no telephone numbers of a country " + country
	case !divided || slices.Contains(known, part):
		return ""
	case known == nil:
		return "no telephone number tells the part of " + country + " that it belongs to: write " + country
	case phonenumbers.GetCountryCodeForRegion(part) == 1: // a territory, or a neighbour
		return part + " has a code of its own: write " + part
	default:
		return country + " has no part " + part
	}
}

// parts are the subdivisions of a country that its numbers tell (ISO 3166-2): the states of the
// US and the District of Columbia, and Canada's provinces and territories.
func parts(country string) []string {
	switch country {
	case "US":
		return strings.Fields("AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT " +
			"NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY")
	case "CA":
		return strings.Fields("AB BC MB NB NL NS NT NU ON PE QC SK YT")
	}
	return nil
}
