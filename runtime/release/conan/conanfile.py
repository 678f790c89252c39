"""Conan 2's recipe, of the checkout that it lies in: `conan create runtime/release/conan`.

SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir


class Sidbeam(ConanFile):
    name = "sidbeam"
    license = "Apache-2.0"
    description = "Beam search over Semantic IDs that returns only items that exist"
    topics = ("recommender", "beam-search", "semantic-ids")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"runner": [True, False], "importers": [True, False], "command": [True, False]}
    default_options = {"runner": True, "importers": True, "command": False}

    @property
    def _checkout(self) -> pathlib.Path:
        return pathlib.Path(self.recipe_folder).parents[2]

    def set_version(self):
        header = (self._checkout / "include/sidbeam/base.h").read_text()
        self.version = ".".join(re.findall(r"#define SIDBEAM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        # tests/ for the file that CMakeLists.txt includes
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "runtime/*", "schemas/*", "bindings/*",
                        "tests/*.cmake"):
            copy(self, pattern, self._checkout, self.export_sources_folder, excludes=("runtime/release/*",))

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("sidbeam is for Linux")

    def requirements(self):
        for name in ("flatbuffers/[>=2.0.8]", "highway/[>=1.0.3 <2]", "xxhash/[>=0.8.1 <1]"):
            self.requires(name, visible=False)
        if self.options.runner or self.options.command:
            self.requires("nlohmann_json/[>=3.11.2 <4]", visible=False)
        if self.options.importers or self.options.command:
            self.requires("simdjson/[>=3.0.1]", visible=False)
        if self.options.command:
            self.requires("cli11/[>=2.1.2 <3]", visible=False)

    def build_requirements(self):
        self.tool_requires("flatbuffers/<host_version>")  # flatc, which must match the headers

    def generate(self):
        toolchain = CMakeToolchain(self)
        switches = {"RUNNER": self.options.runner, "IMPORT": self.options.importers, "CLI": self.options.command,
                    "TESTS": False, "SAMPLES": False, "CUDA": False, "WERROR": False}
        for name, on in switches.items():
            toolchain.cache_variables[f"SIDBEAM_{name}"] = "ON" if on else "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, f"{self.package_folder}/licenses")
        rmdir(self, f"{self.package_folder}/share")

    def package_info(self):
        # The package that CMake installs has sidbeam::sidbeam, sidbeam::runner and sidbeam::import.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/sidbeam"]
        self.cpp_info.libs = ["sidbeam"]
