"""Catalogues at the limits: SIDs of 255 codes, and levels of 2^24 codes. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest

import sidbeam


def test_a_level_of_16777216_codes() -> None:
    last = sidbeam.MAX_CODES - 1
    assert last == 2**24 - 1
    codes = [5, 2**20 + 5, last]
    index = sidbeam.Index.build([(code,) for code in codes], codes=[sidbeam.MAX_CODES])
    assert index.info.codes == (2**24,) and index.children(()).tolist() == codes and index.sid(2) == (last,)
    logits = np.full((1, 1, sidbeam.MAX_CODES), -9, np.float32)
    logits[0, 0, codes] = -3, -1, -2
    with sidbeam.Session(index, beams=3, normalization="none") as session:
        beams = session.start()
        session.step(logits)
        assert beams.codes[0].tolist() == [2**20 + 5, last, 5] and beams.scores[0].tolist() == [-1, -2, -3]
    with pytest.raises(sidbeam.InvalidArgument, match=r"codes\[0\] is 16777217, expected 1 to 16777216"):
        sidbeam.Builder([sidbeam.MAX_CODES + 1])


def test_sids_of_255_codes() -> None:
    sids = np.zeros((3, sidbeam.MAX_LEVELS), np.int32)
    sids[1, 254] = sids[2, 63] = 1
    index = sidbeam.Index.build(sids, codes=[2] * 255, kinds="trie|sorted|hash")
    assert index.info.levels == len(index.info.nodes) == 255 and index.info.nodes[-1] == 3
    assert index.find_many([tuple(sid) for sid in sids.tolist()]).tolist() == [0, 1, 2]
    logits = np.tile(np.array([-1, -2], np.float32), (1, 3, 1))
    with sidbeam.Session(index, beams=3, normalization="none") as session:
        beams = session.start()
        for _ in range(255):
            session.step(logits)
        assert beams.active[0] == 0 and beams.scores[0].tolist() == [-255, -256, -256]
    with pytest.raises(sidbeam.InvalidArgument, match="levels is 256, expected 1 to 255"):
        sidbeam.Builder([2] * 256)
