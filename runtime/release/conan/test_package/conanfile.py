"""samples/minimal.c on the package. SPDX-License-Identifier: Apache-2.0"""

import io
import os
import pathlib

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class Minimal(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self, build_folder=str(pathlib.Path(self.recipe_folder).parents[3] / "build/conan"))

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # nothing outside of build/
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        said = io.StringIO()
        self.run(os.path.join(self.cpp.build.bindir, "minimal"), stdout=said, env="conanrun")
        if said.getvalue() != "item 2  score -7.215\nitem 1  score -8.215\n":
            raise ConanException(f"samples/minimal.c says {said.getvalue()}")
