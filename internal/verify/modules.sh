#!/usr/bin/env bash
# Prints the folders of the modules that have packages.
cd "$(dirname "$0")/../.."
for m in $(git ls-files go.mod '*/go.mod' | xargs -n1 dirname); do
	[ -z "$(git ls-files "$m/*.go")" ] || echo "$m"
done
