#!/usr/bin/env bash
# Holds the services to their contract, samples/service.yaml: README.md says how.
#   bash tests/services/run.sh [BUILD] [go] [java] [serve] [-- PYTEST ARGUMENT ...]
# BUILD: a release build with the runner (build/release). Without a name all services that there are. After "--" comes
# what pytest takes: --long, or -k NAME.
# SIDBEAM_SERVICES_VENV: the environment of the tests (build/services/venv); PYTHON: what it is made with.
# Debian 12: python3-venv and what each service's language needs. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
build=$(realpath build/release 2>/dev/null || echo build/release)
services=()
while [ $# != 0 ] && [ "$1" != -- ]; do
  case $1 in go | java | serve) services+=("$1") ;; *) build=$(realpath "$1") ;; esac
  shift
done
[ $# = 0 ] || shift
[ ${#services[@]} != 0 ] || services=(go java serve)

out=$root/build/services
venv=${SIDBEAM_SERVICES_VENV:-$out/venv}
python=${PYTHON:-/usr/bin/python3}
mkdir -p "$out"

# program NAME   makes build/services/NAME/run of standard input: a script that starts the service
program() {
  mkdir -p "$out/$1"
  { echo '#!/bin/sh'; cat; } >"$out/$1/run"
  chmod +x "$out/$1/run"
}

build_go() { # under the race detector, which ends a service; with SIDBEAM_PLAIN, for tests of memory, without
  (
    . bindings/go/environment.sh
    install_library
    mkdir -p "$out/go"
    in_folder samples/service-go go build -o "$out/go/plain" .
    in_folder samples/service-go go build -race -o "$out/go/race" .
    program go <<END
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH GORACE=halt_on_error=1
if [ -n "\$SIDBEAM_PLAIN" ]; then exec $out/go/plain "\$@"; fi
exec $out/go/race "\$@"
END
  )
}

# Netty watches its buffers, which the log tells of. The JVM's second compiler is off: a process ends before that pays.
build_java() {
  bash bindings/java/build.sh "$build"
  bash samples/service-java/build.sh
  # For tests of memory: a small heap, which has its size from the start, so that what stays in it ends the service.
  # (The second compiler would take memory for minutes.)
  program java <<END
set -- -XX:TieredStopAtLevel=1 -cp $root/build/java/service.jar service.Server "\$@"
if [ -n "\$SIDBEAM_PLAIN" ]; then
  set -- -Xms32m -Xmx32m -XX:+AlwaysPreTouch -XX:+ExitOnOutOfMemoryError "\$@"
  export MALLOC_ARENA_MAX=2
else
  set -- -ea -Dio.netty.leakDetection.level=paranoid "\$@"
fi
exec env --default-signal=HUP java "\$@" # what is started with SIGHUP ignored, as under nohup, would never reload
END
}

build_serve() { # the package in the build tree
  cmake -S . -B "$build" -DSIDBEAM_PYTHON=ON -DPython_EXECUTABLE="$python"
  cmake --build "$build" --target sidbeam_python
  program serve <<END
export PYTHONPATH=$build/bindings/python/package PYTHONDONTWRITEBYTECODE=1
exec $venv/bin/python -m sidbeam.serve "\$@"
END
}

environment() {
  local key
  key=$({ "$python" -VV; cat tests/services/requirements.txt; } | sha256sum | cut -c 1-32)
  [ "$(cat "$venv/.sidbeam" 2>/dev/null)" != "$key" ] || return 0
  rm -rf "$venv"
  "$python" -m venv "$venv"
  PIP_CACHE_DIR=${PIP_CACHE_DIR:-$root/build/pip} "$venv/bin/pip" install --quiet --disable-pip-version-check \
    --no-deps -r tests/services/requirements.txt
  echo "$key" >"$venv/.sidbeam"
}

environment
export SIDBEAM_COMMAND=$build/bindings/cli/sidbeam
[ -x "$SIDBEAM_COMMAND" ] || cmake --build "$build" --target sidbeam_cli
ulimit -n "$(ulimit -Hn)" # for thousands of connections
for service in "${services[@]}"; do
  # Not as a condition: that would switch off `set -e` within the function.
  trap 'tail -n 40 "$out/$service.log"' EXIT
  "build_$service" >"$out/$service.log" 2>&1
  trap - EXIT
  printf '%s: ' "$service"
  "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider tests/services --service "$service" "$@"
done
