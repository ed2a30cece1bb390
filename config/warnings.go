package config

import "fmt"

// usualLateHours is how late a call may be before the start remarks on it (rule R17).
const usualLateHours = 24

// Warnings are what the start says loudly: settings that are accepted, and that somebody
// should have meant. One line each.
func (c Config) Warnings() []string {
	var lines []string
	if h := c.FollowUps.MaxLateHours; h > usualLateHours {
		lines = append(lines, fmt.Sprintf(
			"PHONE_FOLLOWUP_MAX_LATE_HOURS is %d: people may be rung up to %d hours after the time they were promised", h, h))
	}
	if c.Gates.CallingHours == rulesOff {
		lines = append(lines,
			"GATE_CALLING_HOURS is off: people may be rung at any hour of the day and the night")
	}
	if c.Database.AllowPlain {
		lines = append(lines,
			"DATABASE_ALLOW_PLAIN is on: whoever is on the way to the database can read and change what goes to and fro, every number and script")
	}
	return append(lines, c.ignored...)
}
