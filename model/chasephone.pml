/* The protocol of attempts: from a due follow-up to its end, whatever dies, pauses, is lost or comes late.
 *
 * call[] and rings[] are the carrier's own book: the only truth. Everything else is the database, but
 * for what a daemon holds in memory (mine, answer, checked). Explored in every order:
 *   a daemon killed between any two steps; a commit whose reply is lost, of T1 and of T2; a request or an
 *   answer that is lost; a daemon that is paused for as long as it likes (the sweep may come at any moment);
 *   evidence at any moment, any number of times, or never; a person who acts at any moment, or never.
 *
 * Bounds (see README.md): F follow-ups, W daemons, and how often each fault may happen.
 * Features: ERRS a person may be wrong; APPROVALS a gate holds; QUEUES the carrier may queue a call;
 *   NOBODY no person, and no time: for the machine alone, with two follow-ups.
 *   LIES the carrier may ring although it said that it did not. */

#ifndef F
#define F 1
#endif
#ifndef W
#define W 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LOST        /* commits whose reply is lost */
#define LOST 1
#endif
#ifndef NOTS        /* answers that prove that no call was placed */
#define NOTS 1
#endif
#ifndef MOST        /* desk's mostDidNotRing: 5 in the code */
#define MOST 2
#endif
#ifndef LIE         /* times that the carrier contradicts itself */
#define LIE 1
#endif
#define A (MOST + NOTS + LOST) /* attempts that a follow-up can then have, five at most: asserted, not assumed */

#include "followup.pml"

hidden byte one_ring_per_attempt, one_ring_per_followup, no_ring_without_an_attempt, no_ring_after_the_end,
	nothing_rings_long_after_late, placed_has_evidence, ended_without_a_ring, one_live_attempt, attempts_bounded,
	approvals_spent_once, asked_once, no_attempt_against_evidence, records_are_shown, silence_said_at_most_so_often;

#define at(f, n) ((f) * A + (n))

byte  no[F];            /* attempt_no: the newest attempt, counted from 1 */
mtype outcome[F * A];
byte  owner[F * A];     /* the attempt's token: which claim it is of */
bool  shut[F * A];      /* its quarantine is over: nobody can send it any more */
bool  writing[F * A];   /* its daemon is between the check of send_by and the write */
mtype call[F * A];
byte  rings[F];
bool  erred[F];         /* a person said "it did not ring" of a call that the carrier had */
bool  lied[F];          /* the carrier had a call of which it had said that it had none */
byte  said[F];          /* attempts of which a person said so */
bool  named[F];         /* a person said "it rang" */
byte  conflict[F];      /* kept as evidence: this attempt rang, although it was recorded that it did not */
byte  clock[F];         /* the database's: 0 in time; 1 past late_at; 2 so long past that what was under way is over */
bool  listed[F];        /* the last look-up showed a call that may be the uncertain attempt */
bool  looks[F * A];     /* look_at is set: the carrier is asked what became of this call */
byte  crashes, lost, nots, lies;

#ifdef APPROVALS
byte  approval[F];      /* the newest, 0 for none */
bool  approved[F];
byte  spends[F * A];    /* attempts.approval_id */
byte  granted[F], spent[F]; /* for the properties only */
#endif

/* -- what the carrier does ---------------------------------------------------------------------- */

#define may_ring(f) (state[f] == dialing || state[f] == uncertain || state[f] == call_placed)

inline ring(f, n) {
	ringing(no_ring_without_an_attempt, n < A && outcome[at(f, n)] != 0);
	ringing(one_ring_per_attempt, call[at(f, n)] != rang);
	call[at(f, n)] = rang;
	rings[f]++;
	ringing(one_ring_per_followup, rings[f] <= 1 || erred[f] || lied[f]);
	promise(no_ring_after_the_end, may_ring(f) || erred[f] || lied[f])
}

/* take is the carrier taking the call that a request asks for. */
inline take(f, n) {
	promise(nothing_rings_long_after_late, clock[f] < 2);
	if
	:: ring(f, n)
#ifdef QUEUES
	:: call[at(f, n)] == 0 -> call[at(f, n)] = queued; ringing(no_ring_without_an_attempt, outcome[at(f, n)] != 0)
#endif
	fi
}

