"""--exclude, --allow and --where of decode and run, which return what an index of the allowed items alone would.
SPDX-License-Identifier: Apache-2.0
"""
import json
import random
import subprocess
import unittest

import support
from support import TINY, Case, npy

CODES = [5, 4, 6]
OFFSETS = ["--offsets", "16,24,32"]
CONDITIONS = {
    "price<20 and region in (us, ca)": lambda item: item["price"] < 20 and item["region"] in ("us", "ca"),
    'not region="us" or tags contains x': lambda item: item["region"] != "us" or "x" in item["tags"],
    "price between 10 and 90": lambda item: 10 <= item["price"] <= 90,
    "true": lambda item: True,
    "false": lambda item: False,
}


def random_items(generator, count, names=False):
    """Items of one or two SIDs, some of which share them, with attributes."""
    items = []
    for i in range(count):
        sids = [[generator.randrange(c) for c in CODES] for _ in range(generator.choice([1, 1, 2]))]
        if items and generator.random() < 0.3:
            sids[0] = generator.choice(items)["sid"][0]
        items.append({"item": "n%d \u00e9" % i if names else i, "sid": sids, "price": generator.randrange(100),
                      "region": generator.choice(["us", "ca", "de"]),
                      "tags": generator.sample(["x", "y", "z"], generator.randrange(3))})
    return items


