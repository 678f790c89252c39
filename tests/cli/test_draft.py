"""sidbeam draft against equations 1-3 and a beam search written here, in float64. The head is a file of the first
version of the format, whose numbers a formula gives (data/README.md).
SPDX-License-Identifier: Apache-2.0
"""
import math
import random
import unittest

import support
from support import CATALOGUE, Case, data, npy

LEVELS, CODES, D, E = 3, 4, 3, 2
HEAD = data("gru.sdraft")


def weights():
    """Per level: head, its bias; then, except of the last: embeddings, input weights and bias, recurrent ones."""
    numbers = (((n * 7919 + 13) % 33 - 16) / 16 for n in range(10**6))

    def matrix(rows, columns):
        return [[next(numbers) for _ in range(columns)] for _ in range(rows)]

    levels = []
    for level in range(LEVELS):
        shapes = [(CODES, 2 * D), (1, CODES)]
        if level < LEVELS - 1:
            shapes += [(CODES, E), (3 * D, E), (1, 3 * D), (3 * D, D), (1, 3 * D)]
        levels.append([matrix(*shape) for shape in shapes])
    return levels


def linear(matrix, bias, x):
    return [b + math.fsum(w * v for w, v in zip(row, x)) for row, b in zip(matrix, bias[0])]


def gru(level, state, code):
    _, _, embeddings, input_, input_bias, recurrent, recurrent_bias = level
    i, r = linear(input_, input_bias, embeddings[code]), linear(recurrent, recurrent_bias, state)
    sigmoid = [1 / (1 + math.exp(-(a + b))) for a, b in zip(i, r)]
    fresh = [math.tanh(i[2 * D + n] + sigmoid[n] * r[2 * D + n]) for n in range(D)]
    return [(1 - sigmoid[D + n]) * fresh[n] + sigmoid[D + n] * state[n] for n in range(D)]


def naive(hidden, beams, verify, top_k=None, sids=frozenset(CATALOGUE.values())):
    """[(score, sid)], best first."""
    live = [(0.0, (), hidden[0])]
    for number, level in enumerate(weights()):
        last, candidates = number == LEVELS - 1, []
        for score, prefix, state in live:
            logits = linear(level[0], level[1], hidden[number + 1] + state)
            total = math.log(math.fsum(map(math.exp, logits)))
            codes = sorted(range(CODES), key=lambda code: -logits[code])
            for code in codes[:top_k or beams] if last and verify == "hash" else codes:
                sid = prefix + (code,)
                if verify == "trie" and not any(s[:len(sid)] == sid for s in sids):
                    continue
                if last and verify == "hash" and sid not in sids:
                    continue
                candidates.append((score + logits[code] - total, sid, None if last else gru(level, state, code)))
        live = sorted(candidates, key=lambda candidate: -candidate[0])[:beams]
    return [(score, sid) for score, sid, _ in live]


class Draft(Case):
    @classmethod
    def setUpClass(cls):
        status, _, err = support.run("draft", "h", "x", "--hidden", "n", "--beams", "1")
        if "was built without the runner" in err:
            raise unittest.SkipTest("built without the runner")
        assert status == 1, err

    def setUp(self):
        super().setUp()
        self.x = self.index("--codes", "4", "--kinds", "trie,hash", "--codebook", "books")

    def hidden(self, count, seed=1):
        random.seed(seed)
        return [[[random.randrange(-32, 33) / 16 for _ in range(D)] for _ in range(LEVELS + 1)] for _ in range(count)]

    def file(self, hidden, dtype="<f4", shape=None, name="h.npy"):
        flat = [v for request in hidden for row in request for v in row]
        return self.write(name, npy(dtype, shape or (len(hidden), LEVELS + 1, D), flat))

    def draft(self, path, *arguments):
        return self.json("draft", HEAD, self.x, "--hidden", path, *arguments)["requests"]


