#!/bin/sh
# Fuzzes every target for a while each (FUZZ, 10s). What fails is kept under testdata/fuzz, and runs with the tests.
set -eu
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $target"
		go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ:-10s}" -fuzzminimizetime 50x -parallel "${PARALLEL:-1}"
	done
done
