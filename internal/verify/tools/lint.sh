#!/usr/bin/env bash
# Lints every module of the repository with the linters of .golangci.yml and the
# version of golangci-lint that go.mod beside this file pins. Arguments are passed
# on, for example --fix.
set -euo pipefail

root=$(cd "$(dirname "$0")/../../.." && pwd)
tools=$root/internal/verify/tools
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

# The Go build cache makes this cheap after the first time.
go -C "$tools" build -o "$bin/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint

status=0
while read -r mod; do
	dir=$(dirname "$mod")
	# Some modules hold no packages: they only pin the versions of programs.
	[ -n "$(cd "$dir" && go list ./... 2>/dev/null)" ] || continue
	echo "lint ${dir#"$root"/}" >&2
	(cd "$dir" && "$bin/golangci-lint" run --allow-serial-runners --config "$root/.golangci.yml" "$@" ./...) || status=1
done < <(find "$root" -name go.mod -not -path '*/testdata/*' | sort)
exit $status
