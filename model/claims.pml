/* What claims share: places per tenant and slot, locks, the stop, dial slots, and lines.
 *
 * A claim (T1) is cut where it takes its locks, where it reads, and where it commits, so that two of them, a
 * stop, an answer (T2) and a slot's end can come between. What an attempt then goes through is
 * chasephone.pml's; here it is answered, or its daemon dies. Every tenant has one line, of its own number.
 *
 * Features: CALLS a ruling may be a pass (otherwise all are refusals, which take a place as well); STOP; LINES.
 * Bounds: F follow-ups of T tenants, the last one of the last tenant, all others of the first; W daemons; SLOTS slots. */

#ifndef F
#define F 4
#endif
#ifndef T
#define T 2
#endif
#ifndef W
#define W 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef PER_TICK
#define PER_TICK 2
#endif
#ifndef DIAL_SLOTS
#define DIAL_SLOTS 2
#endif
#ifndef UNKNOWNS    /* GATE_LINE_UNKNOWNS: 3 in the code */
#define UNKNOWNS 2
#endif
#ifdef LINES
#define CALLS
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LOST
#define LOST 1
#endif

#include "followup.pml"

hidden byte two_per_tenant_and_slot, no_commit_after_stop, dial_slots_kept, held_line_rests, unfit_daemon_keeps_off,
	unknowns_counted_once, no_more_out_than_fill_the_count;

#define tenant(f) ((f) == F - 1 -> T - 1 : 0)

byte slot;                      /* the database's clock; it may step back */
bool place[T * SLOTS * (PER_TICK + 2)]; /* followup_events_place: unique */
byte ruled[T * SLOTS];          /* for the property: rulings by the slot that the clock was in under the claim's locks */
byte tenant_lock[T], line_lock[T], row_lock[F]; /* the daemon that holds it, 0 for none */
byte sharers;                   /* claims that hold the fleet's row */
bool stopping;                  /* somebody waits for it, or holds it, exclusively: no claim begins */
bool is_stopped, stop_returned;
byte crashes, lost;
byte owner[F];                  /* whose attempt it is: its token */

#ifdef LINES
bool held[T];                   /* by answers, or by a person */
byte unknowns[T];               /* unknowns_in_row */
byte in_a_row[T];               /* for the property: unknown answers since the last known one, each once */
byte out[T];                    /* attempts without an outcome */
bool unfit[(W + 1) * T];        /* unfit_lines */
#endif


#define place_of(t, s, p) place[((t) * SLOTS + (s)) * (PER_TICK + 1) + (p)]

/* -- T1 ------------------------------------------------------------------------------------------ */

/* Locks what is free, and leaves the rest to whoever has it: tenants, then their lines. */
inline lock(t) {
	if
#ifdef NO_TENANT_LOCK
	:: has[t] = true
#else
	:: tenant_lock[t] == 0 -> tenant_lock[t] = me; has[t] = true
	:: else
#endif
	fi;
#ifndef NO_LINE_LOCK
	if
	:: has[t] && line_lock[t] == 0 -> line_lock[t] = me
	:: else -> has[t] = false /* the line's rows are left out; the tenant's lock is kept, and harms nobody */
	fi
#else
	skip
#endif
}

/* The ledger's rows of this tenant and slot. */
#ifdef PLACES_NOT_COUNTED
#define places_of(t) 0
#else
#define places_of(t) (place_of(t, at, 1) + place_of(t, at, 2))
#endif

#ifdef LINES
#ifdef HELD_IGNORED
#define is_held(t) false
#else
#define is_held(t) held[t]
#endif
#ifdef UNFIT_IGNORED
#define is_unfit(t) false
#else
#define is_unfit(t) unfit[me * T + t]
#endif
#define line_open(t) (!is_held(t) && !is_unfit(t))
/* Once an answer was unknown, no more are out than would fill the count; and one at a time to try again. */
#define fills(t) (UNKNOWNS > unknowns[t] + 1 -> UNKNOWNS - unknowns[t] : 1)
#ifdef BREAKER_BLIND
#define has_room(t) true
#else
#define has_room(t) (unknowns[t] == 0 || out[t] + passed[t] < fills(t))
#endif
#else
#define line_open(t) true
#define has_room(t) true
#endif

#ifdef NOT_FULL
#define dial_slot true
#else
#define dial_slot (in_flight < DIAL_SLOTS)
#endif

#define candidate(f) (has[tenant(f)] && state[f] == due && row_lock[f] == 0 && line_open(tenant(f)) && taken[tenant(f)] < PER_TICK)

