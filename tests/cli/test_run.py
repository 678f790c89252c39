"""sidbeam run: what it asks of a model, and what it says. That the model is run right is tested elsewhere.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import shutil
import signal
import struct
import subprocess
import unittest

import support
from support import CATALOGUE, SECONDS, TINY, Case, data

FIFTY_TOKENS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "unit", "models", "llama")
OFFSETS = ["--offsets", "16,24,32"]


class Run(Case):
    """A model of random weights (tests/bindings/tiny_model.py: tokens 0 .. 63), and the small catalogue."""

    @classmethod
    def setUpClass(cls):
        status, _, err = support.run("run", "m", "x", "--tokens", "1", "--beams", "1")
        if "was built without the runner" in err:
            raise unittest.SkipTest("built without the runner")
        assert status == 1, err

    def setUp(self):
        super().setUp()
        self.x = self.index("--codes", "4")
        self.model = self.path("model")
        subprocess.run(["python3", "-B", TINY, self.model], check=True)

    def requests(self, *arguments):
        return self.json("run", self.model, self.x, *OFFSETS, *arguments)["requests"]

    def one(self, *arguments):
        requests = self.requests(*arguments)
        self.assertEqual(len(requests), 1)
        return requests[0]

    def fails_run(self, text, *arguments):
        self.fails(text, "run", self.model, self.x, "--beams", 2, *arguments)


class Answers(Run):
    def test_json_is_as_decodes(self):
        request = self.one("--tokens", "19,25,34", "--beams", 3)
        self.assertEqual(list(request), ["live", "error", "beams"])
        self.assertEqual((request["live"], request["error"]), (3, None))
        sids = sorted(set(CATALOGUE.values()))
        for beam in request["beams"]:
            self.assertEqual(list(beam), ["sid", "ordinal", "score", "items"])
            self.assertEqual(tuple(beam["sid"]), sids[beam["ordinal"]])
            self.assertEqual(beam["items"], [item for item, sid in CATALOGUE.items() if sid == tuple(beam["sid"])])
        scores = [beam["score"] for beam in request["beams"]]
        self.assertEqual(scores, sorted(scores, reverse=True))

    def test_widths_per_level_and_distinct_items(self):
        narrow = self.one("--tokens", "19,25,34", "--beams", 5, "--widths", "1,5")["beams"]
        self.assertEqual(len({beam["sid"][0] for beam in narrow}), 1)
        self.assertGreater(len({beam["sid"][0] for beam in self.one("--tokens", "19,25,34", "--beams", 5)["beams"]}), 1)
        self.fails_run("--widths: 4 numbers, expected at most 3", "--tokens", "1", "--widths", "1,1,1,1")
        self.misused("--widths: does not go with --speculate relaxed", "run", self.model, self.x, "--beams", 2,
                     "--tokens", "1", "--draft", self.model, "--speculate", "relaxed", "--widths", "1")
        self.x = self.index("--codes", "4", catalogue=[("7", sid) for sid in CATALOGUE.values()], name="y.sidx")
        items = [beam["items"] for beam in self.one("--tokens", "19", "--beams", 7, "--distinct")["beams"]]
        self.assertEqual(items, [["7"]] + [[]] * 6)

    def test_a_cap_lists_the_best_of_each_value(self):
        catalogue = [{"item": item, "sid": sid, "even": int(item) % 2 == 0} for item, sid in CATALOGUE.items()]
        self.x = self.index("--codes", "4", "--attributes", "even", catalogue=catalogue, name="y.sidx")
        def items(*options):
            request = self.one("--tokens", "19", "--beams", 7, *options)
            return [item for beam in request["beams"] for item in beam["items"]], request.get("came_short")
        every, _ = items()
        even, odd = ([item for item in every if int(item) % 2 == rest] for rest in (0, 1))
        self.assertEqual(len(every), 8)
        self.assertEqual(items("--cap", 2, "--cap-by", "even"),
                         (sorted(even[:2] + odd[:2], key=every.index), True))
        self.assertEqual(items("--cap", 4, "--cap-by", "even"), (every, False))
        self.fails_run("'odd' is not there, expected one of 'even'", "--tokens", "19", *OFFSETS, "--cap", 1, "--cap-by",
                       "odd")

    def test_table(self):
        request = self.one("--tokens", "19,25,34", "--beams", 2)
        out = self.ok("run", self.model, self.x, *OFFSETS, "--tokens", "19,25,34", "--beams", 2)
        lines = out.splitlines()
        self.assertEqual(lines[0], "request 0: 2 live")
        self.assertEqual(lines[1].split(), ["rank", "score", "ordinal", "SID", "items"])
        best = request["beams"][0]
        self.assertEqual(lines[2].split(), ["1", "%.4f" % best["score"], str(best["ordinal"]),
                                            ",".join(map(str, best["sid"]))] + best["items"])

    def test_a_history_is_the_tokens_of_its_sids(self):
        # 3,1,0 and 0,2,1: tokens from 16, 24 and 32 on.
        tokens = self.one("--tokens", "19,25,32,16,26,33", "--beams", 4)
        self.assertEqual(self.one("--history", "11,14", "--beams", 4), tokens)
        self.assertNotEqual(self.one("--history", "14,11", "--beams", 4), tokens)

    def test_the_first_sid_of_an_item_counts(self):
        index = self.index("--codes", "4", catalogue=[("a", [3, 3]), ("b", [1, 0]), ("a", [0, 2])], name="y.sidx")
        history = self.json("run", self.model, index, "--history", "a", "--beams", 3)
        self.assertEqual(history, self.json("run", self.model, index, "--tokens", "0,2", "--beams", 3))

    def test_a_map_is_like_offsets(self):
        maps = [[19, 18, 17, 16], [24, 25, 26, 27], [32, 33, 34, 35]]
        path = self.write("map.json", json.dumps(maps))
        mapped = self.json("run", self.model, self.x, "--map", path, "--history", "11", "--beams", 7)["requests"][0]
        plain = self.one("--tokens", "16,25,32", "--beams", 7)  # code 3 of the first level is token 16
        self.assertEqual(mapped["live"], 7)
        self.assertNotEqual([beam["sid"] for beam in mapped["beams"]], [beam["sid"] for beam in plain["beams"]])
        path = self.write("same.json", json.dumps([list(range(o, o + 4)) for o in (16, 24, 32)]))
        same = self.json("run", self.model, self.x, "--map", path, "--tokens", "16,25,32", "--beams", 7)
        self.assertEqual(same["requests"][0], plain)

    def test_normalizations(self):
        full, level, valid = (self.one("--tokens", "20", "--beams", 7, "--normalize", n)["beams"]
                              for n in ("full", "level", "valid"))
        score = {n: {tuple(b["sid"]): b["score"] for b in beams}
                 for n, beams in [("full", full), ("level", level), ("valid", valid)]}
        for sid in score["full"]:
            self.assertLess(score["full"][sid], score["level"][sid])
            self.assertLessEqual(score["level"][sid], score["valid"][sid] + 1e-5)

    def test_begin_tokens_are_all_of_an_empty_prompt(self):
        path = self.write("cold.jsonl", '{"tokens": []}\n')
        cold = self.one("--input", path, "--begin-tokens", "20,21", "--beams", 3)
        self.assertEqual(cold, self.one("--tokens", "20,21", "--beams", 3))

    def test_begin_tokens_are_the_end_of_the_prompt(self):
        self.assertEqual(self.one("--tokens", "20,21", "--begin-tokens", "7", "--beams", 3),
                         self.one("--tokens", "20,21,7", "--beams", 3))

    def test_groups(self):
        # 3,1,0 and 0,2,1, a position each, after one that holds token 7 alone.
        group = ["--group", "3", "--beams", "4"]
        history = self.one("--history", "11,14", "--start-tokens", "7", *group)
        self.assertEqual(history, self.one("--tokens", "7,-1,-1,19,25,32,16,26,33", *group))
        self.assertNotEqual(history, self.one("--history", "11,14", *group))
        self.fails_run("--tokens: 4 tokens, expected a multiple of 3 (--group)", "--tokens", "1,2,3,4", "--group", "3")

    def test_weights(self):
        stored = self.one("--tokens", "20,21", "--beams", 7)
        self.assertEqual(self.one("--tokens", "20,21", "--beams", 7, "--weights", "f32"), stored)
        rounded = self.one("--tokens", "20,21", "--beams", 7, "--weights", "bf16")
        self.assertNotEqual(rounded, stored)
        self.assertAlmostEqual(rounded["beams"][0]["score"], stored["beams"][0]["score"], delta=0.2)

    def test_variable_length(self):
        index = self.index("--variable-length", "--codes", "4", catalogue=[("1", [1]), ("2", [1, 2]), ("3", [1, 0])],
                           name="y.sidx")
        report = self.json("run", self.model, index, "--history", "1,2", "--end-column", 9, "--beams", 5)
        self.assertEqual(sorted(beam["sid"] for beam in report["requests"][0]["beams"]), [[1], [1, 0], [1, 2]])
        self.fails("--end-column: expected, since the SIDs of", "run", self.model, index, "--tokens", "1", "--beams", 2)


class Adapters(Run):
    """A LoRA adapter whose base is not beside it."""

    def setUp(self):
        super().setUp()
        self.adapter = self.path("elsewhere/adapter")
        os.makedirs(self.adapter)
        config = {"peft_type": "LORA", "r": 1, "lora_alpha": 2, "base_model_name_or_path": "someone/theirs"}
        self.write("elsewhere/adapter/adapter_config.json", json.dumps(config))
        tensors, values = {}, [0.25] * 32
        for i, (matrix, shape) in enumerate([("A", [1, 16]), ("B", [16, 1])]):
            name = "base_model.model.model.layers.0.self_attn.q_proj.lora_%s.weight" % matrix
            tensors[name] = {"dtype": "F32", "shape": shape, "data_offsets": [64 * i, 64 * i + 64]}
        text = json.dumps(tensors).encode()
        self.write("elsewhere/adapter/adapter_model.safetensors",
                   struct.pack("<Q", len(text)) + text + struct.pack("<32f", *values))
        self.ask = [self.x, *OFFSETS, "--tokens", "19,25,34", "--beams", 3]

    def test_base(self):
        plain = self.json("run", self.model, *self.ask)
        merged = self.json("run", self.adapter, *self.ask, "--base", self.model)
        self.assertNotEqual(merged, plain)
        os.rename(self.model, self.path("elsewhere/theirs"))  # found there
        self.assertEqual(self.json("run", self.adapter, *self.ask), merged)

    def test_base_of_a_draft(self):
        own = self.json("run", self.adapter, *self.ask, "--base", self.model)["requests"][0]
        drafted = self.json("run", self.adapter, *self.ask, "--base", self.model, "--draft", self.adapter,
                            "--draft-base", self.model)["requests"][0]
        self.assertEqual(drafted["beams"], own["beams"])
        self.assertEqual(drafted["accepted_levels"], 2)

    def test_refusals(self):
        self.fails("'someone/theirs', whose folder is not beside it: give that as --base, or merge them with PEFT's",
                   "run", self.adapter, *self.ask)
        self.fails("whose folder is not beside it: give that as --draft-base, or merge", "run", self.model, *self.ask,
                   "--draft", self.adapter)
        self.fails("--base is given, expected none: '%s' has no adapter_config.json" % self.model, "run", self.model,
                   *self.ask, "--base", self.model)
        self.fails("No such file", "run", self.adapter, *self.ask, "--base", self.path("none"))
        self.misused("--draft-base requires --draft", "run", self.model, *self.ask, "--draft-base", self.model)
        self.misused("--draft-base is empty", "run", self.model, *self.ask, "--draft", self.model, "--draft-base", "")


class Speculation(Run):
    """A draft of one layer less, or the model itself."""

    def setUp(self):
        super().setUp()
        self.draft = self.path("draft")
        shutil.copytree(self.model, self.draft)
        self.change(num_hidden_layers=1)
        self.cut_layer()

    def cut_layer(self):
        """Leaves the second layer out of the draft's weights, as out of its config."""
        path = os.path.join(self.draft, "model.safetensors")
        with open(path, "rb") as file:
            header = json.loads(file.read(*struct.unpack("<Q", file.read(8))))
            data = file.read()
        kept, tensors = b"", {}
        for name, tensor in header.items():
            if name == "__metadata__" or ".layers.1." in name:
                continue
            begin, end = tensor["data_offsets"]
            tensors[name] = dict(tensor, data_offsets=[len(kept), len(kept) + end - begin])
            kept += data[begin:end]
        text = json.dumps(tensors).encode()
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + kept)

    def test_a_layer_that_the_config_does_not_name(self):
        shutil.copy(os.path.join(self.model, "model.safetensors"), self.draft)
        status, _, err = support.run("run", self.draft, self.x, *OFFSETS, "--tokens", "1", "--beams", 1)
        self.assertEqual(status, 0)
        self.assertRegex(err, "^sidbeam run: warning: .*draft.: config.json asks for none of 9 tensors, which are left")

    def change(self, **settings):
        path = os.path.join(self.draft, "config.json")
        with open(path) as file:
            config = json.load(file)
        with open(path, "w") as file:
            json.dump(dict(config, **settings), file)

    def test_items_and_scores_are_the_models_own(self):
        lines = "".join('{"tokens": [%d, %d, %d]}\n' % (i % 64, i * 7 % 64, i * 11 % 64) for i in range(60))
        path = self.write("in.jsonl", lines)
        for beams in 1, 3, 7:  # the first level has four codes
            plain = self.requests("--input", path, "--beams", beams)
            for draft in [self.draft], [self.draft, "--draft-beams", 9, "--speculate", "strict"], [self.model]:
                saved = 0
                for own, request in zip(plain, self.requests("--input", path, "--beams", beams, "--draft", *draft)):
                    calls, accepted = request.pop("target_calls"), request.pop("accepted_levels")
                    self.assertEqual(request.pop("rounds"), calls)
                    self.assertEqual(calls + accepted, 3)
                    self.assertEqual(request, own)
                    saved += accepted
                self.assertGreater(saved, 0)
                if draft == [self.model]:
                    self.assertEqual(saved, 2 * len(plain))

    def test_json_and_table(self):
        ask = ["--tokens", "19,25,34", "--beams", 2, "--draft", self.model]
        self.assertEqual(list(self.one(*ask)),
                         ["live", "error", "beams", "rounds", "target_calls", "accepted_levels"])
        out = self.ok("run", self.model, self.x, *OFFSETS, *ask)
        self.assertEqual(out.splitlines()[0], "request 0: 2 live, rounds 1, accepted levels 2")

    def test_relaxed_draws(self):
        lines = "".join('{"tokens": [%d, %d, %d]}\n' % (i % 64, i * 7 % 64, i * 11 % 64) for i in range(30))
        path = self.write("in.jsonl", lines)
        items = {tuple(beam["sid"]) for beam in self.one("--tokens", "1,2", "--beams", 100)["beams"]}
        ask = ["--input", path, "--beams", 3, "--draft", self.draft, "--speculate", "relaxed"]
        for form in [], ["--draft-beams", 9]:  # with replacement, and different ones
            first = self.requests(*ask, *form, "--seed", 5)
            self.assertEqual(self.requests(*ask, *form, "--seed", 5, "--threads", 1), first)
            self.assertNotEqual(self.requests(*ask, *form, "--seed", 6), first)
            self.assertEqual(self.requests(*ask, *form), self.requests(*ask, *form, "--seed", 0))
            for request in first:
                self.assertEqual(request["live"], 3)
                self.assertEqual(request["rounds"], request["target_calls"])
                self.assertEqual(request["rounds"] + request["accepted_levels"], 3)
                sids = [tuple(beam["sid"]) for beam in request["beams"]]
                self.assertLessEqual(set(sids), items)
                if form:
                    self.assertEqual(len(set(sids)), 3)

    def test_relaxed_draws_of_sids_of_variable_length(self):
        sids = [[1], [1, 2], [1, 0], [3, 1, 2], [3, 1], [0]]
        index = self.index("--variable-length", "--codes", "4", catalogue=[(str(i), sid) for i, sid in enumerate(sids)],
                           name="y.sidx")
        lines = "".join('{"tokens": [%d, %d]}\n' % (i % 64, i * 7 % 64) for i in range(30))
        ask = ["run", self.model, index, *OFFSETS, "--end-column", 9, "--input", self.write("in.jsonl", lines),
               "--normalize", "valid", "--beams", 4, "--draft", self.draft, "--speculate", "relaxed"]
        for form in [], ["--draft-beams", 6]:  # with replacement, and different ones
            first = self.json(*ask, *form, "--seed", 5)["requests"]
            self.assertEqual(self.json(*ask, *form, "--seed", 5, "--threads", 1)["requests"], first)
            self.assertNotEqual(self.json(*ask, *form, "--seed", 6)["requests"], first)
            found = [beam["sid"] for request in first for beam in request["beams"]]
            self.assertEqual({tuple(sid) for sid in found}, {tuple(sid) for sid in sids})
            for request in first:
                self.assertLessEqual(request["rounds"] + request["accepted_levels"], 3)
                items = [beam["items"][0] for beam in request["beams"]]
                self.assertEqual([beam["sid"] for beam in request["beams"]], [sids[int(item)] for item in items])
                self.assertEqual(len(set(items)) if form else request["live"], 4)

    def test_wrong_usage(self):
        ask = ["run", "m", "x", "--tokens", "1", "--beams", 4]
        self.misused("--draft-beams: 3, expected at least 4, --beams", *ask, "--draft", "y", "--draft-beams", 3)
        self.misused("--draft-beams: 3, expected at least 4, --beams", *ask, "--draft", "y", "--draft-beams", 3,
                     "--speculate", "relaxed")
        self.misused("--seed: --speculate is strict, expected relaxed", *ask, "--draft", "y", "--seed", 1)
        self.misused("--seed requires --draft", *ask, "--seed", 1)
        self.misused("--speculate requires --draft", *ask, "--speculate", "relaxed")
        self.misused("loose not in {strict,relaxed}", *ask, "--draft", "y", "--speculate", "loose")
        self.misused("--draft-beams requires --draft", *ask, "--draft-beams", 5)
        self.misused("--speculate requires --draft", *ask, "--speculate", "strict")
        self.misused("--draft is empty", *ask, "--draft", "")

    def test_drafts_that_do_not_fit(self):
        ask = [*OFFSETS, "--tokens", "1,2,3", "--draft"]
        self.fails_run("config.draft has a vocabulary of 50 tokens, expected 64, as config.model", *ask, FIFTY_TOKENS)
        self.fails_run("No such file", *ask, self.path("none"))
        self.change(max_position_embeddings=4)
        self.fails_run("--tokens: 3 positions, and 2 follow, but the draft has 4", *ask, self.draft)


