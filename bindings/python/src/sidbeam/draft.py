"""NEZHA's draft head: hidden states of one prefill in, items out.

A head is trained elsewhere and written here, from arrays or PyTorch's own modules::

    sidbeam.draft.write(
        "head.sdraft",
        heads=[nn.Linear(2 * D, V), ...],           # per level, over [h_l ; s_l]
        embeddings=[nn.Embedding(V, E), ...],       # per level except the last
        transitions=[nn.GRUCell(E, D), ...],        # likewise
    )
    head = sidbeam.DraftHead.open("head.sdraft")
    decoder = sidbeam.DraftDecoder(head, index, beams=50, requests=8)
    drafts = decoder.run(hidden)                    # [8, L + 1, D]: the prompt's state, then the placeholders'

With ``device="cuda"`` hidden states and drafts are in the device's memory, and a run is enqueued on ``stream``.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
import enum
import os
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _native
from .arrays import real_array
from .checks import entries, flag, path_bytes
from .enums import MAX_LEVELS, DType, member
from .errors import InvalidArgument
from .handle import Handle

Path = Union[str, os.PathLike[str]]


class Input(enum.IntEnum):
    """What the linear head of a level multiplies: ``[h_l ; s_l]``, ``h_l`` or ``s_l``."""

    BOTH = _native.SIDBEAM_DRAFT_INPUT_BOTH
    HIDDEN = _native.SIDBEAM_DRAFT_INPUT_HIDDEN
    STATE = _native.SIDBEAM_DRAFT_INPUT_STATE


class Transition(enum.IntEnum):
    """How a code changes the state: PyTorch's RNNCell (tanh) or GRUCell, its embedding added, or not at all."""

    RNN = _native.SIDBEAM_DRAFT_TRANSITION_RNN
    GRU = _native.SIDBEAM_DRAFT_TRANSITION_GRU
    ADD = _native.SIDBEAM_DRAFT_TRANSITION_ADD
    NONE = _native.SIDBEAM_DRAFT_TRANSITION_NONE


class Verification(enum.IntEnum):
    """How SIDs are kept from being invalid: exactly, by the trie at every level; by the hash set at the last level, so
    that fewer than M may come; not at all."""

    TRIE = _native.SIDBEAM_DRAFT_VERIFY_TRIE
    HASH = _native.SIDBEAM_DRAFT_VERIFY_HASH
    NONE = _native.SIDBEAM_DRAFT_VERIFY_NONE


@dataclasses.dataclass(frozen=True)
class DraftInfo:
    """What a head is; see ``sidbeam_draft_head_info``."""

    levels: int
    hidden: int  #: D: elements of a hidden state
    embedding: int  #: E; 0 with transition "none"
    input: Input
    transition: Transition
    dtype: DType  #: of the weights in the file
    codes: tuple[int, ...]  #: of each level
    parameters: int
    file_bytes: int
    memory_bytes: int
    codebook: str  #: that of the indexes which the head is for; "": any


class DraftHead(Handle):
    """The weights of a draft head. Immutable: any number of decoders and threads may share it. Decoders hold what they
    need of it, so it may be closed before them."""

    __slots__ = ("_info",)
    _info: Optional[DraftInfo]

    def __init__(self) -> None:
        raise TypeError("use DraftHead.open")

    @classmethod
    def open(cls, path: Path) -> DraftHead:
        """Opens a file that :func:`sidbeam.draft.write` or ``sidbeam_draft_head_write`` wrote, and checks all of it.

        Raises :class:`IOFailure`, :class:`Corrupt`, :class:`Unsupported` (a newer format, or no
        ``libsidbeam_runner.so.1``), :class:`OutOfMemory`.
        """
        head = cls.__new__(cls)
        head._info = None
        head._handle = _native.flat_draft_head_open(path_bytes(path))
        return head

    @property
    def info(self) -> DraftInfo:
        if self._info is None or self.closed:
            numbers, codes = np.zeros(_native.FLAT_DRAFT_COUNT, np.int64), np.zeros(MAX_LEVELS, np.int32)
            codebook = bytearray(_native.flat_draft_head_get_info(self._handle, numbers, codes, None))
            _native.flat_draft_head_get_info(self._handle, numbers, codes, codebook)
            values = {
                field.name: int(numbers[getattr(_native, f"FLAT_DRAFT_{field.name.upper()}")])
                for field in dataclasses.fields(DraftInfo)
                if field.name not in ("codes", "codebook")
            }
            values["input"], values["transition"] = Input(values["input"]), Transition(values["transition"])
            values["dtype"] = DType(values["dtype"])
            self._info = DraftInfo(
                codes=tuple(codes[: values["levels"]].tolist()),
                codebook=codebook.decode(errors="surrogateescape"),
                **values,  # type: ignore[arg-type]
            )
        return self._info

    def _describe(self) -> str:
        info = self.info
        return f"{info.levels} levels, hidden {info.hidden}, {info.transition.name.lower()}"