/* -- what everybody writes ------------------------------------------------------------------------ */

/* Evidence or a name: placed_needs_evidence. */
inline placed_by(f, n) {
	promise(placed_has_evidence, call[at(f, n)] != 0 || named[f]);
	outcome[at(f, n)] = placed;
#ifdef QUEUES
	looks[at(f, n)] = clock[f] < 2 && (!named[f] || looks[at(f, n)]); /* placed without an id: there is nothing to ask */
#endif
	skip
}

#define no_ring(f) ((rings[f] == 0) || erred[f] || lied[f])

/* Evidence that came while it was not due is remembered when it would be (store/recall.go). */
inline recall(f) {
#ifndef NO_RECALL
	if
	:: state[f] == due && conflict[f] != 0 ->
		outcome[at(f, conflict[f] - 1)] = placed; move(f, due, call_placed)
	:: else
	fi
#else
	skip
#endif
}

/* Words: the carrier's "placed" in any way but by the answer that settles (store/weigh.go). */
inline weigh(f, n) {
	if
	:: outcome[at(f, n)] == open && state[f] == dialing && no[f] == n + 1 ->
		placed_by(f, n); move(f, dialing, call_placed)
	:: outcome[at(f, n)] == uncertain && state[f] == uncertain && no[f] == n + 1 ->
		placed_by(f, n); move(f, uncertain, call_placed)
	:: outcome[at(f, n)] == did_not_ring || outcome[at(f, n)] == not_placed ->
		conflict[f] = n + 1;
		if
		:: state[f] == due -> outcome[at(f, n)] = placed; move(f, due, call_placed)
		:: else
		fi
	:: else
	fi
}

/* -- a daemon ---------------------------------------------------------------------------------- */

/* T2 compares the state, the number and the token of the attempt, and that nobody has settled it. */
#if defined(T2_BY_FOLLOWUP)
#define mine_to_settle(f, n) (state[f] == dialing)
#elif defined(T2_BY_NUMBER)
#define mine_to_settle(f, n) (state[f] == dialing && no[f] == n + 1 && outcome[at(f, n)] == open)
#else
#define mine_to_settle(f, n) (state[f] == dialing && no[f] == n + 1 && outcome[at(f, n)] == open && owner[at(f, n)] == me)
#endif

/* An approval is spent while an attempt with its id may have rung: nothing is written to give it back. */
inline give_back(f, n) {
#ifdef APPROVALS
	if
	:: spends[at(f, n)] != 0 -> spent[f]--
	:: else
	fi
#else
	skip
#endif
}

/* record is one answer of a T2's set. */
inline record(f, n) {
	if
#ifdef LAST_WRITE_WINS
	:: answer[f] == placed -> outcome[at(f, n)] = placed; overwrite(f, call_placed)
	:: answer[f] == refused -> outcome[at(f, n)] = refused; overwrite(f, refused)
	:: answer[f] == uncertain -> outcome[at(f, n)] = uncertain; overwrite(f, uncertain)
	:: answer[f] == not_placed -> outcome[at(f, n)] = not_placed; overwrite(f, due)
#else
	:: mine_to_settle(f, n) ->
		if
		:: answer[f] == placed -> placed_by(f, n); move(f, dialing, call_placed)
		:: answer[f] == refused -> outcome[at(f, n)] = refused; promise(ended_without_a_ring, no_ring(f)); move(f, dialing, refused)
		:: answer[f] == not_placed -> give_back(f, n); outcome[at(f, no[f] - 1)] = not_placed; move(f, dialing, due); recall(f)
#ifdef RETRY_1H
		:: answer[f] == uncertain -> outcome[at(f, n)] = not_placed; move(f, dialing, due)
#else
		:: answer[f] == uncertain -> outcome[at(f, n)] = uncertain; move(f, dialing, uncertain)
#endif
		fi
	:: !mine_to_settle(f, n) && answer[f] == placed -> weigh(f, n)
	:: else /* kept for a person, and moves nothing */
#endif
	fi
}

