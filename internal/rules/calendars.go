package rules

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/at"
	"github.com/rickar/cal/v2/au"
	"github.com/rickar/cal/v2/be"
	"github.com/rickar/cal/v2/ca"
	"github.com/rickar/cal/v2/ch"
	"github.com/rickar/cal/v2/cz"
	"github.com/rickar/cal/v2/de"
	"github.com/rickar/cal/v2/dk"
	"github.com/rickar/cal/v2/es"
	"github.com/rickar/cal/v2/fr"
	"github.com/rickar/cal/v2/gb"
	"github.com/rickar/cal/v2/gr"
	"github.com/rickar/cal/v2/hr"
	"github.com/rickar/cal/v2/ie"
	"github.com/rickar/cal/v2/it"
	"github.com/rickar/cal/v2/jp"
	"github.com/rickar/cal/v2/lt"
	"github.com/rickar/cal/v2/lv"
	"github.com/rickar/cal/v2/nc"
	"github.com/rickar/cal/v2/nl"
	"github.com/rickar/cal/v2/no"
	"github.com/rickar/cal/v2/se"
	"github.com/rickar/cal/v2/si"
	"github.com/rickar/cal/v2/sk"
	"github.com/rickar/cal/v2/us"
	"github.com/rickar/cal/v2/za"
)

// calendars are the national holidays that rules may name.
//
// Left out are lists of the library that lack a holiday, on which people would be rung: those of
// Argentina (Good Friday is a day early), Brazil (20 November), Bulgaria (1 May where Easter is
// late), Malawi (Eid), New Zealand (Matariki), Poland (24 December), Romania (6 and 7 January),
// Russia (2 to 8 January) and Ukraine (15 July). Read 2025-11.
func calendars() map[string][]*cal.Holiday {
	return map[string][]*cal.Holiday{
		"at": at.Holidays, "au": australia(), "be": be.Holidays, "ca": ca.Holidays, "ch": ch.Holidays,
		"cz": cz.Holidays, "de": de.Holidays, "dk": dk.Holidays, "es": es.Holidays, "fr": fr.Holidays,
		"gb": britain(), "gr": gr.Holidays, "hr": hr.Holidays, "ie": ie.Holidays, "it": italy(),
		"jp": jp.Holidays, "lt": lt.Holidays, "lv": lv.Holidays, "nc": nc.Holidays, "nl": nl.Holidays,
		"no": no.Holidays, "se": se.Holidays, "si": si.Holidays, "sk": sk.Holidays, "us": us.Holidays,
		"za": za.Holidays,
	}
}

// australia has the holidays of every state and territory; the library has lists of each only.
func australia() []*cal.Holiday {
	return []*cal.Holiday{
		au.NewYear, au.AustraliaDay, au.GoodFriday, au.EasterMonday, au.AnzacDay, au.ChristmasDay, au.BoxingDay,
	}
}

// britain has the King's coronation once, in 2023; the library has it every year since.
func britain() []*cal.Holiday {
	all := slices.Clone(gb.Holidays)
	if i := slices.Index(all, gb.CoronationDay); i >= 0 {
		all[i] = gb.CoronationDay.Clone(&cal.Holiday{EndYear: 2023})
	}
	return all
}

// italy has 4 October, which is a holiday again since 2026 (Legge 8 ottobre 2025, n. 151).
func italy() []*cal.Holiday {
	saintFrancis := &cal.Holiday{
		Name: "San Francesco", Type: cal.ObservancePublic, Month: time.October, Day: 4, StartYear: 2026, Func: cal.CalcDayOfMonth,
	}
	return append(slices.Clone(it.Holidays), saintFrancis)
}

// calendarNames lists the calendars for a person who named another.
func calendarNames(known map[string][]*cal.Holiday) string {
	return strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}
