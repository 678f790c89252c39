"""PyTorch operators (needs ``pip install torch``): ``import sidbeam.torch``.

    constraints = sidbeam.ConstraintSet(index, device="cuda")      # or on the CPU
    handle = sidbeam.torch.register(constraints)

    @torch.compile(fullgraph=True)
    def level(hidden, states):
        return sidbeam.torch.topk(handle, head(hidden), states, 8)

They take tensors of the CPU or of CUDA and work on torch's current stream without waiting. Their fake kernels, and
schemas that say what they mutate, let ``torch.compile`` and, on CUDA, graphs hold them. They are also
``torch.ops.sidbeam.*``. Logits are float32, float16 or bfloat16; their rows may have any stride, or be expanded: one
row for all beams.

A constraint set or session is named by an int that :func:`register` gives: it goes into a compiled graph as a constant
or as an argument, where an object would be a graph break or, as torch's own opaque types, private to one version. A
number is never given twice; one that is released, or whose object is closed, is an error at the call, never a crash.

Rules (:class:`sidbeam.Constraint`) are the set's, whose number may be an argument of a compiled function: rules of the
next requests need no new graph. Those of a session are its start's:

    handle = sidbeam.torch.register(sidbeam.ConstraintSet(index, exclude=[seen_by_a, seen_by_b]))
    sidbeam.torch.topk(handle, logits, states, 8, which=torch.tensor([0, 1]))     # a row of each user

For inference: no operator has a gradient. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, NamedTuple, Optional, Union

try:
    import torch
except ImportError as missing:
    raise ImportError("sidbeam.torch needs PyTorch: pip install torch") from missing
from torch import Tensor

from ._engines import need
from .arrays import stream_of
from .constraint_set import ConstraintSet, TopK
from .errors import InvalidArgument
from .session import Session

need(
    "sidbeam.torch", "PyTorch", torch.__version__, "2.4 or later",
    {"torch.library": {"define": None, "impl": None, "register_fake": "op func .."}},
)  # fmt: skip


class Beams(NamedTuple):
    """A session's arrays as tensors, zero-copy, always current; see :class:`sidbeam.Beams`. They keep its memory."""

    parents: Tensor  #: int32 [S, M]
    codes: Tensor  #: int32 [S, M]
    scores: Tensor  #: float32 [S, M]
    states: Tensor  #: int64 [S, M]
    live: Tensor  #: int32 [S]
    active: Tensor  #: int32 [S]
    level: Tensor  #: int32 [S]
    errors: Tensor  #: int32 [S]


class _Decoder(NamedTuple):
    session: Session
    beams: Beams


_registered: dict[int, Union[ConstraintSet, _Decoder]] = {}
_numbers = itertools.count(1)
_INTEGERS = (torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8)


def register(owner: Union[ConstraintSet, Session]) -> int:
    """The number by which operators know a constraint set or a session, which is held until :func:`release`."""
    if isinstance(owner, Session):
        held: Union[ConstraintSet, _Decoder] = _Decoder(owner, beams(owner))
    elif isinstance(owner, ConstraintSet):
        held = owner
    else:
        raise InvalidArgument(f"owner is {type(owner).__name__}, expected a ConstraintSet or a Session")
    number = next(_numbers)
    _registered[number] = held
    return number


def release(handle: int) -> None:
    """Releases what :func:`register` holds. Calls by this number are errors from now on."""
    _registered.pop(handle, None)


def beams(session: Session) -> Beams:
    """The arrays of a session as tensors on its device."""
    arrays = session.tensors()
    return Beams(*(torch.from_dlpack(getattr(arrays, name)) for name in Beams._fields))


def _held(handle: int, kind: Any, name: str) -> Any:
    held = _registered.get(handle)
    if not isinstance(held, kind):
        what = "released, or never registered" if held is None else "of another kind"
        raise InvalidArgument(f"handle {handle} is {what}, expected one that register() gave for a {name}")
    return held


def _constraints(set: int) -> ConstraintSet:
    held: ConstraintSet = _held(set, ConstraintSet, "ConstraintSet")
    return held


def _either(several: Optional[Tensor], one: float, name: str) -> Any:
    """A step's setting, one per slot or one for all of them."""
    if several is None:
        return one
    if one != 0:
        raise InvalidArgument(f"{name} come beside {name[:-1]} {one}, expected one of the two")
    return _given(several, torch.float32, name)


def _plain(tensor: Tensor) -> Any:
    """The cheapest form that ConstraintSet and Session take: NumPy's view of a CPU tensor, or a dense CUDA tensor."""
    dense = tensor.detach().contiguous()
    return dense if dense.is_cuda else dense.numpy()