#ifdef APPROVALS
#if defined(GRANT_REUSE)
#define spent_by(f, n) false
#elif defined(BACK_THOUGH_UNCERTAIN)
#define spent_by(f, n) (spends[at(f, n)] == approval[f] && outcome[at(f, n)] != not_placed && outcome[at(f, n)] != did_not_ring)
#elif defined(NOT_GIVEN_BACK)
#define spent_by(f, n) (spends[at(f, n)] == approval[f])
#else
#define spent_by(f, n) (spends[at(f, n)] == approval[f] && outcome[at(f, n)] != 0 && outcome[at(f, n)] != not_placed)
#endif
/* of four attempts: see A */
#define used(f) (spent_by(f, 0) || spent_by(f, 1) || (A > 2 && spent_by(f, 2 % A)) || (A > 3 && spent_by(f, 3 % A)))
#define allowed(f) (approved[f] && !used(f))
#else
#define allowed(f) true
#endif

/* A later attempt exists only where all before it are proven, or said by a person, not to have rung. */
#define quiet(f, n) (n >= no[f] || outcome[at(f, (n) % A)] == not_placed || outcome[at(f, (n) % A)] == did_not_ring)
#define all_quiet(f) (quiet(f, 0) && quiet(f, 1) && quiet(f, 2) && quiet(f, 3) && quiet(f, 4))

#ifdef RINGS_ONLY
#define rows_left(f) (no[f] < A) /* a mutant that dials for ever goes no further than the arrays */
#else
#define rows_left(f) true
#endif
#define claimable(f) (state[f] == due && clock[f] == 0 && rows_left(f))

/* begin is a ruling of pass: the attempt is in the claim's transaction. fate says what the claimer
 * will learn of its commit, and whether there is one. */
inline begin(f) {
	promise(attempts_bounded, no[f] < A);
	mine[f] = no[f] + 1;
	if
	:: fate != lost_undone ->
		promise(one_live_attempt, all_quiet(f));
		promise(no_attempt_against_evidence, conflict[f] == 0);
		outcome[at(f, no[f])] = open; owner[at(f, no[f])] = me;
#ifdef APPROVALS
		spends[at(f, no[f])] = approval[f]; spent[f]++;
		promise(approvals_spent_once, spent[f] <= granted[f]);
#endif
		no[f]++; listed[f] = false;
		move(f, due, dialing)
	:: else
	fi;
#ifndef UNKNOWN_MAY_RING
	if
	:: fate != seen -> answer[f] = not_placed /* this process knows that it will not send it */
	:: else
	fi
#endif
}

inline rule(f) {
	if
	:: claimable(f) ->
		if
		:: allowed(f) -> begin(f)
		:: true /* a gate says wait, its line is held, or somebody holds the row */
		:: fate == seen && F == 1 ->
			promise(ended_without_a_ring, no_ring(f)); move(f, due, refused)
#ifdef APPROVALS
		:: fate == seen && !allowed(f) ->
			promise(asked_once, granted[f] == spent[f]);
			approval[f]++; approved[f] = false; move(f, due, awaiting_approval)
#endif
		fi
	:: else
	fi
}

#if F > 1
#define idle (mine[0] == 0 && mine[1] == 0)
#define any_claimable (claimable(0) || claimable(1))
#define any_answer (answer[0] != 0 || answer[1] != 0)
#else
#define idle (mine[0] == 0)
#define any_claimable claimable(0)
#define any_answer (answer[0] != 0)
#endif

/* Before the one write: send_by, which is no later than late_at. */
#ifdef NO_SEND_BY
#define in_time(f, n) (clock[f] == 0)
#elif defined(SEND_BY_NOT_BOUNDED)
#define in_time(f, n) (!shut[at(f, n)])
#else
#define in_time(f, n) (!shut[at(f, n)] && clock[f] == 0)
#endif

/* The steps of one call, between T1 and T2. */
#define to_check(f) (mine[f] != 0 && answer[f] == 0 && !checked[f])
#define to_write(f) (mine[f] != 0 && answer[f] == 0 && checked[f])

inline check(f) {
	if
	:: in_time(f, mine[f] - 1) -> checked[f] = true; writing[at(f, mine[f] - 1)] = true
	:: nots < NOTS -> nots++; answer[f] = not_placed /* no connection: no byte left */
	:: !in_time(f, mine[f] - 1) -> answer[f] = not_placed
	fi
}

