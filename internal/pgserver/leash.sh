# Runs the server given as "$@" until it ends by itself or the leash is let go.
#
# fd 3  helper.lock: held for as long as this script runs; the server must not inherit it
# fd 4  the leash: end of file means that the process that started us is gone or wants a stop
#
# Only the leash decides, so this shell is deaf to the polite signals. The server starts
# with them ignored, too, and installs its own handlers.
trap '' HUP INT TERM

"$@" 3<&- 4<&- &
server=$!

# A sibling watches the leash, because this shell must wait for the server. It asks again
# every second: the first request may come before the server listens to signals, and as
# long as it insists its own process id cannot be mistaken below. INT is a fast shutdown.
{
	while read -r _; do :; done
	asked=0
	while [ "$asked" -lt 60 ] && kill -INT "$server"; do
		asked=$((asked + 1))
		sleep 1
	done
} <&4 3<&- 4<&- >/dev/null 2>&1 &
watcher=$!
exec 4<&-

wait "$server"
status=$?
kill -KILL "$watcher" 2>/dev/null
exit "$status"
