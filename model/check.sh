#!/usr/bin/env bash
# Checks the protocol exhaustively within its bounds, and that every mutant is caught by the property that it
# breaks. One row per run. It ends non-zero where the protocol fails, where a search was not complete, where a
# mutant survives or fails for another reason, and where a transition of the model is made in no run.
#
#   model/check.sh            everything
#   model/check.sh WORD       only the runs whose row has the word
#   KEEP=DIR model/check.sh   leave what was generated in DIR/NAME, trails among it
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
only=${1:-}
cc=${CC:-cc}
at_once=2 # runs

say() { printf '%s\n' "check.sh: $*" >&2; }
for program in spin "$cc"; do
	command -v "$program" >/dev/null 2>&1 || { say "$program is not here: scripts/spin.sh sees to spin, and a C compiler is any cc"; exit 1; }
done

work=${KEEP:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
trap 'kill $(jobs -p) 2>/dev/null || true; exit 130' INT TERM

rows=()
# row KIND NAME MODEL EXPECTED WHAT FLAGS: KIND is safety, L1, L2 or L3 (liveness), or cover.
row() { rows+=("$(IFS='|'; printf '%s' "$*")"); }

# The protocol.
safety() { row safety "$1" "$2" - "$3" "$4"; }
safety one-follow-up    chasephone "two daemons, killed twice; replies of T1 and T2 lost; zombies"  "-DCRASHES=2"
safety two-follow-ups   chasephone "claimed together, answers recorded together, replies lost"      "-DF=2 -DMOST=1 -DNOBODY"
safety wrong-person     chasephone "a person may err, and evidence comes afterwards"                "-DERRS"
safety approvals        chasephone "asked, spent, given back; declined, late, cancelled"            "-DAPPROVALS -DERRS -DLOST=0"
safety queue            chasephone "calls queued at the carrier, look-ups, cancelled when late"     "-DQUEUES -DERRS -DNOTS=0 -DLOST=0"
safety lying-carrier    chasephone "the carrier rings what it said it did not"                      "-DLIES"
safety five-silences    chasephone "the fifth 'it did not ring' refuses"                            "-DMOST=5 -DW=1 -DNOTS=0 -DLOST=0 -DERRS"
safety places           claims     "two of a tenant per slot, whatever the clock does"              ""
safety stop             claims     "stop and resume beside claims"                                  "-DSTOP -DF=3 -DT=1"
safety dial-slots       claims     "claims while calls are out"                                     "-DCALLS -DF=3 -DT=1 -DW=1"
lines="-DLINES -DF=3 -DT=1 -DDIAL_SLOTS=3 -DCRASHES=0"
safety lines            claims     "held, released, unfit, unknown answers in a row"                "$lines -DLOST=0"
safety lines-again      claims     "one daemon, killed; replies of T2 lost"                         "-DLINES -DF=3 -DT=1 -DDIAL_SLOTS=3 -DW=1"
row L1 dialing-is-left  chasephone - "no silent state"                       "-DLOST=0"
row L2 due-is-left      chasephone - "no promise is dropped"                 "-DLOST=0"
row L3 awaiting-is-left chasephone - "nor one that nobody answers for"       "-DAPPROVALS -DLOST=0 -DNOTS=0"

# The mutants, each with the property that it must break. Those about rings are shown to ring.
ring() { row safety "$1" chasephone one_ring_per_followup "$2" "-D$1 -DRINGS_ONLY ${3:-}"; }
ring NO_INTENT          "rings before anything is committed"
ring REDIAL_ORPHAN      "the sweep makes it due"
ring RETRY_1H           "unknown is due again in an hour"
ring NO_QUARANTINE      "a person may say so while it can still be sent"
ring NO_SEND_BY         "a paused daemon sends whenever it wakes"
ring PAUSE_FOR_EVER     "the pause between check and write outlasts the quarantine: the residual"
ring T2_BY_FOLLOWUP     "T2 compares the state only"
ring T2_BY_NUMBER       "T2 compares state and number, and no token"
ring NOT_MEANT          "a person's word said again settles the next attempt" "-DMOST=3 -DLOST=0"
mutant() { row safety "$1" "$2" "$3" "$4" "-D$1 ${5:-}"; }
mutant NO_UNIQUE         chasephone one_ring_per_attempt          "looks, and inserts later" "-DRINGS_ONLY"
mutant LOST_COMMIT       chasephone no_ring_without_an_attempt    "the database forgets an attempt" "-DRINGS_ONLY"
mutant RETRY_LOST        chasephone one_ring_per_attempt          "asks again after a lost answer" "-DRINGS_ONLY"
mutant UNKNOWN_MAY_RING  chasephone no_ring_without_an_attempt    "takes an unknown commit for a right to ring" "-DRINGS_ONLY"
mutant LAST_WRITE_WINS   chasephone final_states_are_final        "T2 compares nothing"
mutant SWEEP_SAYS_PLACED chasephone placed_has_evidence           "the sweep takes silence for a call"
mutant CANCEL_UNCERTAIN  chasephone no_ring_after_the_end         "an uncertain one is cancelled without a word on it"
mutant NO_RECALL         chasephone no_attempt_against_evidence   "evidence is forgotten when it is due again" "-DERRS"
mutant GRANT_REUSE       chasephone approvals_spent_once          "an approval is never spent" "-DAPPROVALS -DLOST=0"
mutant BACK_THOUGH_UNCERTAIN chasephone approvals_spent_once      "one that may have rung gives it back" "-DAPPROVALS -DLOST=0"
mutant NOT_GIVEN_BACK    chasephone asked_once                    "one proven not placed keeps it" "-DAPPROVALS -DLOST=0"
mutant SEND_BY_NOT_BOUNDED chasephone nothing_rings_long_after_late "send_by may be later than late_at"
mutant QUEUE_LEFT_ALONE  chasephone nothing_rings_long_after_late "a call that is queued when late is not cancelled" "-DQUEUES -DNOTS=0 -DLOST=0"
mutant RECORDS_NOT_SHOWN chasephone records_are_shown             "'it did not ring' without a look at the records" "-DQUEUES -DERRS -DNOTS=0 -DLOST=0"
mutant NEVER_EXHAUSTED   chasephone silence_said_at_most_so_often "a sixth attempt" "-DMOST=5 -DW=1 -DNOTS=0 -DLOST=1"
mutant PLACES_NOT_COUNTED claims two_per_tenant_and_slot          "and no key on them" "-DNO_PLACE_KEY"
mutant NO_TENANT_LOCK    claims two_per_tenant_and_slot           "counted without the lock, and no key" "-DNO_PLACE_KEY -DNO_LINE_LOCK"
mutant SLOT_OF_THE_JOB   claims two_per_tenant_and_slot           "the slot is the job's, not the clock's under the locks"
mutant STOP_NOT_AWAITED  claims no_commit_after_stop              "returns while a claim is under way" "-DSTOP -DF=3 -DT=1"
mutant STOP_READ_FIRST   claims no_commit_after_stop              "the claim reads the stop before it has the lock" "-DSTOP -DF=3 -DT=1"
mutant NOT_FULL          claims dial_slots_kept                   "claims more than there are dial slots" "-DCALLS -DF=3 -DT=1 -DW=1 -DDIAL_SLOTS=1"
mutant HELD_IGNORED      claims held_line_rests                   "claims on a held line" "$lines -DLOST=0"
mutant NO_LINE_LOCK      claims held_line_rests                   "a line may be held between look and commit" "$lines -DLOST=0"
mutant UNFIT_IGNORED     claims unfit_daemon_keeps_off            "claims on a line that it cannot reach" "$lines -DLOST=0"
mutant BREAKER_BLIND     claims no_more_out_than_fill_the_count   "claims on while unknown answers stand" "$lines -DLOST=0"
mutant COUNTED_AGAIN     claims unknowns_counted_once             "a T2 done again counts its unknowns again" "$lines"
row L1 NO_SWEEP         chasephone cycle "nobody ends what nobody answered for"  "-DNO_SWEEP -DLOST=0"
row L2 NO_CLOSE         chasephone cycle "late ones are left as they are"        "-DNO_CLOSE -DLOST=0"
row L3 NO_CLOSE-L3      chasephone cycle "late ones are left as they are"        "-DNO_CLOSE -DAPPROVALS -DLOST=0 -DNOTS=0"

# Every transition of the model is made somewhere.
row cover moves-chasephone chasephone - "transitions made" "-DAPPROVALS -DERRS -DLOST=0"
row cover moves-claims-lines claims     - "transitions made" "$lines -DLOST=0 -DW=1"
row cover moves-claims claims     - "transitions made" "-DF=3 -DT=1 -DCRASHES=0"

# run makes one row's search and leaves its verdict in NAME/row: "ok" or "BAD", and the row.
run() {
	local kind name model expected what flags dir
	IFS='|' read -r kind name model expected what flags <<<"$1"
	dir=$work/$name
	mkdir -p "$dir"
	cp "$here"/*.pml "$dir"
	cd "$dir"
	local compile="-O1 -w -DCOLLAPSE -DMEMLIM=2500" search="-m4000000 -w22"
	case $kind in
	safety) compile+=" -DSAFETY -DNOCLAIM" ;;
	cover) compile+=" -DSAFETY -DNOCLAIM" search+=" -c0" flags+=" -DCOVER" ;;
	L*) compile+=" -DNFAIR=3" search+=" -a -f -N $kind" ;;
	esac
	local verdict=BAD errors=- states=- says
	# shellcheck disable=SC2086
	if ! { spin $flags -a "$model.pml" && "$cc" $compile -o pan pan.c; } >made.txt 2>&1; then
		says="it does not compile: $(grep -m1 -iE 'error' made.txt || true)"
	else
		# shellcheck disable=SC2086
		./pan $search >run.txt 2>&1 || true
		errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' run.txt)
		states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' run.txt | head -1)
		says=$(sed -nE 's/.*assertion violated .*\|\|([a-z_]+)\).*/\1/p; s/.*(acceptance cycle|invalid end state).*\(at depth.*/\1/p' run.txt | head -1)
		if grep -qE 'max search depth too small|out of memory|not completed|Interrupted' run.txt && [ "${errors:-}" = 0 ]; then
			says="the search was not completed"
		elif [ "$kind" = cover ]; then
			verdict=ok
		elif [ "$expected" = - ]; then
			[ "${errors:-}" != 0 ] || verdict=ok
		elif [ "${errors:--}" != 0 ] && [ "${says#acceptance }" = "$expected" ]; then
			verdict=ok
		fi
		: "${errors:=-}" "${states:=-}"
	fi
	printf '%s\n%-22s %-68s errors: %-2s %9s states  %s\n' "$verdict" "$name" "$what" "$errors" "$states" "${says:-}" >row
	[ -n "${KEEP:-}" ] || rm -f pan pan.*
}

# made lists the transitions that the cover runs of a model have made. The states are the numbers 8 to 1.
made() {
	local all=(none cancelled missed refused call_placed uncertain dialing awaiting_approval due) n from to
	for n in "$work/moves-$1"*/run.txt; do
		sed -nE 's/.*assertion violated \(+([1-8])==([1-8])\)+.*/\1 \2/p' "$n"
	done | while read -r from to; do echo "${all[from]} ${all[to]}"; done | sort -u
}
# wanted lists those that it has.
wanted() { grep -oE 'move\([^,]*, *[a-z_]+, *[a-z_]+\)' "$1" | sed -E 's/.*, *([a-z_]+), *([a-z_]+)\)/\1 \2/' | sort -u; }

began=$SECONDS
started=0
for r in "${rows[@]}"; do
	[[ -z $only || $r == *"$only"* ]] || continue
	while [ "$(jobs -rp | wc -l)" -ge $at_once ]; do wait -n || true; done
	(run "$r") &
	started=$((started + 1))
done
wait
bad=0
for r in "${rows[@]}"; do
	IFS='|' read -r kind name _ <<<"$r"
	[ -s "$work/$name/row" ] || continue
	[ "$name" != NO_INTENT ] || printf '%s\n' "-- mutants, each of which must be caught --"
	if [ "$kind" != cover ]; then sed -n 2p "$work/$name/row"; fi
	if [ "$(sed -n 1p "$work/$name/row")" != ok ]; then
		say "$name: not as it should be"
		bad=$((bad + 1))
	fi
done
if [ -z "$only" ]; then
	[ "$(find "$work" -maxdepth 2 -name row | wc -l)" = "${#rows[@]}" ] || { say "some runs left no row"; bad=$((bad + 1)); }
	for model in chasephone claims; do
		never=$(comm -13 <(made $model) <(wanted "$here/$model.pml"))
		if [ -n "$never" ]; then
			say "$model.pml never makes: $never"
			bad=$((bad + 1))
		fi
	done
fi
printf '%s\n' "$started runs in $((SECONDS - began)) s"
[ "$bad" = 0 ] || { say "$bad failed"; exit 1; }
