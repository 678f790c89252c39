"""The command at the limits: SIDs of 255 codes, and levels of 2^24 codes.
SPDX-License-Identifier: Apache-2.0
"""
import json
import struct

from support import Case, npy

CODES = 2**24
KINDS = ["trie", "compact", "trie,sorted,hash"]


class Limits(Case):
    def test_a_level_of_16777216_codes(self):
        codes = [5, 2**20 + 5, CODES - 1]
        row = [-9.0] * CODES
        for code, logit in zip(codes, [-3.0, -1.0, -2.0]):
            row[code] = logit
        logits = self.write("f.npy", npy("<f4", (1, CODES), struct.pack(f"<{CODES}f", *row)))
        for kinds in KINDS:
            index = self.index("--codes", CODES, "--kinds", kinds, catalogue=[(str(c), [c]) for c in codes])
            self.ok("verify", index)
            self.assertEqual(self.json("inspect", index)["codes"], [CODES])
            self.assertEqual(self.json("lookup", index, "--prefix", "")["next"], codes)
            self.assertEqual(self.json("lookup", index, "--sid", CODES - 1)["ordinal"], 2)
            if kinds == KINDS[-1]:
                report = self.json("decode", index, "--logits", logits, "--beams", 4096, "--normalize", "none")
                beams = report["requests"][0]["beams"]
                self.assertEqual([beam["sid"] for beam in beams], [[2**20 + 5], [CODES - 1], [5]])
                self.assertEqual([beam["score"] for beam in beams], [-1, -2, -3])
        self.misused(f"--codes: {CODES + 1}, expected 1..{CODES}", "build", "--input", "a.npy", "--codes", CODES + 1,
                     "--output", "y.sidx")

    def test_sids_of_255_codes(self):
        sids = [[0] * 255, [0] * 254 + [1], [0] * 63 + [1] + [0] * 191, [1] * 255]
        logits = self.write("f.npy", npy("<f4", (255, 2), [-1.0, -2.0] * 255))
        for kinds in KINDS:
            index = self.index("--codes", 2, "--kinds", kinds, catalogue=[(str(i), sid) for i, sid in enumerate(sids)])
            self.ok("verify", index)
            info = self.json("inspect", index)
            self.assertEqual((info["levels"], len(info["nodes_per_level"]), info["nodes_per_level"][-1]), (255, 255, 4))
            for ordinal, sid in enumerate(sorted(sids)):
                self.assertEqual(self.json("lookup", index, "--sid", ",".join(map(str, sid)))["ordinal"], ordinal)
            report = self.json("decode", index, "--logits", logits, "--beams", 4, "--normalize", "none")
            beams = report["requests"][0]["beams"]
            self.assertEqual([beam["sid"] for beam in beams], [sids[0], sids[1], sids[2], sids[3]])
            self.assertEqual([beam["score"] for beam in beams], [-255, -256, -256, -510])
        self.write("a.jsonl", json.dumps({"item": 1, "sid": [0] * 256}))
        self.fails("SID of more than 255 codes, expected at most 255", "build", "--input", self.path("a.jsonl"),
                   "--output", self.path("y.sidx"))