inline write(f) {
	checked[f] = false; writing[at(f, mine[f] - 1)] = false;
	if
	:: answer[f] = uncertain /* it did not arrive; or the answer was lost, or proves nothing */
	:: take(f, mine[f] - 1); answer[f] = placed
#ifdef RETRY_LOST
	:: take(f, mine[f] - 1); checked[f] = true; writing[at(f, mine[f] - 1)] = true
#else
	:: take(f, mine[f] - 1); answer[f] = uncertain
#endif
	:: answer[f] = refused
	:: nots < NOTS -> nots++; answer[f] = not_placed
#ifdef LIES
	:: lies < LIE && nots < NOTS -> lies++; nots++; lied[f] = true; take(f, mine[f] - 1); answer[f] = not_placed
	:: lies < LIE -> lies++; lied[f] = true; take(f, mine[f] - 1); answer[f] = refused
#endif
	fi
}

inline forget(f) {
	if
	:: checked[f] -> writing[at(f, mine[f] - 1)] = false
	:: else
	fi;
	mine[f] = 0; answer[f] = 0; checked[f] = false
}

proctype daemon(byte me) {
	byte  mine[F];    /* the attempt that this process may send, 0 for none */
	mtype answer[F];  /* what is known of it, for the recorder */
	bool  checked[F]; /* send_by was looked at, and the write comes next */
	mtype fate;

end:	do
#if defined(NO_INTENT)
	:: atomic { idle && claimable(0) && owner[0] == 0 -> owner[0] = me; mine[0] = 1; outcome[0] = open } /* a lock, and no commit */
	:: atomic { mine[0] != 0 && answer[0] == 0 -> take(0, 0); answer[0] = placed }
	:: atomic { mine[0] != 0 && answer[0] != 0 -> owner[0] = 0; overwrite(0, call_placed); forget(0) }
	:: atomic { mine[0] != 0 && crashes < CRASHES -> crashes++; owner[0] = 0; forget(0); call[0] = 0 }
#elif defined(NO_UNIQUE)
	/* Looks, and acts later: nothing refuses a second row. */
	:: atomic { idle && claimable(0) -> mine[0] = 1; fate = lost_undone }
	:: atomic { mine[0] != 0 && fate == lost_undone -> outcome[0] = open; no[0] = 1; state[0] = dialing; fate = 0 }
	:: atomic { to_check(0) && fate == 0 -> check(0) }
	:: atomic { to_write(0) -> write(0) }
	:: atomic { any_answer -> forget(0) }
#else
	/* T1: one transaction for everything that is claimed. */
	:: atomic { idle && any_claimable ->
		if
		:: fate = seen
		:: lost < LOST -> lost++; fate = lost_done
		:: lost < LOST -> lost++; fate = lost_undone
		fi;
		rule(0);
#if F > 1
		rule(1);
#endif
		fate = 0 }

	/* Each call goes its own way. */
	:: atomic { to_check(0) -> check(0) }
	:: atomic { to_write(0) -> write(0) }
#if F > 1
	:: atomic { to_check(1) -> check(1) }
	:: atomic { to_write(1) -> write(1) }
#endif

	/* T2: the answers that are there, in one transaction; once more where the reply is lost. */
	:: atomic { any_answer ->
		if
		:: answer[0] != 0 -> record(0, mine[0] - 1)
		:: else
		fi;
#if F > 1
		if
		:: answer[1] != 0 -> record(1, mine[1] - 1)
		:: else
		fi;
#endif
		if
		:: lost < LOST -> lost++
		:: true ->
			if
			:: answer[0] != 0 -> forget(0)
			:: else
			fi;
#if F > 1
			if
			:: answer[1] != 0 -> forget(1)
			:: else
			fi
#endif
		fi }

	:: atomic { !idle && crashes < CRASHES -> crashes++;
		forget(0);
#if F > 1
		forget(1);
#endif
		skip }
#endif
	od
}

/* -- everybody else ------------------------------------------------------------------------------ */

