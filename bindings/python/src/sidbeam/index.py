"""An opened index, and the constraint that sessions follow. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import itertools
import os
from html import escape
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _native, arrow, catalogue, forks, importing, pages, parquet, static
from .arrays import stream_number
from .attributes import Attribute, attributes_of
from .checks import flag, instance, kind_of, path_bytes
from .build import Build, Progress
from .constraint import Constraint, ConstraintLike, constraint_of
from .enums import Collisions, IdType, Kind, KindLike, Residency, Verify, kinds_of, member
from .errors import BadState, InvalidArgument, WrongType
from .filters import Filter, make_filter
from .info import IndexInfo, Section, Upload, info_arrays, info_from, sections_from
from .lookups import Lookups
from .runtime import Runtime, runtime_or_default

Path = Union[str, os.PathLike[str]]

# Buffers that indexes read in place, by number, until the library gives them back.
_loans: dict[int, Any] = {}
_loan_numbers = itertools.count(1)


def _collect_loans() -> None:
    numbers = np.zeros(64, np.int64)
    with forks.lock:  # so that they are gone when any thread's call returns
        while count := _native.flat_returned_loans(numbers):
            for number in numbers[:count].tolist():
                _loans.pop(number, None)


def _bytes_of(data: Any) -> memoryview:
    try:
        return memoryview(data).cast("B")
    except (TypeError, ValueError):
        raise WrongType(
            f"data is {kind_of(data)}, expected contiguous bytes: bytes, mmap, memoryview, an array"
        ) from None


class Index(Lookups):
    """A catalogue, ready to be decoded against. Immutable: any number of threads may share it.

    Made by :meth:`open`, :meth:`from_buffer`, :meth:`build`, :meth:`Builder.finish` or :meth:`Catalog.snapshot`.
    Sessions and constraint sets hold what they need of it, so it may be closed before them. Ordinals number the SIDs in
    order; item rows number the items by ordinal. An index of a file is pickled by its path.
    """

    __slots__ = ("_constraint", "_opened")
    _opened: Optional[tuple[str, Residency, Verify]]  # where it can be opened again, and how
    _constraint: Optional[Constraint]

    def __init__(self) -> None:
        raise TypeError("use Index.open, Index.from_buffer or Index.build")

    @classmethod
    def _wrap(cls, handle: Any, runtime: Runtime) -> Index:
        index = cls.__new__(cls)
        index._handle, index._runtime, index._info, index._constraint = handle, runtime, None, None
        index._opened = None
        return index

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        residency: Union[Residency, str] = Residency.MAP,
        verify: Union[Verify, str] = Verify.HEADER,
        runtime: Optional[Runtime] = None,
    ) -> Index:
        """Opens a file: mapped ("map"), with every page read ("prefault"), locked ("lock") or read ("copy").

        Replacing a mapped file by rename is safe; overwriting or truncating it in place is not, and "copy" is there for
        that. Raises :class:`IOFailure`, :class:`Corrupt`, :class:`Unsupported`.
        """
        runtime = runtime_or_default(runtime)
        how, depth = member(Residency, residency), member(Verify, verify)
        try:
            index = cls._wrap(_native.flat_index_open(runtime._handle, path_bytes(path), how, depth), runtime)
            index._opened = (os.path.abspath(os.fsdecode(path)), how, depth)
            return index
        finally:
            runtime._hand_over_log()

    @classmethod
    def from_buffer(
        cls,
        data: Any,
        *,
        copy: bool = False,
        verify: Union[Verify, str] = Verify.HEADER,
        runtime: Optional[Runtime] = None,
    ) -> Index:
        """Opens the bytes of a file: bytes, mmap, memoryview, a NumPy array of bytes.

        They are read in place, and kept as long as anything uses the index. Their address must be a multiple of 64
        (mmap, or an aligned array); ``copy=True`` takes any address.
        """
        _collect_loans()
        runtime = runtime_or_default(runtime)
        copy = flag(copy, "copy")
        how = Residency.COPY if copy else Residency.MAP
        view = _bytes_of(data)
        number = next(_loan_numbers)
        if not copy:
            _loans[number] = view  # before the call: its last reader may be gone when it returns
        try:
            handle = _native.flat_index_open_memory(runtime._handle, view, number, how, member(Verify, verify))
        except BaseException:
            _loans.pop(number, None)
            raise
        finally:
            runtime._hand_over_log()
        return cls._wrap(handle, runtime)

    @classmethod
    def build(
        cls,
        sids: Any,
        ids: Any = None,
        *,
        priorities: Any = None,
        lengths: Any = None,
        attributes: Any = None,
        sid: Optional[str] = None,
        levels: Union[None, str, Sequence[str]] = None,
        item: Optional[str] = None,
        priority: Optional[str] = None,
        codes: Union[None, int, Sequence[int], np.ndarray] = None,
        kinds: KindLike = Kind.TRIE,
        collisions: Union[Collisions, str] = Collisions.KEEP,
        id_type: Union[None, IdType, str] = None,
        variable_length: Optional[bool] = None,
        metadata: Optional[dict[str, str]] = None,
        codebook: Optional[str] = None,
        hash_seed: int = 0,
        path: Optional[Path] = None,
        threads: int = 0,
        memory_limit: int = 0,
        allow_attribute_loss: bool = False,
        keep_priorities: bool = False,
        progress: Optional[Progress] = None,
        runtime: Optional[Runtime] = None,
    ) -> Index:
        """Builds an index of a whole catalogue, in memory or, with ``path``, in a file, which is then opened.

        ``sids``, ``ids``, ``lengths`` and ``priorities`` are those of :meth:`Builder.add`. ``codes``: codes per level,
        or one number for all levels; None: as many as occur. The other options are those of :class:`Builder`. Without
        ``id_type`` the data's own type decides, and ``variable_length`` is True where ``lengths`` are given.

        Lists of different lengths, and NaN at the end of a SID, are :class:`InvalidArgument` without
        ``variable_length=True``.

        Where ``sids`` is a table that holds the whole catalogue, with a column of SIDs by one of the usual names or by
        ``sid`` or ``levels`` (see :meth:`Builder.add_arrow`), it is read without a copy, by Arrow's C stream. It is
        read twice, unless ``codes`` are given per level, and ``id_type`` too.

        ``attributes`` of the items: columns by name, as for :meth:`Builder.add`; of a table, names of its columns, or
        True for all that nothing else uses.
        """
        varies = lengths is not None if variable_length is None else flag(variable_length, "variable_length")
        named = None if isinstance(attributes, dict) else attributes
        columns = arrow.Columns(sid, levels, item, priority, named)
        columns.native()  # what is wrong with them, before anything is read
        table = ids is None and lengths is None and priorities is None and arrow.is_catalogue(sids, columns)
        if table:
            info, codes, id_type = arrow.shape_of(sids, columns, codes, id_type, variable=varies)
        elif columns != arrow.Columns():
            raise InvalidArgument(
                "sid, levels, item, priority and a list of attributes name columns of a table that is given alone, as"
                " sids"
            )
        else:
            matrix = catalogue.sids_of(sids, lengths, variable=varies)
            codes = catalogue.codes_of(codes, matrix)
            id_type = catalogue.id_type_of(ids) if id_type is None else id_type
        with Build(
            codes,
            variable_length=varies,
            id_type=id_type,
            kinds=kinds,
            collisions=collisions,
            threads=threads,
            memory_limit=memory_limit,
            codebook=codebook,
            hash_seed=hash_seed,
            allow_attribute_loss=allow_attribute_loss,
            keep_priorities=keep_priorities,
            runtime=runtime,
        ) as builder:
            if table:
                arrow.check_same(info, arrow.add(builder._handle, sids, columns))
            else:
                builder.add(matrix[0], ids, lengths=matrix[1], priorities=priorities, attributes=attributes)
            return cls._of(builder, metadata, path, progress, runtime)

    @classmethod
    def from_file(
        cls,
        path: Path,
        *,
        levels: int = 0,
        codes: Union[None, int, Sequence[int], np.ndarray] = None,
        variable_length: bool = False,
        metadata: Optional[dict[str, str]] = None,
        output: Optional[Path] = None,
        progress: Optional[Progress] = None,
        runtime: Optional[Runtime] = None,
        **options: Any,
    ) -> Index:
        """Builds an index of a catalogue file, in memory or, with ``output``, in an index file, which is then opened.

        JSON objects and lists, JSON lines, CSV and TSV, .npy and .npz, told by their content; ``sidbeam/import.h``
        describes what each may hold. Parquet, Feather and other files of Arrow, folders of these, Delta tables (where
        ``deltalake`` is installed) and data sets that ``datasets`` saved are read by PyArrow, a few record batches at a
        time. ``codes``: codes per level, or one number for all levels; None: as many as occur. ``levels``: codes of a
        SID; 0: as the file has them. ``options`` are those of :class:`ImportOptions` and of :class:`Builder`. The
        families of the file's tokens are in the index's :attr:`metadata`.

        Raises :class:`Corrupt` with file, line, item and what was expected where the file is no catalogue.
        """
        reading, building = importing.options_of(options, importing.BUILDER_OPTIONS)
        table = parquet.arrow_stream_of(path, reading.columns())
        building.update(codes=codes, variable_length=variable_length, runtime=runtime)
        if table is not None:
            reading.check_table(levels)
            columns = dataclasses.asdict(reading.columns())
            return cls.build(table, **columns, **building, metadata=metadata, path=output, progress=progress)
        shape = {"levels": levels, "codes": codes, "variable_length": variable_length}
        with importing.Import(path, reading, **shape, progress=progress, runtime=runtime) as file:
            seen = file.info
            building.update(codes=seen.codes, variable_length=seen.variable_length, id_type=seen.id_type)
            with Build(**building) as builder:
                file.add_to(builder, progress)
                file.close()
                return cls._of(builder, metadata, output, progress, runtime)

    @classmethod
    def _of(
        cls,
        builder: Build,
        metadata: Optional[dict[str, str]],
        path: Optional[Path],
        progress: Optional[Progress],
        runtime: Optional[Runtime],
    ) -> Index:
        """The index of what a builder holds, in memory or, with a path, in that file."""
        for key, value in instance({} if metadata is None else metadata, dict, "metadata").items():
            builder.set_metadata(key, value)
        if path is None:
            return cls._wrap(builder._finish(progress), builder._runtime)
        builder.write(path, progress)
        return cls.open(path, runtime=runtime)

    @staticmethod
    def peek(path: Path) -> IndexInfo:
        """What the header of a file says; reads and checks nothing else."""
        numbers, fingerprint = info_arrays()
        _native.flat_index_peek(path_bytes(path), numbers, fingerprint)
        return info_from(numbers, fingerprint)

    @property
    def constraint(self) -> Constraint:
        """The constraint of the whole index; made once."""
        if self._constraint is None or self._constraint.closed or self.closed:
            self._constraint = Constraint._of_all(self)
        return self._constraint

    def filter(
        self, mask: Any = None, /, *, bits: bool = False, ids: Any = None, rows: Any = None, **attributes: Any
    ) -> Filter:
        """Which items may be shown, as a :class:`Filter`: those that pass everything that is given.

        - ``mask``: a text, ``index.filter("price<20 and region in (us, ca)")``, whose grammar is in
          ``sidbeam/filter.h``; or booleans by item row: NumPy, pandas, Polars, PyArrow, where what is null does not
          pass; with ``bits=True`` packed, uint8 or bytes, as of ``np.packbits(.., bitorder="little")``; or the bytes of
          a Roaring bitmap of item rows, in its portable format.
        - ``ids``, ``rows``: lists of ids, of item rows. Those that name no item are counted in ``Filter.unknown``.
        - other names are attributes: ``in_stock=True`` is that value, ``region=["us", "ca"]`` (a list, tuple, set or
          array) any of these, ``region=None`` no value; of an attribute that holds lists, ``tags="new"`` is that a list
          has it. Ranges, and names that arguments have, need the text.

        Raises :class:`InvalidArgument`: an attribute that is not there, a value of another type, the place where a text
        or a bitmap goes wrong, a mask of another length.
        """
        return make_filter(self, mask, bits, ids, rows, attributes)

    def close(self) -> None:
        self._constraint = None
        super().close()
        _collect_loans()

    def verify(self, depth: Union[Verify, str] = Verify.FULL) -> None:
        """Checks the index; raises :class:`Corrupt` with what is wrong and where. ``info.verified`` has the depth."""
        try:
            _native.flat_index_verify(self._handle, member(Verify, depth))
            self._info = None
        finally:
            self._runtime._hand_over_log()

    @property
    def metadata(self) -> dict[str, str]:
        """The texts that the builder kept, sorted by key. Bytes that are not UTF-8 come as U+FFFD."""
        texts = {}
        sizes = np.zeros(2, np.int64)
        for i in range(self.info.metadata_count):
            _native.flat_index_get_metadata(self._handle, i, sizes, None, None)
            key, value = bytearray(int(sizes[0])), bytearray(int(sizes[1]))
            _native.flat_index_get_metadata(self._handle, i, sizes, key, value)
            texts[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        return texts

    @property
    def attributes(self) -> dict[str, Attribute]:
        """Columns of values by item row, sorted by name; see :class:`Attribute`."""
        return attributes_of(self._handle, self.info.items)

    @property
    def codebook(self) -> str:
        """The fingerprint of the codebook that the builder was given; "" where there was none."""
        text = bytearray(_native.flat_index_codebook(self._handle, None))
        _native.flat_index_codebook(self._handle, text)
        return text.decode("utf-8", "replace")

    @property
    def sections(self) -> list[Section]:
        """Every section of the file, in its order."""
        return list(sections_from(self.info.section_count, _native.flat_index_get_section, self._handle))

    def save(self, path: Path) -> None:
        """Writes the index's file: the very bytes that it was opened from, or that its builder would have written.

        It is written beside `path`, synced and renamed, as by :meth:`Builder.write`. Raises :class:`IOFailure`.
        """
        try:
            _native.flat_index_write(self._handle, path_bytes(path))
        finally:
            self._runtime._hand_over_log()

    def to_bytes(self) -> bytes:
        """The bytes of the index's file, for :meth:`from_buffer` (``copy=True``: bytes may lie anywhere)."""
        result: bytes = _native.index_bytes(self._handle)
        return result

    def static_arrays(self, dense_levels: int = 2) -> static.StaticArrays:
        """STATIC's own arrays, for engines that read those; see :class:`StaticArrays`. Fixed length only.

        They are sized by the counts of the index and filled by its SIDs, so it must have been verified in full, by
        :meth:`verify` or when it was opened; otherwise raises :class:`BadState`.

        The call takes some 10 bytes of memory per code of the catalogue.
        """
        return static.static_arrays(self.info, lambda: self.sids()[0], dense_levels)

    def upload(
        self,
        device: int = 0,
        *,
        kinds: KindLike = (),
        verify: bool = True,
        stream: Any = None,
        chunk_bytes: int = 0,
        bytes_per_second: int = 0,
    ) -> None:
        """Copies what decoding reads to a CUDA device, at a limited rate if one is given; returns when it is there."""
        wanted, checked, queue = int(kinds_of(kinds)), flag(verify, "verify"), stream_number(stream)
        try:
            _native.flat_index_upload(
                self._handle, device, wanted, checked, queue, chunk_bytes, bytes_per_second
            )
        finally:
            self._runtime._hand_over_log()

    def uploaded(self, device: int = 0) -> Upload:
        """What is on a device; does not touch the device."""
        numbers = np.zeros(2, np.int64)
        _native.flat_index_get_upload(self._handle, device, numbers)
        return Upload(Kind(int(numbers[0])), int(numbers[1]))

    def unload(self, device: int = 0) -> None:
        """Gives up the index's own hold on its copy on a device; sessions and constraint sets keep theirs."""
        _native.flat_index_unload(self._handle, device)

    def _describe(self) -> str:
        info = self.info
        names = "|".join(str(kind.name).lower() for kind in Kind if kind in info.kinds)
        path = "" if self._opened is None else f", {self._opened[0]!r}"
        version = f", version {info.version} of {info.live_items} live items" if info.version else ""
        return f"{info.sids} SIDs of {info.levels} codes, {info.items} items, {names}{version}{path}"

    def _repr_html_(self) -> str:
        if self.closed:
            return f"<code>{escape(repr(self))}</code>"
        info = self.info
        rows = list(zip(range(info.levels), info.codes, pages.bars(info.nodes), info.max_children))
        return pages.table(repr(self)[1:-1], ("level", "codes", "prefixes", "most children"), rows)

    def __reduce__(self) -> Any:
        """Pickles where the index was opened, and its fingerprint; the other process opens it with its own runtime."""
        if self._opened is None:
            raise TypeError(
                "cannot pickle Index: it is in memory alone; build it with path=, or open its file, and the other"
                " process opens that file"
            )
        return _open_again, (*self._opened, self.info.fingerprint)


def _open_again(path: str, residency: Residency, verify: Verify, fingerprint: str) -> Index:
    """An index that was pickled; its file must still be the same."""
    index = Index.open(path, residency=residency, verify=verify)
    if index.info.fingerprint != fingerprint:
        raise BadState(
            f"{path!r} has fingerprint {index.info.fingerprint}, expected {fingerprint}, as when it was pickled"
        )
    return index
