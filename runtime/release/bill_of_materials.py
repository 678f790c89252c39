"""What the binaries of a release contain that others wrote, as CycloneDX 1.6, checked against its schema.

    bill_of_materials.py VERSION BUILD >FILE

Read from the build: of each object Ninja knows the headers that it was compiled with, and dpkg whose these are. A
package whose licence is not in the table below is an error. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import uuid

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

LICENCES = {
    "libcli11-dev": "BSD-3-Clause",
    "libflatbuffers-dev": "Apache-2.0",
    "libhwy-dev": "Apache-2.0",
    "libsimdjson-dev": "Apache-2.0",
    "libxxhash-dev": "BSD-2-Clause",
    "nlohmann-json3-dev": "MIT",
}
# Of these only declarations, and what every program of the compiler's has; the C++ runtime is listed below.
NOT_INSIDE = re.compile(r"(libc6|linux-libc|libstdc\+\+-\d+|libgcc-\d+|(lib)?python3[.\d]*)-dev|openjdk-.*")
FILES = {
    "sidbeam": "libsidbeam.so.1",
    "sidbeam_cuda": "libsidbeam_cuda.so.1",
    "sidbeam_runner": "libsidbeam_runner.so.1",
    "sidbeam_runner_cuda": "libsidbeam_runner_cuda.so.1",
    "sidbeam_import": "libsidbeam_import.so.1",
    "sidbeam_cli": "sidbeam",
    "sidbeam_java": "libsidbeam_java.so",
    "sidbeam_python": "_native.so",
}
SHIPPED = {"libsimdjson-dev": "libsimdjson.so.14"}  # beside the headers' code: the library itself, in wheels and jars
OLD_SYSTEMS = "the libraries of wheels and jars"


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def headers(build: str) -> dict[str, set[str]]:
    """Each header from outside of the sources and the file of the release that it is in."""
    found: dict[str, set[str]] = {}
    inside = os.getcwd() + "/"
    for target, block in re.findall(r"CMakeFiles/(\w+)\.dir/\S+: #deps [^\n]*\n((?: +.*\n)+)",
                                    output("ninja", "-C", build, "-t", "deps")):
        file = FILES[re.sub("_(core|kernels)$", "", target)]
        for name in block.split("\n"):
            path = os.path.normpath(os.path.join(inside, build, name.strip()))
            if name and not path.startswith(inside):
                found.setdefault(path, set()).add(file)
    return found


def packages(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """Debian's packages of these headers; "cuda" where the header is of CUDA's."""
    owners: dict[str, set[str]] = {}
    paths = [path for path in found if "/cuda" not in path]
    for path in found.keys() - paths:
        owners.setdefault("cuda", set()).update(found[path])
    known = {}
    for line in output("dpkg-query", "--search", *map(os.path.realpath, paths)).splitlines():
        owner, path = line.split(": ", 1)
        known[path] = owner.split(":")[0]
    for path in paths:
        owners.setdefault(known[os.path.realpath(path)], set()).update(found[path])
    return {name: files for name, files in owners.items() if not NOT_INSIDE.fullmatch(name)}


def component(name: str, version: str, licence: dict[str, str], purl: str | None, files: list[str]) -> dict:
    described = {"type": "library", "bom-ref": f"{name}@{version}", "name": name, "version": version,
                 "licenses": [{"license": licence}],
                 "properties": [{"name": "sidbeam:in", "value": file} for file in files]}
    if purl:
        described["purl"] = purl
    return described


def of_debian(package: str, licence: dict[str, str], files: list[str]) -> dict:
    version, source = output("dpkg-query", "--show", "--showformat", "${Version} ${source:Package}", package).split()
    purl = f"pkg:deb/debian/{package}@{version.replace('+', '%2B')}?distro=debian-12"
    return component(source, version, licence, purl, files)


def components(build: str) -> list[dict]:
    listed = []
    for package, files in packages(headers(build)).items():
        if package == "cuda":
            nvcc = re.search("^SIDBEAM_NVCC:.*=(.*)$", open(f"{build}/CMakeCache.txt").read(), re.M).group(1)
            version = re.search(r"release [\d.]+, V([\d.]+)", output(nvcc, "--version")).group(1)
            licence = {"name": "NVIDIA CUDA Toolkit EULA"}
            listed.append(component("cuda-toolkit", version, licence, None, sorted(files)))
        elif package in LICENCES:
            licence = {"id": LICENCES[package]}
            files |= {SHIPPED[package]} if package in SHIPPED else set()
            listed.append(of_debian(package, licence, sorted(files)))
        else:
            sys.exit(f"bill_of_materials.py: {', '.join(files)} have a part of {package}, whose licence is not known")
    zig = importlib.metadata.version("ziglang")
    licence = {"name": "LGPL-2.1-or-later, whose parts for static linking may be linked with anything"}
    listed.append(component("glibc", f"2.28 of ziglang {zig}", licence, f"pkg:pypi/ziglang@{zig}", [OLD_SYSTEMS]))
    runtime = f"libstdc++-{output('c++', '-dumpversion').strip().split('.')[0]}-dev"
    listed.append(of_debian(runtime, {"name": "GPL-3.0-or-later WITH GCC-exception-3.1"}, [OLD_SYSTEMS]))
    return sorted(listed, key=lambda one: one["bom-ref"])


def main(version: str, build: str) -> None:
    listed = components(build)
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    product = {"type": "library", "bom-ref": f"sidbeam@{version}", "name": "sidbeam", "version": version,
               "licenses": [{"license": {"id": "Apache-2.0"}}]}
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
        "version": 1, "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([version, listed])).urn,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": product},
        "components": listed,
        "dependencies": [{"ref": product["bom-ref"], "dependsOn": [one["bom-ref"] for one in listed]}],
    }
    text = json.dumps(bill, indent=1) + "\n"
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong:
        sys.exit(f"bill_of_materials.py: not CycloneDX: {wrong}")
    print(text, end="")


main(*sys.argv[1:])
