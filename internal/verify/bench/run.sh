#!/usr/bin/env bash
# Runs benchmarks in rounds, in which the implementations alternate, and compares them:
#
#   run.sh [REGEXP] [ROUNDS] [FLAGS of the test binary, such as -test.benchtime=100ms or -objects=1000000]
#
# All rows take about an hour in ten rounds. RESULTS is the file to keep.
set -euo pipefail
cd "$(dirname "$0")"
rows=${1:-.} rounds=${2:-10}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=${RESULTS:-$work/results.txt}
: >"$results"

go test -c -o "$work/bench.test" .
benchstat=$(go -C ../tools tool -n benchstat)
for ((round = 1; round <= rounds; round++)); do
	echo "round $round of $rounds" >&2
	"$work/bench.test" -test.run='^$' -test.bench="$rows" -test.count=1 -test.timeout=0 "${@:3}" | tee -a "$results" >&2
done
"$benchstat" -col /impl "$results"