/* Any daemon's upkeep: the sweep, which may come at any moment since clocks can step; and closing. */
proctype upkeep(byte f) {
end:	do
#ifndef NO_SWEEP
#ifdef REDIAL_ORPHAN
	:: atomic { state[f] == dialing -> outcome[at(f, no[f] - 1)] = not_placed; overwrite(f, due) }
#elif defined(SWEEP_SAYS_PLACED)
	:: atomic { state[f] == dialing -> placed_by(f, no[f] - 1); overwrite(f, call_placed) }
#else
	:: atomic { state[f] == dialing -> outcome[at(f, no[f] - 1)] = uncertain; move(f, dialing, uncertain) }
#endif
#endif
#ifndef NO_CLOSE
	:: atomic { state[f] == due && clock[f] > 0 -> promise(ended_without_a_ring, no_ring(f)); move(f, due, missed) }
#ifdef APPROVALS
	:: atomic { state[f] == awaiting_approval && clock[f] > 0 -> promise(ended_without_a_ring, no_ring(f)); move(f, awaiting_approval, missed) }
#endif
#endif
	od
}

/* The carrier, on its own: it rings what it queued, and it tells. Any number of times, at any moment, or never. */
proctype carrier(byte f) {
	byte n;
end:	do
#ifdef QUEUES
	:: atomic { n < A && call[at(f, n)] == queued ->
		/* A call that was known in time was to be cancelled. */
		promise(nothing_rings_long_after_late, clock[f] < 2 || !looks[at(f, n)]);
		ring(f, n); n = 0 }
#endif
	:: atomic { n < A && call[at(f, n)] != 0 -> weigh(f, n); n = 0 }
	:: n + 1 < A && n + 1 < no[f] -> n++
	:: n > 0 -> n = 0
	od
}

#ifdef QUEUES
#define waits(f, n) ((n) < A && looks[at(f, (n) % A)] && call[at(f, (n) % A)] == queued)
#define any_waits(f) (waits(f, 0) || waits(f, 1) || waits(f, 2) || waits(f, 3))

/* What the carrier's records are asked (internal/lookup). */
proctype lookups(byte f) {
end:	do
	:: atomic { state[f] == uncertain && call[at(f, no[f] - 1)] != 0 && !listed[f] -> listed[f] = true }
#ifndef QUEUE_LEFT_ALONE
	:: atomic { clock[f] > 0 && waits(f, 0) -> call[at(f, 0)] = ended }
	:: atomic { clock[f] > 0 && waits(f, 1) -> call[at(f, 1)] = ended }
	:: atomic { clock[f] > 0 && waits(f, 2) -> call[at(f, 2 % A)] = ended }
#endif
	od
}
#endif

#define has_call(f, n) (call[at(f, n)] == queued || call[at(f, n)] == rang)

/* What the desk holds a person to (internal/desk/settle.go, approve.go). */
#ifdef NOT_MEANT
#define meant(f) true
#else
#define meant(f) (judged == no[f])
#endif
#ifdef NO_QUARANTINE
#define late_enough(f) true
#else
#define late_enough(f) shut[at(f, no[f] - 1)]
#endif
#ifdef RECORDS_NOT_SHOWN
#define shown(f) true
#else
#define shown(f) (!listed[f] || despite)
#endif
#ifdef NO_RECALL
#define may_approve(f) true
#else
#define may_approve(f) (conflict[f] == 0)
#endif

/* A person decides once the quarantine is over, and has seen an attempt when saying something of it.
 * What was said can be said again: a second click, a script. */
