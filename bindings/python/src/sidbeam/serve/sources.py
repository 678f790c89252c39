"""Where requests get what they are served from: a file that reloads open again, or a live catalogue whose newest
version is served. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Optional, Union

from ..enums import Verify
from ..errors import InvalidArgument
from ..following import Made, Newest
from ..index import Index
from ..live import Catalog
from .options import Options
from .served import Served, read_texts


class FileSource:
    """An index file, which is mapped: to be replaced by rename. It is checked in full, so that a reload refuses a
    damaged one."""

    catalog: Optional[Catalog] = None

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reloads = threading.Lock()  # one at a time
        self.current = self._open()

    def _open(self) -> Served:
        index = Index.open(self._options.index, residency=self._options.residency, verify=Verify.FULL)
        return Served(index, self._options, read_texts(self._options.filters), None)

    def reload(self) -> None:
        """Opens the file again; later requests get it. On an error the one before stays, with its filters."""
        with self._reloads:
            made = self._open()
            # The model has an output for every code: another codebook needs another model, and so another process.
            if (codes := list(made.info.codes)) != (expected := list(self.current.info.codes)):
                raise InvalidArgument(f"{self._options.index} has {codes} codes per level, expected {expected}")
            self.current = made

    def close(self) -> None:
        self.current.index.close()


class LiveSource:
    """A live catalogue, which this process writes or follows. A version is made ready by the thread that brings it:
    that of a publish, or the follower's own."""

    def __init__(self, options: Options) -> None:
        self._options = options
        kept = {"keep_versions": options.keep, "keep_age": options.keep_age or None}
        how = {**kept, "residency": options.residency, "verify": Verify.FULL}
        opened = Catalog.follow if options.follow else Catalog.open
        self.catalog: Catalog = opened(options.index, **how)  # type: ignore[arg-type]
        self._lock = threading.Lock()
        self._living: weakref.WeakSet[Served] = weakref.WeakSet()
        self._newest = _Newest(self.catalog, self._make_with(read_texts(options.filters)))

    def _make_with(self, texts: dict[str, str]) -> Made[Served]:
        def make(index: Index, before: Optional[Served]) -> Served:
            made = Served(index, self._options, texts, before)
            with self._lock:
                self._living.add(made)
            return made

        return make

    @property
    def current(self) -> Served:
        return self._newest.value

    @property
    def errors(self) -> int:
        """Times that the catalogue could not be read, or a version not be served."""
        return self._newest.errors

    def reload(self) -> None:
        """Reads the settings' filters anew, and takes over what a follower has not seen yet."""
        texts = read_texts(self._options.filters)
        self._newest.look()
        self._newest.renew(self._make_with(texts))

    def in_use(self) -> int:
        """How many versions are in use, whether they are among those that are kept or not."""
        kept = {version.version for version in self.catalog.versions() if version.in_use}
        with self._lock:
            return len(kept | {served.info.version for served in self._living})

    def close(self) -> None:
        self.catalog.close()


class _Newest(Newest[Served]):
    """Counts the errors that :class:`Newest` logs once."""

    def __init__(self, catalog: Catalog, make: Made[Served]) -> None:
        self.errors = 0
        super().__init__(catalog, make)

    def report(self, error: Exception) -> None:
        if self._catalog is not None and self._catalog.closed:  # that is no error
            return
        self.errors += 1
        super().report(error)


Source = Union[FileSource, LiveSource]


def open_source(options: Options) -> Source:
    if os.path.isdir(options.index):
        return LiveSource(options)
    if options.follow:
        raise InvalidArgument(f"{options.index} is no folder, expected that of a catalogue to follow")
    return FileSource(options)
