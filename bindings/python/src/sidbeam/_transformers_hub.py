"""The ``generate`` of the folder ``hub``, by its path or from wherever it was uploaded to (:data:`.transformers.HUB`):
catalogues by name or path, as arguments of generate(). SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import collections
import os
import threading
from typing import Any, Optional, Sequence, Union

import numpy as np

from ._transformers import SidTokens
from .errors import InvalidArgument, WrongType
from .following import is_live
from .importing import Path
from .index import Index
from .serving import find
from .transformers import SidBeamSearch, SidSampler
from .vocabulary import Vocabulary

Loop = Union[SidBeamSearch, SidSampler]
_KEPT = 8  # loops, the latest: their sessions are used again
_loops: collections.OrderedDict[Any, tuple[Any, Loop]] = collections.OrderedDict()
_lock = threading.Lock()


def generate(
    model: Any,
    *,
    catalogue: Optional[str] = None,
    index: Optional[Path] = None,
    offsets: Union[None, int, Sequence[int]] = None,
    maps: Optional[Sequence[Any]] = None,
    end_column: Optional[int] = None,
    rounds: Optional[int] = None,
    **arguments: Any,
) -> Any:
    """What ``model.generate()`` gives of a catalogue's items alone; ``arguments`` are generate()'s and the loop's.

    Of one ``catalogue`` that is named (:mod:`sidbeam.serving`), or of an ``index`` with the tokens of its codes.
    ``do_sample``, among the arguments or in the configuration, draws instead of searching, with ``rounds`` by DISC.
    """
    words = {"offsets": offsets, "maps": maps, "end_column": end_column}
    words = {name: value for name, value in words.items() if value is not None}
    if (catalogue is None) == (index is None):
        have = "neither is" if index is None else "both are"
        raise InvalidArgument(f"expected catalogue, a name, or index, a path, and {have} given")
    if catalogue is not None and words:
        raise InvalidArgument(f"{next(iter(words))} is given, expected it with index alone: names have their tokens")
    samples = _samples(model, arguments)
    if rounds is not None and not samples:
        raise InvalidArgument("rounds is given, expected do_sample=True with it")
    how = (str(model.device), samples, rounds)
    loop = _of_name(catalogue, how) if index is None else _of_path(index, words, how)
    given = {name: value for name, value in arguments.items() if value is not None}
    # Not model.generate: where the folder has the model too, that is this function.
    return type(model).generate(model, custom_generate=loop, **given)


def _samples(model: Any, arguments: dict[str, Any]) -> bool:
    config = arguments.get("generation_config") or model.generation_config
    asked = arguments.get("do_sample")
    return bool(config.do_sample if asked is None else asked)


def _of_name(name: Optional[str], how: tuple[str, bool, Optional[int]]) -> Loop:
    catalogue = find(name)  # type: ignore[arg-type]
    return _kept((name, *how), catalogue.newest.index, lambda: catalogue.newest.index, catalogue.vocabulary, how)


def _of_path(path: Path, words: dict[str, Any], how: tuple[str, bool, Optional[int]]) -> Loop:
    if not isinstance(path, (str, os.PathLike)):
        raise WrongType(f"index is {type(path).__name__}, expected a path")
    name = os.path.abspath(os.fspath(path))
    key = (name, *((word, _text(value)) for word, value in sorted(words.items())), *how)
    source = lambda: name if is_live(name) else Index.open(name)  # noqa: E731
    return _kept(key, _file(name), source, Vocabulary(**words), how)


def _kept(key: Any, version: Any, source: Any, vocabulary: Vocabulary, how: tuple[str, bool, Optional[int]]) -> Loop:
    """That of an earlier call, unless there is another version by now."""
    device, samples, rounds = how
    with _lock:
        if key not in _loops or _loops[key][0] != version:
            sids = SidTokens(source(), vocabulary, device=device)
            _loops[key] = version, SidSampler(sids, rounds=rounds) if samples else SidBeamSearch(sids)
        _loops.move_to_end(key)
        while len(_loops) > _KEPT:
            _loops.popitem(last=False)
        return _loops[key][1]


def _text(value: Any) -> str:
    """All of offsets, maps or a column."""
    parts = [value] if isinstance(value, int) else value
    return str([None if part is None else np.asarray(part).tolist() for part in parts])


def _file(path: str) -> Optional[tuple[int, int, int]]:
    """Which file is at a path; None: a folder, which is followed, or none, of which opening tells."""
    if not os.path.isfile(path):
        return None
    about = os.stat(path)
    return about.st_dev, about.st_ino, about.st_mtime_ns
