#!/usr/bin/env bash
# Runs golangci-lint on all modules. One workspace has them all, so that what they share is
# loaded once; only explored stays outside, because it needs Kubernetes of one release.
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
export GOWORK=off
linter=$(go -C internal/verify/lint tool -n golangci-lint)
modules=$(internal/verify/modules.sh | grep -v '^internal/verify/explored$')
workspace=$(mktemp -d)
trap 'rm -rf "$workspace"' EXIT
export GOWORK=$workspace/go.work
# shellcheck disable=SC2046 # lists
(cd "$workspace" && GOWORK='' go work init $(sed "s#^#$root/#" <<<"$modules"))
# shellcheck disable=SC2046
"$linter" run "$@" $(sed 's#.*#./&/...#' <<<"$modules")
cd internal/verify/explored && GOWORK=off "$linter" run "$@" ./...
