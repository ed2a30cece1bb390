package main

import (
	"chasephone/config"
	"chasephone/internal/gates"
	"chasephone/internal/rules"
)

// gateOptions are what the environment says of the gates.
func gateOptions(c config.Config) gates.Options {
	g := c.Gates
	return gates.Options{
		Rules:           g.Rules,
		HoursOff:        g.Rules == nil, // a file with a mistake stops the start: there are none only where they are off
		Caps:            rules.Caps{Day: g.MaxPerNumber24H, Week: g.MaxPerNumber7D, Month: g.MaxPerNumber30D},
		MinGap:          g.MinGap,
		CalledInOff:     g.CalledIn == "off",
		LineCallsAtOnce: g.LineCallsAtOnce,
		MaxPerTenantDay: g.MaxPerTenantDay,
		MaxPerMinute:    g.MaxPerMinute,
	}
}