class Head(Run):
    """What is refused of a draft head; that its items are right is tested with PyTorch's, in tests/stacks."""

    def test_wrong_usage(self):
        ask = ["run", "m", "x", "--tokens", "1", "--beams", 4]
        head = [*ask, "--head", "h", "--placeholders", "1,2,3"]
        self.misused("--placeholders: --head needs a token per level", *ask, "--head", "h")
        self.misused("--head is empty", *ask, "--head", "", "--placeholders", "1,2,3")
        self.misused("--placeholders requires --head", *ask, "--placeholders", "1,2,3")
        self.misused("--verify requires --head", *ask, "--verify", "trie")
        self.misused("loose not in {trie,hash,none}", *head, "--verify", "loose")
        self.misused("--top-k: goes with --verify hash, not trie", *head, "--top-k", 3)
        self.misused("--normalize: valid does not go with --verify hash, expected full", *head, "--verify", "hash",
                     "--normalize", "valid")
        self.misused("--draft excludes --head", *head, "--draft", "m")

    def test_heads_that_do_not_fit(self):
        ask = [*OFFSETS, "--tokens", "1,2,3", "--placeholders", "40,41,42", "--head"]
        self.fails_run("config.head is for hidden states of 3 elements, expected 16, those of the model", *ask,
                       data("gru.sdraft"))
        self.fails_run("No such file", *ask, self.path("none"))
        self.fails_run("wrong magic: not a draft head", *ask, os.path.join(self.model, "config.json"))


