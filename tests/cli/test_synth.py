"""sidbeam synth: shape, range, determinism, and that zipf clusters.
SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import os

from support import Case, read_npy

# Hashes of files that this program made: the generator must not change by accident.
DIGESTS = {"uniform": "244d352dd48e6ed2b167cf078eb0e59fe3c153b24eeedd4c703a65a5a49eed37",
           "zipf": "b2206652f0afeded3614c81c0a881e89ed19c7d063a0c5db9373b8e0a6755bd5"}


class Synth(Case):
    def synth(self, *options, name="a.npy"):
        self.ok("synth", "--output", self.path(name), *options)
        return read_npy(self.path(name))

    def test_shape_and_range(self):
        for skew in ["uniform", "zipf"]:
            dtype, shape, values = self.synth("--items", 5000, "--levels", 3, "--codes", "4,7,1", "--skew", skew)
            self.assertEqual((dtype, shape, len(values)), ("<i4", (5000, 3), 15000))
            for level, codes in enumerate([4, 7, 1]):
                self.assertEqual(set(values[level::3]), set(range(codes)))

    def test_a_seed_gives_the_same_bytes_on_every_machine(self):
        digests = {}
        for skew in ["uniform", "zipf"]:
            options = ["--items", 1000, "--levels", 4, "--codes", "256,100,33,1048576", "--skew", skew]
            self.synth(*options, "--seed", 42)
            first = self.read("a.npy")
            digests[skew] = hashlib.sha256(first).hexdigest()
            self.synth(*options, "--seed", 42)
            self.assertEqual(self.read("a.npy"), first)
            self.synth(*options, "--seed", 43)
            self.assertNotEqual(self.read("a.npy"), first)
        self.assertEqual(digests, DIGESTS)

    def test_rows_do_not_depend_on_how_many_there_are(self):
        long = self.synth("--items", 40000, "--levels", 2, "--codes", 99)[2]
        self.assertEqual(self.synth("--items", 100, "--levels", 2, "--codes", 99)[2], long[:200])

    def test_zipf_shares_prefixes_and_orders_children_by_prefix(self):
        options = ["--items", 20000, "--levels", 2, "--codes", 256]
        prefixes, favourites = {}, set()
        for skew in ["uniform", "zipf"]:
            values = self.synth(*options, "--skew", skew)[2]
            rows = list(zip(values[::2], values[1::2]))
            prefixes[skew] = len(set(rows))
            counts = [0] * 256
            for first, _ in rows:
                counts[first] += 1
            if skew == "uniform":
                self.assertLess(max(counts), 2 * 20000 // 256)
                continue
            # Of the ranks r = 1 .. 256, weighted 1/r, the first has 16 % and the second 8 %.
            top = sorted(counts)[-2:]
            self.assertAlmostEqual(top[1] / 20000, 0.163, delta=0.02)
            self.assertAlmostEqual(top[0] / 20000, 0.082, delta=0.02)
            for first in sorted(range(256), key=lambda code: -counts[code])[:8]:
                below = [second for a, second in rows if a == first]
                favourites.add(max(set(below), key=below.count))
        self.assertLess(prefixes["zipf"], 0.6 * prefixes["uniform"])
        self.assertGreater(len(favourites), 3)

    def test_report(self):
        report = self.json("synth", "--items", 10, "--levels", 2, "--codes", 5, "--output", self.path("a.npy"))
        self.assertEqual(list(report), ["output", "items", "levels", "codes", "skew", "seed", "bytes", "seconds"])
        self.assertEqual(report["bytes"], os.path.getsize(self.path("a.npy")))

    def test_builds(self):
        self.synth("--items", 20000, "--levels", 3, "--codes", 64, "--skew", "zipf")
        report = self.json("build", "--input", self.path("a.npy"), "--output", self.path("x.sidx"))
        self.assertEqual(report["items"], 20000)
        self.ok("verify", "--full", self.path("x.sidx"))

    def test_nonsense_is_refused(self):
        def misused(text, items=1, levels=1, codes=1, *more):
            self.misused(text, "synth", "--items", items, "--levels", levels, "--codes", codes, "--output", "x", *more)
        misused("--items: Value 0 not in range 1 to ", items=0)
        misused("--items: Value -3 not in range 1 to ", items=-3)
        misused("--items: Value 2199023255552 not in range 1 to ", items=2**41)
        misused("--items: 'many', expected an integer", items="many")
        misused("--levels: Value 0 not in range 1 to 255", levels=0)
        misused("--levels: Value 256 not in range 1 to 255", levels=256)
        misused("--codes: 0, expected 1..16777216", codes=0)
        misused("--codes: 16777217, expected 1..16777216", codes=2**24 + 1)
        misused("--codes: 3 numbers, expected 1 or 2", 1, 2, "1,2,3")
        misused("--skew: normal not in {", 1, 1, 1, "--skew", "normal")
        misused("--seed: 'x', expected an integer", 1, 1, 1, "--seed", "x")
