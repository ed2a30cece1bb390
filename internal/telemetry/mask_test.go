package telemetry_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"chasephone/internal/telemetry"
)

func TestMaskText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"+14155550123":                          "+*********23",
		"calling +14155550123 now":              "calling +*********23 now",
		"4155550123":                            "********23",
		"555-0123":                              "***-**23",
		"+1 (415) 555-0123":                     "+* (***) ***-**23",
		"(415) - 555 - 0123":                    "(***) - *** - **23",
		"+44 20 7946 0123":                      "+** ** **** **23",
		"01.99.00.12.34":                        "**.**.**.**.34",
		"22.12.34.56":                           "**.**.**.56",
		"030/1234567 and +49 30/123 4567":       "***/*****67 and +** **/*** **67",
		"tel:+1-415-555-0123;ext=99":            "tel:+*-***-***-**23;ext=99",
		"sip:4155550123@10.0.0.1:5060":          "sip:********23@10.0.0.1:5060",
		"To=%2B14155550123&From=%2B12125550123": "To=%2B*********23&From=%2B*********23",
		"To=%2b1%20%28415%29%20555%2D0123":      "To=%2b*%20%28***%29%20***%2D**23",
		"To=%2B1+415+555+0123":                  "To=%2B*+***+***+**23",
		"To=%2B1415555012345678&x=1":            "To=%2B**************78&x=1",
		`{"to":"\u002b14155550123"}`:            `{"to":"\u002b*********23"}`,
		"x4155550123x44":                        "x********23x44",
		"phone_14155550123_":                    "phone_*********23_",
		"tel4155550123":                         "tel********23",
		"+1\u00a0415\u2011555\u20110123":        "+*\u00a0***\u2011***\u2011**23",
		"\u202a+1 415 555 0123\u202c":           "\u202a+* *** *** **23\u202c",
		"\uff0b\uff11\uff14\uff11\uff15\uff15\uff15\uff15\uff10\uff11\uff12\uff13": "\uff0b*********\uff12\uff13",
		"\u0661\u0664\u0661\u0665\u0665\u0665\u0665\u0660\u0661\u0662\u0663":       "*********\u0662\u0663",
		"4\xff155550123":                             "*\xff*******23",
		"4155550123 2024-01-02T15:04:05Z":            "********23 2024-01-02T15:04:05Z",
		"2024-01-02 15:04:05 +1415 555 0123":         "2024-01-02 15:04:05 +**** *** **23",
		"+47 2024-10-12 34":                          "+** ****-**-** 34",
		"2024-10-123456":                             "****-**-****56",
		"+1415555 100.0.0.10":                        "+******* ***.*.*.10",
		"+14155550123 10.0.0.10:80, 10.0.0.10 12345": "+*********23 10.0.0.10:80, 10.0.0.10 12345",
		"\uff0b49 30/123 4567":                       "\uff0b** **/*** **67",
		"+1\u200b415\u200b555\u200b0123":             "+*\u200b***\u200b***\u200b**23",
		"1.192.168.100.20, 192.168.100.200.1":        "*.***.***.***.20, ***.***.***.**0.1",
		"1234567890123456":                           "**************56",
		"to%3A141555501234567":                       "to%3A*************67",
		"4155550123s":                                "********23s",
		"+14155550123, +12125550123\n+12125550124":   "+*********23, +*********23\n+*********24",
		"phone number \"4155550123\" is not valid":   "phone number \"********23\" is not valid",
		"Key (phone)=(+14155550123) already exists.": "Key (phone)=(+*********23) already exists.",
	} {
		if got := telemetry.MaskText(in); got != want {
			t.Errorf("MaskText(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

// TestMaskTextLeaves: what an operator searches a log for is still there.
func TestMaskTextLeaves(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "no digits", "123456", "1,234,567 rows", "call 3 of 5 in 3600 s, 1500/2000 left",
		"12345678-1234-4123-8123-123456789012", "followup 0198c0de-1234-7890-abcd-1234567890AB is due", "job_12345678-1234-4123-8123-123456789012",
		"2024-01-02", "2024-01-02T15:04:05Z", "2024-01-02T15:04:05.123456789+05:30", "2024-01-02 15:04:05.123456+00", "2024/01/02 15:04:05",
		"2024-01-02 15:04:05.999999999 +0000 UTC", "20240102T150405Z", "20240102150405",
		"at 2024-01-02T15:04:05+00:00, 15:04:05.000001, 10:30",
		"1h2m3.123456789s", "took 12.345678ms, 1.234567µs, 3.000000001s",
		"CA12345678901234567890123456789012", "AC0123456789abcdef0123456789abcdef", "/2010-04-01/Accounts/AC0123456789abcdef0123456789abcdef/Calls.json",
		"trace 4bf92f3577b34da6a3ce929d0e0e4736", "9a3e6036ecaa1234567890", "0xc000123456",
		"192.168.100.200", "192.168.100.200:54321", "10.11.12.13:5432", "[2001:db8::1234:5678]:5432", "ip-172-31-12-134",
		"ERROR: duplicate key (SQLSTATE 23505)", "PostgreSQL 15.12 (Debian 15.12-1.pgdg12+1)", "go1.26.8", "HTTP 429, code 21211",
		"+*********23", "****-**23", "12     345     678",
	} {
		if got := telemetry.MaskText(text); got != text {
			t.Errorf("MaskText(%q) = %q", text, got)
		}
	}
}

// TestMaskTextHidesAnyNumber writes any number in any way, anywhere in a line.
func TestMaskTextHidesAnyNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[1-9][0-9]{6,14}`).Draw(t, "digits")
		sign := rapid.SampledFrom([]string{"+", "%2B", "tel:+"}).Draw(t, "sign")
		between := rapid.SampledFrom([]string{"", "", "", " ", "-", ".", ") ", " (", "%20"})
		number := sign
		for i, d := range digits {
			if i > 0 {
				number += between.Draw(t, "between")
			}
			number += string(d)
		}
		before := rapid.SampledFrom([]string{"", "to ", "to=", `"`, "id 12345678-1234-4123-8123-123456789012 ", "2024-01-02T15:04:05.123456789Z "}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", ".", `"`, "&x=1", " at 2024-01-02T15:04:05.123456789Z", ", 12345678-1234-4123-8123-123456789012"}).Draw(t, "after")
		got := telemetry.MaskText(before + number + after)
		if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
			t.Fatalf("%q around %q became %q", before+"..."+after, number, got)
		}
		masked := strings.TrimSuffix(strings.TrimPrefix(got, before), after)
		shown := strings.Map(onlyDigits, strings.NewReplacer("%2B", "", "%20", "").Replace(masked))
		if shown != digits[len(digits)-2:] {
			t.Fatalf("%q became %q, which shows %q", number, masked, shown)
		}
	})
}

func onlyDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
}

// FuzzMaskText: nothing panics, masking again changes nothing, only digits change, and a
// number that is put into any text does not come out of it.
func FuzzMaskText(f *testing.F) {
	for _, seed := range []string{
		"", "+14155550123", "a%2B1415 555-0123z", "2024-01-02T15:04:05Z +1 415", "12345678-1234-4123-8123-123456789012",
		"22.12.34.56:80", "\xff+1\u00a0415", "0x4155550123", "%", "%2", "CA12345678901234567890123456789012", "0/0/1234567", "m=+1.000000001",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := telemetry.MaskText(text)
		if twice := telemetry.MaskText(once); twice != once {
			t.Errorf("%q became %q and then %q", text, once, twice)
		}
		if number := " +14155550123 "; strings.Contains(telemetry.MaskText(text+number+text), "415555") && !strings.Contains(text, "415555") {
			t.Errorf("the number is in %q", telemetry.MaskText(text+number+text))
		}
		if kept := " 12345678-1234-4123-8123-123456789012 2024-01-02T15:04:05Z"; !strings.HasSuffix(telemetry.MaskText(text+";"+kept), kept) {
			t.Errorf("the id or the time is not in %q", telemetry.MaskText(text+";"+kept))
		}
	})
}

func BenchmarkMaskText(b *testing.B) {
	const line = "placed follow-up 0198c0de-1234-7890-abcd-1234567890ab due 2024-01-02T15:04:05Z to +14155550123"
	for b.Loop() {
		telemetry.MaskText(line)
	}
}