proctype person(byte f) {
	byte judged; /* the attempt of which this person knows that it did not ring */
	bool wrong, despite;
end:	do
	:: judged != 255 /* thinks; need never do anything */
	/* looks, and makes up the mind */
	:: atomic { judged < no[f] && state[f] == uncertain && late_enough(f) && !has_call(f, no[f] - 1) -> judged = no[f]; wrong = false; despite = false }
#ifdef ERRS
	:: atomic { judged < no[f] && state[f] == uncertain && late_enough(f) && has_call(f, no[f] - 1) -> judged = no[f]; wrong = true; despite = false }
	:: atomic { judged == no[f] && state[f] == uncertain && listed[f] && !despite -> despite = true } /* --despite-records */
#endif
	/* says that it did not ring */
	:: atomic { judged != 0 && state[f] == uncertain && meant(f) && late_enough(f) && shown(f) ->
		promise(records_are_shown, !listed[f] || despite);
		if
		:: wrong && judged == no[f] -> erred[f] = true
		:: else
		fi;
		outcome[at(f, no[f] - 1)] = did_not_ring; said[f]++;
		promise(silence_said_at_most_so_often, said[f] <= MOST);
		if
		:: promise(ended_without_a_ring, no_ring(f)); move(f, uncertain, cancelled) /* --cancel */
		:: clock[f] > 0 -> promise(ended_without_a_ring, no_ring(f)); move(f, uncertain, missed)
#ifndef NEVER_EXHAUSTED
		:: clock[f] == 0 && said[f] >= MOST -> promise(ended_without_a_ring, no_ring(f)); move(f, uncertain, refused)
		:: clock[f] == 0 && said[f] < MOST -> move(f, uncertain, due); recall(f)
#else
		:: clock[f] == 0 -> move(f, uncertain, due); recall(f)
#endif
		fi }
	/* says that it rang: with the call's id where the records list it */
	:: atomic { state[f] == uncertain -> named[f] = true; looks[at(f, no[f] - 1)] = listed[f]; placed_by(f, no[f] - 1); move(f, uncertain, call_placed) }
	:: atomic { state[f] == due && clock[f] == 0 -> promise(ended_without_a_ring, no_ring(f)); move(f, due, cancelled) }
#ifdef CANCEL_UNCERTAIN
	:: atomic { state[f] == uncertain -> promise(ended_without_a_ring, no_ring(f)); overwrite(f, cancelled) }
#endif
#ifdef APPROVALS
	:: atomic { state[f] == awaiting_approval && clock[f] == 0 && may_approve(f) -> approved[f] = true; granted[f]++; move(f, awaiting_approval, due) }
	:: atomic { state[f] == awaiting_approval && clock[f] == 0 -> promise(ended_without_a_ring, no_ring(f)); move(f, awaiting_approval, refused) }
	:: atomic { state[f] == awaiting_approval && clock[f] == 0 -> promise(ended_without_a_ring, no_ring(f)); move(f, awaiting_approval, cancelled) }
#endif
	od
}

#define nobody_writes(f, n) (n >= A || !writing[at(f, (n) % A)])
#define all_written(f) (nobody_writes(f, 0) && nobody_writes(f, 1) && nobody_writes(f, 2) && nobody_writes(f, 3) && nobody_writes(f, 4))

#ifdef PAUSE_FOR_EVER
#define written(f) true
#else
#define written(f) (!writing[at(f, no[f] - 1)])
#endif
#if defined(QUEUES) && !defined(QUEUE_LEFT_ALONE)
#define all_asked(f) (!any_waits(f)) /* the look-up after late_at was answered */
#else
#define all_asked(f) true
#endif

/* Time. The quarantine and the second step of lateness assume that a pause between the check of send_by
 * and the write is shorter than they are: the residual in ARCHITECTURE.md. PAUSE_FOR_EVER drops it. */
proctype time(byte f) {
end:	do
	:: atomic { state[f] == uncertain && !shut[at(f, no[f] - 1)] && written(f) -> shut[at(f, no[f] - 1)] = true }
	:: atomic { clock[f] == 0 -> clock[f] = 1 }
	:: atomic { clock[f] == 1 && all_written(f) && all_asked(f) -> clock[f] = 2 }
#ifdef LOST_COMMIT
	/* A restore or a failover that forgets what was committed. */
	:: atomic { state[f] == dialing && crashes < CRASHES -> crashes++; no[f]--; outcome[at(f, no[f])] = 0; state[f] = due }
#endif
	od
}

init {
	byte i;
	atomic {
		for (i : 1 .. W) { run daemon(i) }
		for (i : 0 .. F - 1) { run upkeep(i); run carrier(i);
#ifndef NOBODY
			run person(i); run time(i);
#endif
#ifdef QUEUES
			run lookups(i)
#endif
		}
	}
}

ltl L1 { [] (state[0] == dialing -> <> (state[0] != dialing)) }
ltl L2 { [] (state[0] == due -> <> (state[0] != due)) }
#ifdef APPROVALS
ltl L3 { [] (state[0] == awaiting_approval -> <> (state[0] != awaiting_approval)) }
#endif
