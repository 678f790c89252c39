"""sidbeam convert against STATIC's construction, done here naively from the list of SIDs.
SPDX-License-Identifier: Apache-2.0
"""
import os
import random

from support import Case, data, read_npy

ARRAYS = ["start_mask", "dense_mask", "dense_states", "packed_csr", "csr_indptr", "layer_max_branches"]

# The four-SID case of STATIC's own tests: V = 10, L = 5.
FOUR = [(1, 2, 3, 4, 5), (1, 2, 3, 4, 6), (1, 3, 0, 0, 0), (9, 2, 3, 4, 5)]


def static_arrays(sids, codes, dense):
    """name -> (shape, flat values), from prefixes as dictionary keys."""
    sids = sorted(set(sids))
    levels = len(sids[0])
    states = {(t,): t + 1 for t in range(codes)}
    for length in range(2, levels):
        for prefix in sorted({s[:length] for s in sids}):
            states[prefix] = len(states) + 1
    children = {}
    for s in sids:
        for length in range(levels):
            children.setdefault(s[:length], set()).add(s[length])
    by_state = sorted((state, prefix) for prefix, state in states.items())
    packed, pointers = [], [0, 0]
    for _, prefix in by_state:
        for token in sorted(children.get(prefix, ())):
            packed += [token, states.get(prefix + (token,), 0)]
        pointers.append(len(packed) // 2)
    packed += [codes, 0] * codes
    pointers.append(len(packed) // 2)
    mask, table = [0] * codes**dense, [0] * codes**dense
    for s in sids:
        cell = 0
        for token in s[:dense]:
            cell = cell * codes + token
        mask[cell], table[cell] = 1, states[s[:dense]]
    start = [int((t,) in children) for t in range(codes)]
    widest = [max(len(c) for p, c in children.items() if len(p) == length) for length in range(levels)]
    return {"start_mask": ((codes,), start), "dense_mask": ((codes,) * dense, mask),
            "dense_states": ((codes,) * dense, table), "packed_csr": ((len(packed) // 2, 2), packed),
            "csr_indptr": ((len(pointers),), pointers), "layer_max_branches": ((levels,), widest)}


class Convert(Case):
    def check(self, sids, codes, dense, per_level=None, kinds="trie"):
        index = self.index("--codes", per_level or codes, "--kinds", kinds, catalogue=list(enumerate(sids)))
        self.ok("convert", index, "--output-dir", self.path("static"), "--dense-levels", dense)
        expected = static_arrays(sids, codes, dense)
        self.assertEqual(sorted(os.listdir(self.path("static"))), sorted(name + ".npy" for name in ARRAYS))
        for name in ARRAYS:
            dtype, shape, values = read_npy(self.path("static/%s.npy" % name))
            self.assertEqual(dtype, "|b1" if name.endswith("mask") else "<i4")
            self.assertEqual((shape, list(values)), expected[name], name)

    def test_four_sids(self):
        for dense in [1, 2]:
            self.check(FOUR, 10, dense)

    def test_by_hand(self):
        self.check([(0, 1), (0, 2), (2, 0)], 3, 1)
        self.assertEqual(list(read_npy(self.path("static/packed_csr.npy"))[2]), [1, 0, 2, 0, 0, 0, 3, 0, 3, 0, 3, 0])
        self.assertEqual(list(read_npy(self.path("static/csr_indptr.npy"))[2]), [0, 0, 2, 2, 3, 6])

    def test_random_catalogues(self):
        for seed in range(12):
            generator = random.Random(seed)
            levels, codes = generator.randrange(2, 7), generator.randrange(1, 9)
            sids = [tuple(generator.randrange(codes) for _ in range(levels)) for _ in range(generator.randrange(1, 60))]
            with self.subTest(seed=seed):
                dense = 1 if levels == 2 else generator.randrange(1, 3)
                for kinds in ["trie", "compact"]:
                    self.check(sids, codes, dense, kinds=kinds)

    def test_codes_a_level_become_the_largest(self):
        self.check([(0, 4, 1), (1, 0, 0)], 5, 2, per_level="2,5,3")

    def test_report(self):
        index = self.index("--codes", "10", catalogue=list(enumerate(FOUR)))
        report = self.json("convert", index, "--output-dir", self.path("static"))
        self.assertEqual(list(report), ["output_dir", "vocab_size", "dense_levels", "states", "edges", "arrays",
                                        "seconds"])
        self.assertEqual((report["vocab_size"], report["states"], report["edges"]), (10, 20, 13))
        self.assertEqual(report["arrays"]["packed_csr"], "(23, 2)")

    def test_checksums_are_not_enough(self):
        """More prefixes begin than the header counts, since the SIDs are out of order."""
        index = data("out_of_order.sidx")
        self.assertEqual(self.json("verify", index)["checked"], ["header", "checksums"])
        for dense in ["1", "2"]:
            self.fails("out_of_order.sidx': section columns of level 0: entry 2 falls (0 after 1)", "convert", index,
                       "--output-dir", self.path("static"), "--dense-levels", dense)
            self.assertFalse(os.path.exists(self.path("static")))

    def test_failures(self):
        index = self.index()
        out = ["--output-dir", self.path("static")]
        self.misused("--dense-levels: Value 3 not in range 1 to 2", "convert", index, *out, "--dense-levels", "3")
        short = self.index(catalogue=[("1", [0, 1]), ("2", [1, 1])], name="short.sidx")
        self.fails("--dense-levels: 2, expected less than the 2 levels of the index", "convert", short, *out)
        variable = self.index("--variable-length", catalogue=[("1", [0, 1, 2]), ("2", [1])], name="v.sidx")
        self.fails("SIDs of different lengths, which STATIC has no form for", "convert", variable, *out)
        self.assertFalse(os.path.exists(self.path("static")))
        self.fails("cannot create", "convert", index, "--output-dir", self.path("nowhere/static"))
        self.fails("cannot create '" + self.path("x.sidx/start_mask.npy"), "convert", index, "--output-dir", index)