/* A ruling takes a place, a pass a dial slot too, and a wait neither. */
inline judge(f) {
	if
#ifdef CALLS
	:: candidate(f) && dial_slot && has_room(tenant(f)) ->
		row_lock[f] = me; ruling[f] = dialing; in_flight++;
#ifdef LINES
		passed[tenant(f)]++
#else
		taken[tenant(f)]++; at_place[f] = taken[tenant(f)]
#endif
#else
	:: candidate(f) -> taken[tenant(f)]++; at_place[f] = taken[tenant(f)]; row_lock[f] = me; ruling[f] = refused
#endif
	:: true /* it has to wait, or somebody holds its number */
	fi
}

/* What a claim commits of one follow-up. A place that is taken makes the whole transaction fail. */
inline rule(f) {
	if
	:: ruling[f] != 0 ->
		promise(no_commit_after_stop, !stop_returned);
#ifndef LINES
		place_of(tenant(f), at, at_place[f]) = true;
		ruled[tenant(f) * SLOTS + now_at]++;
		promise(two_per_tenant_and_slot, ruled[tenant(f) * SLOTS + now_at] <= PER_TICK);
#else
		promise(held_line_rests, !held[tenant(f)]);
		promise(unfit_daemon_keeps_off, !unfit[me * T + tenant(f)]);
		out[tenant(f)]++;
		promise(no_more_out_than_fill_the_count, unknowns[tenant(f)] == 0 || out[tenant(f)] <= fills(tenant(f)));
#endif
		if
		:: ruling[f] == dialing -> owner[f] = me; calls[f] = true; move(f, due, dialing)
		:: ruling[f] == refused -> move(f, due, refused)
		fi
	:: else
	fi
}

#ifdef NO_PLACE_KEY
#define clashes(f) false
#elif defined(LINES)
#define clashes(f) false
#else
#define clashes(f) (ruling[f] != 0 && place_of(tenant(f), at, at_place[f]))
#endif

/* Locks first; then the clock, the places and the rows, in statements of their own. */
inline look() {
	for (i : 0 .. T - 1) { lock(i) }
	now_at = slot;
#ifndef SLOT_OF_THE_JOB
	at = slot;
#endif
#ifndef LINES
	for (i : 0 .. T - 1) { taken[i] = places_of(i) }
#endif
	for (i : 0 .. F - 1) { judge(i) }
	promise(dial_slots_kept, in_flight <= DIAL_SLOTS);
	i = 0
}

inline unlock_all() {
	for (i : 0 .. F - 1) {
		if
		:: row_lock[i] == me -> row_lock[i] = 0
		:: else
		fi;
		ruling[i] = 0; at_place[i] = 0
	}
	for (i : 0 .. T - 1) {
		if
		:: tenant_lock[i] == me -> tenant_lock[i] = 0
		:: else
		fi;
		if
		:: line_lock[i] == me -> line_lock[i] = 0
		:: else
		fi;
		has[i] = false; taken[i] = 0;
#ifdef LINES
		passed[i] = 0;
#endif
	}
	i = 0; at = 0; now_at = 0; refused_by_key = false; claiming = 0; sharers--
}

inline roll_back() {
	for (i : 0 .. F - 1) {
		if
		:: ruling[i] == dialing -> in_flight--
		:: else
		fi
	}
	unlock_all()
}

/* -- T2 ------------------------------------------------------------------------------------------ */

#define mine_to_settle(f) (state[f] == dialing && owner[f] == me)

/* The carrier knows what it does: unknown answers start from none again. */
inline reset(t) {
#ifdef LINES
	unknowns[t] = 0; in_a_row[t] = 0
#else
	skip
#endif
}

/* One answer of a T2's set: who comes second changes nothing, and counts nothing. */
inline record(f) {
	if
#ifdef COUNTED_AGAIN
	:: answer[f] == uncertain && !mine_to_settle(f) -> unknowns[tenant(f)]++
#endif
	:: mine_to_settle(f) ->
#ifdef LINES
		out[tenant(f)]--;
#endif
		if
		:: answer[f] == placed -> reset(tenant(f)); move(f, dialing, call_placed)
#ifdef LINES
		:: answer[f] == uncertain ->
			unknowns[tenant(f)]++; in_a_row[tenant(f)]++; move(f, dialing, uncertain);
			if
			:: unknowns[tenant(f)] >= UNKNOWNS -> held[tenant(f)] = true
			:: else
			fi
		:: answer[f] == not_placed -> /* "not now": the row waits, and so does its line */
			reset(tenant(f)); held[tenant(f)] = true; move(f, dialing, due)
		:: answer[f] == open -> /* no connection: that speaks of this daemon, and holds no line */
			unfit[me * T + tenant(f)] = true; move(f, dialing, due)
#endif
		fi
	:: !mine_to_settle(f) && answer[f] == placed -> reset(tenant(f))
	:: else
	fi;
#ifdef LINES
	promise(unknowns_counted_once, unknowns[tenant(f)] <= in_a_row[tenant(f)])
#else
	skip
#endif
}

