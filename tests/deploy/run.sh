#!/usr/bin/env bash
# Holds the files of samples/deploy to the tools that know their formats, and to the contract of the services:
# samples/service.yaml. tests/services/test_deployment.py starts the services as these files do.
#   bash tests/deploy/run.sh [PYTEST ARGUMENT ...]
# promtool is the one on the path, or that of Debian's package prometheus, which is unpacked, not installed: it would
# start a server.
# SIDBEAM_DEPLOY_VENV: the environment of the tests (build/deploy/venv); PYTHON: what it is made with.
# Debian 12: python3-venv systemd curl. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
out=$root/build/deploy
venv=${SIDBEAM_DEPLOY_VENV:-$out/venv}
python=${PYTHON:-/usr/bin/python3}
mkdir -p "$out"

key=$({ "$python" -VV; cat tests/deploy/requirements.txt; } | sha256sum | cut -c 1-32)
if [ "$(cat "$venv/.sidbeam" 2>/dev/null)" != "$key" ]; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  PIP_CACHE_DIR=${PIP_CACHE_DIR:-$root/build/pip} "$venv/bin/pip" install --quiet --disable-pip-version-check \
    --no-deps --no-compile -r tests/deploy/requirements.txt
  echo "$key" >"$venv/.sidbeam"
fi

fetch_promtool() {
  rm -rf "$out/prometheus"
  mkdir -p "$out/prometheus"
  (cd "$out/prometheus" && apt-get download --quiet prometheus && dpkg-deb --extract prometheus_*.deb .) || return 1
  mv "$out/prometheus/usr/bin/promtool" "$out/promtool"
  rm -rf "$out/prometheus"
}

if promtool=$(command -v promtool) || { promtool=$out/promtool && { [ -x "$promtool" ] || fetch_promtool; }; }; then
  export PROMTOOL=$promtool
fi >"$out/promtool.log" 2>&1
PATH=$venv/bin:$PATH "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider tests/deploy "$@"