class Answers(Draft):
    def test_every_verification_is_as_written_here(self):
        hidden = self.hidden(20)
        path = self.file(hidden)
        sids = sorted(set(CATALOGUE.values()))
        for verify, beams, options in (("trie", 4, []), ("trie", 9, []), ("hash", 3, []), ("hash", 9, ["--top-k", 2]),
                                       ("none", 5, [])):
            requests = self.draft(path, "--beams", beams, "--verify", verify, *options)
            self.assertEqual(len(requests), 20)
            for states, request in zip(hidden, requests):
                expected = naive(states, beams, verify, options[1] if options else None)
                note = "%s, %d beams" % (verify, beams)
                self.assertEqual((request["live"], request["error"]), (len(expected), None), note)
                for beam, (score, sid) in zip(request["beams"], expected):
                    self.assertAlmostEqual(beam["score"], score, delta=1e-4, msg=note)
                    self.assertEqual(tuple(beam["sid"]), sid, note)
                    self.assertEqual(beam["ordinal"], sids.index(sid) if sid in sids else -1)
                    self.assertEqual(beam["items"], [item for item, own in CATALOGUE.items() if own == sid])

    def test_widths_per_level(self):
        path = self.file(self.hidden(5, seed=6))
        self.assertEqual(self.draft(path, "--beams", 4, "--widths", "1"), self.draft(path, "--beams", 1))
        self.assertEqual(self.draft(path, "--beams", 9, "--widths", "4,4,4"), self.draft(path, "--beams", 4))
        for request in self.draft(path, "--beams", 9, "--widths", "1,9"):
            self.assertEqual(len({beam["sid"][0] for beam in request["beams"]}), 1)

    def test_one_request_without_its_dimension_and_f2(self):
        hidden = self.hidden(3, seed=2)
        expected = self.draft(self.file(hidden), "--beams", 3)
        self.assertEqual(self.draft(self.file(hidden, dtype="<f2"), "--beams", 3), expected)
        one = self.file(hidden[1:2], shape=(LEVELS + 1, D))
        self.assertEqual(self.draft(one, "--beams", 3), expected[1:2])

    def test_more_requests_than_a_batch_holds(self):
        hidden = self.hidden(70, seed=3)
        requests = self.draft(self.file(hidden), "--beams", 2)
        self.assertEqual(requests[68:], self.draft(self.file(hidden[68:]), "--beams", 2))

    def test_a_bad_row_is_its_requests_alone(self):
        hidden = self.hidden(2, seed=4)
        hidden[0][2][1] = math.nan
        first, second = self.draft(self.file(hidden), "--beams", 2)
        self.assertEqual(first, {"live": 0, "error": "bad_row", "beams": []})
        self.assertEqual((second["live"], second["error"]), (2, None))

    def test_table(self):
        out = self.ok("draft", HEAD, self.x, "--hidden", self.file(self.hidden(1)), "--beams", 2)
        self.assertTrue(out.startswith("request 0: 2 live\nrank "), out)


class Refused(Draft):
    def fails_draft(self, text, *arguments, head=HEAD):
        self.fails(text, "draft", head, self.x, "--beams", 2, *arguments)

    def test_hidden_states_of_another_shape(self):
        good = self.hidden(1)
        expected = "expected (4, 3) or (B, 4, 3), as the head has 3 levels"
        self.fails_draft("shape (1, 3, 4), " + expected, "--hidden", self.file(good, shape=(1, 3, 4)))
        self.fails_draft("shape (12,), " + expected, "--hidden", self.file(good, shape=(12,)))
        self.fails_draft("dtype '<f8', expected '<f4' or '<f2'", "--hidden", self.file(good, dtype="<f8"))
        self.fails_draft("cannot open", "--hidden", self.path("absent"))

    def test_what_is_no_head(self):
        hidden = ["--hidden", self.file(self.hidden(1))]
        self.fails_draft("wrong magic: not a draft head", *hidden, head=self.x)
        self.fails_draft("cannot open", *hidden, head=self.path("absent"))
        whole = open(HEAD, "rb").read()
        self.fails_draft("wrong checksum: recurrent_bias of level 1 is damaged", *hidden, head=self.damaged(whole))

    def damaged(self, whole):
        """With another last number."""
        last = len(whole) - 1
        while whole[last] == 0:
            last -= 1
        return self.write("damaged", whole[:last] + bytes([whole[last] ^ 1]) + whole[last + 1:])

    def test_another_catalogue(self):
        hidden = ["--hidden", self.file(self.hidden(1))]
        self.x = self.index("--codes", "4", "--codebook", "other")
        self.fails_draft("x.sidx': config.index is of codebook 'other', expected 'books', that of the draft head",
                         *hidden)
        self.x = self.index("--codes", "5")
        self.fails_draft("config.index has 5 codes at level 0, expected 4", *hidden)

    def test_an_index_without_what_the_verification_needs(self):
        self.x = self.index("--codes", "4")
        self.fails_draft("x.sidx' was built without hash: build it with --kinds trie,hash", "--verify", "hash",
                         "--hidden", self.file(self.hidden(1)))

    def test_misuse(self):
        path = self.file(self.hidden(1))
        for text, arguments in (("--beams is required", []), ("--top-k: goes with --verify hash, not trie",
                                                              ["--beams", 2, "--top-k", 1]),
                                ("--normalize: valid does not go with --verify hash",
                                 ["--beams", 2, "--verify", "hash", "--normalize", "valid"]),
                                ("--beams: ", ["--beams", 0])):
            self.misused(text, "draft", HEAD, self.x, "--hidden", path, *arguments)
