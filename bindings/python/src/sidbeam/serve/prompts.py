"""From histories to prompts. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from typing import Optional, Sequence

import numpy as np

from ..vocabulary import Vocabulary
from .options import Options


class Prompts:
    """Writes histories, whose items are given by their SIDs, in the model's tokens."""

    def __init__(self, options: Options, vocabulary: Vocabulary, codes: Sequence[int]) -> None:
        self._group, self._room = options.group, options.prompt * options.group
        self._start = self._filled(list(options.start_tokens))
        self._tokens = [vocabulary.columns_of(codes, level).tolist() for level in range(len(codes))]
        self.most_positions = len(self._start) // self._group + options.prompt

    def _filled(self, tokens: list[int]) -> list[int]:
        """To the end of a position: -1 is no token."""
        return tokens + [-1] * (-len(tokens) % self._group)

    def of(self, history: Sequence[Sequence[int]]) -> Optional[np.ndarray]:
        """int32 ``[positions, group]``: the start tokens and those of the SIDs, whole ones, as many of the latest as
        the model reads; None: of no SID, where it would have nothing to read."""
        written: list[list[int]] = []
        room = self._room
        for sid in reversed(history):
            tokens = self._filled([tokens[code] for tokens, code in zip(self._tokens, sid)])
            room -= len(tokens)
            if room < 0:
                break
            written.append(tokens)
        if not written:
            return None
        prompt = self._start + [token for tokens in reversed(written) for token in tokens]
        return np.array(prompt, np.int32).reshape(-1, self._group)
