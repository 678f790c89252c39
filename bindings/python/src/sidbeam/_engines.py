"""What an adapter relies on of the engine that it is for, looked at before it is used: another version is refused by
name, not by an AttributeError in the middle of a request. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import importlib
import inspect
import operator
from typing import Mapping, Optional

#: By module: what must be there, and the names of its parameters, which may go on after ".."; None: whatever it takes.
Used = Mapping[str, Mapping[str, Optional[str]]]


def misfits(engine: str, used: Used) -> list[str]:
    """In what an engine, by its name and version, differs from what is used; empty: in nothing."""
    found = []
    for name, members in used.items():
        try:
            module = importlib.import_module(name)
        except ImportError as missing:
            found.append(f"{engine} has no {name} ({missing})")
            continue
        for member, parameters in members.items():
            try:
                there = operator.attrgetter(member)(module)
            except AttributeError:
                found.append(f"{engine} has no {name}.{member}")
                continue
            if parameters is None:
                continue
            wanted, takes = parameters.split(), list(inspect.signature(there).parameters)
            if takes != wanted and not (wanted[-1:] == [".."] and takes[: len(wanted) - 1] == wanted[:-1]):
                found.append(f"{member} of {engine} takes ({', '.join(takes)}), expected ({', '.join(wanted)})")
    return found


def need(adapter: str, engine: str, version: str, supported: str, used: Used) -> None:
    """Refuses an engine that does not fit.

    Raises ImportError, as where the engine is not installed at all.
    """
    found = misfits(f"{engine} {version}", used)
    if found:
        raise ImportError(f"{adapter} needs {engine} {supported}, found {version}: {'; '.join(found)}")