def _numbers(value: Any, name: str) -> np.ndarray:
    """float32, of an array or of a tensor that may need a gradient, or be of bfloat16."""
    if hasattr(value, "detach") and hasattr(value, "is_complex"):
        if value.is_complex():
            raise InvalidArgument(f"{name} has dtype {value.dtype}, expected real numbers")
        value = value.detach().cpu().float().numpy()
    return np.asarray(real_array(value, name), np.float32, order="C")


def _linear(module: Any) -> tuple[Any, Any]:
    """Weight and bias of a module, of a pair, or of a weight alone."""
    if hasattr(module, "weight"):
        return module.weight, getattr(module, "bias", None)
    if not isinstance(module, tuple):
        return module, None
    if len(module) != 2:
        raise InvalidArgument(f"a head is a tuple of {len(module)}, expected (weight, bias)")
    return module


_CELL = ("weight_ih", "bias_ih", "weight_hh", "bias_hh")


_AS_A_CELL = {"nonlinearity": "tanh", "num_layers": 1, "bidirectional": False}  # what a module's settings must be


def _cell(module: Any) -> Sequence[Any]:
    """W_i, b_i, W_r, b_r of a cell, of an RNN or GRU of one layer, or of four arrays."""
    for setting, expected in _AS_A_CELL.items():
        if (given := getattr(module, setting, expected)) != expected:
            raise InvalidArgument(f"a transition has {setting}={given!r}, expected {expected!r}: a head has no other")
    suffix = "_l0" if hasattr(module, "weight_ih_l0") else ""
    if hasattr(module, "weight_ih" + suffix):
        return [getattr(module, name + suffix, None) for name in _CELL]
    arrays = entries(module, "a transition", "four arrays")
    if len(arrays) != len(_CELL):
        raise InvalidArgument(f"a transition has {len(arrays)} arrays, expected W_i, b_i, W_r and b_r")
    return arrays


