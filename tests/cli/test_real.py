"""Real catalogues: every SID of every file is found and decoded, and random others are not.
SPDX-License-Identifier: Apache-2.0
"""
import glob
import json
import os
import random

from support import Case, npy, read_npy, real_data


def catalogues():
    """path -> [(item, sid)]"""
    result = {}
    for path in sorted(glob.glob(os.path.join(real_data(), "*", "*.index.json"))):
        with open(path) as file:
            result[path] = [(item, tuple(int(token[token.rindex("_") + 1:-1]) for token in tokens))
                            for item, tokens in json.load(file).items()]
    return result


class Real(Case):
    def build(self, path, *options):
        return self.json("build", "--input", path, "--output", self.path("x.sidx"), "--codes", "256", *options)

    def test_counts(self):
        for path, rows in catalogues().items():
            report = self.build(path)
            items = {}
            for item, sid in rows:
                items.setdefault(sid, []).append(item)
            self.assertEqual((report["items"], report["sids"], report["max_items_per_sid"]),
                             (len(rows), len(items), max(map(len, items.values()))), path)
            self.assertEqual(report["collisions"], sum(len(each) > 1 for each in items.values()))
            self.ok("verify", "--full", self.path("x.sidx"))

    def test_every_sid_is_in_the_converted_arrays_and_nothing_else(self):
        for path, rows in catalogues().items():
            self.build(path)
            self.ok("convert", self.path("x.sidx"), "--output-dir", self.path("static"))
            packed, pointers = (read_npy(self.path("static/%s.npy" % n))[2] for n in ["packed_csr", "csr_indptr"])
            found = []
            start = read_npy(self.path("static/start_mask.npy"))[2]
            stack = [((t,), t + 1) for t in range(256) if start[t]]
            while stack:
                prefix, state = stack.pop()
                for edge in range(pointers[state], pointers[state + 1]):
                    sid, child = prefix + (packed[2 * edge],), packed[2 * edge + 1]
                    (stack.append((sid, child)) if child else found.append(sid))
            self.assertEqual(sorted(found), sorted({sid for _, sid in rows}), path)

    def test_every_sid_is_decoded_with_its_items(self):
        for path, rows in catalogues().items():
            self.build(path, "--kinds", "trie,sorted")
            # One request per first code, so that its continuations fit into the beams.
            firsts, levels, row = sorted({sid[0] for _, sid in rows}), len(rows[0][1]), [0.0] * 256
            requests = []
            for first in firsts:
                requests += [0.0 if t == first else float("-inf") for t in range(256)] + row * (levels - 1)
            logits = self.write("f.npy", npy("<f4", (len(firsts), levels, 256), requests))
            answers = {}
            for strategy in ["trie", "sorted"]:
                answers[strategy] = self.json("decode", self.path("x.sidx"), "--logits", logits, "--beams", 4096,
                                              "--normalize", "none", "--strategy", strategy)["requests"]
            self.assertEqual(answers["trie"], answers["sorted"], path)
            decoded = {}
            for request in answers["trie"]:
                self.assertIsNone(request["error"])
                for beam in request["beams"]:
                    decoded[tuple(beam["sid"])] = beam
            expected = {}
            for item, sid in rows:
                expected.setdefault(sid, []).append(item)
            self.assertEqual({sid: sorted(beam["items"], key=int) for sid, beam in decoded.items()},
                             {sid: sorted(items, key=int) for sid, items in expected.items()}, path)
            self.assertEqual({sid: beam["ordinal"] for sid, beam in decoded.items()},
                             {sid: ordinal for ordinal, sid in enumerate(sorted(expected))}, path)

    def test_a_sample_by_lookup_and_random_others_not_found(self):
        generator = random.Random(11)
        for path, rows in catalogues().items():
            self.build(path)
            sids = {sid for _, sid in rows}
            for item, sid in generator.sample(rows, 15):
                found = self.json("lookup", self.path("x.sidx"), "--sid", ",".join(map(str, sid)))
                self.assertTrue(found["found"] and item in found["items"], (path, sid))
                self.assertEqual(self.json("lookup", self.path("x.sidx"), "--item", item)["sids"],
                                 [{"sid": list(sid), "ordinal": found["ordinal"]}])
            for _ in range(15):
                sid = tuple(generator.randrange(256) for _ in range(len(rows[0][1])))
                if sid not in sids:
                    found = self.json("lookup", self.path("x.sidx"), "--sid", ",".join(map(str, sid)))
                    self.assertFalse(found["found"], (path, sid))

    def test_titles_file_gives_the_same_catalogue(self):
        for path in sorted(glob.glob(os.path.join(real_data(), "*", "*.items.tsv"))):
            with open(path, encoding="utf-8") as file:
                table = "sid\ttitle\titem\n" + file.read().replace('"', "'")
            expected = self.build(path.replace(".items.tsv", ".index.json"))
            self.assertEqual(self.build(path)["fingerprint"], expected["fingerprint"], path)  # without names, as it is
            self.assertEqual(self.build(self.write("items.tsv", table))["fingerprint"], expected["fingerprint"], path)
