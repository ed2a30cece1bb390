package phone

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"
)

func TestOneIdentityHoweverTyped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, region, number, extension string }{
		{"0199001234", "FR", "+33199001234", ""},
		{"0033199001234", "FR", "+33199001234", ""},
		{"0033199001234", "US", "+33199001234", ""},
		{"01133199001234", "US", "+33199001234", ""},
		{"+33(0)199001234", "US", "+33199001234", ""},
		{"+33 1 99 00 12 34", "US", "+33199001234", ""},
		{"+33 (0) 1 99 00 12 34", "FR", "+33199001234", ""},
		{"(+33) 1.99.00.12.34", "", "+33199001234", ""},
		{"33199001234", "FR", "+33199001234", ""},
		{"tel:+33-1-99-00-12-34", "US", "+33199001234", ""},
		{"TEL: +33 1 99 00 12 34", "US", "+33199001234", ""},
		{" '+33199001234", "US", "+33199001234", ""}, // a spreadsheet's way to keep text
		{`"+33199001234"`, "US", "+33199001234", ""},
		{"01\u202f99\u00a000\u200912\u300034", "fr", "+33199001234", ""},
		{"\u202a+33\u200b199\u00ad001\ufeff234\u202c", "US", "+33199001234", ""},
		{"\u200e0199001234\ufe0f", "FR", "+33199001234", ""},
		{"+33\u2011199\u201300\u201412\u221234", "US", "+33199001234", ""},
		{"＋３３　１９９００１２３４", "US", "+33199001234", ""},
		{"٠١٩٩٠٠١٢٣٤", "FR", "+33199001234", ""},   // Arabic-Indic
		{"+۳۳۱۹۹۰۰۱۲۳۴", "US", "+33199001234", ""}, // Persian
		{"०१९९००१२३४", "FR", "+33199001234", ""},   // Devanagari
		{"4155550123", "US", "+14155550123", ""},
		{"(415) 555-0123", "US", "+14155550123", ""},
		{"1-415-555-0123", "US", "+14155550123", ""},
		{"415/555.0123", "US", "+14155550123", ""},
		{"+1 415 555 0123", "FR", "+14155550123", ""},
		{"0014155550123", "FR", "+14155550123", ""},
		{"020 7946 0123", "GB", "+442079460123", ""},
		{"+44 (0)20 7946 0123", "US", "+442079460123", ""},
		{"+39 (0)6 12345678", "US", "+390612345678", ""}, // Italy dials the 0 from abroad too
		{"+47 (0) 911 55 012", "US", "+4791155012", ""},  // Norway has none
		{"0491 570 156", "AU", "+61491570156", ""},
		{"011 15 2345-6789", "AR", "+5491123456789", ""},
		{"+1 909 555 0123", "US", "+19095550123", ""},
		{"+47 911 55 012", "US", "+4791155012", ""},
		{"911 55 012", "NO", "+4791155012", ""},
		{"+1 415 555 0123 x44", "US", "+14155550123", "44"},
		{"+1 415 555 0123x44", "US", "+14155550123", "44"},
		{"+1 415 555 0123;ext=44", "US", "+14155550123", "44"},
		{"tel:+1-415-555-0123;ext=44", "US", "+14155550123", "44"},
		{"+1 415 555 0123,,44#", "US", "+14155550123", "44"},
		{"+1 415 555 0123,44", "US", "+14155550123", "44"},
		{"+1 415 555 0123 ext. 44", "US", "+14155550123", "44"},
		{"+1 415 555 0123, Extension: 44", "US", "+14155550123", "44"},
		{"+1 415 555 0123 (ext 44)", "US", "+14155550123", "44"},
		{"+1 415 555 0123 #44", "US", "+14155550123", "44"},
		{"+1 415 555 0123 ｘ４４", "US", "+14155550123", "44"},
		{"+33 1 99 00 12 34 poste 4 4", "US", "+33199001234", "44"},
		{"+7 495 123-45-67 доб. 44", "US", "+74951234567", "44"},
		{"+1 415 555 0123p44", "US", "+14155550123", "44"},
		{"+1 415 555 0123ww44", "US", "+14155550123", "44"},
		{"+1 415 555 0123,,98765432101#,*44#", "US", "+14155550123", "98765432101#wwww*44"},
		{"+1 415 555 0123,", "US", "+14155550123", ""},
	} {
		t.Run(tt.raw+" "+tt.region, func(t *testing.T) {
			t.Parallel()
			id, p := Parse(tt.raw, tt.region)
			if p != "" {
				t.Fatalf("problem %s: %s", p, p.Sentence())
			}
			if id.Number.E164() != tt.number || id.Extension != tt.extension {
				t.Errorf("got %s extension %q, want %s extension %q",
					id.Number.E164(), id.Extension, tt.number, tt.extension)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		raw, region string
		want        Problem
	}{
		{"", "US", NoNumber},
		{" \u200b\u00a0 ", "US", NoNumber},
		{"tel:", "US", NoNumber},
		{"+", "US", NotANumber},
		{"()-", "US", NotANumber},
		{"call me", "US", Letters},
		{"1-800-FLOWERS", "US", Letters},
		{"+1 415 555 O123", "US", Letters},
		{"3.31990E+10", "US", Letters}, // a spreadsheet's
		{"+1 415 555 0123 home", "US", Letters},
		{"0199001234 perso", "FR", Letters},
		{"+1 415 555 xxxx", "US", Letters},
		{"+1 415 555\x000123", "US", OddCharacter},
		{"+1 415 555 0123 \xff\xfe", "US", OddCharacter},
		{"📞 +1 415 555 0123", "US", OddCharacter},
		{"+1 415 555 012²", "US", OddCharacter},
		{"+1 415 555 0123 / +1 415 555 0124", "US", SeveralNumbers},
		{"+1 415 555 0123, +1 415 555 0124", "US", SeveralNumbers},
		{"4155550123,4155550124", "US", SeveralNumbers},
		{"4155550123;4155550124", "US", SeveralNumbers},
		{"++14155550123", "US", SeveralNumbers},
		{"4155550123 4155550124", "US", TooLong},
		{"+1 415 555 0123 44", "US", TooLong},
		{"+1 415 555 0123 ext", "US", BadExtension},
		{"+1 415 555 0123#", "US", BadExtension},
		{"+1 415 555 0123 x*", "US", BadExtension},
		{"+1 415 555 0123 x" + strings.Repeat("1", 33), "US", BadExtension},
		{"+1 415 555 0123 x4!4", "US", BadExtension},
		{strings.Repeat("4", 251), "US", TooLong},
		{strings.Repeat("4", 250), "US", TooLong},
		{strings.Repeat(" ", 10_000_000), "US", TooLong},
		{"555 0123", "US", TooShort},
		{"5", "US", TooShort},
		{"+33 1", "US", TooShort},
		{"4155550123", "", UnknownRegion},
		{"4155550123", "XX", UnknownRegion},
		{"4155550123", "USA", UnknownRegion},
		{"+999 415 555 0123", "US", UnknownCountryCode},
		{"+210 555 0123", "US", UnknownCountryCode}, // never San Antonio's (210) 555-0123
		{"+0199001234", "FR", UnknownCountryCode},
		{"+1 415 155 0123", "US", NotInUse},
		{"+447700900123", "US", NotInUse}, // kept for fiction
		{"*67", "US", ServiceCode},
		{"#31#0199001234", "FR", ServiceCode},
		{"4155550123*1", "US", ServiceCode},
		{"911", "US", Emergency},
		{"911", "GB", Emergency},
		{"9-1-1", "US", Emergency},
		{"９１１", "US", Emergency},
		{"112", "US", Emergency},
		{"112", "FR", Emergency},
		{"999", "GB", Emergency},
		{"999", "US", Emergency},
		{"000", "AU", Emergency},
		{"17", "FR", Emergency},
		{"+911", "US", Emergency},
		{"+1 911", "US", Emergency},
		{"+1 911 555 0123", "US", Emergency},
		{"9115550123", "US", Emergency},
		{"+33 112", "US", Emergency},
		{"+44 999", "US", Emergency},
		{"112 x44", "FR", Emergency},
		{"411", "US", ShortCode},
		{"3631", "FR", ShortCode},
		{"+33 3631", "US", ShortCode},
		{"+1 900 555 0123", "US", Premium},
		{"900 555 0123", "US", Premium},
		{"+33 899 12 34 56", "US", Premium},
		{"+979 123 456 789", "US", Premium},
		{"+33 884 01 23 45", "US", SharedCost},
		{"+808 1234 5678", "US", SharedCost},
	} {
		t.Run(fmt.Sprintf("%.40q %s", tt.raw, tt.region), func(t *testing.T) {
			t.Parallel()
			id, p := Parse(tt.raw, tt.region)
			if p != tt.want {
				t.Fatalf("problem %q (%s), want %q", p, id.Number.E164(), tt.want)
			}
			if !id.Number.IsZero() || id.Zones != nil {
				t.Errorf("an identity beside a problem")
			}
		})
	}
}

// The emergency numbers the library knows, dialled in their own region. They all look alike.
func TestEmergencyNumbersOfEveryRegion(t *testing.T) {
	t.Parallel()
	shapes := []string{"000", "066", "060"}
	for _, span := range [][2]int{{10, 19}, {100, 199}, {900, 999}} {
		for n := span[0]; n <= span[1]; n++ {
			shapes = append(shapes, fmt.Sprint(n))
		}
	}
	found := 0
	for region := range phonenumbers.GetSupportedRegions() {
		for _, digits := range shapes {
			if phonenumbers.IsEmergencyNumber(digits, region) {
				found++
				if _, p := Parse(digits, region); p != Emergency {
					t.Errorf("%s in %s: problem %q", digits, region, p)
				}
			}
		}
	}
	if found < 500 {
		t.Errorf("only %d", found)
	}
}

func TestRegionAndKind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		raw, region string
		kind        Kind
	}{
		{"+14155550123", "US", FixedOrMobile},
		{"+14165550123", "CA", FixedOrMobile},
		{"+17875550123", "PR", FixedOrMobile},
		{"+18095550123", "DO", FixedOrMobile},
		{"+18005550123", "US", TollFree},
		{"+80012345678", "001", TollFree},
		{"+33199001234", "FR", FixedLine},
		{"+61491570156", "AU", Mobile},
		{"+33939123456", "FR", VoIP},
		{"+77123456789", "KZ", FixedLine},
		{"+881612345678", "001", Mobile},
	} {
		id, p := Parse(tt.raw, "GB")
		if p != "" || id.Region != tt.region || id.Kind != tt.kind {
			t.Errorf("%s: region %q kind %q problem %q, want %q %q", tt.raw, id.Region, id.Kind, p, tt.region, tt.kind)
		}
	}
}

