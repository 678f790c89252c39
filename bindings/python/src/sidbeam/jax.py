"""JAX, by XLA's typed FFI (needs ``pip install jax`` and a C++ compiler once): ``import sidbeam.jax``.

    constraints = sidbeam.jax.ConstraintSet(index)           # device="cuda" where JAX runs there
    states = constraints.start(beams)                        # int32 [beams, 2]

    @jax.jit
    def level(logits, states):
        return constraints.topk(logits, states, 8)           # codes, log_probs, states

Rules (:class:`sidbeam.Constraint`) are those of the set; :meth:`ConstraintSet.follow` gives it those of the next
requests, and compiled programs stay:

    constraints = sidbeam.jax.ConstraintSet(index, exclude=[seen_by_a, seen_by_b])
    level(logits, states)                                    # topk(.., which=jnp.array([0, 1])): a row of each user
    constraints.follow(index, exclude=[seen_by_c, seen_by_d])

All methods that take arrays may be jitted and vmapped; leading dimensions are free. A state is the two int32 halves of
its word, since JAX has no int64 by default: (-1, -1) is dead, (0, 0) the beginning. TPUs cannot call a library;
:meth:`sidbeam.Index.static_arrays` is for them.

The handlers are compiled against the headers of the installed jaxlib when the first set is made, into
``~/.cache/sidbeam`` (or ``$SIDBEAM_JAX_CACHE``); ``python -m sidbeam.jax`` does so ahead of time.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import os
import pathlib
import subprocess
import tempfile
from typing import Any, Optional, Sequence, Union

try:
    import jax
    import jax.numpy as jnp
except ImportError as missing:
    raise ImportError("sidbeam.jax needs JAX: pip install jax") from missing
import numpy as np

from . import _native, constraint_set
from ._engines import need
from .enums import Normalization, member
from .errors import BadState, InvalidArgument
from .index import ConstraintLike
from .vocabulary import Vocabulary

need(
    "sidbeam.jax", "JAX", jax.__version__, "0.5 or later",
    {"jax.ffi": {"include_dir": "", "pycapsule": None, "register_ffi_target": "name fn platform ..",
                 "ffi_call": "target_name result_shape_dtypes .."}},
)  # fmt: skip

Array = Any
_numbers = itertools.count(1)
_here = pathlib.Path(__file__).resolve().parent


def _headers() -> pathlib.Path:
    """The folder that holds sidbeam/states.h: of the package, or of the checkout that it lies in."""
    for folder in (_here / "include", _here.parents[3] / "include"):
        if (folder / "sidbeam/states.h").exists():
            return folder
    raise ImportError(f"sidbeam.jax: no sidbeam/states.h in {_here / 'include'}")


def _runtime_library() -> str:
    """The file of libsidbeam that this process runs with."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.partition("/")
        if os.path.basename(path[2]).startswith("libsidbeam.so"):
            return "/" + path[2]
    raise ImportError("sidbeam.jax: the process has no libsidbeam.so")


def build() -> pathlib.Path:
    """Compiles the handlers by ``$CXX`` or c++ unless that has been done; returns their file."""
    source = _here / "jax_ffi.cc"
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O2", "-fPIC", "-shared", f"-I{_headers()}"]
    command += [f"-isystem{jax.ffi.include_dir()}", str(source), _runtime_library()]
    facts = [source.read_text(), *command, jax.__version__, jax.lib.__version__]
    name = f"jax_ffi-{hashlib.sha256('|'.join(facts).encode()).hexdigest()[:16]}.so"
    default = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sidbeam"
    target = pathlib.Path(os.environ.get("SIDBEAM_JAX_CACHE") or default) / name
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = pathlib.Path(folder) / name
        try:
            subprocess.run([*command, "-o", str(made)], check=True, capture_output=True, text=True)
        except FileNotFoundError as missing:
            raise ImportError(
                f"sidbeam.jax needs a C++ compiler, once; {command[0]} is not there (set CXX)"
            ) from missing
        except subprocess.CalledProcessError as failed:
            raise ImportError(f"sidbeam.jax: {' '.join(command)} failed:\n{failed.stderr}") from failed
        os.replace(made, target)  # another process may do the same
    return target


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    """The handlers, registered with JAX."""
    library = ctypes.CDLL(str(build()))
    for function in ("mask", "topk", "advance", "prefixes"):
        for platform, suffix in (("cpu", "cpu"), ("CUDA", "cuda")):
            handler = jax.ffi.pycapsule(getattr(library, f"sidbeam_jax_{function}_{suffix}"))
            jax.ffi.register_ffi_target(f"sidbeam_{function}", handler, platform=platform)
    library.sidbeam_jax_put.argtypes = [ctypes.c_int64, ctypes.c_void_p]
    library.sidbeam_jax_drop.argtypes = [ctypes.c_int64]
    return library