class Rules(Case):
    """Items with attributes, and their index x.sidx."""

    def build(self, items, name="x.sidx"):
        rest = {"price": None, "region": None, "tags": None}
        return self.index("--codes", ",".join(map(str, CODES)), "--attributes", "price:i64,region:string,tags:strings",
                          catalogue=[dict(rest, **item) for item in items], name=name)

    def listed(self, name, ids):
        return self.write(name, "".join("%s\n" % id for id in ids))

    def draw(self, generator, items):
        """A list for --exclude or --allow, with doubles and strangers, and what it has of the items."""
        ids = [item["item"] for item in items]
        known = generator.choices(ids, k=generator.choice([0, 1, len(ids) // 4, len(ids) // 2, 2 * len(ids)]))
        unknown = [999 if isinstance(ids[0], int) else "nobody"] * generator.randrange(3)
        both = known + unknown
        generator.shuffle(both)
        return both, set(known), len(unknown)

    def rules(self, generator, items):
        """Options, which of the items they leave, and the counts of the report."""
        options, left, unknown = [], items, {"unknown_excluded": 0, "unknown_allowed": 0}
        if generator.random() < 0.7:
            both, known, unknown["unknown_excluded"] = self.draw(generator, items)
            options += ["--exclude", self.listed("excluded", both)]
            left = [item for item in left if item["item"] not in known]
        if generator.random() < 0.4:
            both, known, unknown["unknown_allowed"] = self.draw(generator, items)
            options += ["--allow", self.listed("allowed", both)]
            left = [item for item in left if item["item"] in known]
        if not options or generator.random() < 0.6:
            text = generator.choice(list(CONDITIONS))
            options += ["--where", text]
            left = [item for item in left if CONDITIONS[text](item)]
        return options, left, unknown

    def same_as_an_index_of(self, left, ask, requests, unknown):
        """requests: of the whole index under rules; ask: asks another index without."""
        rows = len({(item["item"], tuple(sid)) for item in left for sid in item["sid"]})
        for request in requests:
            self.assertEqual(list(request)[3:], ["allowed_items", "unknown_excluded", "unknown_allowed"])
            self.assertEqual({name: request[name] for name in unknown}, unknown)
            self.assertEqual((request["allowed_items"], request["error"]), (rows, None))
        expected = ask(self.build(left, "y.sidx")) if left else [{"beams": []}] * len(requests)
        def shown(requests):
            return [[(beam["sid"], beam["score"], beam["items"]) for beam in each["beams"]] for each in requests]
        self.assertEqual(shown(requests), shown(expected))
        return sum(map(len, shown(expected)))


class Decode(Rules):
    def logits(self, generator, requests):
        rows = [generator.gauss(0, 3) for _ in range(requests * len(CODES) * 8)]
        return self.write("f.npy", npy("<f4", (requests, len(CODES), 8), rows))

    def ask(self, index, *options):
        return self.json("decode", index, "--logits", self.path("f.npy"), *options)["requests"]

    def test_against_an_index_of_the_allowed_items(self):
        found = 0
        for seed in range(16):
            generator = random.Random(seed)
            items = random_items(generator, generator.choice([3, 40, 150]), names=seed % 3 == 0)
            x = self.build(items)
            self.logits(generator, generator.choice([1, 3]))
            how = ["--beams", generator.choice([1, 5, 30]), "--normalize", generator.choice(["full", "level", "valid"])]
            how += generator.choice([[], ["--distinct"], ["--widths", "1,3,5"]]) if how[1] >= 5 else []
            options, left, unknown = self.rules(generator, items)
            with self.subTest(seed=seed, options=options):
                found += self.same_as_an_index_of(left, lambda index: self.ask(index, *how),
                                                  self.ask(x, *how, *options), unknown)
        self.assertGreater(found, 80)

    def test_a_list_per_request(self):
        generator = random.Random(7)
        items = random_items(generator, 60)
        x = self.build(items)
        requests = 70  # more than there are slots
        self.logits(generator, requests)
        drawn = [self.draw(generator, items) for _ in range(requests)]
        allowed = [None if generator.random() < 0.5 else self.draw(generator, items) for _ in range(requests)]
        # Ids are numbers or texts, as in histories.
        lines = [json.dumps(list(map(generator.choice([str, int]), both))) for both, _, _ in drawn]
        options = ["--exclude", self.write("a.jsonl", "\n".join(lines) + "\n\n"), "--where", "price<80", "--allow",
                   self.write("b.jsonl", "\n".join(json.dumps(each and each[0]) for each in allowed))]
        got = self.ask(x, "--beams", 9, *options)
        self.assertEqual(len(got), requests)
        for i in list(range(0, requests, 9)) + [63, 64]:
            left = [item for item in items if item["price"] < 80 and item["item"] not in drawn[i][1]
                    and (allowed[i] is None or item["item"] in allowed[i][1])]
            unknown = {"unknown_excluded": drawn[i][2], "unknown_allowed": allowed[i][2] if allowed[i] else 0}
            self.same_as_an_index_of(left, lambda index: [self.ask(index, "--beams", 9)[i]], [got[i]], unknown)

    def test_variable_length(self):
        sids = {"a": [1], "b": [1, 2], "c": [1, 2, 3], "d": [0, 0], "e": [1]}
        index = self.index("--variable-length", "--codes", "4", "--levels", 3, catalogue=sids)
        ask = ["--beams", 9, "--end-column", 7]
        self.logits(random.Random(1), 1)
        got = self.ask(index, *ask, "--exclude", self.listed("seen", "acb"))
        self.assertEqual(got[0]["allowed_items"], 2)
        left = self.index("--variable-length", "--codes", "4", "--levels", 3, catalogue={"d": [0, 0], "e": [1]},
                          name="y.sidx")
        expected = self.ask(left, *ask)[0]["beams"]
        self.assertEqual([(b["sid"], b["score"], b["items"]) for b in got[0]["beams"]],
                         [(b["sid"], b["score"], b["items"]) for b in expected])
        self.assertEqual(sorted(b["items"] for b in expected), [["d"], ["e"]])

    def test_text(self):
        x = self.build([{"item": "a\x1b[2J", "sid": [[0, 0, 0]]}, {"item": "b", "sid": [[0, 0, 0]]}])
        self.logits(random.Random(1), 1)
        ask = ["decode", x, "--logits", self.path("f.npy"), "--beams", 1, "--exclude"]
        out = self.ok(*ask, self.listed("l", ["b", "c", "c"]), "--allow", self.listed("m", ["a\x1b[2J", "c"]))
        self.assertEqual(out.splitlines()[0],
                         "request 0: 1 live, 1 items allowed, 2 of --exclude unknown, 1 of --allow unknown")
        self.assertIn("a\\x1b[2J\n", out)
        self.assertEqual(self.ok(*ask, self.listed("l", ["a\x1b[2J", "b"])), "request 0: 0 live, 0 items allowed\n")

    def test_u64(self):
        ids = ["18446744073709551615", "3"]
        index = self.index("--codes", "8", catalogue=[(id, [0]) for id in ids])
        self.write("f.npy", npy("<f4", (1, 8), [0.0] * 8))
        for ids_of in [self.listed("l", ids[:1]), self.write("l.jsonl", "[%s]" % ids[0])]:
            got = self.ask(index, "--beams", 2, "--exclude", ids_of)
            self.assertEqual((got[0]["beams"][0]["items"], got[0]["unknown_excluded"]), (["3"], 0))
        self.fails("'-1', expected an unsigned 64-bit integer", "decode", index, "--logits", self.path("f.npy"),
                   "--beams", 1, "--exclude", self.listed("l", ["-1"]))


class Refusals(Rules):
    """Every error names the option, or the file and its line."""

    def setUp(self):
        super().setUp()
        self.x = self.build([{"item": i, "sid": [[i, i, i]], "price": i} for i in range(4)])
        self.logits = self.write("f.npy", npy("<f4", (2, 3, 8), [0.0] * 48))

    def refused(self, text, *options, index=None):
        self.fails(text, "decode", index or self.x, "--logits", self.logits, "--beams", 2, *options)

    def test_lists(self):
        for option in "--exclude", "--allow":
            for content, text in [(b"1\n\n\r\nseven\n", "l':4: 'seven', expected a signed 64-bit integer, as the ids"),
                                  (b"1\n2.0\n", "l':2: '2.0', expected a signed"),
                                  (b"1\n 2\n", "l':2: ' 2', expected a signed"),
                                  (b"1\x002\n", "l':1: '1\\x002', expected a signed"),
                                  (b"\xff\n", "l':1: '\\xff', expected a signed"),
                                  (b"9223372036854775808", "l':1: '9223372036854775808', expected a signed"),
                                  (b"1" * (1 << 22), "':1: '%s...', expected a signed" % ("1" * 80))]:
                self.refused(text, option, self.write("l", content))
            for content, text in [(b"[1]\n", "l.jsonl': 1 lists, expected 2, one per request"),
                                  (b"[1]\n[2]\n\n[3]\n", "l.jsonl': 3 lists, expected 2, one per request"),
                                  (b"[1]\n7\n", "l.jsonl':2: expected an array of ids, or null"),
                                  (b'[1]\n{"ids": [2]}\n', "l.jsonl':2: expected an array of ids, or null"),
                                  (b"[1]\n[1.5]\n", "l.jsonl':2: 1.5, expected a string or an integer"),
                                  (b"[1]\n[[2]]\n", "l.jsonl':2: [2], expected a string or an integer"),
                                  (b'[1]\n["x"]\n', "l.jsonl':2: 'x', expected a signed 64-bit integer"),
                                  (b"[1]\n[2\n", "l.jsonl':2: not JSON"), (b"[1]\n[\xff]\n", "l.jsonl':2: not JSON"),
                                  (b"[1]\n[2]\x00\n", "l.jsonl':2: not JSON")]:
                self.refused(text, option, self.write("l.jsonl", content))
            self.refused("absent': cannot open: No such file", option, self.path("absent"))
            self.refused("absent.jsonl': cannot open: No such file", option, self.path("absent.jsonl"))
        both = ["--exclude", self.write("l", b"1\r\n\n\r\n3"), "--allow", self.write("l.jsonl", "null\n[]")]
        got = self.json("decode", self.x, "--logits", self.logits, "--beams", 9, *both)["requests"]
        self.assertEqual([sorted(beam["items"] for beam in request["beams"]) for request in got], [[["0"], ["2"]], []])

    def test_names_are_any_bytes(self):
        index = self.index("--codes", "8", "--levels", 3, catalogue=[("a b", [0, 0, 0]), ("c", [1, 1, 1])])
        lines = b"a b\r\n\xff\nc\x00\n" + b"c" * (1 << 22)
        got = self.json("decode", index, "--logits", self.logits, "--beams", 2, "--exclude", self.write("l", lines))
        for request in got["requests"]:
            self.assertEqual(([beam["items"] for beam in request["beams"]], request["unknown_excluded"]), ([["c"]], 3))

    def test_where(self):
        for text, message in [
                ("price<", "--where: at byte 6 (after `price<`): expected"),
                ("price<1 or or", "--where: at byte 11"),
                ("colour=red", "--where: column 'colour' is not there, expected one of 'price', 'region', 'tags'"),
                ("price=red", "--where: column 'price' holds integers, expected an integer after ="),
                ("region\x1b=us", "--where: at byte 6 (`\\x1b=us`): expected an operator"),
                ("(" * 10000, "--where: at byte 200: expected at most 200 open parentheses"),
                ("price=1 or " * 2000 + "true", "at most 1024 terms")]:
            self.refused(message, "--where", text)
        bare = self.index("--codes", "8", catalogue=[("1", [0, 0, 0])], name="bare.sidx")
        self.refused("--where: column 'price' is not there, expected none, since the index has no attributes",
                     "--where", "price<2", index=bare)

    def test_wrong_usage(self):
        ask = ["decode", self.x, "--logits", self.logits, "--beams", 2]
        for option in "--exclude", "--allow", "--where":
            self.misused(option + ": empty, expected a value", *ask, option, "")
            for strategy in "sorted", "sorted_topk", "hash_final", "none":
                self.misused(option + ": goes with --strategy trie, not " + strategy, *ask, option, "true",
                             "--strategy", strategy)
            self.misused(option + ": goes with --verify trie, not hash", "run", "m", self.x, "--tokens", "1", "--beams",
                         1, "--head", "h", "--placeholders", "1,2,3", "--verify", "hash", option, "true")
        plain = self.index("--codes", "8", "--kinds", "sorted", catalogue=[("1", [0, 0, 0])], name="sorted.sidx")
        self.refused("was built without trie: build it with --kinds trie,sorted", "--where", "true", index=plain)


class Run(Rules):
    """A model of random weights: tokens 0 .. 63."""

    @classmethod
    def setUpClass(cls):
        if "was built without the runner" in support.run("run", "m", "x", "--tokens", "1", "--beams", "1")[2]:
            raise unittest.SkipTest("built without the runner")

    def setUp(self):
        super().setUp()
        subprocess.run(["python3", "-B", TINY, self.path("model")], check=True)

    def ask(self, index, *options):
        return self.json("run", self.path("model"), index, *OFFSETS, *options)["requests"]

    def prompts(self, generator, count):
        lines = [json.dumps({"tokens": [generator.randrange(64) for _ in range(6)]}) for _ in range(count)]
        return ["--input", self.write("in.jsonl", "\n".join(lines))]

    def test_against_an_index_of_the_allowed_items(self):
        for seed in range(6):
            generator = random.Random(seed)
            items = random_items(generator, 60, names=seed % 2 == 0)
            x = self.build(items)
            how = self.prompts(generator, 3) + ["--beams", 7]
            options, left, unknown = self.rules(generator, items)
            draft = ["--draft", self.path("model")] if seed % 3 == 2 else []
            got = self.ask(x, *how, *options, *draft)
            for request in got:
                for name in "rounds", "target_calls", "accepted_levels":
                    self.assertEqual(request.pop(name, None) is not None, draft != [])
            with self.subTest(seed=seed, options=options):
                self.same_as_an_index_of(left, lambda index: self.ask(index, *how), got, unknown)

    def test_a_list_per_request(self):
        generator = random.Random(3)
        items = random_items(generator, 60)
        x = self.build(items)
        how = self.prompts(generator, 8) + ["--beams", 5]
        drawn = [self.draw(generator, items) for _ in range(8)]
        lists = self.write("seen.jsonl", "\n".join(json.dumps(both) for both, _, _ in drawn))
        got = self.ask(x, *how, "--exclude", lists, "--threads", 3)
        for i in range(0, 8, 3):
            left = [item for item in items if item["item"] not in drawn[i][1]]
            unknown = {"unknown_excluded": drawn[i][2], "unknown_allowed": 0}
            self.same_as_an_index_of(left, lambda index: [self.ask(index, *how)[i]], [got[i]], unknown)
        self.fails("seen.jsonl': 8 lists, expected 1, one per request", "run", self.path("model"), x, *OFFSETS,
                   "--tokens", "1", "--beams", 1, "--exclude", lists)

    def test_draws_keep_to_the_rules(self):
        generator = random.Random(5)
        items = random_items(generator, 60)
        drafted = ["--draft", self.path("model"), "--speculate", "relaxed", "--seed", 3]
        excluded = set(range(0, 60, 2))
        got = self.ask(self.build(items), *self.prompts(generator, 8), "--beams", 6, *drafted, "--exclude",
                       self.listed("l", excluded))
        for request in got:
            self.assertEqual(request["live"], 6)
            for beam in request["beams"]:
                having = [item["item"] for item in items if beam["sid"] in item["sid"]]
                left = [str(id) for id in having if id not in excluded]
                self.assertEqual((beam["items"], left != []), (left, True))

    def test_text_and_errors(self):
        x = self.build([{"item": i, "sid": [[i, i, i]], "price": i} for i in range(4)])
        ask = ["run", self.path("model"), x, *OFFSETS, "--history", "1,2", "--beams", 4]
        out = self.ok(*ask, "--exclude", self.listed("l", [1, 2, 77]), "--where", "price<3")
        self.assertEqual(out.splitlines()[0], "request 0: 1 live, 1 items allowed, 1 of --exclude unknown")
        self.assertEqual(self.ok(*ask, "--where", "false"), "request 0: 0 live, 0 items allowed\n")
        self.fails("l':1: 'x', expected a signed 64-bit integer", *ask, "--allow", self.listed("l", ["x"]))
        self.fails("--where: column 'cost' is not there", *ask, "--where", "cost<3")