func TestEveryProblemHasItsSentence(t *testing.T) {
	t.Parallel()
	seen := map[string]Problem{}
	for _, p := range Problems() {
		s := p.Sentence()
		if other, twice := seen[s]; s == "" || twice {
			t.Errorf("%s: sentence %q, the same as of %q", p, s, other)
		}
		seen[s] = p
	}
	if Problem("").Sentence() != "" {
		t.Error("no problem has a sentence")
	}
}

// Digits of each script come in tens, which digitValue relies on.
func TestDigitsComeInTens(t *testing.T) {
	t.Parallel()
	runs := 0
	check := func(lo, hi, stride uint32) {
		runs++
		if stride != 1 || (hi-lo+1)%10 != 0 {
			t.Errorf("range %U to %U, stride %d", lo, hi, stride)
		}
	}
	for _, r := range unicode.Nd.R16 {
		check(uint32(r.Lo), uint32(r.Hi), uint32(r.Stride))
	}
	for _, r := range unicode.Nd.R32 {
		check(r.Lo, r.Hi, r.Stride)
	}
	if runs == 0 {
		t.Error("no digits")
	}
	if got := digitValue('٣'); got != 3 {
		t.Errorf("digitValue is %d", got)
	}
}

// An identity's own text gives the same identity, in whatever region it is read.
func TestIdentityIsStable(t *testing.T) {
	t.Parallel()
	regions := slices.Sorted(func(yield func(string) bool) {
		for r := range phonenumbers.GetSupportedRegions() {
			if !yield(r) {
				return
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		region := rapid.SampledFrom(regions).Draw(t, "region")
		kind := phonenumbers.PhoneNumberType(rapid.IntRange(0, 10).Draw(t, "kind"))
		example := phonenumbers.GetExampleNumberForType(region, kind)
		if example == nil {
			return
		}
		raw := phonenumbers.Format(example, rapid.SampledFrom([]phonenumbers.PhoneNumberFormat{
			phonenumbers.E164, phonenumbers.INTERNATIONAL, phonenumbers.NATIONAL, phonenumbers.RFC3966,
		}).Draw(t, "format"))
		// Other numbers near it: the last digits at random.
		b := []byte(raw)
		for i := len(b) - 4; i < len(b); i++ {
			if i > 0 && b[i] >= '0' && b[i] <= '9' && rapid.Bool().Draw(t, "change") {
				b[i] = byte('0' + rapid.IntRange(0, 9).Draw(t, "digit"))
			}
		}
		stable(t, string(b)+rapid.SampledFrom([]string{"", " x44", ",,44#", ";ext=7*1"}).Draw(t, "tail"), region)
	})
}

func TestAnyText(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.RuneFrom([]rune("+00112233445566778899 ()-./,;x#*w=")), 0, 40, -1),
		rapid.StringMatching(`\+?[0-9]{2,17}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		stable(t, text.Draw(t, "text"), rapid.SampledFrom([]string{"US", "FR", "AR", "IT", "MX", "BR", "", "ZZ"}).Draw(t, "region"))
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"+1 415 555 0123 x44", "0199001234", "＋３３１", "\xff", "911", "+33(0)199001234,,44#"} {
		f.Add(s, "US")
		f.Add(s, "FR")
	}
	f.Fuzz(func(t *testing.T, raw, region string) { stable(t, raw, region) })
}

type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// stable checks what holds for any text. It calls parse, which has no net under it.
func stable(t tester, raw, region string) {
	t.Helper()
	id, p := parse(raw, region)
	if p != "" {
		if !slices.Contains(Problems(), p) {
			t.Fatalf("%q in %s: an unknown problem %q", raw, region, p)
		}
		return
	}
	e164 := id.Number.E164()
	if len(e164) > 16 || len(e164) < 4 || e164[0] != '+' || e164[1] == '0' || strings.Trim(e164[1:], "0123456789") != "" {
		t.Fatalf("%q in %s: not E.164: %q", raw, region, e164)
	}
	if len(id.Extension) > 32 || strings.Trim(id.Extension, "0123456789*#w") != "" {
		t.Fatalf("%q in %s: extension %q", raw, region, id.Extension)
	}
	country := id.Region
	if country == worldwide {
		country = ""
	}
	if in, _, _ := strings.Cut(id.Place, "-"); in != country {
		t.Fatalf("%q in %s: in %q, of region %q", raw, region, id.Place, id.Region)
	}
	again := e164
	if id.Extension != "" {
		again += ";ext=" + id.Extension
	}
	other, p := parse(again, "")
	if p != "" || other.Number != id.Number || other.Extension != id.Extension ||
		other.Region != id.Region || other.Place != id.Place || other.Kind != id.Kind || !slices.Equal(other.Zones, id.Zones) {
		t.Fatalf("%q in %s is %s ext %q, which reads as %s ext %q (%s)",
			raw, region, e164, id.Extension, other.Number.E164(), other.Extension, p)
	}
	back := Restore(e164, id.Extension, id.Region)
	back.Kind = id.Kind
	if back.Number != id.Number || back.Place != id.Place || !slices.Equal(back.Zones, id.Zones) {
		t.Fatalf("%q in %s: restored as %v", raw, region, back)
	}
}