class ConstraintSet:
    """:class:`sidbeam.ConstraintSet` for JAX. Many threads may use it.

    Keep it open as long as programs that were compiled with it may run: a call after :meth:`close` is an error.

    ``which`` int32, of the shape of the states: the constraint that each follows; None: all follow the first.
    ``filter``, ``exclude``, ``allow``: rules for all constraints, or a list of one per constraint.
    """

    def __init__(
        self,
        constraints: Union[ConstraintLike, Sequence[ConstraintLike]],
        *,
        filter: Any = None,
        exclude: Any = None,
        allow: Any = None,
        vocabulary: Optional[Vocabulary] = None,
        device: Any = None,
    ) -> None:
        library = _library()
        self._settings = {"vocabulary": vocabulary, "device": device}
        rules = {"filter": filter, "exclude": exclude, "allow": allow}
        self._set = constraint_set.ConstraintSet(constraints, **rules, **self._settings)
        self._number = next(_numbers)
        library.sidbeam_jax_put(self._number, _native.set_address(self._set._handle))

    @property
    def columns(self) -> int:
        """Least number of columns of a logits row."""
        return self._set.columns

    def follow(
        self,
        constraints: Union[ConstraintLike, Sequence[ConstraintLike]],
        *,
        filter: Any = None,
        exclude: Any = None,
        allow: Any = None,
    ) -> None:
        """Makes these the constraints of the set, in programs too that were compiled before, so that the rules of the
        next requests cost no compilation.

        A call that JAX has dispatched and not run yet follows the old or the new ones: wait for its results first
        (``jax.block_until_ready``). States of an index stay valid. On an error the set is as it was.
        """
        if self._set.closed:
            raise BadState("constraint set is closed")
        rules = {"filter": filter, "exclude": exclude, "allow": allow}
        made, old = constraint_set.ConstraintSet(constraints, **rules, **self._settings), self._set
        _library().sidbeam_jax_put(self._number, _native.set_address(made._handle))  # once no call is inside
        self._set = made
        old.close()

    def close(self) -> None:
        """Returns once no call is inside; closing again does nothing."""
        if not self._set.closed:
            _library().sidbeam_jax_drop(self._number)
            self._set.close()

    def __enter__(self) -> ConstraintSet:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            self.close()

    @staticmethod
    def start(*shape: int) -> Array:
        """States int32 ``[*shape, 2]`` of the beginning."""
        return jnp.zeros((*shape, 2), jnp.int32)

    def prefixes(self, codes: Array, lengths: Array, which: Optional[Array] = None) -> Array:
        """States ``[.., 2]`` of prefixes: ``codes`` int32 ``[.., stride]``, ``lengths`` int32 ``[..]``; -1: no SID."""
        result = jax.ShapeDtypeStruct((*lengths.shape, 2), jnp.int32)
        return self._call("prefixes", result, (_int32(codes, "codes"), _int32(lengths, "lengths")), which)

    def advance(
        self, states: Array, codes: Array, parents: Optional[Array] = None, which: Optional[Array] = None
    ) -> Array:
        """States ``[.., 2]`` after ``codes`` ``[..]``; -1 where a code may not follow. Code -1 keeps an ended state.

        ``parents`` int ``[n]``, with states ``[m, 2]``: continue ``states[parents[i]]``; -1 or out of range: dead.
        """
        if parents is not None:
            known = (parents >= 0) & (parents < states.shape[0])
            states = jnp.where(known[:, None], states[jnp.where(known, parents, 0)], -1)
        result = jax.ShapeDtypeStruct((*codes.shape, 2), jnp.int32)
        return self._call("advance", result, (_int32(states, "states"), _int32(codes, "codes")), which)

    def mask(self, logits: Array, states: Array, which: Optional[Array] = None) -> Array:
        """``logits`` ``[.., columns]`` with -inf in every column that is no valid code of ``states`` ``[.., 2]``."""
        result = jax.ShapeDtypeStruct(logits.shape, logits.dtype)
        return self._call("mask", result, (logits, _int32(states, "states")), which, input_output_aliases={0: 0})

    def topk(
        self,
        logits: Array,
        states: Array,
        k: int,
        *,
        normalization: Union[Normalization, str] = Normalization.FULL,
        which: Optional[Array] = None,
    ) -> constraint_set.TopK:
        """The k best valid codes of logits ``[.., columns]``: codes int32 ``[.., k]``, log_probs float32 ``[.., k]``,
        states int32 ``[.., k, 2]``; places left over: -1, -inf, -1. A bad row has NaN first."""
        if k < 1:  # XLA leaves out calls whose results are empty
            raise InvalidArgument(f"k is {k}, expected at least 1")
        shape = (*logits.shape[:-1], k)
        results = [jax.ShapeDtypeStruct(shape, jnp.int32), jax.ShapeDtypeStruct(shape, jnp.float32)]
        results.append(jax.ShapeDtypeStruct((*shape, 2), jnp.int32))
        how = np.int64(member(Normalization, normalization))
        return constraint_set.TopK(
            *self._call("topk", results, (logits, _int32(states, "states")), which, normalization=how)
        )

    def _call(
        self,
        function: str,
        results: Any,
        arguments: tuple[Array, ...],
        which: Optional[Array],
        *,
        input_output_aliases: Optional[dict[int, int]] = None,
        **attributes: Any,
    ) -> Any:
        if self._set.closed:
            raise BadState("constraint set is closed")
        chosen = jnp.zeros((*arguments[0].shape[:-1], 0), jnp.int32) if which is None else _int32(which, "which")
        call = jax.ffi.ffi_call(
            f"sidbeam_{function}", results, vmap_method="broadcast_all", input_output_aliases=input_output_aliases
        )
        return call(*arguments, chosen, set=np.int64(self._number), **attributes)


def _int32(array: Array, name: str) -> Array:
    """Maps values that int32 cannot hold to its least number, which is no code or constraint, and not the -1 of
    none."""
    array = jnp.asarray(array)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise InvalidArgument(f"{name} has dtype {array.dtype}, expected int32")
    if array.dtype == jnp.int32:
        return array
    narrow = array.astype(jnp.int32)
    held = (narrow.astype(array.dtype) == array) & ((narrow < 0) == (array < 0))
    return jnp.where(held, narrow, jnp.iinfo(jnp.int32).min)


jax.tree_util.register_dataclass(constraint_set.TopK, ["codes", "log_probs", "states"], [])

if __name__ == "__main__":
    print(build())
