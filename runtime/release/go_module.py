"""The Go module as a module proxy serves it, for GOPROXY=file://FOLDER.

    go_module.py VERSION FOLDER

Run in the root of unpacked sources: takes all files of bindings/go, and LICENSE, as `go mod download` would.
SPDX-License-Identifier: Apache-2.0
"""

import datetime
import json
import os
import pathlib
import sys
import zipfile

MODULE = "sidbeam.io/sidbeam"


def main(version: str, folder: str) -> None:
    version = "v" + version
    served = pathlib.Path(folder) / MODULE / "@v"
    served.mkdir(parents=True)
    root = pathlib.Path("bindings/go")
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    files["LICENSE"] = pathlib.Path("LICENSE")
    with zipfile.ZipFile(served / f"{version}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):  # without their dates: Go looks at names and bytes alone
            archive.writestr(zipfile.ZipInfo(f"{MODULE}@{version}/{name}"), files[name].read_bytes(),
                             zipfile.ZIP_DEFLATED, 9)
    (served / f"{version}.mod").write_bytes((root / "go.mod").read_bytes())
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    info = {"Version": version, "Time": time.strftime("%Y-%m-%dT%H:%M:%SZ")}
    (served / f"{version}.info").write_text(json.dumps(info) + "\n")
    (served / "list").write_text(version + "\n")


main(*sys.argv[1:])
