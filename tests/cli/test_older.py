"""Files that 1a20fda wrote, the last code before SIDs of more than 64 codes and levels of more than 2^20: they open,
and answer like an index that is built now. SPDX-License-Identifier: Apache-2.0
"""
import json
import random

from support import Case, data, npy

# Level 1 has a node with a dense mask; the items 0 .. 9 have two SIDs each.
FIXED = [(i % 70, (i // 70, i % 70 + i // 70, i % 5)) for i in range(80)]
FIXED_OPTIONS = ["--codes", "4,100,5", "--kinds", "trie,sorted,hash", "--metadata", "made=then", "--codebook", "books"]
# 1 to 64 codes, in a compact trie; SIDs with two items, one of which has two SIDs.
LENGTHS = [1, 64, 9, 63, 2, 33, 64, 17, 5, 40]
VARIABLE = [("item %d" % i, tuple((i >> level % 4) * (level + 1) % 3 for level in range(length)))
            for i, length in enumerate(LENGTHS)]
VARIABLE += [("item 1", VARIABLE[2][1]), ("\u00e9", VARIABLE[1][1])]
VARIABLE_OPTIONS = ["--codes", "3", "--levels", "64", "--variable-length", "--kinds", "compact,sorted"]


class Older(Case):
    def same(self, name, catalogue, options, strategies):
        lines = [json.dumps({"item": item, "sid": sid, "priority": i % 3}) for i, (item, sid) in enumerate(catalogue)]
        new, old = self.path("new.sidx"), data(name)
        self.ok("build", "--input", self.write("a.jsonl", "\n".join(lines)), "--output", new, *options)
        self.ok("verify", "--full", old)
        with open(old, "rb") as file:  # what came since is written only where it is asked for
            self.assertEqual(self.read("new.sidx"), file.read())
        reports = [self.json("inspect", index) for index in (old, new)]
        for report in reports:
            self.assertEqual(report.pop("format_version"), "1.2")
            report.pop("path", None)
        self.assertEqual(*reports)
        for item, sid in catalogue[::6]:
            for question in (["--item", item], ["--sid", ",".join(map(str, sid))], ["--prefix", sid[0]]):
                self.assertEqual(*[self.json("lookup", index, *question) for index in (old, new)])
        generator = random.Random(4)
        levels, columns = reports[0]["levels"], max(reports[0]["codes"]) + 1  # the last one is the end's
        logits = self.write("f.npy", npy("<f4", (2, levels, columns),
                                         [generator.gauss(0, 1) for _ in range(2 * levels * columns)]))
        end = ["--end-column", columns - 1] if reports[0]["variable_length"] else []
        for strategy in strategies:
            decoded = [self.json("decode", index, "--logits", logits, "--beams", 8, "--strategy", strategy, *end)
                       for index in (old, new)]
            self.assertEqual(*decoded)
            self.assertGreater(decoded[0]["requests"][0]["live"], 0)

    def test_every_kind_of_section_of_sids_of_one_length(self):
        self.same("all_1_2_fixed.sidx", FIXED, FIXED_OPTIONS, ["trie", "sorted", "sorted_topk", "hash_final"])

    def test_sids_of_up_to_64_codes(self):
        self.same("all_1_2_variable.sidx", VARIABLE, VARIABLE_OPTIONS, ["trie", "sorted", "sorted_topk"])
