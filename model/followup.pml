/* What both models share: the states of a follow-up, how one becomes another, and the properties.
 *
 * Every atomic that moves a follow-up is one committed transaction. A state changes through move and
 * nowhere else, and model_test.go compares all moves with followup.Transitions. Only mutants overwrite. */

mtype = {
	/* outcomes of an attempt, beside refused and uncertain; open is SQL's null, 0 is no such row */
	open, placed, not_placed, did_not_ring,
	/* a call at the carrier; 0: it has none */
	queued, rang, ended,
	/* what became of a commit */
	seen, lost_done, lost_undone,
	/* states: last, so that they are the numbers from 8 down to 1, which check.sh reads */
	due, awaiting_approval, dialing, uncertain, call_placed, refused, missed, cancelled
}

mtype state[F] = due;

#define final(f) (state[f] == call_placed || state[f] == refused || state[f] == missed || state[f] == cancelled)

/* A property is a name that is never true: what pan prints of a violation ends in it. RINGS_ONLY
 * leaves those about rings, so that a mutant is shown to ring and not merely to look wrong. */
#define ringing(name, c) assert((c) || name)
#ifdef RINGS_ONLY
#define promise(name, c) skip
#else
#define promise(name, c) assert((c) || name)
#endif

#ifdef COVER
/* Says that a transition is made, by an assertion that fails: check.sh wants to have seen them all. */
#define told(from, to) assert(from == to);
#else
#define told(from, to)
#endif

#define move(f, from, to) told(from, to) promise(only_listed_transitions, state[f] == from); state[f] = to

/* A mutant's own: no compare. What the table forbids is then a violation. */
#define overwrite(f, to) promise(final_states_are_final, !final(f) || state[f] == to); state[f] = to

hidden byte only_listed_transitions, final_states_are_final;