def _elements(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Rounded to nearest, ties to even; a number that is too large becomes infinite."""
    if dtype == DType.F32:
        return array
    if dtype == DType.F16:
        with np.errstate(over="ignore"):
            return array.astype(np.float16)
    bits = array.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16)
    return np.where(np.isnan(array), np.uint16(0x7FC0), rounded)


def _too_large(array: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """The numbers that became infinite as elements."""
    infinite = elements & 0x7FFF == 0x7F80 if elements.dtype == np.uint16 else np.isinf(elements)
    return array[infinite & np.isfinite(array)]


def _not_finite(array: np.ndarray, kind: int) -> np.ndarray:
    """The numbers that no head may have; a head bias of -inf is a code that is never found."""
    allowed = np.isfinite(array)
    return array[~(allowed | (array == -np.inf) if kind == _HEAD_BIAS else allowed)]


_NAMES = ("head", "head bias", "embedding", "W_i", "b_i", "W_r", "b_r")  # of the lists
_OPTIONAL = (1, 4, 6)  # of these, the biases; the others are matrices
_HEAD_BIAS = 1


def _arrays(lists: list[list[Any]]) -> list[list[Optional[np.ndarray]]]:
    """The same as float32: matrices, and biases of one dimension, which alone may be missing."""
    made: list[list[Optional[np.ndarray]]] = []
    for kind, some in enumerate(lists):
        made.append([])
        for level, value in enumerate(some):
            name, dimensions = f"{_NAMES[kind]} of level {level}", 1 if kind in _OPTIONAL else 2
            array = None if value is None else _numbers(value, name)
            if array is not None and array.ndim != dimensions:
                raise InvalidArgument(f"{name} has {array.ndim} dimensions, expected {dimensions}")
            made[-1].append(array)
    return made


def _lists(heads: Sequence[Any], embeddings: Sequence[Any], transitions: Sequence[Any]) -> list[list[Any]]:
    """The arrays in the order of ``sidbeam_draft_weights``, one list per kind and one entry per level."""
    pairs = [_linear(head) for head in heads]
    tables = [getattr(table, "weight", table) for table in embeddings]
    cells = [_cell(cell) for cell in transitions]
    lists = [[weight for weight, _ in pairs], [bias for _, bias in pairs], tables]
    lists += [[cell[i] for cell in cells] for i in range(len(_CELL))]
    for kind, some in enumerate(lists):
        if kind not in _OPTIONAL and any(array is None for array in some):
            level = next(i for i, array in enumerate(some) if array is None)
            raise InvalidArgument(f"{_NAMES[kind]} of level {level} is None, expected an array")
    return [[*some, *[None] * (len(heads) - len(some))] for some in lists]


@dataclasses.dataclass(frozen=True)
class _Shape:
    input: Input
    transition: Transition
    hidden: int
    embedding: int
    codes: tuple[int, ...]

    def of(self, kind: int, level: int) -> tuple[int, ...]:
        """That of an array of a list of :func:`_lists`."""
        codes, hidden, embedding = self.codes[level], self.hidden, self.embedding
        columns = hidden * (2 if self.input == Input.BOTH else 1)
        gates = hidden * (3 if self.transition == Transition.GRU else 1)
        of_heads = (codes, columns), (codes,), (codes, embedding)
        return (*of_heads, (gates, embedding), (gates,), (gates, hidden), (gates,))[kind]


def _shape_of(lists: list[list[Any]], input: Input, transition: Union[None, Transition, str]) -> _Shape:
    """The head's shape by its first arrays; what is not as they say is refused later."""
    columns = lists[0][0].shape[-1]
    hidden = int(columns // 2 if input == Input.BOTH else columns)
    if transition is None:
        if lists[5][0] is not None:
            transition = Transition.GRU if len(lists[5][0]) == 3 * hidden else Transition.RNN
        else:
            transition = Transition.NONE if lists[2][0] is None else Transition.ADD
    embedding = 0 if lists[2][0] is None else int(lists[2][0].shape[-1])
    codes = tuple(int(head.shape[0]) for head in lists[0])
    return _Shape(input, member(Transition, transition), hidden, embedding, codes)


def _packed(lists: list[list[Any]], shape: _Shape, dtype: DType) -> tuple[bytearray, list[int]]:
    """The bytes of all arrays, and where each begins; -1: none."""
    data, offsets = bytearray(), []
    for kind, some in enumerate(lists):
        for level, array in enumerate(some):
            offsets.append(-1 if array is None else len(data))
            if array is None:
                continue
            if array.shape != shape.of(kind, level):
                raise InvalidArgument(
                    f"{_NAMES[kind]} of level {level} has shape {array.shape}, expected {shape.of(kind, level)}"
                )
            if (odd := _not_finite(array, kind)).size > 0:
                raise InvalidArgument(f"{_NAMES[kind]} of level {level} has {odd[0]}, expected finite numbers")
            elements = _elements(array, dtype)
            if (large := _too_large(array, elements)).size > 0:
                raise InvalidArgument(
                    f"{_NAMES[kind]} of level {level} has {large[0]:.6g}, expected numbers that "
                    f"{dtype.name.lower()} can hold: another dtype holds more"
                )
            data += elements.tobytes()
    return data, offsets


def write(
    path: Path,
    *,
    heads: Sequence[Any],
    embeddings: Sequence[Any] = (),
    transitions: Sequence[Any] = (),
    input: Union[Input, str] = Input.BOTH,
    transition: Union[None, Transition, str] = None,
    dtype: Union[DType, str] = DType.F32,
    codebook: str = "",
    allow_attribute_loss: bool = False,
) -> None:
    """Writes a head's file, which appears whole or not at all. Arrays are as PyTorch has them, outputs by inputs.

    - ``heads``: per level ``nn.Linear``, a pair (weight, bias), or a weight ``[V_l, I]``: I is 2D with input "both",
      the columns of h_l first, else D.
    - ``embeddings``: per level except the last ``nn.Embedding`` or an array ``[V_l, E]``.
    - ``transitions``: likewise ``nn.RNNCell`` (tanh), ``nn.GRUCell``, an ``nn.RNN`` or ``nn.GRU`` of one layer and
      direction, or ``(W_i, b_i, W_r, b_r)``; biases may be None. None with "add" and "none".
    - ``transition``: None: "rnn" or "gru", as the shapes of W_r say, "add" with embeddings alone, else "none".
    - ``dtype``: what is stored: "f32", or "f16" or "bf16", rounded to nearest.
    - ``allow_attribute_loss``: as in :class:`sidbeam.Builder`.

    Raises :class:`sidbeam.InvalidArgument` (an array of another shape, or with a number that ``dtype`` cannot hold: the
    message names it; a transition of another kind), :class:`sidbeam.IOFailure`.
    """
    heads, embeddings = entries(heads, "heads", "modules"), entries(embeddings, "embeddings", "modules")
    transitions = entries(transitions, "transitions", "modules")
    if not heads:
        raise InvalidArgument("heads is empty, expected one per level")
    for name, some in (("embeddings", embeddings), ("transitions", transitions)):
        if len(some) not in (0, len(heads) - 1):
            raise InvalidArgument(f"{name} has {len(some)} entries, expected {len(heads) - 1}, or none")
    lists = _arrays(_lists(heads, embeddings, transitions))
    shape, stored = _shape_of(lists, member(Input, input), transition), member(DType, dtype)
    data, offsets = _packed(lists, shape, stored)
    _native.flat_draft_head_write(
        path_bytes(path),
        np.array([len(heads), shape.hidden, shape.embedding, shape.input, shape.transition, stored], np.int64),
        np.array(shape.codes, np.int32),
        data,
        np.array(offsets, np.int64),
        codebook,
        flag(allow_attribute_loss, "allow_attribute_loss"),
    )