inline done(f) {
	if
	:: answer[f] != 0 -> answer[f] = 0; calls[f] = false; in_flight--
	:: else
	fi
}

proctype daemon(byte me) {
	bool  has[T], calls[F], refused_by_key, answered;
	byte  taken[T], at_place[F], i, at, now_at, claiming, in_flight;
	mtype ruling[F], answer[F];
#ifdef LINES
	byte  passed[T];
#endif

end:	do
	/* The fleet's row first, shared. Whether it is stopped is read under that lock. */
#ifdef STOP_READ_FIRST
	:: atomic { claiming == 0 && !is_stopped -> claiming = 2 }
	:: atomic { claiming == 2 && !stopping -> sharers++; claiming = 1 }
#elif defined(LINES)
	:: atomic { claiming == 0 && line_lock[0] == 0 && (state[0] == due || state[1] == due || state[2] == due) -> sharers++; look(); claiming = 3 }
#else
	:: atomic { claiming == 0 && !stopping && !is_stopped -> sharers++; claiming = 1;
#ifdef SLOT_OF_THE_JOB
		at = slot;
#endif
		skip }
#endif
#ifndef LINES
	:: atomic { claiming == 1 -> look(); claiming = 3 }
#endif
	:: atomic { claiming == 3 ->
		for (i : 0 .. F - 1) { refused_by_key = refused_by_key || clashes(i) }
		if
		:: refused_by_key -> roll_back()
		:: else -> for (i : 0 .. F - 1) { rule(i) } unlock_all()
		fi }

	/* The carrier answers some of the calls. */
	:: atomic { !answered && in_flight > 0 && claiming == 0 ->
		for (i : 0 .. F - 1) {
			if
			:: calls[i] && answer[i] == 0 -> answer[i] = placed; answered = true
#ifdef LINES
			:: calls[i] && answer[i] == 0 -> answer[i] = uncertain; answered = true
			:: calls[i] && answer[i] == 0 -> answer[i] = not_placed; answered = true
			:: calls[i] && answer[i] == 0 && me == 1 -> answer[i] = open; answered = true
#endif
			:: true
			fi
		}
		i = 0 }
	/* T2 waits for the lines whose claims are under way. Where its reply is lost it is done again. */
	:: atomic { answered && line_lock[0] == 0 && line_lock[T - 1] == 0 ->
		for (i : 0 .. F - 1) {
			if
			:: answer[i] != 0 -> record(i)
			:: else
			fi
		}
		if
		:: lost < LOST -> lost++
		:: true -> answered = false; for (i : 0 .. F - 1) { done(i) }
		fi;
		i = 0 }

	/* Killed: what it held is free again, and its attempts are nobody's. */
	:: atomic { crashes < CRASHES && (in_flight > 0 || claiming != 0) -> crashes++;
		if
		:: sharers > 0 && (claiming == 1 || claiming == 3) -> roll_back()
		:: else -> claiming = 0
		fi;
		for (i : 0 .. F - 1) {
			if
			:: calls[i] && owner[i] == me -> owner[i] = 0
			:: else
			fi;
			calls[i] = false; answer[i] = 0
		}
		answered = false; in_flight = 0; i = 0 }
	od
}

/* -- everybody else ------------------------------------------------------------------------------ */

proctype upkeep() {
	byte f;
end:	do
	:: atomic { state[f] == dialing ->
#ifdef LINES
		out[tenant(f)]--;
#endif
		move(f, dialing, uncertain) }
	:: f < F - 1 -> f++
	:: f > 0 -> f = 0
	od
}

#ifdef STOP
/* A person stops everything, and lifts it again. */
proctype person() {
end:	do
#ifdef STOP_NOT_AWAITED
	:: atomic { !is_stopped -> is_stopped = true; stop_returned = true }
#else
	:: atomic { !is_stopped && !stopping -> stopping = true } /* no claim begins after this */
	:: atomic { stopping && sharers == 0 -> is_stopped = true; stopping = false; stop_returned = true }
#endif
	:: atomic { is_stopped -> is_stopped = false; stop_returned = false }
	od
}
#endif

proctype time() {
end:	do
#ifndef LINES
	:: slot = (slot + 1) % SLOTS /* on, and back */
#else
	/* A person holds and releases; hours go by. All of them wait for the line's row. */
	:: atomic { line_lock[0] == 0 && !held[0] -> held[0] = true }
	:: atomic { line_lock[0] == 0 && held[0] -> held[0] = false; reset(0) }
	:: atomic { held[0] -> held[0] = false }
	:: atomic { unfit[T] -> unfit[T] = false }
#endif
	od
}

init {
	byte i;
	atomic {
		for (i : 1 .. W) { run daemon(i) }
		run upkeep(); run time();
#ifdef STOP
		run person()
#endif
	}
}
