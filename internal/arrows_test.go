// Package internal_test holds the arrows of ARCHITECTURE.md.
package internal_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The arrows between packages point one way. A package that is not listed may not be there;
// one that is may import no other of ours than those behind it.
func TestArrows(t *testing.T) {
	t.Parallel()
	const (
		followup = "followup"
		phone    = "phone"
		rules    = "rules"
		gates    = "gates"
		carrier  = "carrier"
		drain    = "drain"
		desk     = "desk"
		tick     = "tick"
		spelling = "spelling"
		store    = "store"
		arrivals = "arrivals"
		lookup   = "lookup"
	)
	allowed := map[string][]string{
		followup:         {},
		phone:            {},
		rules:            {spelling},
		spelling:         {},
		"telemetry":      {},
		"pgserver":       {},
		"tuning":         {},
		gates:            {phone, rules},
		carrier:          {phone},
		"carrier/twilio": {carrier, phone},
		"carrier/telnyx": {carrier, phone},
		"carrier/sip":    {carrier, phone},
		"carrier/sim":    {carrier, phone},
		arrivals:         {carrier, phone},
		lookup:           {arrivals, carrier, phone},
		desk:             {followup, gates, phone, "telemetry"},
		drain:            {followup, gates, phone, carrier, "telemetry"},
		tick:             {followup},
		store:            {followup, gates, phone, carrier, drain, desk, tick, arrivals, lookup},
		"pgtest":         {"pgserver", store},

		"mutants":             {},
		"carrier/conformance": {}, // nothing but tests
		"sequences":           {},
		"proof":               {},
		"badinput":            {},
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		all := strings.Fields(line)
		name := strings.TrimPrefix(all[0], "chasephone/internal/")
		if name == all[0] {
			continue // this package
		}
		behind, listed := allowed[name]
		if !listed {
			t.Errorf("internal/%s is not in the picture: list what it may import", name)
			continue
		}
		for _, imported := range all[1:] {
			ours, is := strings.CutPrefix(imported, "chasephone/internal/")
			if is && !contains(behind, ours) {
				t.Errorf("internal/%s imports internal/%s", name, ours)
			}
			if imported == "chasephone/config" {
				t.Errorf("internal/%s imports config: cmd hands settings down", name)
			}
		}
	}
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}
