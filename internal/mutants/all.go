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
		{
			Name:  "no-attempt-committed",
			Guard: "the attempt is a row before anything is sent",
			Edits: []Edit{{
				File: "internal/store/rulings.go",
				Old:  "@now::timestamptz, begin_at, send_by, answer_by, late_at\n  from moved where state = 'dialing'",
				New:  "@now::timestamptz, begin_at, send_by, answer_by, late_at\n  from moved where state = 'dialing' and false",
			}},
			Loosen: `alter table phone_followups drop constraint attempt_exists`,
		},
		{
			Name:  "settled-by-number",
			Guard: "an answer is written to the attempt that it is of, told by its token",
			Edits: []Edit{{
				File: "internal/store/record.go",
				Old:  "and a.token = x.token and coalesce(a.outcome, '') = ''",
				New:  "and coalesce(a.outcome, '') = ''",
			}},
		},
		{
			Name:  "no-compare-and-set",
			Guard: "an answer is written only where the attempt is still open",
			Edits: []Edit{{
				File: "internal/store/record.go",
				Old:  "where f.state || '' = 'dialing' and f.attempt_no = x.no",
				New:  "where f.attempt_no >= x.no",
			}, {
				File: "internal/store/record.go",
				Old:  "and a.token = x.token and coalesce(a.outcome, '') = ''",
				New:  "and a.token = x.token",
			}},
			Loosen: `alter table phone_followups disable trigger state_moves; alter table attempts disable trigger attempt_is_frozen`,
		},
		{
			Name:  "redirects-followed",
			Guard: "a redirect is an answer that proves nothing, and is followed nowhere",
			Edits: []Edit{{
				File: "internal/carrier/transport.go",
				Old:  "	reply.Body = t.hide(reply.Body)",
				New: "	if answer == nil && reply.Status/100 == 3 {\n\t\tif again, _ := t.connect(ctx, target, req.SendBy); again != nil {\n" +
					"\t\t\tdefer func() { _ = again.Close() }()\n\t\t\treply, answer = exchange(ctx, again, wire, req.SendBy)\n\t\t}\n\t}\n\treply.Body = t.hide(reply.Body)",
			}},
		},
		{
			Name:  "unlisted-answer-is-no-call",
			Guard: "an answer that is not on the carrier's list may have rung",
			Edits: []Edit{{
				File: "internal/carrier/twilio/classify.go",
				Old:  "default: // nothing\n\t\treturn unknown(code, b.text(\"\"))",
				New:  "default: // nothing\n\t\treturn carrier.NotPlaced{Blame: carrier.BlameLine, Code: code, Text: b.text(\"\")}",
			}},
		},
		{
			Name:  "no-answer-is-no-call",
			Guard: "a request that was written and not answered may have rung",
			Edits: []Edit{{
				File: "internal/carrier/exchange.go",
				Old:  "return Reply{}, unknown(ctx, StageAwaiting, err)",
				New:  "return Reply{}, connectFailed(err)",
			}},
		},
		{
			Name:  "send-by-not-checked",
			Guard: "nothing is sent after the attempt's send_by",
			Edits: []Edit{{
				File: "internal/drain/dialer.go",
				Old:  "SendBy: clock.ToLocal(a.SendBy),",
				New:  "SendBy: time.Now().Add(time.Minute),",
			}, {
				File: "internal/drain/dialer.go",
				Old:  "context.WithDeadline(context.Background(), clock.ToLocal(a.AnswerBy))",
				New:  "context.WithDeadline(context.Background(), time.Now().Add(time.Minute))",
			}},
		},
		{
			Name:  "lateness-not-checked",
			Guard: "nothing rings later than the greatest lateness",
			Edits: []Edit{{
				File: "internal/store/close.go",
				Old:  "f.due_at < now.at - now.max_late and",
				New:  "f.due_at < now.at - 3 * now.max_late and",
			}, {
				File: "internal/store/candidates.go",
				Old:  "f.due_at >= o.now - @max_late::interval",
				New:  "f.due_at >= o.now - 3 * @max_late::interval",
			}, {
				File: "internal/followup/time.go",
				Old:  "lateAt := dueAt.Add(l.MaxLate)",
				New:  "lateAt := dueAt.Add(3 * l.MaxLate)",
			}, {
				File: "internal/drain/rule.go",
				Old:  "LateAt: c.DueAt.Add(b.Limits.MaxLate)",
				New:  "LateAt: c.DueAt.Add(3 * b.Limits.MaxLate)",
			}},
		},
		{
			Name:  "approval-spent-twice",
			Guard: "an approval is spent by an attempt that may have rung",
			Edits: []Edit{{
				File: "internal/store/facts.go",
				Old:  "where a.approval_id = p.id and (a.outcome is null or a.outcome <> 'not_placed'))`",
				New:  "where a.approval_id = p.id and false)`",
			}},
			Loosen: `drop index attempts_approval`,
		},
		{
			Name:  "stop-not-looked-at",
			Guard: "what is stopped is not claimed",
			Edits: []Edit{{
				File: "internal/store/claim.go",
				Old:  "where id = any(@tenants) and stopped_at is null",
				New:  "where id = any(@tenants)",
			}},
		},
		{
			Name:  "signature-not-checked",
			Guard: "only what the account has signed is believed",
			Edits: []Edit{{
				File: "internal/carrier/twilio/verify.go",
				Old:  "if !hmac.Equal([]byte(signature), as) && !hmac.Equal([]byte(signature), other) {",
				New:  "if !hmac.Equal([]byte(signature), as) && !hmac.Equal([]byte(signature), other) && false {",
			}},
		},
		{
			Name:  "foreign-evidence-settles",
			Guard: "a call to another number, or another attempt's, settles nothing",
			Edits: []Edit{{
				File: "internal/store/weigh.go",
				Old:  "case s.owned, w.strange:",
				New:  "case s.owned && w.strange:",
			}},
		},
		{
			Name:  "decided-without-lock",
			Guard: "a decision is taken on what is so when it is written",
			Edits: []Edit{{
				File: "internal/store/decide.go",
				Old:  "`select from phone_followups where id = $1 for no key update`",
				New:  "`select from phone_followups where id = $1`",
			}},
		},
		{
			Name:  "no-ledger-row",
			Guard: "a change of state has a row in the ledger",
			Edits: []Edit{{
				File: "internal/store/sweep.go",
				Old:  "'dialing', 'uncertain', 'uncertain', 'sweep', 'no_record', @detail, no\nfrom moved`",
				New:  "'dialing', 'uncertain', 'uncertain', 'sweep', 'no_record', @detail, no\nfrom moved where false`",
			}},
			Loosen: `alter table phone_followups drop constraint state_has_a_ledger_row`,
		},
	}
}
