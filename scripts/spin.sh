#!/bin/sh
# Makes available on this machine what the protocol's model is checked with, and does nothing where it is:
# Spin, and a C compiler for the search that Spin writes.
set -eu

say() { printf '%s\n' "spin.sh: $*"; }
fail() { say "$*" >&2; exit 1; }

# get PROGRAM PACKAGE: PACKAGE is Debian's, which has the program.
get() {
	if ! command -v "$1" >/dev/null 2>&1; then
		if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
			fail "$1 is not here, and only root with apt-get could install it: install it (Debian's package is $2)"
		fi
		export DEBIAN_FRONTEND=noninteractive
		apt-get install -y --no-install-recommends "$2" ||
			{ apt-get update && apt-get install -y --no-install-recommends "$2"; } ||
			fail "apt-get could not install $2: see what it said above"
	fi
	say "$1 is $(command -v "$1")"
}

get spin spin
get cc gcc
# A search is a C program of its own.
printf '#include <stdio.h>\n' | cc -fsyntax-only -x c - 2>/dev/null || get_headers=1
if [ -n "${get_headers:-}" ]; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
		fail "the C library's headers are not here: install them (Debian's package is libc6-dev)"
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libc6-dev || fail "apt-get could not install libc6-dev: see what it said above"
fi