class Input(Run):
    def lines(self, *lines):
        return self.write("in.jsonl", "".join(line + "\n" for line in lines))

    def test_each_line_is_a_request(self):
        path = self.lines('{"tokens": [19, 25, 32]}', "", '{"user": 7, "history": ["11", 14]}', '{"history":[10]}')
        requests = self.requests("--input", path, "--beams", 3)
        self.assertEqual(requests, [self.one("--tokens", "19,25,32", "--beams", 3),
                                    self.one("--history", "11,14", "--beams", 3),
                                    self.one("--history", "10", "--beams", 3)])

    def test_results_come_in_their_order_whatever_the_threads(self):
        path = self.lines(*('{"tokens": [%d, %d]}' % (i % 64, i * 7 % 64) for i in range(100)))
        one = self.requests("--input", path, "--beams", 2, "--threads", 1)
        self.assertEqual(self.requests("--input", path, "--beams", 2, "--threads", 5), one)
        self.assertEqual(len(one), 100)
        self.assertEqual(one[17], self.one("--tokens", "17,55", "--beams", 2))

    def test_tables_and_throughput(self):
        path = self.lines('{"tokens": [19]}', '{"tokens": [20]}')
        out = self.ok("run", self.model, self.x, *OFFSETS, "--input", path, "--beams", 1)
        self.assertIn("request 0: 1 live\n", out)
        self.assertIn("\n\nrequest 1: 1 live\n", out)
        self.assertRegex(out, r"\n\n2 requests in \d+\.\d\d s, \d+\.\d a second\n$")

    def test_bad_lines_are_named(self):
        good = '{"tokens": [1]}'
        for line, text in [
                ("{", "':2: not JSON"),
                ("[1]", "':2: expected an object with either"),
                ('{"tokens": [1], "tokens": [2]}', '\':2: "tokens" comes twice in one object'),
                ('{"history": [10], "a": 1, "a": 1}', '\':2: "a" comes twice in one object'),
                ('{"user": 1}', "':2: expected an object with either"),
                ('{"tokens": [1], "history": [10]}', "':2: expected an object with either"),
                ('{"tokens": 1}', '\':2: "tokens": expected an array'),
                ('{"tokens": [-2]}', '\':2: "tokens": -2, expected a token'),
                ('{"tokens": ["1"]}', '\':2: "tokens": "1", expected a token'),
                ('{"tokens": [64]}', "':2: token 0 of position 0 is 64, expected"),
                ('{"tokens": []}', "':2: no tokens, expected one position or more, or --begin-tokens"),
                ('{"history": [10, 99]}', "':2: no item '99' in the index"),
                ('{"history": [1.5]}', '\':2: "history": 1.5, expected a string or an integer')]:
            self.fails_run(text, *OFFSETS, "--input", self.lines(good, line, good))
        self.fails_run("expected at least one request, there is none", "--input", self.lines("", ""))
        self.fails_run("No such file", "--input", self.path("none"))


