#!/bin/sh
# Makes available on this machine what the contract tests speak to, and does nothing where it is:
# SIPp, which plays a telephone company by a script, and Prism, which holds requests to the
# company's own OpenAPI document.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prism=$root/.tools/prism

# Pinned, because what a checker lets through changes. Later ones want Node.js 24.
prism_version=5.14.2

say() { printf '%s\n' "contract.sh: $*"; }
fail() { say "$*" >&2; exit 1; }

get_sipp() {
	if ! command -v sipp >/dev/null 2>&1; then
		if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
			fail "SIPp is not here, and only root with apt-get could install it: install the program sipp (Debian's package is sip-tester)"
		fi
		export DEBIAN_FRONTEND=noninteractive
		apt-get install -y --no-install-recommends sip-tester ||
			{ apt-get update && apt-get install -y --no-install-recommends sip-tester; } ||
			fail "apt-get could not install sip-tester: see what it said above"
	fi
	say "SIPp is $(command -v sipp)"
}

# has_prism: the whole of it is there, at this version. The folder comes into place only when complete.
has_prism() {
	[ -x "$prism/node_modules/.bin/prism" ] &&
		grep -q "\"version\": \"$prism_version\"" "$prism/node_modules/@stoplight/prism-cli/package.json"
}

node_is_new_enough() {
	version=$(node --version) # v20.1.2
	major=${version#v}
	minor=${major#*.}
	major=${major%%.*}
	minor=${minor%%.*}
	[ "$major" -gt 18 ] || { [ "$major" -eq 18 ] && [ "$minor" -ge 20 ]; }
}

get_prism() {
	command -v node >/dev/null 2>&1 || fail "Prism needs Node.js 18.20 or newer, and there is no node here: install Node.js"
	node_is_new_enough || fail "Prism needs Node.js 18.20 or newer, and node here is $version: install a newer Node.js"
	if ! has_prism; then
		command -v npm >/dev/null 2>&1 || fail "Prism comes by npm, and there is no npm here: install npm"
		say "installing Prism $prism_version with npm into $prism"
		mkdir -p "$root/.tools"
		work=$(mktemp -d "$root/.tools/prism.XXXXXX")
		trap 'rm -rf "$work"' EXIT
		# No script of any package runs: Prism needs none.
		npm install --prefix "$work" --no-audit --no-fund --ignore-scripts --loglevel=error "@stoplight/prism-cli@$prism_version" ||
			fail "npm could not install Prism: see what it said above"
		rm -rf "$prism"
		mv "$work" "$prism"
	fi
	say "Prism $prism_version is in $prism"
}

get_sipp
get_prism
