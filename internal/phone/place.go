package phone

import "strings"

// worldwide is the region of numbers that belong to no country, satellite telephones for one.
const worldwide = "001"

// PlaceOf is the place whose rules a call keeps, as far as the number tells: a state or province
// (ISO 3166-2, such as US-FL) in the United States and Canada, else the country, and "" for a
// number of no country. region is what the number library says of the number, see Identity. The
// place is where the number was given out; that its owner moved away, no number tells.
func PlaceOf(n Number, region string) string {
	if n.IsZero() {
		return ""
	}
	if place := placeOfAreaCode(areaCode(n.E164())); place != "" {
		return place
	}
	if region == worldwide {
		return ""
	}
	return region
}

// areaCode is the first three of the ten digits after +1. It is "" for numbers of other countries,
// and for Canada's of seven digits: 310 1234 is not in Los Angeles.
func areaCode(e164 string) string {
	national, found := strings.CutPrefix(e164, "+1")
	if !found || len(national) != 10 {
		return ""
	}
	return national[:3]
}

// placeOfAreaCode knows the area codes of the United States and Canada that stand for a place.
// Toll-free ones and such are not here, nor are those of the territories and of other countries
// of +1: a region says all there is to say of them. The number library places by exchange and in
// words, which is too slow and too vague for a law; a test holds the two together, and fails when
// a new library knows an area code that is not here.
//
// Source: the North American Numbering Plan's area code assignments, those in service and those
// announced; read 2025-11.
func placeOfAreaCode(code string) string {
	switch code {
	case "907":
		return "US-AK"
	case "205", "251", "256", "334", "483", "659", "938":
		return "US-AL"
	case "327", "479", "501", "870":
		return "US-AR"
	case "480", "520", "602", "623", "928":
		return "US-AZ"
	case "209", "213", "279", "310", "323", "341", "350", "357", "369", "408", "415", "424", "442", "510",
		"530", "559", "562", "619", "626", "628", "650", "657", "661", "669", "707", "714", "738", "747",
		"760", "805", "818", "820", "831", "837", "840", "858", "909", "916", "925", "949", "951":
		return "US-CA"
	case "303", "719", "720", "748", "970", "983":
		return "US-CO"
	case "203", "475", "860", "959":
		return "US-CT"
	case "202", "771":
		return "US-DC"
	case "302":
		return "US-DE"
	case "239", "305", "321", "324", "352", "386", "407", "448", "561", "645", "656", "689", "727", "728",
		"754", "772", "786", "813", "850", "863", "904", "941", "954":
		return "US-FL"
	case "229", "404", "470", "478", "565", "678", "706", "762", "770", "912", "943":
		return "US-GA"
	case "808":
		return "US-HI"
	case "319", "515", "563", "641", "712":
		return "US-IA"
	case "208", "986":
		return "US-ID"
	case "217", "224", "309", "312", "331", "447", "464", "618", "630", "708", "730", "773", "779", "815",
		"847", "861", "872":
		return "US-IL"
	case "219", "260", "317", "463", "574", "765", "812", "930":
		return "US-IN"
	case "316", "620", "785", "913":
		return "US-KS"
	case "270", "364", "502", "606", "859":
		return "US-KY"
	case "225", "318", "337", "457", "504", "985":
		return "US-LA"
	case "339", "351", "413", "508", "617", "774", "781", "857", "978":
		return "US-MA"
	case "227", "240", "301", "410", "443", "667":
		return "US-MD"
	case "207":
		return "US-ME"
	case "231", "248", "269", "313", "517", "586", "616", "679", "734", "810", "906", "947", "989":
		return "US-MI"
	case "218", "320", "507", "612", "651", "763", "924", "952":
		return "US-MN"
	case "235", "314", "417", "557", "573", "636", "660", "816", "975":
		return "US-MO"
	case "228", "471", "601", "662", "769":
		return "US-MS"
	case "406":
		return "US-MT"
	case "252", "336", "472", "704", "743", "828", "910", "919", "980", "984":
		return "US-NC"
	case "701":
		return "US-ND"
	case "308", "402", "531":
		return "US-NE"
	case "603":
		return "US-NH"
	case "201", "551", "609", "640", "732", "848", "856", "862", "908", "973":
		return "US-NJ"
	case "505", "575":
		return "US-NM"
	case "702", "725", "775":
		return "US-NV"
	case "212", "315", "329", "332", "347", "363", "465", "516", "518", "585", "607", "624", "631", "646",
		"680", "716", "718", "838", "845", "914", "917", "929", "934":
		return "US-NY"
	case "216", "220", "234", "283", "326", "330", "380", "419", "436", "440", "513", "567", "614", "740", "937":
		return "US-OH"
	case "405", "539", "572", "580", "918":
		return "US-OK"
	case "458", "503", "541", "971":
		return "US-OR"
	case "215", "223", "267", "272", "412", "445", "484", "570", "582", "610", "717", "724", "814", "835", "878":
		return "US-PA"
	case "401":
		return "US-RI"
	case "803", "821", "839", "843", "854", "864":
		return "US-SC"
	case "605":
		return "US-SD"
	case "423", "615", "629", "729", "731", "865", "901", "931":
		return "US-TN"
	case "210", "214", "254", "281", "325", "346", "361", "409", "430", "432", "469", "512", "621", "682",
		"713", "726", "737", "806", "817", "830", "832", "903", "915", "936", "940", "945", "956", "972", "979":
		return "US-TX"
	case "385", "435", "801":
		return "US-UT"
	case "276", "434", "540", "571", "686", "703", "757", "804", "826", "948":
		return "US-VA"
	case "802":
		return "US-VT"
	case "206", "253", "360", "425", "509", "564":
		return "US-WA"
	case "262", "274", "353", "414", "534", "608", "715", "920":
		return "US-WI"
	case "304", "681":
		return "US-WV"
	case "307":
		return "US-WY"

	case "368", "403", "587", "780", "825":
		return "CA-AB"
	case "236", "250", "257", "604", "672", "778":
		return "CA-BC"
	case "204", "431", "584":
		return "CA-MB"
	case "428", "506":
		return "CA-NB"
	case "709", "879":
		return "CA-NL"
	case "226", "249", "289", "343", "365", "382", "416", "437", "519", "548", "613", "647", "683", "705",
		"742", "753", "807", "905", "942":
		return "CA-ON"
	case "263", "354", "367", "418", "438", "450", "468", "514", "579", "581", "819", "873":
		return "CA-QC"
	case "306", "474", "639":
		return "CA-SK"
	case "782", "902", // Nova Scotia and Prince Edward Island
		"867": // Yukon, the Northwest Territories and Nunavut
		return "CA"
	}
	return ""
}
