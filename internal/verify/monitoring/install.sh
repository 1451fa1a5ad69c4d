#!/usr/bin/env bash
# A real Prometheus for scrape_test.go: the binaries of the Debian package in .bin. The
# package is unpacked and not installed, as it would start a service.
#
# PROMETHEUS names another folder with the programs prometheus and promtool.
set -euo pipefail
cd "$(dirname "$0")"
[ -z "${PROMETHEUS:-}" ] || exit 0
[ ! -x .bin/prometheus ] || [ ! -x .bin/promtool ] || exit 0

if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
	echo "internal/verify/monitoring needs Prometheus, which cannot be fetched here (no apt-get): set PROMETHEUS to a folder with prometheus and promtool" >&2
	exit 1
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp" # apt-get downloads as a user of its own
if ! (cd "$tmp" && apt-get download -qq prometheus 2>/dev/null); then
	root=()
	[ "$(id -u)" = 0 ] || root=(sudo -n)
	"${root[@]}" apt-get update -qq
	(cd "$tmp" && apt-get download -qq prometheus)
fi
dpkg-deb -x "$tmp"/prometheus_*.deb "$tmp/unpacked"
mkdir -p .bin
install "$tmp/unpacked/usr/bin/prometheus" "$tmp/unpacked/usr/bin/promtool" .bin/
