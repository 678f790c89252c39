"""The step from hidden states, for engines that have their own model.

Instead of logits the beams' last hidden states are given, and once the weights of the output layer. Where a step reads
the children's columns alone, only their rows of weights are read::

    layer = sidbeam.OutputLayer(lm_head)                   # [columns, width], read in place
    session = sidbeam.Session(index, beams=50, normalization="valid")
    step = sidbeam.HiddenStep(session, layer)
    beams = session.start()
    while beams.active[0] > 0:
        step.step(model(beams.codes, beams.parents))       # [1, 50, width], instead of session.step(logits)

On CUDA the layer's weights are on the session's device, and steps are enqueued on ``stream``, as the session's are.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Union

import numpy as np

from . import _native
from .arrays import argument, counted, device_holding, device_name, dtype_code, shape_of, stream_number
from .beams import Beams
from .checks import instance
from .enums import DType, member
from .handle import Handle
from .session import Session


class HiddenPath(enum.IntEnum):
    """How logits are computed: as is expected to be faster; of the children alone, which fails where a step reads more;
    of all columns. It changes no result, on CUDA except for the rounding of sums. There the fastest is the children's
    wherever a step reads them alone: name "product" for levels where beams have about as many as there are columns."""

    FASTEST = _native.SIDBEAM_HIDDEN_FASTEST
    CHILDREN = _native.SIDBEAM_HIDDEN_CHILDREN
    PRODUCT = _native.SIDBEAM_HIDDEN_PRODUCT


def _held(array: Any) -> Any:
    """What keeps an array's memory where it is: its buffer if it has one, else the array itself."""
    try:
        return memoryview(array)
    except (BufferError, TypeError, ValueError):
        return array


class OutputLayer(Handle):
    """The weights that turn hidden states into logits. Immutable: any number of steps and threads may share it.

    - ``weights``: ``[columns, width]``, as ``nn.Linear`` has them: float32, float16 or bfloat16; NumPy, the buffer
      protocol or DLPack (detached), rows perhaps strided. Read in place, and held: they must not change while a step
      runs. uint16 arrays need ``dtype="bf16"``. On CUDA: by DLPack, each row at a multiple of 16 bytes.
    - ``bias``: float32 ``[columns]``, copied; on CUDA a tensor there, and held like the weights.
    - ``soft_cap``: of the logits, as in :meth:`Session.step`; 0: none.

    On the CPU making one takes about a millisecond, to measure what products cost. A :class:`HiddenStep` holds its
    layer. Raises :class:`InvalidArgument`, :class:`Unsupported` (no ``libsidbeam_runner.so.1``), :class:`NoDevice`,
    :class:`OutOfMemory`.
    """

    __slots__ = ("_device", "_memory", "columns", "width")

    def __init__(
        self,
        weights: Any,
        *,
        bias: Any = None,
        soft_cap: float = 0.0,
        dtype: Union[None, DType, str] = None,
    ) -> None:
        shape = shape_of(weights, "weights")
        self._device = device_holding(weights, "weights")
        several = argument(bias, np.float32, "bias", self._device, (int(shape[0]),) if len(shape) == 2 else None)
        self._memory = _held(weights), bias
        self._handle = _native.layer_create(weights, dtype_code(dtype), several, soft_cap)
        self.columns, self.width = (int(extent) for extent in shape)

    def _describe(self) -> str:
        return f"{self.columns} columns of width {self.width} on {device_name(self._device)}"


@dataclasses.dataclass(frozen=True)
class HiddenStats:
    """Counted since a :class:`HiddenStep` was made; see ``sidbeam_hidden_stats``, on what CUDA does not count too."""

    steps: int  #: calls
    child_slots: int  #: slots stepped by products of beam and child alone
    union_slots: int  #: by all products of their beams and the children of any of them
    product_slots: int  #: by the products with all columns
    products: int  #: inner products computed
    weight_rows: int  #: rows of weights read: distinct children, columns of a union, or all of a product
    weight_bytes: int  #: bytes of them
    memory_bytes: int  #: that the object holds
    break_even: float  #: measured cost of a product by itself, in those within a tile; 0 on CUDA


class HiddenStep(Handle):
    """Steps a session from hidden states. It has the memory of the session's steps, and belongs to the thread that uses
    the session. Closing it leaves the session as it is; a closed session is refused by :meth:`step`.

    - ``session``: of normalization "valid", or with ``lse``, only the children's columns are computed.
    - ``layer``: its columns are those of the session's vocabulary, and it is on the session's device.
    - ``path``: "fastest", "children" or "product", see :class:`HiddenPath`.
    - ``children``: products of beam and child that are held at a time, 20 bytes each, on CUDA 4; 0: 2^22, or as many
      as there can be.

    On CUDA it also has room for the logits of all slots, and is closed when its work has ended. Raises
    :class:`InvalidArgument`, :class:`Unsupported` (a session on another device than the layer), :class:`NoDevice`,
    :class:`OutOfMemory`.
    """

    __slots__ = ("layer", "session")

    def __init__(
        self,
        session: Session,
        layer: OutputLayer,
        *,
        path: Union[HiddenPath, str] = HiddenPath.FASTEST,
        children: int = 0,
    ) -> None:
        self.session, self.layer = instance(session, Session, "session"), instance(layer, OutputLayer, "layer")
        self._handle = _native.flat_hidden_create(session._handle, layer._handle, member(HiddenPath, path), children)

    def step(
        self,
        hidden: Any,
        slots: Any = None,
        *,
        row_map: Any = None,
        lse: Any = None,
        inverse_temperature: Any = 0.0,
        path: Union[None, HiddenPath, str] = None,
        stream: Any = None,
    ) -> Beams:
        """Advances slots of the session by one level; returns the session's beams.

        ``hidden`` is to the logits of :meth:`Session.step` what ``width`` is to columns: float32 ``[n, rows, width]``,
        ``[rows, width]`` for one slot, or, with ``row_map``, ``[rows, width]``, read in place; on CUDA of any type.
        ``path``: of this step; None: the object's. The other arguments are those of :meth:`Session.step`. The same
        beams come as from logits computed by the formula of ``hidden.h``, on CUDA except for the rounding of products.

        Raises :class:`InvalidArgument` (another width or dtype, a child without a row of weights), :class:`NoDevice`
        (hidden states on another device), :class:`Unsupported` (path "children" where a step reads more), and what
        :meth:`Session.step` raises; then no slot has changed, except as ``hidden.h`` says.
        """
        session = self.session
        chosen, count = (None, session.slots) if slots is None else counted(slots, np.int32, "slots", session._device)
        scale, scales = session._setting(inverse_temperature, count, "inverse_temperature")
        shape = (count, session.width)
        _native.hidden_step(
            self._handle,
            0 if path is None else member(HiddenPath, path),
            chosen,
            hidden,
            argument(row_map, np.int32, "row_map", session._device, shape),
            argument(lse, np.float32, "lse", session._device),
            scale,
            scales,
            0 if stream is None else stream_number(stream),
        )
        return session.beams()

    def stats(self) -> HiddenStats:
        numbers = np.zeros(_native.FLAT_HIDDEN_STATS_COUNT, np.int64)
        break_even = np.zeros(1, np.float32)
        _native.flat_hidden_get_stats(self._handle, numbers, break_even)
        names = [field.name for field in dataclasses.fields(HiddenStats)][:-1]
        values = {name: int(numbers[getattr(_native, f"FLAT_HIDDEN_STATS_{name.upper()}")]) for name in names}
        return HiddenStats(break_even=float(break_even[0]), **values)

    def _describe(self) -> str:
        return f"of {self.session!r}"
