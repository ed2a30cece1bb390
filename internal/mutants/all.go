package mutants

// All lists them.
func All() []Mutant {
	return []Mutant{
		{
			Name:  "commit-unknown-rings",
			Guard: "a commit whose reply was lost is no right to ring",
			Edits: []Edit{{
				File: "internal/drain/drain.go",
				Old:  "case err == nil:\n\t\t\treturn c, nil\n\t\tcase errors.Is(err, ErrCommitUnknown):",
				New:  "case err == nil || errors.Is(err, ErrCommitUnknown):\n\t\t\treturn c, nil\n\t\tcase errors.Is(err, ErrCommitUnknown):",
			}},
		},
		{
			Name:  "orphans-redialed",
			Guard: "an attempt that nobody answered for is uncertain, not due again",
			Edits: []Edit{{
				File: "internal/store/sweep.go",
				Old:  "update attempts a set outcome = 'uncertain'",
				New:  "update attempts a set outcome = 'not_placed'",
			}, {
				File: "internal/store/sweep.go",
				Old:  "set state = 'uncertain', version",
				New:  "set state = 'due', ready = true, version",
			}, {
				File: "internal/store/sweep.go",
				Old:  "'dialing', 'uncertain', 'uncertain', 'sweep'",
				New:  "'dialing', 'due', null, 'sweep'",
			}},
		},
		{
			Name:  "quarantine-skipped",
			Guard: "nobody says \"it did not ring\" while a paused process may still send",
			Edits: []Edit{{
				File: "internal/desk/settle.go",
				Old:  "s.Now.Before(open) {",
				New:  "s.Now.Before(open) && false {",
			}},
		},
		{
			Name:  "replaying-transport",
			Guard: "a request is written once, whatever becomes of it",
			Edits: []Edit{{
				File: "internal/carrier/transport.go",
				Old:  "	reply.Body = t.hide(reply.Body)",
				New: "	if answer != nil {\n\t\tif again, other := t.connect(ctx, target, req.SendBy); again != nil {\n" +
					"\t\t\tdefer func() { _ = again.Close() }()\n\t\t\treply, answer = exchange(ctx, again, wire, req.SendBy)\n\t\t\t_ = other\n\t\t}\n\t}\n\treply.Body = t.hide(reply.Body)",
			}},
		},
		{
			Name:  "places-not-counted",
			Guard: "the places of a slot that are taken count",
			Edits: []Edit{{
				File: "internal/store/candidates.go",
				Old:  "b.Taken[one.Tenant] = taken",
				New:  "b.Taken[one.Tenant] = taken * 0",
			}, {
				File: "internal/store/candidates.go",
				Old:  "p.taken < @per_tick::int",
				New:  "(p.taken < @per_tick::int or true)",
			}, {
				File: "internal/store/candidates.go",
				Old:  "limit least(@per_tick::int - o.taken + @look::int",
				New:  "limit least(@per_tick::int + @look::int",
			}},
			Loosen: `drop index followup_events_place`,
		},
	}
}
