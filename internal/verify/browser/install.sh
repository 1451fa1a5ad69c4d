#!/usr/bin/env bash
# What the tests of this folder need, and do not bring along: Chromium, the font of the
# pictures, and axe-core in the version of axe/package-lock.json, which also has its
# hash. What is there already is not installed again.
#
# CHROMIUM names another browser, such as Google Chrome.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
[ -n "${CHROMIUM:-}" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
[ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] && [ -e /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf ] || missing+=(fonts-dejavu-core)
command -v npm >/dev/null || missing+=(npm)
if [ ${#missing[@]} -gt 0 ]; then
	root=()
	[ "$(id -u)" = 0 ] || root=(sudo -n)
	if ! command -v apt-get >/dev/null || { [ ${#root[@]} -gt 0 ] && ! sudo -n true 2>/dev/null; }; then
		echo "internal/verify/browser needs the following, which cannot be installed here (no apt-get, or no right to use it): ${missing[*]}" >&2
		echo "install Chromium or Chrome (or set CHROMIUM to its path), the DejaVu fonts in /usr/share/fonts/truetype/dejavu, and npm" >&2
		exit 1
	fi
	echo "installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	"${root[@]}" apt-get update -qq
	"${root[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
fi

# axe-core has no scripts to run, and gets no chance to.
[ axe/node_modules/axe-core/axe.min.js -nt axe/package-lock.json ] || npm --prefix axe ci --ignore-scripts --no-audit --no-fund
touch axe/node_modules/axe-core/axe.min.js