class Refusals(Run):
    def test_wrong_usage(self):
        for questions in [], ["--tokens", "1", "--history", "10"]:
            self.misused("expected exactly one of --tokens, --history and --input", "run", "m", "x", "--beams", 1,
                         *questions)
        # They are put before histories alone.
        self.misused("--tokens excludes --start-tokens", "run", "m", "x", "--beams", 1, "--tokens", "1",
                     "--start-tokens", "7")
        for option in "--tokens", "--history", "--input":
            self.misused(option + " is empty", "run", "m", "x", "--beams", 1, option, "")
        self.misused("--tokens: '5,x', expected integers", "run", self.model, self.x, "--tokens", "5,x", "--beams", 1)
        self.misused("--tokens: -3, expected -1..", "run", self.model, self.x, "--tokens", "5,-3", "--beams", 1)
        self.misused("--offsets excludes --map", "run", "m", "x", "--tokens", "1", "--beams", 1, "--map", "y",
                     "--offsets", "1")
        self.misused("none not in {full,level,valid}", "run", "m", "x", "--tokens", "1", "--beams", 1, "--normalize",
                     "none")
        self.misused("int4 not in {stored,f32,f16,bf16,int8}", "run", "m", "x", "--tokens", "1", "--beams", 1,
                     "--weights", "int4")

    def test_bad_requests(self):
        self.fails_run("--history: no item '99' in the index", "--history", "10,99")
        self.fails_run("--tokens: token 0 of position 1 is 64, expected", "--tokens", "1,64")
        self.fails_run("--offsets: 2 numbers, expected 3", "--offsets", "1,2", "--tokens", "1")
        for first in [2**63 - 1, 2**31 - 4, -1]:
            self.fails_run("--offsets: level 0 begins at token %d and has 4 codes, expected tokens from 0 to" % first,
                           "--offsets", "%d,0,0" % first, "--history", "10")
        # The model has 512 positions, of which two codes need one each.
        fits = self.write("in.jsonl", json.dumps({"tokens": [1] * 510}) + "\n" + json.dumps({"tokens": [1] * 511}))
        self.fails_run("':2: 511 positions, and 2 follow, but the model has 512", "--input", fits)
        self.assertEqual(self.one("--tokens", ",".join(["1"] * 510), "--beams", 2)["live"], 2)

    def test_names_that_overlap(self):
        self.fails("the names of item rows 1 and 2 overlap: the index is damaged", "run", self.model,
                   self.index_of_overlapping_names(), "--history", "aa", "--beams", 1)

    def test_bad_maps(self):
        for text, message in [("{", "not JSON"), ("{}", "expected an array of 3 arrays"),
                              ("[[0,1,2,3]]", "expected an array of 3 arrays"),
                              ("[[0,1,2,3],[4,5,6],[7,8,9,10]]", "level 1 has 3 tokens, expected 4, one per code"),
                              ("[[0,1,2,3],4,[7,8,9,10]]", "level 1: expected an array of tokens"),
                              ("[[0,1,2,3],[4,5,-2,6],[7,8,9,10]]", "level 1: code 2 is -2, expected a token")]:
            self.fails_run(message, "--tokens", "1", "--map", self.write("map.json", text))
        holes = self.write("map.json", "[[0,1,2,-1],[4,5,6,7],[8,9,10,11]]")
        self.fails_run("item '10': code 3 of level 0 has no token", "--map", holes, "--history", "10")

    def test_a_folder_that_is_no_model(self):
        self.fails("No such file", "run", self.path("none"), self.x, "--tokens", "1", "--beams", 1)
        os.truncate(os.path.join(self.model, "model.safetensors"), 100)
        self.fails("model.safetensors' has 100 bytes, expected 2232 or more, of which 2224 are its header: it is "
                   "truncated", "run", self.model, self.x, "--tokens", "1", "--beams", 1)
        self.fails("not a sidbeam index", "run", self.model, self.write("no.sidx", "x" * 100), "--tokens", "1",
                   "--beams", 1)

    def test_ctrl_c(self):
        path = self.write("in.jsonl", '{"tokens": [1, 2, 3, 4, 5]}\n' * 300000)
        process, terminal = self.start("run", self.model, self.x, "--input", path, "--beams", 7, "--threads", 1)
        text = self.read_until(terminal, ["running"])  # the bar
        process.send_signal(signal.SIGINT)
        text = self.read_until(terminal, ["requests\r\n"], text)
        self.assertEqual(process.wait(SECONDS), 1)
        self.assertEqual(process.stdout.read(), b"")
        self.assertRegex(text.split("\033[K")[-1], r"^sidbeam run: cancelled after [\d,]+ of 300,000 requests\r\n$")


class Absent(Case):
    def test_a_build_without_the_runner_says_so(self):
        if support.run("run", "m", "x", "--tokens", "1", "--beams", "1")[2].find("without the runner") < 0:
            self.skipTest("built with the runner")
        self.fails("it was built without the runner, with SIDBEAM_RUNNER=OFF", "run", "m", "x", "--tokens", "1",
                   "--beams", "1")
        self.assertIn("sidbeam run model office.sidx", self.ok("run", "--help"))
