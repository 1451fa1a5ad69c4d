#!/usr/bin/env bash
# Copies each example into an empty module of its own, as a reader would, and
# compiles it there. That fails if an example imports an internal package of the
# repository, or something that the library does not bring along. Then it builds one
# of them as examples/deploy/Dockerfile does, for an image that has nothing else.
set -euo pipefail

root=$(cd "$(dirname "$0")/../../.." && pwd)
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
	# Compiles it with its tests, and links nothing.
	(cd "$work/$name" && GOFLAGS=-mod=mod go list -export -test ./... >/dev/null)
done

echo "examples/foo, as the Dockerfile builds it"
build=$(sed -n 's/^RUN \(CGO_ENABLED=.*go build .*\)$/\1/p' "$root/examples/deploy/Dockerfile")
[ -n "$build" ] || { echo "examples/deploy/Dockerfile: no line begins with RUN CGO_ENABLED="; exit 1; }
(cd "$root" && EXAMPLE=foo bash -euc "${build/-o \/example/-o $work/example}")
if readelf -lW "$work/example" | grep -q INTERP; then
	echo "examples/foo is not static: it would not start on an empty image"
	exit 1
fi
env -i "$work/example" -once >/dev/null # without HOME, PATH and certificates, as there
