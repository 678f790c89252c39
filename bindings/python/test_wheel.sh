#!/usr/bin/env bash
# Makes a wheel from a copy of the sources, removes the copy, and installs the wheel in an environment that has nothing
# else: it must carry its library, and find it. Needs pip's index. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python=${PYTHON:-/usr/bin/python3}
work=$(realpath build)/python/wheel
log=$work.log
rm -rf "$work"
mkdir -p "$work/sources"
fail() { tail -n 40 "$log"; echo "test_wheel.sh: $1"; exit 1; }

# Only what is under version control goes in, as after a clone.
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$work/sources"
# The build folder lies to the sources as it does here, warnings are as strict, headers are precompiled, and the
# compiler has the same name (Python would name its own by its triple): the cache has what the release build compiled.
export CC=${CC:-cc} CXX=${CXX:-c++}
if command -v ccache >/dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
"$python" -m venv "$work/making"
"$work/making/bin/pip" wheel -v --no-deps -w "$work/wheels" --config-settings=build-dir=../../build/release \
  --config-settings=cmake.define.SIDBEAM_WERROR=ON --config-settings=cmake.define.SIDBEAM_PRECOMPILE=ON \
  "$work/sources/bindings/python" >"$log" 2>&1 || fail "no wheel"
cp samples/minimal.py bindings/python/tests/serve_one.py "$work/"
python3 tests/bindings/tiny_model.py "$work/model"
rm -rf "$work/sources" "$work/making"

"$python" -m venv "$work/clean"
"$work/clean/bin/pip" install -q "$work"/wheels/sidbeam-*.whl >>"$log" 2>&1 || fail "cannot install the wheel"
cd /
"$work/clean/bin/python" -I "$work/minimal.py" >"$work/said" 2>>"$log" || fail "samples/minimal.py"
printf 'item 2  score -7.215\nitem 1  score -8.215\n' | cmp - "$work/said" >>"$log" 2>&1 ||
  fail "another answer: $(cat "$work/said")"
"$work/clean/bin/python" -I - >>"$log" 2>&1 <<'PROGRAM' || fail "the wheel's contents"
import pathlib, sidbeam, tempfile
folder = pathlib.Path(sidbeam.__file__).parent
names = {path.name for path in folder.iterdir()}
assert {"libsidbeam.so.1", "libsidbeam_runner.so.1", "libsidbeam_import.so.1", "py.typed"} <= names, names
assert "libsidbeam_cuda.so.1" not in names, names
assert {path.name for path in folder.glob("hub/**/*")} >= {"README.md", "generate.py", "requirements.txt"}
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libsidbeam" in line}
assert mapped == {str(folder / "libsidbeam.so.1")}, mapped
try:
    sidbeam.Model.open("/nowhere")
except sidbeam.IOFailure as error:
    assert "No such file" in str(error), error
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libsidbeam" in line}
assert mapped == {str(folder / name) for name in ("libsidbeam.so.1", "libsidbeam_runner.so.1")}, mapped
catalogue = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
catalogue.write_text('{"item": 1, "sid": [1, 2]}')
assert len(sidbeam.Index.from_file(catalogue)) == 1
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "simdjson" in line or "sidbeam_import" in line}
assert len(mapped) == 2 and all(pathlib.Path(name).parent == folder for name in mapped), mapped
licences = list(folder.parent.glob("sidbeam-*.dist-info/**/LICENSE"))
assert licences, "no licence"
PROGRAM
printf '{"item": 7, "sid": [1, 2, 3]}\n' >"$work/a.jsonl"
sidbeam=$work/clean/bin/sidbeam
"$sidbeam" build --input "$work/a.jsonl" --output "$work/a.sidx" --codes 16,16,16 >>"$log" 2>&1 || fail "sidbeam build"
serve=("$sidbeam" serve --model "$work/model" --index "$work/a.sidx" --offsets 0,16,32 --prompt 9 --listen 127.0.0.1:0)
! "${serve[@]}" >"$work/said" 2>&1 || fail "it serves without Starlette"
grep -qx "sidbeam serve: [a-z]* is not installed: pip install 'sidbeam\[serve\]'" "$work/said" ||
  fail "another answer: $(cat "$work/said")"
wheel=$(ls "$work"/wheels/sidbeam-*.whl)
"$work/clean/bin/pip" install -q "$wheel[serve]" >>"$log" 2>&1 || fail "cannot install what serve needs"
"$work/clean/bin/python" -I "$work/serve_one.py" "${serve[@]}" --log json >>"$log" 2>&1 || fail "sidbeam serve"
