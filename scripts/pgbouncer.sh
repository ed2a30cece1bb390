#!/bin/sh
# Makes PgBouncer available for the tests that go through it; without it they are skipped.
set -eu
say() { printf '%s\n' "pgbouncer.sh: $*"; }
for program in "$(command -v pgbouncer || true)" /usr/sbin/pgbouncer; do
	if [ -n "$program" ] && [ -x "$program" ]; then say "it is $program"; exit 0; fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	say "not here, and only root with apt-get could install it: the tests that need it are skipped"
	exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if [ ! -e /usr/sbin/policy-rc.d ]; then # the package must not start a server of its own
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod +x /usr/sbin/policy-rc.d
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
fi
apt-get install -y --no-install-recommends pgbouncer ||
	{ apt-get update && apt-get install -y --no-install-recommends pgbouncer; } ||
	say "apt-get has none: the tests that need it are skipped"
