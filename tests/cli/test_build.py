"""sidbeam build and plan: reports, options, the output file.
SPDX-License-Identifier: Apache-2.0
"""
import os
import random

from support import CATALOGUE, Case, npy

BUILD_KEYS = ["output", "format", "rows", "sids", "items", "merged_pairs", "collisions", "max_items_per_sid", "levels",
              "codes", "bytes", "bytes_per_item", "fingerprint", "seconds", "seen"]
PLAN_KEYS = ["exact", "sids", "items", "levels", "codes", "kinds", "file_bytes", "bytes_per_item", "peak_bytes",
             "nodes_per_level", "sections"]


class Build(Case):
    def setUp(self):
        super().setUp()
        rows = list(CATALOGUE.items()) + [("10", CATALOGUE["10"])]
        self.source = self.jsonl("a.jsonl", rows)
        self.output = self.path("x.sidx")
        self.arguments = ["build", "--input", self.source, "--output", self.output]

    def test_report(self):
        report = self.json(*self.arguments)
        self.assertEqual(list(report), BUILD_KEYS)
        expected = {"output": self.output, "format": "jsonl", "rows": 9, "sids": 7, "items": 8, "merged_pairs": 1,
                    "collisions": 1, "max_items_per_sid": 2, "levels": 3, "codes": [4, 4, 4],
                    "bytes": os.path.getsize(self.output)}
        self.assertEqual({key: report[key] for key in expected}, expected)
        self.assertEqual(report["bytes_per_item"], report["bytes"] / 8)
        self.assertGreaterEqual(report["seconds"], 0)

    def test_table(self):
        out = self.ok(*self.arguments)
        for line in ["codes per level  4,4,4 (from the data)", "SIDs             7", "merged pairs     1"]:
            self.assertIn(line + "\n", out)
        self.assertIn("codes per level  9,9,9\n", self.ok(*self.arguments, "--codes", "9"))

    def test_same_catalogue_gives_the_same_bytes_in_any_order_and_number_of_threads(self):
        generator = random.Random(7)
        rows = [(str(i), [generator.randrange(9) for _ in range(4)]) for i in range(3000)]
        files = []
        for threads in [1, 2, 3]:
            generator.shuffle(rows)
            source = self.jsonl("rows.jsonl", rows)
            self.ok("build", "--input", source, "--output", self.output, "--threads", threads, "--kinds",
                    "hash,trie,sorted")
            files.append(self.read("x.sidx"))
        self.assertEqual(files[0], files[1])
        self.assertEqual(files[0], files[2])

    def test_kinds_do_not_change_the_fingerprint(self):
        fingerprints = set()
        for kinds in ["trie", "trie,compact", "sorted", "hash", "sorted,hash", "trie,hash,sorted"]:
            fingerprints.add(self.json(*self.arguments, "--kinds", kinds)["fingerprint"])
            columns = ["sorted"] if "hash" in kinds else []  # hash keys are checked against them
            self.assertEqual(set(self.json("inspect", self.output)["kinds"]), {*kinds.split(","), *columns}, kinds)
        self.assertEqual(len(fingerprints), 1)

    def test_collisions(self):
        self.fails("a.jsonl': the SID 3,1,2 has the items 10", *self.arguments, "--collisions", "error")
        self.assertFalse(os.path.exists(self.output))
        self.assertEqual(self.json(*self.arguments, "--collisions", "first")["items"], 7)
        self.assertEqual(self.json(*self.arguments, "--collisions", "keep")["items"], 8)

    def test_metadata_and_codebook(self):
        self.ok(*self.arguments, "--metadata", "b=2=3", "--metadata", "a=", "--codebook", "rq-vae 7")
        report = self.json("inspect", self.output)
        self.assertEqual((report["metadata"], report["codebook"]), ({"a": "", "b": "2=3"}, "rq-vae 7"))
        self.misused("--metadata: 'x', expected key=value", *self.arguments, "--metadata", "x")
        self.misused("--metadata: '=x', expected key=value", *self.arguments, "--metadata", "=x")
        self.misused("--metadata: key 'k' comes twice", *self.arguments, "--metadata", "k=a", "--metadata", "k=b")

    def test_memory_limit(self):
        self.fails("bytes, memory_limit_bytes is 1024", *self.arguments, "--memory-limit", "1K")
        self.ok(*self.arguments, "--memory-limit", "1G")

    def test_failure_keeps_the_old_file_and_leaves_nothing_else(self):
        self.ok(*self.arguments)
        before = self.read("x.sidx")
        self.fails("expected 0..1", *self.arguments, "--codes", "2")
        self.fails("the SID 3,1,2 has the items ", *self.arguments, "--collisions", "error")
        self.assertEqual(self.read("x.sidx"), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.jsonl", "x.sidx"])

    def test_more_rows_than_a_batch(self):
        count = 3 * 65536 + 5
        codes = [(i * 7919) % 251 if j == 0 else (i // (1 + 60 * j)) % 97 for i in range(count) for j in range(3)]
        self.write("big.npy", npy("<i2", (count, 3), codes))
        report = self.json("build", "--input", self.path("big.npy"), "--output", self.output)
        rows = {tuple(codes[i:i + 3]) for i in range(0, len(codes), 3)}
        self.assertEqual((report["rows"], report["items"], report["sids"]), (count, count, len(rows)))
        self.ok("verify", "--full", self.output)
        last = self.json("lookup", self.output, "--item", count - 1)
        self.assertEqual(last["sids"][0]["sid"], codes[-3:])


class Plan(Case):
    def test_plan_of_a_catalogue_is_the_size_of_the_file(self):
        for kinds in ["trie", "compact", "sorted", "hash", "trie,sorted,hash"]:
            source = self.jsonl("a.jsonl", CATALOGUE.items())
            plan = self.json("plan", "--input", source, "--kinds", kinds)
            self.assertEqual(list(plan), PLAN_KEYS)
            index = self.index("--kinds", kinds)
            self.assertEqual((plan["exact"], plan["sids"], plan["items"]), (True, 7, 8))
            self.assertEqual(plan["file_bytes"], os.path.getsize(index))
            report = self.json("inspect", index)
            self.assertEqual(plan["nodes_per_level"], report["nodes_per_level"])
            self.assertEqual(plan["sections"], report["sections"])

    def test_estimate(self):
        plan = self.json("plan", "--items", 1000000, "--levels", 3, "--codes", "256,512,1024", "--kinds", "trie,hash")
        self.assertEqual((plan["exact"], plan["sids"], plan["codes"]), (False, 1000000, [256, 512, 1024]))
        self.assertEqual(plan["kinds"], ["trie", "hash"])
        self.assertEqual(plan["nodes_per_level"][0], 256)
        self.assertTrue(any(s["kind"] == "seeded_hash_keys" and s["level"] is None for s in plan["sections"]))
        self.assertIn("expected for SIDs drawn uniformly", self.ok("plan", "--items", 9, "--levels", 2, "--codes", 4))

    def test_misuse(self):
        self.misused("expected --input FILE, or --items N", "plan")
        self.misused("--levels: expected with --items", "plan", "--items", "5")
        self.misused("--codes: expected with --items", "plan", "--items", "5", "--levels", "2")
        self.misused("--items: Value 0 not in range 1 to ", "plan", "--items", "0", "--levels", "2", "--codes", "2")
        self.misused("--input excludes --items", "plan", "--items", "5", "--input", "x")

    def test_more_sids_than_there_can_be(self):
        self.fails("sids is 5, but these codes allow only 4 SIDs", "plan", "--items", 5, "--levels", 2, "--codes", 2)
