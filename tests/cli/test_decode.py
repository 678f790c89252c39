"""sidbeam decode against a beam search written here: float64, a list of SIDs, no cleverness.
SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import random
import struct

from support import CATALOGUE, Case, npy

INF = float("inf")
EXACT = ["trie", "sorted"]


def as_float(value, format="f"):
    return struct.unpack(format, struct.pack(format, value))[0]


def log_softmax(row, columns):
    """Of the whole row, normalised over `columns`."""
    peak = max(row[c] for c in columns)
    if peak == -INF:
        return [-INF] * len(row)
    total = peak + math.log(math.fsum(math.exp(row[c] - peak) for c in columns))
    return [value - total for value in row]


def naive(sids, rows, beams, normalize="full", offsets=None, codes=None, end=None, valid=True):
    """[(score, sid)], best first, ties by parent and token. The end is one past the codes of a level. `beams` may be a
    list per level, whose last goes on."""
    widths = beams if isinstance(beams, list) else [beams]
    offsets = offsets or [0] * len(rows)
    live = [(0.0, (), False)]
    for level, row in enumerate(rows):
        candidates = []
        for parent, (score, prefix, ended) in enumerate(live):
            if ended:
                candidates.append((-score, parent, -1, prefix, True))
                continue
            tokens = range(codes[level])
            if valid:
                tokens = {s[level] for s in sids if s[:level] == prefix and len(s) > level}
                if end is not None and level > 0 and prefix in sids:
                    tokens.add(codes[level])
            column = {t: offsets[level] + t if t < codes[level] else end for t in tokens}
            span = list(range(offsets[level], offsets[level] + codes[level])) + ([] if end is None else [end])
            over = {"full": range(len(row)), "level": span, "valid": list(column.values())}
            logp = row if normalize == "none" else log_softmax(row, over[normalize])
            for token in tokens:
                value = logp[column[token]]
                if value > -INF:
                    stop = token == codes[level]
                    candidates.append((-(score + value), parent, token, prefix if stop else prefix + (token,), stop))
        candidates.sort()
        live = [(-c[0], c[3], c[4]) for c in candidates[:widths[min(level, len(widths) - 1)]]]
    return [(score, prefix) for score, prefix, _ in live]


class Decode(Case):
    def logits(self, requests, dtype="<f4", name="f.npy"):
        """Writes [B][L][V], or [L][V], as .npy."""
        shape = [len(requests), len(requests[0])] + ([len(requests[0][0])] if isinstance(requests[0][0], list) else [])
        flat = [v for a in requests for v in a]
        if len(shape) == 3:
            flat = [v for row in flat for v in row]
        return self.write(name, npy(dtype, shape, flat))

    def decode(self, index, logits, beams, *options):
        report = self.json("decode", index, "--logits", logits, "--beams", beams, *options)
        self.assertEqual(list(report), ["requests"])
        for request in report["requests"]:
            self.assertEqual(list(request), ["live", "error", "beams"])
            self.assertEqual(request["live"], len(request["beams"]))
            for beam in request["beams"]:
                self.assertEqual(list(beam), ["sid", "ordinal", "score", "items"])
                self.assertEqual(as_float(beam["score"]), as_float(float(repr(beam["score"]))))
        return report["requests"]

    def agree(self, request, expected, note):
        """Same beams in the same order, except where scores differ by less than float32 resolves."""
        self.assertIsNone(request["error"], note)
        self.assertEqual(request["live"], len(expected), note)
        reference = {sid: score for score, sid in expected}
        for beam, (score, sid) in zip(request["beams"], expected):
            self.assertAlmostEqual(beam["score"], score, delta=1e-4, msg=note)
            self.assertAlmostEqual(reference.get(tuple(beam["sid"]), beam["score"]), beam["score"], delta=1e-4,
                                   msg=note)


class Example(Decode):
    def test_json_is_exactly_as_promised(self):
        index = self.index("--codes", "4")
        rows = [[0.0, -1, -9, -0.5], [-1.0, 0, -2, 0], [-0.25, -4, -0.125, 0]]
        out = self.ok("decode", index, "--logits", self.logits(rows), "--beams", 3, "--normalize", "none", "--json")
        self.assertEqual(out, '{"requests":[{"live":3,"error":null,"beams":['
                              '{"sid":[3,1,2],"ordinal":6,"score":-0.625,"items":["10","15"]},'
                              '{"sid":[3,1,0],"ordinal":5,"score":-0.75,"items":["11"]},'
                              '{"sid":[0,0,0],"ordinal":0,"score":-1.25,"items":["12"]}]}]}\n')

    def test_scores_have_as_many_digits_as_a_float_needs(self):
        score = as_float(-4.231)
        index = self.index(catalogue=[("1", [0])])
        out = self.ok("decode", index, "--logits", self.logits([[score]]), "--beams", 1, "--normalize", "none",
                      "--json")
        self.assertIn('"score":-4.231,', out)

    def test_distinct_items_come_once(self):
        index = self.index(catalogue=[("7", [0]), ("5", [0]), ("7", [1]), ("8", [1]), ("5", [2])])
        logits = self.logits([[0.0, 2, 1]])
        def items(*options):
            beams = self.json("decode", index, "--logits", logits, "--beams", 3, *options)["requests"][0]["beams"]
            return [beam["items"] for beam in beams]
        self.assertEqual(items(), [["7", "8"], ["5"], ["5", "7"]])
        self.assertEqual(items("--distinct"), [["7", "8"], ["5"], []])

    def test_a_cap_lists_the_best_of_each_value(self):
        brands = [("1", 0, "a"), ("2", 0, "b"), ("3", 1, "a"), ("4", 2, None), ("5", 2, "a")]
        catalogue = [{"item": item, "sid": [code], "brand": brand} for item, code, brand in brands]
        index = self.index("--attributes", "brand", catalogue=catalogue)
        arguments = ["decode", index, "--logits", self.logits([[2.0, 1, 0]]), "--beams", 3]
        def items(*options):
            request = self.json(*arguments, *options)["requests"][0]
            return [beam["items"] for beam in request["beams"]], request.get("came_short")
        self.assertEqual(items(), ([["1", "2"], ["3"], ["4", "5"]], None))
        self.assertEqual(items("--cap", 2, "--cap-by", "brand"), ([["1", "2"], ["3"], ["4"]], True))
        self.assertEqual(items("--cap", 1, "--cap-by", "brand"), ([["1", "2"], [], ["4"]], True))
        self.assertEqual(items("--cap", 3, "--cap-by", "brand"), ([["1", "2"], ["3"], ["4", "5"]], False))
        out = self.ok(*arguments, "--cap", 1, "--cap-by", "brand")
        self.assertTrue(out.startswith("request 0: 3 live, came short\n"), out)
        self.fails("'colour' is not there, expected one of 'brand'", *arguments, "--cap", 1, "--cap-by", "colour")
        self.misused("--cap requires --cap-by", *arguments, "--cap", 1)
        self.misused("--cap-by requires --cap", *arguments, "--cap-by", "brand")
        self.misused("--cap: ", *arguments, "--cap", 0, "--cap-by", "brand")

    def test_table(self):
        index = self.index("--codes", "4")
        rows = [[0.0, -1, -9, -0.5], [-1.0, 0, -2, 0], [-0.25, -4, -0.125, 0]]
        out = self.ok("decode", index, "--logits", self.logits([rows, rows]), "--beams", 2, "--normalize", "none")
        table = ("rank    score  ordinal    SID  items\n"
                 "   1  -0.6250        6  3,1,2  10 15\n"
                 "   2  -0.7500        5  3,1,0     11\n")
        self.assertEqual(out, "request 0: 2 live\n%s\nrequest 1: 2 live\n%s" % (table, table))


class AgainstNaive(Decode):
    def random_case(self, seed, requests=1):
        generator = random.Random(seed)
        levels = generator.randrange(1, 5)
        codes = [generator.randrange(1, 12) for _ in range(levels)]
        sids = sorted({tuple(generator.randrange(c) for c in codes) for _ in range(generator.randrange(1, 80))})
        offsets = [generator.randrange(5) for _ in codes]
        columns = max(o + c for o, c in zip(offsets, codes)) + generator.randrange(4)
        rows = [[[as_float(generator.gauss(0, 3),
                           "e") for _ in range(columns)] for _ in codes] for _ in range(requests)]
        index = self.index("--codes", ",".join(map(str, codes)), "--kinds", "trie,sorted,hash",
                           catalogue=[(i, sid) for i, sid in enumerate(sids)])
        return generator, codes, sids, offsets, rows, index

    def test_every_strategy_and_normalisation(self):
        for seed in range(12):
            generator, codes, sids, offsets, rows, index = self.random_case(seed, requests=3)
            beams = generator.choice([1, 2, 7, 30, 200])
            dtype = generator.choice(["<f4", "<f2"])
            for normalize in ["full", "level", "valid", "none"]:
                for strategy in EXACT + ["none"]:
                    if strategy == "none" and normalize == "valid":
                        continue
                    note = "seed %d, %s, %s, %d beams" % (seed, normalize, strategy, beams)
                    result = self.decode(index, self.logits(rows, dtype), beams, "--normalize", normalize, "--strategy",
                                         strategy, "--offsets", ",".join(map(str, offsets)))
                    for request, row in zip(result, rows):
                        self.agree(request, naive(sids, row, beams, normalize, offsets, codes,
                                                  valid=strategy != "none"), note)
                        for beam in request["beams"]:
                            sid = tuple(beam["sid"])
                            found = sids.index(sid) if sid in sids else -1
                            self.assertEqual(beam["ordinal"], found, note)
                            self.assertEqual(beam["items"], [str(found)] if found >= 0 else [], note)

    def test_widths_per_level(self):
        for seed in range(20, 28):
            generator, codes, sids, offsets, rows, index = self.random_case(seed, requests=2)
            widths = [generator.randrange(1, 9) for _ in range(generator.randrange(1, len(codes) + 1))]
            requests = self.decode(index, self.logits(rows), 8, "--offsets", ",".join(map(str, offsets)), "--widths",
                                   ",".join(map(str, widths)))
            for request, own in zip(requests, rows):
                self.agree(request, naive(sids, own, widths, offsets=offsets, codes=codes), "seed %d" % seed)

    def test_approximate_strategies_return_only_valid_sids(self):
        for seed in range(6):
            _, codes, sids, offsets, rows, index = self.random_case(seed)
            options = ["--offsets", ",".join(map(str, offsets)), "--top-k", max(codes)]
            exact = self.decode(index, self.logits(rows[0]), 8, "--strategy", "trie", *options[:2])
            widest = self.decode(index, self.logits(rows[0]), 8, "--strategy", "sorted_topk", *options)
            self.assertEqual(widest, exact, "seed %d: all codes are probed" % seed)
            for beam in self.decode(index, self.logits(rows[0]), 8, "--strategy", "hash_final", *options)[0]["beams"]:
                self.assertIn(tuple(beam["sid"]), sids, "seed %d" % seed)

    def test_variable_length(self):
        for seed in range(8):
            generator = random.Random(seed)
            codes = [4, 5, 3]
            sids = sorted({tuple(generator.randrange(c) for c in codes[:generator.randrange(1, 4)]) for _ in range(25)})
            index = self.index("--variable-length", "--codes", "4,5,3", "--levels", 3, "--kinds",
                               "trie,sorted" if seed % 2 else "compact,sorted", catalogue=list(enumerate(sids)))
            rows = [[as_float(generator.gauss(0, 2)) for _ in range(7)] for _ in codes]
            for strategy in EXACT:
                for normalize in ["full", "level", "valid", "none"]:
                    result = self.decode(index, self.logits(rows), 9, "--strategy", strategy, "--normalize", normalize,
                                         "--end-column", 6)
                    note = "seed %d, %s, %s" % (seed, strategy, normalize)
                    self.agree(result[0], naive(sids, rows, 9, normalize, codes=codes, end=6), note)

    def test_more_requests_than_slots(self):
        _, codes, sids, offsets, rows, index = self.random_case(5, requests=150)
        options = ["--offsets", ",".join(map(str, offsets))]
        together = self.decode(index, self.logits(rows), 4, *options)
        self.assertEqual(len(together), 150)
        for number in [0, 63, 64, 127, 128, 149]:
            self.assertEqual(self.decode(index, self.logits(rows[number]), 4, *options), [together[number]])

    def test_temperature_and_soft_cap(self):
        _, codes, sids, offsets, rows, index = self.random_case(3)
        result = self.decode(index, self.logits(rows[0]), 5, "--inverse-temperature", "0.5", "--soft-cap", "2",
                             "--offsets", ",".join(map(str, offsets)))
        warm = [[0.5 * 2 * math.tanh(v / 2) for v in row] for row in rows[0]]
        self.agree(result[0], naive(sids, warm, 5, "full", offsets, codes), "seed 3")


class Rows(Decode):
    def test_bad_row_flags_its_request_and_no_other(self):
        index = self.index("--codes", "4")
        good = [[0.0, -1, -2, -3]] * 3
        for bad in [float("nan"), INF]:
            worse = [good[0], good[1], [bad, 0, 0, 0]]
            requests = self.decode(index, self.logits([good, worse, good]), 3)
            self.assertEqual([r["error"] for r in requests], [None, "bad_row", None])
            self.assertEqual(requests[1]["beams"], [])
            self.assertEqual(requests[0], requests[2])
        out = self.ok("decode", index, "--logits", self.logits([worse]), "--beams", 3)
        self.assertEqual(out, "request 0: 0 live, error bad_row\n")

    def test_codes_of_minus_infinity_are_left_out_without_an_error(self):
        index = self.index("--codes", "4")
        rows = [[-INF, -INF, 0, -INF], [0, 0, 0, 0], [0, 0, 0, 0]]
        request = self.decode(index, self.logits(rows), 5)[0]
        self.assertEqual((request["error"], [b["items"] for b in request["beams"]]), (None, [["13"]]))
        nothing = self.decode(index, self.logits([[-INF] * 4] * 3), 5)[0]
        self.assertEqual(nothing, {"live": 0, "error": None, "beams": []})

    def test_no_requests(self):
        index = self.index("--codes", "4")
        self.assertEqual(self.ok("decode", index, "--logits", self.write("f.npy", npy("<f4", (0, 3, 4), [])),
                                 "--beams", 1,
                                 "--json"), '{"requests":[]}\n')
        for command in ["decode", "--beams", 1], ["sample", "--draws", 1, "--seed", 1]:  # no memory for a row of 1 EiB
            self.assertEqual(self.json(command[0], index, "--logits",
                                       self.write("f.npy", npy("<f4", (0, 3, 2**58), [])), *command[1:]),
                             {"requests": []})

    def test_wrong_logits(self):
        index = self.index("--codes", "4")
        def fails(text, content, *options):
            self.fails(text, "decode", index, "--logits", self.write("f.npy", content), "--beams", 2, *options)
        fails("shape (2, 4), expected (3, V) or (B, 3, V), as the index has 3 levels", npy("<f4", (2, 4), [0] * 8))
        fails("shape (3,), expected (3, V)", npy("<f4", (3,), [0] * 3))
        fails("shape (1, 1, 3, 4), expected", npy("<f4", (1, 1, 3, 4), [0] * 12))
        fails("shape (3, 0), expected", npy("<f4", (3, 0), []))
        fails("dtype '<f8', expected '<f4' or '<f2'", npy("<f8", (3, 4), [0] * 12))
        fails("dtype '<i4', expected '<f4' or '<f2'", npy("<i4", (3, 4), [0] * 12))
        fails("32 bytes of data, expected 48", npy("<f4", (3, 4), [0] * 8))
        fails("level 0 begins at column 0 and has 4 codes, but the rows of", npy("<f4", (3, 3), [0] * 9))
        fails("--offsets: level 2 begins at column 5", npy("<f4", (3, 8), [0] * 24), "--offsets", "0,0,5")
        fails("--offsets: level 0 begins at column -1", npy("<f4", (3, 8), [0] * 24), "--offsets", "-1,0,0")
        fails("--offsets: 2 numbers, expected 3, one per level", npy("<f4", (3, 8), [0] * 24), "--offsets", "0,4")
        for shape in [(0, 3, 2**62), (2**62, 0, 2**62)]:
            fails("shape (%d, %d, %d) overflows" % shape, npy("<f4", shape, []))
        fails("--end-column: 8, but the rows of", npy("<f4", (3, 8), [0] * 24), "--end-column", "8")
        self.fails("absent.npy': cannot open: No such file", "decode", index, "--logits", self.path("absent.npy"),
                   "--beams", 2)

    def test_wrong_combinations(self):
        index = self.index("--codes", "4")
        logits = self.logits([[0.0] * 4] * 3)
        def fails(text, *options):
            self.fails(text, "decode", index, "--logits", logits, "--beams", 2, *options)
        fails("was built without sorted: build it with --kinds trie,sorted", "--strategy", "sorted")
        fails("was built without hash: build it with --kinds trie,hash", "--strategy", "hash_final")
        for strategy in ["none", "hash_final"]:
            self.misused("--normalize: valid does not go with --strategy " + strategy, "decode", index, "--logits",
                         logits, "--beams", 2, "--strategy", strategy, "--normalize", "valid")
        fails("--widths: 4 numbers, expected at most 3, one per level", "--widths", "1,1,1,1")
        self.misused("--widths: 3, expected 1..2", "decode", index, "--logits", logits, "--beams", 2, "--widths", "3")
        variable = self.index("--variable-length", catalogue=[("1", [1]), ("2", [0, 1])], name="v.sidx")
        logits = self.logits([[0.0] * 4] * 2)
        self.fails("--end-column: expected, since the SIDs", "decode", variable, "--logits", logits, "--beams", 2)
        self.misused("--end-column: expected 0 or more", "decode", variable, "--logits", logits, "--beams", 2,
                     "--end-column", "-1")
