#!/usr/bin/env bash
# Plays a user of the modules: each is required by a new module, at the version in
# .ci/next-version and from the commit at HEAD, and its README's programs and examples run there.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(cat .ci/next-version)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/repository" && git archive HEAD | tar -x -C "$work/repository"
export GOWORK=off GOFLAGS=-mod=mod
paths=()
for m in . informer/prometheus informer/clientgo informer/controllerruntime; do
	path=$(go -C "$m" list -m)
	paths+=("-replace=$path=$work/repository/$m")
	required=$(go -C "$m" list -m -f '{{if and (not .Main) .Replace}}{{.Path}} {{.Version}}{{end}}' all)
	if grep -v " $version\$" <<<"$required" | grep .; then
		echo "$path requires another version than $version of the modules above"
		exit 1
	fi
done
for m in . informer/prometheus informer/clientgo informer/controllerruntime; do
	mkdir "$work/consumer" && cd "$work/consumer"
	go mod init example.com/consumer
	go mod edit -require="$(go -C "$work/repository/$m" list -m)@$version" "${paths[@]}"
	if [ "$m" = . ]; then
		cp -r "$work"/repository/internal/verify/readme/{informer,controller} .
		go mod tidy && go run ./informer && go run ./controller
	else
		cp "$work/repository/$m"/example*_test.go .
		go mod tidy && go test -v -run '^Example' . | tee examples.txt
		grep -q -- '--- PASS: Example' examples.txt || { echo "$m: no example ran"; exit 1; }
	fi
	cd - >/dev/null && rm -rf "$work/consumer"
done
