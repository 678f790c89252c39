"""Stands in for the kernels of SGLang, whose build for CPUs PyPI does not have: its scheduler imports names of them
that its PyTorch paths never call. Each is there, and fails when it is called.

SPDX-License-Identifier: Apache-2.0
"""

import importlib.abc
import importlib.machinery
import sys
import types

__path__ = []


class Missing:
    def __init__(self, name):
        self._name = self.__name__ = name

    def __call__(self, *arguments, **named):
        raise NotImplementedError(f"{self._name} of SGLang's kernels was called")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self._name}.{name}")


class _Module(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below this one."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith("sgl_kernel."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, _Finder())


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Missing(f"sgl_kernel.{name}")
