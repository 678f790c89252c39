"""What Builder and Index.build share. It knows no index, so that both can import it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import threading
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _native, aio, arrow, attributes as columns, catalogue
from .arrays import vector
from .checks import flag, function, integer, path_bytes
from .enums import AttributeType, Collisions, IdType, Kind, KindLike, Phase, kinds_of, member
from .handle import Handle
from .info import Plan, plan_from
from .runtime import Runtime, runtime_or_default

Progress = Callable[[Phase, int, int], object]
_POLL_SECONDS = 0.05


class Watched(Handle):
    """What runs long calls that can be cancelled and watched."""

    __slots__ = ("_runtime",)
    _runtime: Runtime

    def cancel(self) -> None:
        """Ends the running call, or else the next one, from any thread: it raises :class:`Cancelled`."""
        _native.flat_cancel(self._handle, 1)

    def _run(self, call: Callable[[], Any], progress: Optional[Progress]) -> Any:
        """Runs a call. It takes a thread of its own if Ctrl-C, progress or the end of an asyncio task must be heard
        meanwhile: the main thread sees signals only between its own instructions."""
        if progress is not None:
            function(progress, "progress", "phase, done and total")
        try:
            alone = threading.current_thread() is not threading.main_thread() and not aio.awaited()
            if progress is None and alone:
                return self._run_here(call)
            return self._run_beside(call, progress)
        finally:
            self._runtime._hand_over_log()

    def _run_here(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:  # the cancellation ended this call, or came too late; it must not end the next one
            _native.flat_cancel(self._handle, 0)

    def _run_beside(self, call: Callable[[], Any], progress: Optional[Progress]) -> Any:
        outcome: list[Any] = [None, None]
        done = threading.Event()  # not Thread.join: after a Ctrl-C in join (3.11), the next join returns at once
        ending = threading.Lock()  # so that a build is cancelled before its end or not at all

        def work() -> None:
            try:
                outcome[0] = call()
            except BaseException as error:  # handed to the caller below
                outcome[1] = error
            with ending:
                _native.flat_cancel(self._handle, 0)
                done.set()

        threading.Thread(target=work, name="sidbeam build", daemon=True).start()
        try:
            while not done.is_set():
                aio.check()
                if progress is not None:
                    self._report(progress)
                done.wait(_POLL_SECONDS)
        except BaseException:
            with ending:
                if not done.is_set():
                    self.cancel()
            done.wait()  # a second Ctrl-C leaves here: the build stays cancelled, and work() tidies up at its end
            raise
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    def _report(self, progress: Progress) -> None:
        now = np.zeros(3, np.int64)
        _native.flat_get_progress(self._handle, now)
        progress(Phase(int(now[0])), int(now[1]), int(now[2]))


def _signed(seed: Any) -> int:
    """The bits of an integer that may be of 64 bits without sign."""
    unsigned = isinstance(seed, int) and 2**63 <= seed < 2**64
    return integer(seed - 2**64 if unsigned else seed, "hash_seed")


class Build(Watched):
    """Collects, sorts and writes pairs. :class:`Builder` describes the options."""

    __slots__ = ("_levels", "_codes", "_id_type", "_variable", "_attributes")
    _attributes: dict[str, AttributeType]  # of which values were given, or which were declared

    def __init__(
        self,
        codes: Union[Sequence[int], np.ndarray],
        *,
        variable_length: bool = False,
        id_type: Union[IdType, str] = IdType.I64,
        kinds: KindLike = Kind.TRIE,
        collisions: Union[Collisions, str] = Collisions.KEEP,
        threads: int = 0,
        memory_limit: int = 0,
        codebook: Optional[str] = None,
        hash_seed: int = 0,
        allow_attribute_loss: bool = False,
        keep_priorities: bool = False,
        runtime: Optional[Runtime] = None,
    ) -> None:
        self._runtime = runtime_or_default(runtime)
        self._id_type = member(IdType, id_type)
        levels = vector(codes, np.int32, "codes")
        self._levels = len(levels)
        self._codes = levels
        self._variable = flag(variable_length, "variable_length")
        self._attributes = {}
        self._handle = _native.flat_builder_create(
            self._runtime._handle,
            levels,
            self._variable,
            self._id_type,
            int(kinds_of(kinds)),
            member(Collisions, collisions),
            threads,
            memory_limit,
            codebook,
            _signed(hash_seed),
            flag(allow_attribute_loss, "allow_attribute_loss"),
            flag(keep_priorities, "keep_priorities"),
        )

    def declare_attribute(self, name: str, type: Union[AttributeType, str]) -> None:
        """Declares an attribute of the items before the first pairs; "i64", "f32", "bool", "string", "string_list".

        Those whose values come with the first :meth:`add` need none.
        """
        kind = member(AttributeType, type)
        _native.flat_builder_declare_attribute(self._handle, name, kind)
        self._attributes[name] = kind

    def add(
        self,
        sids: Any,
        ids: Any = None,
        *,
        lengths: Any = None,
        priorities: Any = None,
        attributes: Optional[dict[str, Any]] = None,
    ) -> None:
        """Adds pairs, which are copied.

        - ``sids`` ``[n, levels]``: an array, lists, a pandas or Polars frame of one column per level, a Series of
          lists, an Arrow table or list array. Lists of different lengths, and missing codes at the end, need a builder
          with ``variable_length``.
        - ``ids`` ``[n]``: integers, or str with ``id_type="string"``; None: the pair's number, counted over all calls.
        - ``lengths`` ``[n]``: codes of each SID; None: all of them. ``priorities`` ``[n]``; None: 0.
        - ``attributes``: columns ``[n]`` of values by name: integers, floats, bools, str, or lists of str, as an array,
          a list, a Series or an Arrow array. None, NaN and what is masked are null, and so are rows of which none are
          given. The type is that of the first values, or was declared. Where identical pairs merge, null gives way to a
          value, and values that differ make the build raise :class:`InvalidArgument`.

        Raises :class:`InvalidArgument` with pair, level and value; then nothing of this call has been added.
        """
        shape = catalogue.Shape(self._levels, self._variable, self._id_type)
        pairs = catalogue.pairs_of(shape, sids, ids, lengths, priorities)
        given = columns.columns_of(attributes, pairs.count, self._attributes)
        for column in given:
            self.declare_attribute(column.name, column.type)
        first = (self._handle, pairs.codes, self._levels, pairs.lengths, pairs.count)
        if pairs.names is not None:
            _native.flat_builder_add_named(*first, *pairs.names, pairs.priorities)
        else:
            _native.flat_builder_add(*first, pairs.ids, pairs.priorities)
        for column in given:
            column.put(_native.flat_builder_set_attribute, self._handle, pairs.count)

    def add_arrow(
        self,
        data: Any,
        *,
        sid: Optional[str] = None,
        levels: Union[None, str, Sequence[str]] = None,
        item: Optional[str] = None,
        priority: Optional[str] = None,
        attributes: Union[None, bool, Sequence[str]] = None,
    ) -> int:
        """Adds all pairs of a table, batch by batch and without a copy on the way, and returns their number.

        - ``data``: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: tables and readers of PyArrow,
          Polars, pandas and DuckDB, or lists of codes alone.
        - ``sid``: the column of SIDs, lists of codes, or lists of such lists where an item has several. None: the
          one that is called sid, sids, semantic_id, semantic_ids, codes, tokens or token_ids.
        - ``levels``: instead, the columns of the levels: their names, or what these begin with before a number.
        - ``item``: the column of ids. None: the one that is called item, item_id, iid, id, asin, docid or goods_id,
          if there is one; "": none, and the id is the pair's number.
        - ``priority``: the column of priorities. None: ``priority``, if there is one; "": none.
        - ``attributes``: columns that are attributes of the items, by name; True: all that nothing else uses.

        Raises :class:`InvalidArgument` with column, row and value; then nothing of this call has been added.
        """
        return arrow.add(self._handle, data, arrow.Columns(sid, levels, item, priority, attributes))

    def set_metadata(self, key: str, value: str) -> None:
        """Keeps a text in the file; a key that is given again replaces the text."""
        _native.flat_builder_set_metadata(self._handle, key, value)

    def plan(self, progress: Optional[Progress] = None) -> Plan:
        """Sorts what was added, so that write and finish need not, and gives exact sizes."""
        return plan_from(self._run(lambda: _native.flat_builder_plan(self._handle), progress), self._levels)

    def write(self, path: Union[str, os.PathLike[str]], progress: Optional[Progress] = None) -> None:
        """Writes the index beside `path`, syncs it and renames it: a reader sees the old file or the whole new one.

        Links are followed; owner, mode and attributes of the old file are kept (see ``allow_attribute_loss``).
        ``progress(phase, done, total)`` is called now and then. Ctrl-C, an exception from ``progress`` and
        :meth:`cancel` end the build and leave no file behind.
        """
        name = path_bytes(path)
        self._run(lambda: _native.flat_builder_write(self._handle, name), progress)

    def _finish(self, progress: Optional[Progress]) -> Any:
        """The native index, in memory."""
        return self._run(lambda: _native.flat_builder_finish(self._handle), progress)

    def _describe(self) -> str:
        return f"{self._levels} levels, ids {self._id_type.name.lower()}"