def _given(tensor: Optional[Tensor], dtype: torch.dtype, name: str) -> Any:
    """The same for an argument of another dtype. Values that int32 cannot hold become its least number, which is no
    code, beam or constraint, and not the -1 of none: nothing is read back from the device to raise an error."""
    if tensor is None:
        return None
    if not dtype.is_floating_point and tensor.dtype not in _INTEGERS:
        raise InvalidArgument(f"{name} has dtype {tensor.dtype}, expected {dtype}")
    if dtype == torch.int32 and tensor.dtype == torch.int64:
        tensor = torch.where(tensor == tensor.to(dtype), tensor, torch.iinfo(dtype).min)
    return _plain(tensor.to(dtype))


def _rows(logits: Tensor) -> tuple[Any, Optional[str]]:
    """Logits and their dtype, likewise; NumPy has no bfloat16, and DLPack costs ten microseconds on the CPU."""
    if logits.is_cuda:
        return logits.detach(), None
    if logits.dtype == torch.bfloat16:
        return logits.detach().view(torch.uint16).numpy(), "bf16"
    return logits.detach().numpy(), None


def _operator(schema: str, fake: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Makes a function the operator sidbeam::<schema>, and returns the operator.

    custom_op would do the same at 60 us per call where this costs 4 (torch 2.15), for every level of every request.
    """
    name = "sidbeam::" + schema[: schema.index("(")]

    def define(kernel: Callable[..., Any]) -> Any:
        torch.library.define(name, schema[schema.index("(") :])
        torch.library.impl(name, ("cpu", "cuda"), kernel)
        torch.library.register_fake(name, fake)
        operator = getattr(torch.ops.sidbeam, kernel.__name__.lstrip("_")).default
        operator.__doc__ = kernel.__doc__
        return operator

    return define


def _nothing(*arguments: Any, **options: Any) -> None:
    """The fake kernel of operators that return no tensor."""


@_operator("mask_(SymInt set, Tensor(a!) logits, Tensor states, Tensor? which=None) -> ()", _nothing)
def mask_(set: int, logits: Tensor, states: Tensor, which: Optional[Tensor] = None) -> None:
    """Sets every column of ``logits`` ``[n, V]`` that is no valid code of ``states`` int64 ``[n]`` to -inf, in place.

    ``which`` int32 ``[n]``: the constraint of each logits row.
    """
    rows, dtype = _rows(logits)
    _constraints(set).mask(
        rows,
        _given(states, torch.int64, "states"),
        which=_given(which, torch.int32, "which"),
        dtype=dtype,
        stream=stream_of(logits),
    )


def _empty_words(set: int, states: Tensor, columns: int, which: Optional[Tensor] = None) -> Tensor:
    return states.new_empty((states.numel(), (columns + 31) // 32), dtype=torch.int32)


@_operator("bitmask(SymInt set, Tensor states, SymInt columns, Tensor? which=None) -> Tensor", _empty_words)
def bitmask(set: int, states: Tensor, columns: int, which: Optional[Tensor] = None) -> Tensor:
    """Valid columns as bits, int32 ``[n, ceil(columns / 32)]``: column c is bit ``c % 32`` of word ``c // 32``.

    The layout that xgrammar and other structured-output backends apply.
    """
    words = _empty_words(set, states, columns)
    _constraints(set).bitmask(
        _given(states, torch.int64, "states"),
        which=_given(which, torch.int32, "which"),
        out=_plain(words),
        stream=stream_of(states),
    )
    return words


def _empty_states(set: int, codes: Tensor, lengths: Tensor, which: Optional[Tensor] = None) -> Tensor:
    return codes.new_empty(codes.shape[0], dtype=torch.int64)


@_operator("prefixes(SymInt set, Tensor codes, Tensor lengths, Tensor? which=None) -> Tensor", _empty_states)
def prefixes(set: int, codes: Tensor, lengths: Tensor, which: Optional[Tensor] = None) -> Tensor:
    """States int64 ``[n]`` of prefixes: ``codes`` int32 ``[n, stride]``, ``lengths`` int32 ``[n]``; -1: of no SID."""
    states = _empty_states(set, codes, lengths)
    _constraints(set).prefixes(
        _given(codes, torch.int32, "codes"),
        _given(lengths, torch.int32, "lengths"),
        which=_given(which, torch.int32, "which"),
        out=_plain(states),
        stream=stream_of(codes),
    )
    return states


def _empty_after(
    set: int, states: Tensor, codes: Tensor, parents: Optional[Tensor] = None, which: Optional[Tensor] = None
) -> Tensor:
    return codes.new_empty(codes.numel(), dtype=torch.int64)


@_operator(
    "advance(SymInt set, Tensor states, Tensor codes, Tensor? parents=None, Tensor? which=None) -> Tensor",
    _empty_after,
)
def advance(
    set: int, states: Tensor, codes: Tensor, parents: Optional[Tensor] = None, which: Optional[Tensor] = None
) -> Tensor:
    """States int64 ``[n]`` after ``codes`` ``[n]`` in ``states[parents[i]]``, or in ``states[i]``.

    -1 where the code may not follow; code -1 keeps an ended state.
    """
    after = _empty_after(set, states, codes)
    _constraints(set).advance(
        _given(states, torch.int64, "states"),
        _given(codes, torch.int32, "codes"),
        parents=_given(parents, torch.int32, "parents"),
        which=_given(which, torch.int32, "which"),
        out=_plain(after),
        stream=stream_of(codes),
    )
    return after


def _empty_topk(
    set: int, logits: Tensor, states: Tensor, k: int, normalization: str = "full", which: Optional[Tensor] = None
) -> tuple[Tensor, Tensor, Tensor]:
    shape = (logits.shape[0], k)
    codes, log_probs = logits.new_empty(shape, dtype=torch.int32), logits.new_empty(shape, dtype=torch.float32)
    return codes, log_probs, logits.new_empty(shape, dtype=torch.int64)


@_operator(
    'topk(SymInt set, Tensor logits, Tensor states, SymInt k, str normalization="full", Tensor? which=None)'
    " -> (Tensor codes, Tensor log_probs, Tensor states)",
    _empty_topk,
)
def topk(
    set: int, logits: Tensor, states: Tensor, k: int, normalization: str = "full", which: Optional[Tensor] = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(codes int32, log_probs float32, states int64), each ``[n, k]``: the k best valid codes of logits ``[n, V]``.

    Log-probability falling, then code rising; places left over: -1, -inf, -1. A bad row has NaN first.
    ``normalization``: "full", "level", "valid" or "none".
    """
    rows, dtype = _rows(logits)
    codes, log_probs, after = _empty_topk(set, logits, states, k)
    _constraints(set).topk(
        rows,
        _given(states, torch.int64, "states"),
        k,
        normalization=normalization,
        which=_given(which, torch.int32, "which"),
        dtype=dtype,
        out=TopK(_plain(codes), _plain(log_probs), _plain(after)),
        stream=stream_of(logits),
    )
    return codes, log_probs, after


def step_(
    session: int,
    logits: Tensor,
    beams: Beams,
    slots: Optional[Tensor] = None,
    row_map: Optional[Tensor] = None,
    lse: Optional[Tensor] = None,
    inverse_temperature: float = 0.0,
    soft_cap: float = 0.0,
    inverse_temperatures: Optional[Tensor] = None,
    soft_caps: Optional[Tensor] = None,
) -> None:
    """:meth:`sidbeam.Session.step` as an operator. ``beams``, from :func:`beams`: what it changes.

    Logits are ``[S, rows, V]``, or, with ``row_map`` int32 ``[S, M]``, ``[rows, V]``. ``inverse_temperature`` and
    ``soft_cap`` serve all slots, ``inverse_temperatures`` and ``soft_caps`` float32 ``[S]`` each its own; 0: that of
    the slot's start. Start and stop slots outside of graphs.
    """
    torch.ops.sidbeam.step_(
        session,
        logits,
        *beams,
        slots=slots,
        row_map=row_map,
        lse=lse,
        inverse_temperature=inverse_temperature,
        soft_cap=soft_cap,
        inverse_temperatures=inverse_temperatures,
        soft_caps=soft_caps,
    )


_ARRAYS = ", ".join(f"Tensor({letter}!) {name}" for letter, name in zip("abcdefgh", Beams._fields))


# The session's own memory is written, whatever tensors are passed: when torch.compile functionalises the operator, it
# may pass clones, and copies them back over the originals. The clones must then hold what the step has made.
@_operator(
    f"step_(SymInt session, Tensor logits, {_ARRAYS}, *, Tensor? slots=None, Tensor? row_map=None, Tensor? lse=None,"
    " float inverse_temperature=0.0, float soft_cap=0.0, Tensor? inverse_temperatures=None, Tensor? soft_caps=None)"
    " -> ()",
    _nothing,
)
def _step_(
    session: int,
    logits: Tensor,
    *given: Any,
    slots: Optional[Tensor] = None,
    row_map: Optional[Tensor] = None,
    lse: Optional[Tensor] = None,
    inverse_temperature: float = 0.0,
    soft_cap: float = 0.0,
    inverse_temperatures: Optional[Tensor] = None,
    soft_caps: Optional[Tensor] = None,
) -> None:
    held = _held(session, _Decoder, "Session")
    rows, dtype = _rows(logits)
    held.session.step(
        rows,
        _given(slots, torch.int32, "slots"),
        row_map=_given(row_map, torch.int32, "row_map"),
        lse=_given(lse, torch.float32, "lse"),
        inverse_temperature=_either(inverse_temperatures, inverse_temperature, "inverse_temperatures"),
        soft_cap=_either(soft_caps, soft_cap, "soft_caps"),
        dtype=dtype,
        stream=stream_of(logits),
    )
    for array, own in zip(given, held.beams):
        if array.data_ptr() != own.data_ptr():
            array.copy_(own)
