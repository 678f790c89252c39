"""Hash sets: files from before 1.2, seeds, and SIDs chosen to crowd them, computed here from schemas/README.md alone.
SPDX-License-Identifier: Apache-2.0
"""
import random

from support import Case, data, npy

MASK = 2**64 - 1
PLAIN = (0, 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53)


def mix(x, a, b, c):
    x ^= a
    x = (x ^ x >> 33) * b & MASK
    x = (x ^ x >> 33) * c & MASK
    return x ^ x >> 33


def unmix(x, a, b, c):
    x = (x ^ x >> 33) * pow(c, -1, 2**64) & MASK
    x = (x ^ x >> 33) * pow(b, -1, 2**64) & MASK
    return x ^ x >> 33 ^ a


def key_mix(seed):
    step = 0x9e3779b97f4a7c15
    a, b, c = (mix(seed + n * step & MASK, *PLAIN) for n in (1, 2, 3))
    return a, b | 1, c | 1


LIST = [mix(i, *PLAIN) for i in range(1, 9)]


def crowd(seed, count, capacity=4096):
    """SIDs of three codes out of 2^20 whose keys begin at slot 7."""
    multiple = 0
    while count:
        multiple += 1
        key = unmix(multiple * capacity + 7, *key_mix(seed))
        if key < 2**60:
            yield tuple(key >> 20 * level & 0xfffff for level in range(3))
            count -= 1


class Hash(Case):
    def catalogue(self, seeds):
        """2000 SIDs, which make a set of 4096 slots."""
        generator = random.Random(5)
        sids = [sid for seed in seeds for sid in crowd(seed, 140)]
        sids += [tuple(generator.randrange(2**20) for _ in range(3)) for _ in range(2000 - len(sids))]
        return self.write("crowd.npy", npy("<i4", (2000, 3), [code for sid in sids for code in sid]))

    def build(self, source, *options, name="x.sidx"):
        self.ok("build", "--input", source, "--codes", 2**20, "--kinds", "hash", "--output", self.path(name), *options)
        self.ok("verify", "--full", self.path(name))
        return self.read(name)

    def test_chosen_sids_do_not_stop_a_build_before_they_crowd_every_seed(self):
        self.build(self.catalogue(LIST[:7]))
        source = self.catalogue(LIST)
        self.fails("crowd.npy': the SIDs crowd the hash set", "build", "--input", source, "--codes", 2**20, "--kinds",
                   "hash", "--output", self.path("y.sidx"))
        self.build(source, "--hash-seed", 2**64 - 5)

    def test_a_seed_is_part_of_what_makes_the_same_bytes(self):
        source = self.catalogue([])
        plain = self.build(source)
        own = self.build(source, "--hash-seed", 77)
        self.assertEqual(self.build(source, "--hash-seed", 77, "--threads", 3), own)
        self.assertNotEqual(own, plain)
        self.assertNotEqual(self.build(source, "--hash-seed", 78), own)
        self.assertEqual(self.build(source, "--hash-seed", 0), plain)
        integer = "--hash-seed: '%s', expected an integer from 0 to 2^64-1"
        texts = {wrong: integer % wrong for wrong in ["-1", "x", str(2**64)]}
        for wrong, text in {**texts, "": "--hash-seed: empty, expected a value"}.items():
            self.misused(text, "build", "--input", source, "--output", self.path("z"), "--hash-seed", wrong)


class Older(Case):
    """The files of data/, against files built now from the same SIDs."""

    def rebuilt(self, index, items, *options):
        sids = [(str(i), self.json("lookup", index, "--item", i)["sids"][0]["sid"]) for i in range(items)]
        return sids, self.index("--kinds", "hash", *options, catalogue=sids, name="new.sidx")

    def test_decode_the_same(self):
        for name, items, levels, codes in [("radix", 40, 3, 16), ("hashed", 20, 8, 512)]:
            old = data("hash_1_1_%s.sidx" % name)
            self.ok("verify", "--full", old)
            report = self.json("inspect", old)
            self.assertEqual(report["format_version"], "1.1")
            self.assertIn("hash_keys", [section["kind"] for section in report["sections"]])
            sids, new = self.rebuilt(old, items, "--codes", codes)
            self.assertEqual(self.json("inspect", new)["fingerprint"], report["fingerprint"])
            generator = random.Random(1)
            rows = [generator.gauss(0, 1) for _ in range(2 * levels * codes)]
            for request in range(2):  # so that some beams end in SIDs
                for level, code in enumerate(sids[request][1]):
                    rows[(request * levels + level) * codes + code] += 9
            logits = self.write("f.npy", npy("<f4", (2, levels, codes), rows))
            decoded = [self.json("decode", index, "--logits", logits, "--beams", 8, "--strategy", "hash_final")
                       for index in (old, new)]
            self.assertEqual(decoded[0], decoded[1])
            self.assertGreater(decoded[0]["requests"][0]["live"], 0)

    def test_find_the_same(self):
        old = data("hash_1_1_variable.sidx")
        self.ok("verify", "--full", old)
        sids, new = self.rebuilt(old, 30, "--codes", 16, "--variable-length")
        for _, sid in sids:
            for codes in [sid, [15 - code for code in sid]]:
                text = ",".join(map(str, codes))
                self.assertEqual(self.json("lookup", old, "--sid", text), self.json("lookup", new, "--sid", text))
