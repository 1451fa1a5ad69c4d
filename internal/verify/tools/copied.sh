#!/usr/bin/env bash
# Copies each example out of the repository, as a reader would, into one module that is
# none of ours, and compiles them there. That fails if an example imports an internal
# package of the repository, or something that the library does not bring along. Then it
# builds one of them as examples/deploy/Dockerfile does, for an image that has nothing else.
set -euo pipefail

root=$(cd "$(dirname "$0")/../../.." && pwd)
own=github.com/informerkit/informerkit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

copies=$work/copies
mkdir "$copies"
for main in "$root"/examples/*/main.go; do
	dir=$(dirname "$main")
	name=$(basename "$dir")
	cp -r "$dir" "$copies/$name"
	# A module in it would not be compiled; and examples are not to have one.
	[ ! -e "$copies/$name/go.mod" ] || { echo "examples/$name has a module of its own: it needs a step of its own, too"; exit 1; }
	# What the folder imports of itself is in the copy; all the rest is the library's.
	find "$copies/$name" -name '*.go' -exec sed -i "s#\"$own/examples/$name\([/\"]\)#\"example.com/copies/$name\1#" {} +
done
sed -e "s#^module .*#module example.com/copies#" "$root/go.mod" >"$copies/go.mod"
cp "$root/go.sum" "$copies/go.sum"
(
	cd "$copies"
	go mod edit -require="$own@v0.0.0" -replace="$own=$root"
	# Compiles them with their tests, and links nothing. Where the folder is plays no part,
	# so that the build cache has what has not changed; and what they depend on is compiled
	# in the same way for the Dockerfile, and for the release check.
	CGO_ENABLED=0 GOFLAGS="-mod=mod -trimpath" go list -export -test ./... >/dev/null
)

echo "examples/foo, as the Dockerfile builds it"
build=$(sed -n 's/^RUN \(CGO_ENABLED=.*go build .*\)$/\1/p' "$root/examples/deploy/Dockerfile")
[ -n "$build" ] || { echo "examples/deploy/Dockerfile: no line begins with RUN CGO_ENABLED="; exit 1; }
(cd "$root" && EXAMPLE=foo bash -euc "${build/-o \/example/-o $work/example}")
if readelf -lW "$work/example" | grep -q INTERP; then
	echo "examples/foo is not static: it would not start on an empty image"
	exit 1
fi
env -i "$work/example" -once >/dev/null # without HOME, PATH and certificates, as there
