#!/usr/bin/env bash
# Runs the mutation tester gremlins (the version that go.mod beside this file pins)
# over packages: it changes one operator at a time and runs the package's own tests.
# A mutant that they do not notice has survived. The exit code is 0 whatever survives.
#
#   internal/verify/tools/mutants.sh [-sample PERCENT] [-seed N] [-short] [-out DIR] [PACKAGE...]
#
# PACKAGE is a folder, for example indexer/internal/pmap; without one, the packages below.
# -sample takes about PERCENT of the lines of code. The choice depends on the seed,
# the file and the text of a line: other lines stay in the sample when one changes,
# and a larger sample contains a smaller one.
# -short passes -short to the tests. -out keeps the result of each mutant.
# All work is done on a copy below $TMPDIR. A mutant that hangs counts as killed: on
# a busy machine look at "timed out" before you believe the rate.
set -euo pipefail

root=$(cd "$(dirname "$0")/../../.." && pwd)
tools=$root/internal/verify/tools
packages=(indexer/internal/pmap informer/internal/eventlog deltafifo indexer workqueue informer reflector)
sample=100 seed=1 out='' flags=''

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
while [ $# -gt 0 ]; do
	case $1 in
	-sample) sample=${2:?-sample needs a number} && shift 2 ;;
	-seed) seed=${2:?-seed needs a number} && shift 2 ;;
	-out) out=${2:?-out needs a folder} && shift 2 ;;
	-short) flags=-test.short && shift ;;
	-*) usage ;;
	*) break ;;
	esac
done
[ $# -eq 0 ] || packages=("$@")

tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
if [ -n "$out" ]; then mkdir -p "$out" && out=$(cd "$out" && pwd); else out=$tmp/out && mkdir "$out"; fi

go -C "$tools" build -o "$tmp/gremlins" github.com/go-gremlins/gremlins/cmd/gremlins

# The work tree as it is, without what git ignores, and as a repository of its own.
copy=$tmp/copy
mkdir "$copy" "$tmp/tmp"
git -C "$root" ls-files -z --cached --others --exclude-standard |
	(cd "$root" && xargs -0 sh -c 'for f; do [ ! -f "$f" ] || printf "%s\0" "$f"; done' sh) |
	tar -C "$root" --null -T - -cf - | tar -C "$copy" -xf -
git -C "$copy" init -q
git -C "$copy" config user.name mutants
git -C "$copy" config user.email mutants@localhost
# gremlins expects file names relative to the package, and one change per hunk.
git -C "$copy" config diff.context 0
git -C "$copy" config diff.interHunkContext 0
git -C "$copy" config diff.relative true

# choose FOLDER commits a version in which the lines of the sample differ. gremlins
# mutates only lines that changed since a given commit: those of the sample.
choose() {
	local file
	for file in "$copy/$1"/*.go; do
		case $file in *_test.go) continue ;; esac
		cp "$file" "$file.orig"
		LC_ALL=C awk -v key="$seed:$1/${file##*/}:" -v percent="$sample" '
			BEGIN { for (i = 1; i < 256; i++) ord[sprintf("%c", i)] = i }
			{
				text = key $0 ":" seen[$0]++
				h = 5381
				for (i = 1; i <= length(text); i++) h = (h * 69069 + ord[substr(text, i, 1)]) % 2147483648
				for (i = 0; i < 4; i++) h = (h * 69069 + 1) % 2147483648
				print $0 (h / 2147483648 * 100 < percent ? " //sample" : "")
			}' "$file.orig" >"$file"
	done
	git -C "$copy" add --force -- "$1"
	git -C "$copy" commit -q --allow-empty -m sample
	for file in "$copy/$1"/*.go.orig; do mv "$file" "${file%.orig}"; done
}

status=0 results=()
for package in "${packages[@]}"; do
	package=$(cd "$root/$package" && pwd) && package=${package#"$root"/}
	log=$out/${package//\//_}.txt
	diff=()
	if [ "$sample" != 100 ]; then choose "$package" && diff=(--diff HEAD); fi
	echo "mutants $package" >&2
	started=$SECONDS
	rm -rf "$tmp/state" && mkdir "$tmp/state" && : >"$tmp/state/hung"
	(
		cd "$copy/$package"
		export MUTANTS_GO MUTANTS_STATE=$tmp/state MUTANTS_TEST_FLAGS=$flags TMPDIR=$tmp/tmp GIT_CEILING_DIRECTORIES=$tmp
		MUTANTS_GO=$(command -v go)
		PATH=$tools/mutants:$PATH "$tmp/gremlins" unleash --config "$tools/mutants/gremlins.yaml" "${diff[@]}" "$copy/$package"
	) >"$log.raw" 2>&1 || { cat "$log.raw" >&2 && status=1 && continue; }
	sed -nE "s|^ *([A-Z ]+) ([A-Z_]+) at ([^ ]+)\$|\1\t\2\t$package/\3|p" "$log.raw" |
		awk -F '\t' -v OFS='\t' -v hung="$(tr '\n' ' ' <"$tmp/state/hung")" '
			BEGIN { for (n = split(hung, number, " "); n > 0; n--) isHung[number[n]] }
			$1 == "SKIPPED" { next }
			$1 != "NOT COVERED" && ++mutant in isHung { $1 = "TIMED OUT" }
			{ print }' |
		sort -t "$(printf '\t')" -k3,3V -k2,2 >"$log"
	echo "# seconds $((SECONDS - started))" >>"$log"
	rm "$log.raw"
	results+=("$log")
	grep -E '^(LIVED|TIMED OUT)' "$log" || true
done

# The table. The rate is lived / (killed + lived + timed out): mutants that no test
# executes or that do not compile are counted apart.
[ ${#results[@]} -eq 0 ] || awk -F '\t' '
	function row(name, s) {
		tested = n[name, "KILLED"] + n[name, "LIVED"] + n[name, "TIMED OUT"]
		printf "%-20s %8d %8d %10d %12d %11d %7s  %s\n", name, n[name, "KILLED"], n[name, "LIVED"],
			n[name, "TIMED OUT"], n[name, "NOT COVERED"], n[name, "NOT VIABLE"],
			tested ? sprintf("%.1f%%", 100 * n[name, "LIVED"] / tested) : "-", s
	}
	FNR == 1 { packages++; name = FILENAME; sub(/.*\//, "", name); sub(/\.txt$/, "", name); gsub(/_/, "/", name); order[packages] = name }
	/^# seconds/ { split($0, word, " "); time[name] = word[3]; total += word[3]; next }
	{ n[name, $1]++; n["all", $1]++ }
	END {
		printf "\n%-20s %8s %8s %10s %12s %11s %7s  %s\n", "package", "killed", "lived", "timed out", "not covered", "not viable", "rate", "seconds"
		for (i = 1; i <= packages; i++) row(order[i], time[order[i]])
		if (packages > 1) row("all", total)
	}' "${results[@]}"
exit $status
