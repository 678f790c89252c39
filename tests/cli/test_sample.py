"""sidbeam sample: its numbers against laws computed here, its promises, its errors.
SPDX-License-Identifier: Apache-2.0
"""
import math
import random

from support import CATALOGUE, npy
from test_decode import Decode, log_softmax

INF = float("inf")
DRAW = ["sid", "ordinal", "accepted", "draws_used", "rows_run", "log_x", "log_p", "items"]


def law(sids, rows):
    """{sid: (log P, log x)}, where P is normalised over the whole row."""
    logp = [log_softmax(row, range(len(row))) for row in rows]
    out = {}
    for sid in sids:
        log_p = log_x = 0.0
        for level, code in enumerate(sid):
            valid = {s[level] for s in sids if s[:level] == sid[:level]}
            log_p += logp[level][code]
            log_x += math.log(math.fsum(math.exp(logp[level][c]) for c in valid))
        out[sid] = (log_p, log_x)
    return out


class Sample(Decode):
    def setUp(self):
        super().setUp()
        self.sids = sorted(set(CATALOGUE.values()))
        self.file = self.index("--codes", "4")
        draw = random.Random(5)
        self.rows = [[round(draw.uniform(-2, 2), 3) for _ in range(4)] for _ in range(3)]
        self.law = law(self.sids, self.rows)

    def sample(self, logits, *options):
        report = self.json("sample", self.file, "--logits", logits, *options)
        self.assertEqual(list(report), ["requests"])
        for request in report["requests"]:
            self.assertEqual(list(request), ["draws"] + ["error"] * ("error" in request))
            for one in request["draws"]:
                self.assertEqual(list(one), DRAW)
        return report["requests"]

    def near_law(self, draws, expected, bound):
        """Chi-square of the counts, which exceeds `bound` once in a million."""
        chi = 0.0
        for sid, share in expected.items():
            count = sum(tuple(d["sid"]) == sid for d in draws)
            chi += (count - share * len(draws)) ** 2 / (share * len(draws))
        self.assertLess(chi, bound)

    def test_plain_draws_follow_p_over_x(self):
        draws = self.sample(self.logits(self.rows), "--draws", 20000, "--seed", 3)[0]["draws"]
        self.assertEqual(len(draws), 20000)
        for one in draws[:50]:
            log_p, log_x = self.law[tuple(one["sid"])]
            self.assertAlmostEqual(one["log_p"], log_p, places=5)
            self.assertAlmostEqual(one["log_x"], log_x, places=5)
            self.assertEqual((one["accepted"], one["draws_used"], one["rows_run"]), (True, 1, 1))
            self.assertEqual(one["items"], sorted(i for i, sid in CATALOGUE.items() if list(sid) == one["sid"]))
        self.near_law(draws, {s: math.exp(p - x) for s, (p, x) in self.law.items()}, 40)

    def test_disc_follows_p(self):
        mass = math.fsum(math.exp(p) for p, _ in self.law.values())
        draws = self.sample(self.logits(self.rows), "--draws", 5000, "--seed", 3, "--disc", 30)[0]["draws"]
        self.near_law(draws, {s: math.exp(p) / mass for s, (p, _) in self.law.items()}, 40)
        used = sum(d["draws_used"] for d in draws) / len(draws)
        self.assertAlmostEqual(used, 1 / mass, delta=0.15 / mass)

    def test_results_do_not_depend_on_the_batch(self):
        logits = self.logits([self.rows, self.rows[::-1]])
        repeats = ["--disc", 3, "--without-replacement"]
        for options in ([], ["--disc", 2], repeats, ["--without-replacement"],
                        ["--top-k", 2, "--temperature", 0.5], ["--top-p", 0.95]):
            one = self.sample(logits, "--draws", 6, "--seed", -7, "--rows", 1, *options)
            all_ = self.sample(logits, "--draws", 6, "--seed", -7, *options)
            more = self.sample(logits, "--draws", 5, "--seed", -7, *options)
            self.assertEqual(one, all_, options)
            if options is not repeats:  # only draws that replace repeats are numbered by how many results there are
                self.assertEqual([r["draws"][:5] for r in all_], [r["draws"] for r in more], options)
            self.assertNotEqual(all_[0]["draws"], all_[1]["draws"], options)

    def test_without_replacement_is_every_sid_once(self):
        for options in (["--disc", 2], []):
            draws = self.sample(self.logits(self.rows), "--draws", len(self.sids), "--seed", 1, "--without-replacement",
                                *options)[0]["draws"]
            self.assertEqual(sorted(tuple(d["sid"]) for d in draws), self.sids)
            for one in draws:
                self.assertAlmostEqual(one["log_p"], self.law[tuple(one["sid"])][0], places=5)
        draws = self.sample(self.logits(self.rows), "--draws", 20, "--seed", 1, "--without-replacement")[0]["draws"]
        self.assertEqual(len(draws), len(self.sids))

    def test_strategies_and_truncation_draw_alike(self):
        self.file = self.index("--codes", "4", "--kinds", "trie,sorted")
        logits = self.logits(self.rows)
        options = ["--draws", 50, "--seed", 9, "--top-k", 3]
        trie = self.sample(logits, *options)
        self.assertEqual(self.sample(logits, *options, "--strategy", "sorted"), trie)
        self.assertEqual(self.sample(logits, *options, "--strategy", "sorted_topk"), trie)

    def test_draws_that_truncation_kills(self):
        rows = [[9.0, 0, 0, 0], [0.0, 9, 0, 0], [0.0, 0, 0, 0]]  # no SID begins with 0, 1
        draws = self.sample(self.logits(rows), "--draws", 3, "--seed", 1, "--top-k", 1)[0]["draws"]
        for one in draws:
            self.assertEqual([one[k] for k in ("sid", "ordinal", "accepted", "log_p")], [[], -1, False, None])
        draws = self.sample(self.logits(rows), "--draws", 2, "--seed", 1, "--top-k", 1, "--disc", 2)[0]["draws"]
        self.assertEqual([(d["ordinal"], d["draws_used"]) for d in draws], [(-1, 4)] * 2)

    def test_bad_rows_are_flagged_alone(self):
        bad = [[math.nan] * 4] + self.rows[1:]
        good, flagged = self.sample(self.logits([self.rows, bad]), "--draws", 2, "--seed", 1)
        self.assertEqual((list(good), flagged["error"]), (["draws"], "bad_row"))
        self.assertEqual([d["ordinal"] for d in flagged["draws"]], [-1, -1])

    def test_distinct_items_come_with_the_first_draw_of_them(self):
        index = self.index(catalogue=[("7", [0]), ("7", [1]), ("8", [1])])
        logits = self.write("f.npy", npy("<f4", [1, 2], [0.0, 0.0]))
        report = self.json("sample", index, "--logits", logits, "--draws", 20, "--seed", 1, "--distinct")
        items = [item for draw in report["requests"][0]["draws"] for item in draw["items"]]
        self.assertEqual(sorted(items), ["7", "8"])

    def test_the_table_counts(self):
        out = self.ok("sample", self.file, "--logits", self.logits(self.rows), "--draws", 100, "--seed", 1)
        first, header, *lines = out.rstrip("\n").split("\n")
        self.assertIn("request 0: 100 draws of ", first)
        self.assertEqual(header.split()[:2], ["count", "share"])
        counts = [int(line.split()[0]) for line in lines]
        self.assertEqual(sum(counts), 100)
        self.assertEqual(counts, sorted(counts, reverse=True))

    def test_wrong_usage(self):
        logits = self.logits(self.rows)
        for options, expected in (
                (["--temperature", "-1"], "--temperature: expected a number above 0"),
                (["--temperature", "nan"], "--temperature: expected a number above 0"),
                (["--top-p", "0"], "--top-p: expected a number above 0 and at most 1"),
                (["--top-p", "1.5"], "--top-p: expected a number above 0 and at most 1"),
                (["--disc", "0"], "Value 0 not in range 1 to 1024"),
                (["--draws", "0"], "Value 0 not in range 1 to 2147483647"),
                (["--seed", "1.5"], "--seed: '1.5', expected an integer"),
                (["--strategy", "hash_final"], "--strategy: hash_final not in"),
                (["--normalize", "valid"], "--normalize: valid not in"),
                (["--strategy", "sorted_topk"], "--strategy: sorted_topk is exact only with --top-k"),
                (["--without-replacement", "--top-k", "2"], "--without-replacement: goes with --top-k"),
                (["--disc", "1", "--draws", "1048577"], "--draws: expected at most 1048576 with --disc"),
                (["--without-replacement", "--draws", "5000"], "--draws: expected at most 4096")):
            given = {"--draws": "3", "--seed": "1"}
            given = [x for k, v in given.items() if k not in options for x in (k, v)]
            self.misused(expected, "sample", self.file, "--logits", logits, *given, *options)
        self.misused("--seed is required", "sample", self.file, "--logits", logits, "--draws", "3")
