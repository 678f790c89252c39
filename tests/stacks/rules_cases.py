"""What the tests of rules share: a catalogue of items with ids and prices, rules drawn at random, and the catalogue of
the items that they allow, of which brute force then knows nothing but SIDs. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np
import sidbeam
from oracle import Catalogue

UNKNOWN = 10**9  # an id that no item has


class Rules(NamedTuple):
    """As a caller writes them: items below a price, ids that are left out, ids that alone may come."""

    below: Optional[int] = None
    exclude: Optional[list[int]] = None
    allow: Optional[list[int]] = None


NOTHING = Rules(allow=[])


class Shop:
    """The SIDs of a catalogue are those of its items, one by one."""

    def __init__(self, catalogue: Catalogue, seed: int = 0) -> None:
        count = len(catalogue.sids)
        self.catalogue = catalogue
        self.ids = (100 + np.arange(count)).tolist()
        self.prices = np.random.default_rng(seed).integers(0, 100, count).tolist()
        self.index = sidbeam.Index.build(
            catalogue.sids,
            self.ids,
            codes=catalogue.codes,
            variable_length=catalogue.variable,
            attributes={"price": self.prices},
        )
        self.vocabulary = sidbeam.Vocabulary(catalogue.offsets, catalogue.maps, catalogue.end_column)

    def draw(self, rng: np.random.Generator) -> Rules:
        """Some of the three, so that several SIDs are left more often than none."""
        pick = lambda share: [i for i in self.ids if rng.random() < share]  # noqa: E731
        return Rules(
            int(rng.integers(30, 100)) if rng.random() < 0.5 else None,
            [*pick(0.5), UNKNOWN] if rng.random() < 0.6 else None,
            [UNKNOWN, *pick(0.7)] if rng.random() < 0.4 else None,
        )

    def left(self, rules: Rules) -> Catalogue:
        """The catalogue of the items that rules allow."""
        below, exclude, allow = rules
        kept = [
            sid
            for sid, item, price in zip(self.catalogue.sids, self.ids, self.prices)
            if (below is None or price < below)
            and item not in (exclude or ())
            and (allow is None or item in allow)
        ]
        return dataclasses.replace(self.catalogue, sids=kept)

    def arguments(self, rules: Sequence[Rules]) -> dict[str, Any]:
        """filter, exclude and allow as the library takes them, a list of one per row each."""
        filters = [None if r.below is None else self.index.filter(f"price<{r.below}") for r in rules]
        return {"filter": filters, "exclude": [r.exclude for r in rules], "allow": [r.allow for r in rules]}
