"""ackbox for Conan 2, from this tree: `conan create cmake/conan --build=missing`."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, cmake_layout
from conan.tools.files import copy, load

ROOT = os.path.join("..", "..")


class Ackbox(ConanFile):
    name = "ackbox"
    description = "A durable outbox with acknowledgements, embedded in an agent"
    license = "MIT"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"
    # As in CMakeLists.txt; its own package file finds what a program that links it needs.
    requires = ("boost/[>=1.81 <2]", "openssl/[>=3.0 <4]", "simdjson/[>=3.0 <4]", "sqlite3/[>=3.40 <4]",
                "sqlitecpp/[>=3.2 <4]", "nlohmann_json/[>=3.11 <4]")

    def set_version(self):
        lists = load(self, os.path.join(self.recipe_folder, ROOT, "CMakeLists.txt"))
        self.version = re.search(r"project\(ackbox VERSION ([0-9.]+)", lists).group(1)

    def export_sources(self):
        for part in ("CMakeLists.txt", "LICENSE", "cmake/*", "examples/*", "include/*", "src/*", "proto/*"):
            copy(self, part, src=os.path.join(self.recipe_folder, ROOT), dst=self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("ackbox runs on Linux")
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(variables={"ACKBOX_BUILD_TESTS": "OFF", "ACKBOX_BUILD_EXAMPLES": "OFF", "ACKBOX_BUILD_TOOL": "OFF",
                                   "ACKBOX_BUILD_EXTENSION": "OFF", "ACKBOX_BUILD_C": "OFF",
                                   "ACKBOX_WARNINGS_AS_ERRORS": "OFF"})
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "ackbox")]
