"""The importers' library through the command: catalogues as people have them, in every form that there is, and with
one token changed.
SPDX-License-Identifier: Apache-2.0
"""
import csv
import io
import json
import os
import random
import re
import shutil
import struct
import zipfile

from support import Case, npy, run

FIELD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bindings", "field")


def field_cases():
    """(file, options, seen or None, rows or pieces of the message) of each line of cases.txt."""
    with open(os.path.join(FIELD, "cases.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    for name, options, seen, *rest in lines:
        named = dict(option.split("=", 1) for option in options.split(" ")) if options != "-" else {}
        yield name, named, None if seen == "error" else seen, rest


def command_options(named):
    """The options of the command for fields of sidbeam_import_config."""
    options = []
    for name, value in named.items():
        option = "--" + name.replace("_", "-")
        options += [option] if name == "variable_length" else [option, value]
    return options


class Refusal(Case):
    def refused(self, pieces, *arguments):
        """The command fails, with all pieces in its message."""
        status, out, err = run(*arguments)
        self.assertEqual((status, out), (1, ""), (arguments, err))
        for piece in pieces:
            self.assertIn(piece, err, arguments)


class Field(Refusal):
    def test_each_case(self):
        for name, named, seen, rest in field_cases():
            source, index = os.path.join(FIELD, name), self.path("x.sidx")
            arguments = ["build", "--input", source, "--output", index, *command_options(named)]
            if seen is None:
                self.refused(rest, *arguments)
                self.assertFalse(os.path.exists(index), name)
                continue
            report = self.json(*arguments)
            got = report["seen"]
            told = "%d; %s; %s; %s" % (report["levels"], " ".join(got["families"]), got["begin_tokens"] or "-",
                                       got["end_tokens"] or "-")
            self.assertEqual(told, seen, (name, named))
            expected = {}
            for row in rest:
                item, sid = row.split(": ")
                expected.setdefault(item, []).append([int(code) for code in sid.split(" ")])
            for item, sids in expected.items():
                found = [each["sid"] for each in self.json("lookup", index, "--item", item)["sids"]]
                self.assertEqual(sorted(found), sorted(sids), (name, named, item))
            self.assertEqual((report["rows"], report["items"]), (len(rest), len(rest)), (name, named))
            os.remove(index)

    def test_what_is_asked_for_must_be_there_and_be_clear(self):
        for text in ('{"item": 1, "sid": [1]}\n{"item": 2, "sid": [2]}\n', '[{"item": 1, "sid": [1]}]',
                     '{"1": {"sid": [1]}}'):
            self.refused(["no record has a field 'worth' (--priority-column)"], "plan", "--input",
                         self.write("a", text), "--priority-column", "worth")
        self.refused(["columns 'sid' and 'c0' ... both fit, expected --sid-columns to say which"], "plan", "--input",
                     self.write("a.csv", "item,sid,c0,c1\n1,3,1,2\n"))
        self.refused(["no column of SIDs"], "plan", "--input",
                     self.write("a.csv", "item,c0,c9223372036854775807\n1,3,1\n"))

    def test_a_column_may_be_two_things(self):
        table, index = self.write("a.csv", "a,b\n1,2\n3,4\n5,6\n"), self.path("x.sidx")
        for columns, priority, expected in (
                ("a,b", [], [[1, 2], [3, 4], [5, 6]]),
                ("b,b", [], [[2, 2], [4, 4], [6, 6]]),
                ("b", ["--priority-column", "a"], [[2], [4], [6]])):
            self.ok("build", "--input", table, "--output", index, "--item-column", "a", "--sid-columns", columns,
                    *priority)
            sids = [self.json("lookup", index, "--item", item)["sids"] for item in "135"]
            self.assertEqual([each["sid"] for found in sids for each in found], expected)

    def test_what_was_seen_is_told_and_kept(self):
        source, index = os.path.join(FIELD, "tokens_in_a_string.json"), self.path("x.sidx")
        text = self.ok("build", "--input", source, "--output", index)
        self.assertIn("3 levels, families <s_a_*> <s_b_*> <s_c_*>, 3 items, begin token <|sid_begin|>, end token "
                      "<|sid_end|>", text)
        self.assertEqual({key: json.loads(value) for key, value in self.json("inspect", index)["metadata"].items()}, {
            "sidbeam.families": ["<s_a_*>", "<s_b_*>", "<s_c_*>"], "sidbeam.begin_tokens": ["<|sid_begin|>"],
            "sidbeam.end_tokens": ["<|sid_end|>"]})
        self.ok("build", "--input", os.path.join(FIELD, "token_ids.jsonl"), "--output", index, "--token-base", 151669,
                "--codes", 8192)
        self.assertEqual(self.json("inspect", index)["metadata"], {"sidbeam.token_base": "151669"})

    def test_names_do_not_matter(self):
        for name, options, seen, _ in field_cases():
            if seen is None:
                continue
            arguments = ["--output", self.path("x.sidx"), *command_options(options)]
            expected = self.json("build", "--input", os.path.join(FIELD, name), *arguments)
            shutil.copy(os.path.join(FIELD, name), self.path("catalogue"))
            found = self.json("build", "--input", self.path("catalogue"), *arguments)
            self.assertEqual((found["fingerprint"], found["format"]), (expected["fingerprint"], expected["format"]))


class Tokens(Refusal):
    """What a token is."""

    def seen(self, content, *options, name="a.json"):
        return self.json("build", "--input", self.write(name, content), "--output", self.path("x.sidx"), *options)

    def sids(self, items):
        return [self.json("lookup", self.path("x.sidx"), "--item", item)["sids"][0]["sid"] for item in items]

    def test_a_level_number_and_a_code(self):
        rows = {"x": ["<|sid_0_12|>", "<|sid_1_3|>"], "y": ["<|sid_0_7|>", "<|sid_1_3|>"]}
        self.assertEqual(self.seen(json.dumps(rows))["seen"]["families"], ["<|sid_0_*|>", "<|sid_1_*|>"])
        self.assertEqual(self.sids("xy"), [[12, 3], [7, 3]])
        self.assertEqual(self.seen(json.dumps({i: "".join(t) for i, t in rows.items()}))["seen"]["families"],
                         ["<|sid_0_*|>", "<|sid_1_*|>"])
        # The code before the level; and one item alone, whose levels count.
        self.assertEqual(self.seen('{"x": ["a12_0", "a3_1"], "y": ["a7_0", "a3_1"]}')["seen"]["families"],
                         ["a*_0", "a*_1"])
        self.assertEqual(self.seen('{"x": ["<s0_12>", "<s1_3>"]}')["seen"]["families"], ["<s0_*>", "<s1_*>"])

    def test_a_family_that_cannot_be_told_asks_and_shows_two(self):
        source = self.write("a.json", '{"x": ["<s3_12>", "<s9_3>"], "y": ["<s4_7>", "<s9_3>"]}')
        self.refused(["level 0 has '<s3_12>' (item 'x', line 1) and '<s4_7>'", "--token-pattern", "'<s3_*>'",
                      "'<s*_12>'"], "plan", "--input", source)
        self.fails("expected one of the family <s3_*>", "plan", "--input", source, "--token-pattern", "<s3_*> <s9_*>")
        self.refused(["--token-pattern"], "plan", "--input", self.write("b.json", '{"x": ["<s5_12>", "<s5_12>"]}'))
        word = self.write("c.jsonl", '{"id": 1, "sid": "s_0_12-s_1_3"}\n')
        self.refused(["--token-pattern", "'s_* _* -s_* _*'", "'s_0_12-s_1_*'"], "plan", "--input", word)
        report = self.seen('{"id": 1, "sid": "s_0_12-s_1_3"}\n', "--token-pattern", "s_{level}_*")
        self.assertEqual((report["seen"]["families"], self.sids(["1"])), (["s_0_*", "s_1_*"], [[12, 3]]))
        for pattern in ["<a_>", "<a_*> <*_*>", "<a_*> <b_*> <c_*>", "<a_*\\"]:
            self.misused("--token-pattern: '", "plan", "--input", word, "--levels", 2, "--token-pattern", pattern)

    def test_codes_are_written_one_way(self):
        for token in ["<a_01>", "<a_-1>", "<a_1.0>", "<a_ 1>", "<a_+1>", "<a_>", "a_1", "<A_1>", "1"]:
            text = json.dumps({"x": ["<a_1>", "<b_2>"], "y": [token, "<b_2>"]})
            self.fails("item 'y': token '%s' at level 0, expected one of the family <a_*>, as '<a_1>' (item 'x', line "
                       "1)" % token, "plan", "--input", self.write("a.json", text))
        self.fails("has control characters, expected text", "plan", "--input",
                   self.write("a.json", '{"x": ["<a\\u0000_1>"]}'))
        self.fails("has no code", "plan", "--input", self.write("a.json", '{"x": ["<a>", "<b>"]}'))

    def test_begin_and_end_are_the_same_for_all(self):
        first = '{"x": ["<s>", "<a_1>", "</s>"], "y": %s}'
        for sid, text in [('["<a_1>", "</s>"]', "'<a_1>', expected the begin token '<s>' as in item 'x', line 1"),
                          ('["<s>", "<a_1>"]', "'<a_1>', expected the end token '</s>'"),
                          ('["<s>", "</s>"]', "empty SID"), ('["<s>", "<t>", "<a_1>", "</s>"]', "'<t>'")]:
            self.refused([text], "plan", "--input", self.write("a.json", first % sid))
        self.assertEqual(self.seen(first % '["<s>", "<a_2>", "</s>"]')["seen"]["begin_tokens"], "<s>")

    def test_numbers_and_tokens_do_not_mix(self):
        for sid in ['[1, "<b_2>"]', '["<a_1>", 2]', "[1, 2]", '"1 2"']:
            text = '{"x": ["<a_1>", "<b_2>"], "y": %s}' % sid
            self.refused(["item 'y': "], "plan", "--input", self.write("a.json", text))
        self.seen('{"x": [1, 2], "y": ["3", "4"], "z": "5 6", "w": [7.0, 8]}')
        self.assertEqual(self.sids("xyzw"), [[1, 2], [3, 4], [5, 6], [7, 8]])

    def test_token_ids_need_a_base(self):
        rows = "".join('{"id": %d, "token_ids": [%d, %d]}\n' % (i, 5000 + i % 7, 6000 + i) for i in range(20))
        source = self.write("a.jsonl", rows)
        self.fails("as token ids are: expected --token-base", "plan", "--input", source)
        self.ok("plan", "--input", source, "--codes", 10000)
        self.misused("--token-base: token ids need --codes", "plan", "--input", source, "--token-base", 5000)
        self.fails("token id 6000 at level 1, expected 5500..5999", "plan", "--input", source, "--token-base", 5000,
                   "--codes", 500)


class Refused(Refusal):
    def test_tables_are_left_to_python(self):
        for magic in [b"PAR1", b"ARROW1\0\0", b"FEA1"]:
            path = self.write("items.parquet", magic + bytes(100))
            self.refused(['sidbeam.Index.from_file("%s")' % path], "plan", "--input", path)

    def test_two_fields_that_fit(self):
        for text, pieces in [('{"item": 1, "asin": 2, "sid": [1]}', ['"item" and "asin"', "--item-column"]),
                             ('{"item": 1, "codes": [2], "sid": [1]}', ['"codes" and "sid"', "--sid-columns"]),
                             ('[{"item": 1, "sid": [1]}, {"iid": 1, "sid": [1]}]', ['"item" and "iid"']),
                             ("item,asin,sid\n1,2,3\n", ["'item' and 'asin'", "--item-column"]),
                             ("item,codes,sid\n1,2,3\n", ["'codes' and 'sid'", "--sid-columns"]),
                             ("item,c0,c1,level0,level1\n1,2,3,4,5\n", ["'c0' ... and 'level0' ..."])]:
            self.refused(pieces, "plan", "--input", self.write("a", text))
        self.ok("plan", "--input", self.write("a", '{"item": 1, "asin": 2, "sid": [1]}'), "--item-column", "asin")

    def test_quotes_that_make_sense_in_two_ways(self):
        rows = 'item\ttitle\tc0\tc1\n1\t"Hello\t1\t2\n2\tWorld"\t3\t4\n'
        source = self.write("a.tsv", rows)
        self.fails("a.tsv':2: quotes go over several lines, each of which is a record too", "plan", "--input", source)
        self.assertEqual(self.json("plan", "--input", source, "--quotes", "text")["items"], 2)
        self.fails("5 fields", "plan", "--input", self.write("b.tsv", rows.replace("Hello", "Hel\tlo")), "--quotes",
                   "text")

    def test_lists_of_other_things(self):
        self.fails("a JSON list", "plan", "--input", self.write("a", "[[1, 2], [3, 4]]"))
        self.fails("no SID in it", "plan", "--input", self.write("a", "[]"))
        self.refused(["a':3: not JSON"], "plan", "--input",
                     self.write("a", '[{"item": 1, "sid": [1]},\n{"item": 2, "sid": [1]},\n{"item": 3, "sid": [1}]'))
        self.fails("not JSON", "plan", "--input", self.write("a", '[{"item": 1, "sid": [1]}] x'))


def zipped(arrays):
    """The bytes of an .npz, uncompressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in arrays.items():
            with file.open(name + ".npy", "w", force_zip64=True) as member:
                member.write(data)
    return out.getvalue()


class Forms(Case):
    """A catalogue drawn at random in every form, against the same one as .npy."""

    FAMILIES = [("<a_%d>", "<b_%d>", "<c_%d>"), ("<s_a_%d>", "<s_b_%d>", "<s_c_%d>"), ("a_%d", "b_%d", "c_%d"),
                ("<|sid_0_%d|>", "<|sid_1_%d|>", "<|sid_2_%d|>"), ("C%d",) * 3, ("[a_%d]", "[b_%d]", "[c_%d]")]

    def draw(self, generator, rows):
        """[(item, SID)] in which each item comes once; ids are integers, or text that is hard on parsers."""
        sids = [[generator.randrange(200), generator.randrange(9), generator.randrange(5000)] for _ in range(rows)]
        hard = ['"', "'", ",", "a\tb", "\u00e9\u4e2d\U0001f600", 'x "y", z', " lead", "\\", "{", "1e5", "007", "-"]
        kind = generator.randrange(3)
        names = [str(i * 7) if kind == 0 else str(2**63 + i) if kind == 1 else hard[i % len(hard)] + str(i)
                 for i in range(rows)]
        return list(zip(names, sids))

    def forms(self, generator, rows):
        """(name, content, options) of every form."""
        family = generator.choice(self.FAMILIES)
        tokens = {item: [token % code for token, code in zip(family, sid)] for item, sid in rows}
        begin, end = generator.choice([([], []), (["<|sid_begin|>"], ["<|sid_end|>"]), ([], ["</s>"])])
        framed = {item: begin + each + end for item, each in tokens.items()}
        joined = {item: generator.choice(["", " "]).join(each) for item, each in framed.items()}
        if family[0][0] not in "<[":  # words are told apart by spaces; the other form is that of C1C2
            joined = {item: ("" if family[0] == "C%d" and not begin + end else " ").join(each)
                      for item, each in framed.items()}
        plain, shuffled = dict(rows), dict(generator.sample(rows, len(rows)))
        item_key, sid_key = generator.choice(["item", "item_id", "asin"]), generator.choice(["sid", "semantic_ids"])

        def record(item, sid):
            pairs = [(item_key, item), (sid_key, sid), ("title", 'x "y" \\ {[' + item), ("other", [None, {"sid": 1}])]
            return dict(generator.sample(pairs, 4))

        for ascii_only in [False, True]:
            dump = lambda value: json.dumps(value, ensure_ascii=ascii_only)
            yield "lists.json", dump({item: framed[item] for item in shuffled}), []
            yield "strings.json", dump({item: joined[item] for item in shuffled}), []
            yield "numbers.json", json.dumps(shuffled, ensure_ascii=ascii_only, indent=1), []
            yield "nested.json", dump({item: {"title": item, "sid": framed[item]} for item in shuffled}), []
            yield "several.json", dump({item: [sid] for item, sid in rows}), []
            yield "records.json", dump([record(item, joined[item]) for item in shuffled]), []
            for value in [framed, joined, plain]:
                lines = [dump(record(item, value[item])) for item in shuffled]
                yield "lines.jsonl", "\n".join(lines), []
                yield "crlf.jsonl", "\ufeff" + "\r\n\r\n".join(lines) + "\r\n", []
        for separator in ["\t", ","]:
            for cells in [{i: "".join(t) if family[0][0] in "<[C" else " ".join(t) for i, t in tokens.items()},
                          {i: json.dumps(s) for i, s in rows}, {i: "(%d, %d, %d)" % tuple(s) for i, s in rows},
                          {i: "-".join(map(str, s)) for i, s in rows}, {i: str(t) for i, t in tokens.items()}]:
                yield "cells.csv", self.table(separator, ["title", item_key, sid_key],
                                              [["t %d" % len(i), i, cells[i]] for i in shuffled]), []
            yield "floats.csv", "\ufeff" + self.table(separator, [item_key, "c0", "c1", "c2", "text"], [
                [i, *("%d.0" % c for c in s), 'two\nlines, "and" quotes'] for i, s in rows]), []
        if family[0][0] == "<":
            bare = "".join("%s\tAn 11\" title\t%d\n" % (joined[i], n) for n, (i, _) in enumerate(rows))
            yield "bare.txt", bare, ["rows"]
        ids = self.write("ids.txt", "".join(item + "\n" for item, _ in rows))
        flat = [code for _, sid in rows for code in sid]
        columns = [sid[level] for level in range(3) for _, sid in rows]
        for dtype in ["<i2", "<u4", ">i4", "<i8", "<u8", "<f4", "<f8"]:
            code = {"<": "<", ">": ">"}[dtype[0]]
            letter = {"i2": "h", "u4": "I", "i4": "i", "i8": "q", "u8": "Q", "f4": "f", "f8": "d"}[dtype[1:]]
            for fortran, values in [(False, flat), (True, columns)]:
                data = struct.pack("%s%d%s" % (code, len(values), letter), *values)
                array = npy(dtype, (len(rows), 3), data, fortran=fortran)
                yield "array.npy", array, ["--ids", ids]
                yield "array", zipped({"codes": array}), ["--ids", ids]
        numbers = npy("<i8", (len(rows),), list(range(len(rows))))
        arrays = {"ids": numbers, "item_id": numbers, "sid": npy("<i4", (len(rows), 3), flat)}
        yield "named.npz", zipped(arrays), ["rows"]
        yield "rows.raw", struct.pack("<%di" % len(flat), *flat), ["--ids", ids, "--levels", "3"]

    @staticmethod
    def table(separator, names, rows):
        out = io.StringIO()
        csv.writer(out, delimiter=separator, lineterminator="\r\n").writerows([names, *rows])
        return out.getvalue()

    def fingerprint(self, path, *options):
        report = self.json("build", "--input", path, "--output", self.path("x.sidx"), "--codes", "200,9,5000", *options)
        return report["fingerprint"]

    def expected(self, rows, named):
        flat = [code for _, sid in rows for code in sid]
        path = self.write("expected.npy", npy("<i4", (len(rows), 3), flat))
        ids = self.write("expected.txt", "".join(item + "\n" for item, _ in rows))
        return self.fingerprint(path, *(["--ids", ids] if named else []))

    def test_every_form_gives_the_same_catalogue(self):
        for seed in range(3):
            generator = random.Random(seed)
            rows = self.draw(generator, 40)
            if any(set("\n\r") & set(item) for item, _ in rows):
                self.fail("ids of lines hold no ends of line")
            expected = {named: self.expected(rows, named) for named in [False, True]}
            for name, content, options in self.forms(generator, rows):
                named = options != ["rows"]
                path = self.write(name, content)
                self.assertEqual(self.fingerprint(path, *(options if named else [])), expected[named],
                                 (seed, name, content[:300]))

    def test_a_million_rows(self):
        """Many times as many as the readers hold at once."""
        count = 1000000
        codes = [(i * 7919 + level * 131) % 200 for i in range(count) for level in range(3)]
        rows = zip(range(count), codes[0::3], codes[1::3], codes[2::3])
        lines, cells = [], ["id,c0,c1,c2\n"]
        for row in rows:
            lines.append('{"id": %d, "sid": "<a_%d><b_%d><c_%d>"}\n' % row)
            cells.append("%d,%d,%d,%d\n" % row)
        files = [self.write("a.npy", npy("<i4", (count, 3), codes)), self.write("a.jsonl", "".join(lines)),
                 self.write("a.csv", "".join(cells))]
        reports = [self.json("build", "--input", path, "--output", self.path("x.sidx")) for path in files]
        self.assertEqual({report["rows"] for report in reports}, {count})
        self.assertEqual(len({report["fingerprint"] for report in reports}), 1)

    def test_another_token_is_an_error(self):
        """One token of a file is given another family: never another catalogue."""
        generator = random.Random(5)
        for seed in range(12):
            rows = self.draw(random.Random(seed), 6)
            for name, content, options in self.forms(random.Random(seed), rows):
                if isinstance(content, bytes) or name in ("numbers.json", "floats.csv", "several.json"):
                    continue
                places = [found.start() for found in re.finditer(r"[<\[][a-z](?=_[0-9a-c])", content)]
                if not places or generator.random() < 0.8:
                    continue
                at = generator.choice(places)
                path = self.write(name, content[:at + 1] + "Q" + content[at + 2:])
                status = run("plan", "--input", path, *(options if options != ["rows"] else []))[0]
                self.assertNotEqual(status, 0, (seed, name, content[max(0, at - 40):at + 60]))
