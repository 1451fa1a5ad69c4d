#!/usr/bin/env bash
# Copies each example into an empty module of its own, as a reader would, and
# builds it there. That fails if an example imports an internal package of the
# repository, or something that the library does not bring along.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
own=github.com/informerkit/informerkit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mods=()
for main in "$root"/examples/*/main.go; do
	dir=$(dirname "$main")
	name=$(basename "$dir")
	mod=$work/$name
	mkdir "$mod"
	cp -r "$dir/." "$mod"
	# What the folder imports of itself is in the copy; all the rest is the library's.
	find "$mod" -name '*.go' -exec sed -i "s#\"$own/examples/$name\([/\"]\)#\"example.com/$name\1#" {} +
	sed -e "s#^module .*#module example.com/$name#" "$root/go.mod" >"$mod/go.mod"
	cp "$root/go.sum" "$mod/go.sum"
	(cd "$mod" && go mod edit -require="$own@v0.0.0" -replace="$own=$root")
	mods+=("$name")
done
for name in "${mods[@]}"; do
	echo "examples/$name, copied"
	(cd "$work/$name" && GOFLAGS=-mod=mod go build -o /dev/null . && GOFLAGS=-mod=mod go vet ./...)
done
