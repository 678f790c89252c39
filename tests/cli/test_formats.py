"""The importers: every format gives the same index, and every bad row its own message.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import struct

from support import CATALOGUE, Case, npy

CODES = ["--codes", "4"]


def flat(catalogue=CATALOGUE):
    return [code for sid in catalogue.values() for code in sid]


class SameCatalogue(Case):
    """One catalogue in every format."""

    def fingerprint(self, name, content, *options):
        path = self.write(name, content)
        codes = [] if "--codes" in options else CODES
        return self.json("build", "--input", path, "--output", self.path("x.sidx"), *codes, *options)["fingerprint"]

    def setUp(self):
        super().setUp()
        self.lines = "".join(json.dumps({"item": int(i), "sid": s}) + "\n" for i, s in CATALOGUE.items())
        self.expected = self.fingerprint("a.jsonl", self.lines)

    def same(self, name, content, *options):
        self.assertEqual(self.fingerprint(name, content, *options), self.expected, name)

    def test_jsonl(self):
        self.same("b.ndjson", self.lines.replace("\n", "\r\n\n  \n"))
        self.same("c.jsonl", "\ufeff" + "".join(reversed(self.lines.splitlines(True))).rstrip("\n"))
        self.same("content", self.lines)
        strings = "".join(json.dumps({"x": None, "sid": s, "item": i}) + "\n" for i, s in CATALOGUE.items())
        self.same("d.jsonl", strings)
        renamed = self.lines.replace('"item"', '"item_id"').replace('"sid"', '"token_ids"')
        self.same("e.jsonl", renamed, "--item-column", "item_id", "--sid-columns", "token_ids")

    def test_lcrec(self):
        tokens = {i: ["<%s_%d>" % (letter, code) for letter, code in zip("abc", s)] for i, s in CATALOGUE.items()}
        self.same("a.index.json", json.dumps(tokens, indent=1))
        self.same("other", json.dumps(tokens))
        self.same("plain.json", json.dumps(CATALOGUE))
        self.same("marked.json", "\ufeff" + json.dumps(tokens))

    def test_csv(self):
        for separator in [" ", "-", ",", ", "]:
            rows = "".join('%s,"%s"\r\n' % (i, separator.join(map(str, s))) for i, s in CATALOGUE.items())
            self.same("a.csv", "item,sid\r\n" + rows)
        rows = "".join("%s\t<a_%d><b_%d><c_%d>\n" % (i, *s) for i, s in CATALOGUE.items())
        self.same("tokens.tsv", "item\tsid\n" + rows)
        columns = "".join("%d,%s,%d,%d\n" % (s[2], i, s[0], s[1]) for i, s in CATALOGUE.items())
        self.same("levels.csv", "\ufeffc2,id,c0,c1\n" + columns, "--item-column", "id", "--sid-columns", "c0,c1,c2")
        quoted = "".join('"title ""x"",\nline two",%s,%d %d %d\n' % (i, *s) for i, s in CATALOGUE.items())
        self.same("quoted.csv", "title,item,sid\n" + quoted)

    def test_npy_with_data_at_an_odd_byte(self):
        header = b"{'descr':'<i4','fortran_order':False,'shape':(%d, 3)}" % len(CATALOGUE)
        for pad in range(4):
            codes = npy("<i4", (len(CATALOGUE), 3), [c for sid in CATALOGUE.values() for c in sid])[128:]
            head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + pad) + header + b" " * pad
            ids = self.write("ids.txt", "".join(item + "\n" for item in CATALOGUE))
            self.same("a.npy", head + codes, "--ids", ids)

    def test_npy_of_every_dtype_and_version(self):
        ids = self.write("ids.npy", npy("<i8", (8,), list(map(int, CATALOGUE))))
        for dtype in ["|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"]:
            self.same("a.npy", npy(dtype, (8, 3), flat()), "--ids", ids)
        for version in [2, 3]:
            self.same("a.npy", npy("<i4", (8, 3), flat(), version=version), "--ids", ids)
        self.same("content", npy("<i4", (8, 3), flat()), "--ids", ids)

    def test_ids_in_text(self):
        ids = self.write("ids.txt", "\n".join(CATALOGUE))
        self.same("a.npy", npy("<i4", (8, 3), flat()), "--ids", ids)
        ids = self.write("ids.txt", "\r\n".join(CATALOGUE) + "\r\n")
        self.same("a.npy", npy("<i4", (8, 3), flat()), "--ids", ids)

    def test_raw(self):
        ids = self.write("ids.npy", npy("<i4", (8,), list(map(int, CATALOGUE))))
        data = struct.pack("<24i", *flat())
        self.same("a.raw", data, "--ids", ids, "--levels", "3")
        self.same("a.i32", data, "--ids", ids, "--codes", "4,4,4")
        self.same("a.bin", data, "--ids", ids, "--levels", "3", "--format", "raw")

    def test_xllm(self):
        self.same("a.bin", b"".join(struct.pack("<q3i", int(i), *s) for i, s in CATALOGUE.items()), "--format", "xllm")


class Ids(Case):
    def inspect(self, name, content, *options):
        self.ok("build", "--input", self.write(name, content), "--output", self.path("x.sidx"), *options)
        return self.json("inspect", self.path("x.sidx"))

    def items(self, prefix):
        return self.json("lookup", self.path("x.sidx"), "--sid", prefix)["items"]

    def test_without_ids_the_id_is_the_row(self):
        self.assertEqual(self.inspect("a.npy", npy("<i4", (3, 1), [2, 0, 1]))["id_type"], "i64")
        self.assertEqual([self.items(c) for c in "012"], [["1"], ["2"], ["0"]])

    def test_integers_stay_integers_only_if_all_are_canonical(self):
        for ids, kind in [(["-1", "7"], "i64"), (["0", "18446744073709551615"], "u64"), (["07", "7"], "string"),
                          (["-1", "18446744073709551615"], "string"), (["a", "7"], "string"), (["+7", "1"], "string"),
                          (["-0", "1"], "string")]:
            lines = "".join(json.dumps({"item": i, "sid": [n]}) + "\n" for n, i in enumerate(ids))
            self.assertEqual(self.inspect("a.jsonl", lines)["id_type"], kind, ids)
            self.assertEqual([self.items(n) for n in range(2)], [[i] for i in ids])

    def test_u64_ids_of_npy(self):
        ids = self.write("ids.npy", npy("<u8", (2,), [2**64 - 1, 0]))
        self.assertEqual(self.inspect("a.npy", npy("|u1", (2, 1), [0, 1]), "--ids", ids)["id_type"], "u64")
        self.assertEqual(self.items(0), ["18446744073709551615"])

    def test_string_ids_of_a_text_file(self):
        ids = self.write("ids.txt", "B07 é\nB08\n")
        self.assertEqual(self.inspect("a.npy", npy("|u1", (2, 1), [0, 0]), "--ids", ids)["id_type"], "string")
        self.assertEqual(self.items(0), ["B07 é", "B08"])

    def test_ids_that_are_no_utf8_are_shown_all_the_same(self):
        self.inspect("a.csv", "item,sid\nqq,0\n")
        index = self.read("x.sidx")  # the library's own readers take no such ids; a builder does
        self.assertEqual(index.count(b"qq"), 1)
        self.write("x.sidx", index.replace(b"qq", b"\xff\xfe"))
        self.assertEqual(self.items(0), ["\ufffd\ufffd"])

    def test_priorities_order_the_items_of_a_sid(self):
        rows = [{"item": i, "sid": [0], "priority": p} for i, p in [(1, 5), (2, 9), (3, -1), (4, 5)]]
        self.inspect("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        self.assertEqual(self.items(0), ["2", "1", "4", "3"])
        table = "item,sid,p\n" + "".join("%d,0,%d\n" % (row["item"], row["priority"]) for row in rows)
        self.inspect("a.csv", table, "--priority-column", "p")
        self.assertEqual(self.items(0), ["2", "1", "4", "3"])
        self.inspect("a.csv", table, "--priority-column", "p", "--collisions", "first")
        self.assertEqual(self.items(0), ["2"])

    def test_priorities_are_kept_on_request(self):
        source = self.write("a.csv", "item,sid,p\n1,0,5\n2,0,70000\n3,0,-1\n4,1,5\n")
        options = ["--input", source, "--priority-column", "p"]
        self.ok("build", *options, "--output", self.path("x.sidx"))
        plain = self.json("inspect", self.path("x.sidx"))
        self.ok("build", *options, "--output", self.path("y.sidx"), "--keep-priorities")
        self.ok("verify", "--full", self.path("y.sidx"))
        kept = self.json("inspect", self.path("y.sidx"))
        self.assertEqual((plain["priorities"], plain["format_version"]), (None, "1.2"))
        self.assertEqual((kept["priorities"], kept["format_version"]), ({"least": -1, "greatest": 70000}, "1.4"))
        self.assertEqual(kept["fingerprint"], plain["fingerprint"])
        section = {"kind": "item_priorities", "level": None, "encoding": "u32", "bytes": 16}
        self.assertEqual([s for s in kept["sections"] if s not in plain["sections"]], [section])
        self.assertRegex(self.ok("inspect", self.path("y.sidx")), r"\npriorities +-1 \.\. 70,000\n")
        plan = self.json("plan", *options, "--keep-priorities")
        self.assertEqual((plan["file_bytes"], plan["sections"][-1]), (kept["file_bytes"], section))
        # Of equal ones the header says all.
        source = self.write("b.csv", "item,sid\n1,0\n2,0\n")
        self.ok("build", "--input", source, "--output", self.path("z.sidx"), "--keep-priorities")
        equal = self.json("inspect", self.path("z.sidx"))
        self.assertEqual(equal["priorities"], {"least": 0, "greatest": 0})
        self.assertEqual(equal["sections"][-1]["kind"], "item_ids")


class Windows(Case):
    """Text is read in pieces; lines and records span pieces, and may be longer than one."""

    def ids(self, name, content, *options):
        self.ok("build", "--input", self.write(name, content), "--output", self.path("x.sidx"), *options)
        return self.json("lookup", self.path("x.sidx"), "--sid", "1,1")["items"]

    def test_csv(self):
        wild = ["x" * 3000000, 'quote " comma , line \r\n end', '"', ",", "\n" * 50000, '""' * 40000] + [
            str(i) * (i % 97) + "-\n\"" + str(i) for i in range(40000)]
        rows = "".join('"%s",1 1\r\n' % name.replace('"', '""') for name in wild)
        self.assertEqual(sorted(self.ids("a.csv", 'item,sid\n' + rows)), sorted(wild))
        # Without an end of line, without quotes, and with a fault whose line number counts quoted ends of line.
        plain = [str(i) * (i % 97 + 1) + "x" for i in range(40000)]
        self.assertEqual(sorted(self.ids("b.csv", "sid,item\n" + "\n".join("1 1," + name for name in plain))),
                         sorted(set(plain)))
        lines = 1 + rows.count("\n")
        self.fails("a.csv':%d: " % (lines + 1), "plan", "--input", self.write("a.csv", 'item,sid\n' + rows + '"a",x\n'))
        self.fails("a quote that does not end", "plan", "--input",
                   self.write("a.csv", 'item,sid\n' + rows + '"' + "a" * 2000000), "--quotes", "rfc4180")

    def test_jsonl_and_ids(self):
        wild = ["y" * 3000000] + ["%s\u00e9" % (str(i) * (i % 97)) + str(i) for i in range(40000)]
        rows = "".join(json.dumps({"item": name, "sid": [1, 1]}) + "\n" for name in wild)
        self.assertEqual(sorted(self.ids("a.jsonl", rows)), sorted(wild))
        ids = self.write("ids.txt", "\ufeff" + "\r\n".join(wild))
        self.assertEqual(sorted(self.ids("a.npy", npy("<i4", (len(wild), 2), [1] * (2 * len(wild))), "--ids", ids)),
                         sorted(wild))

    def test_json_of_many_parts(self):
        wild = ["y" * 3000000, "\\", "}],", '"{[,'] + ["%s\u00e9 " % (str(i) * (i % 97)) + str(i) for i in range(40000)]
        separators = (",\n", ": ")
        members = json.dumps({name: ["<a_1>", "<b_1>"] for name in wild}, separators=separators)
        records = json.dumps([{"item": name, "sid": [1, 1]} for name in wild], separators=separators, indent=1)
        for name, text, more in (("a.json", members, ',\n"x": ["<a_1>"]}'),
                                 ("b.json", records, ',\n{"item": "x", "sid": [1]}]')):
            with self.subTest(name):
                self.assertEqual(sorted(self.ids(name, text)), sorted(wild))
                line = text.rstrip("]\n").count("\n") + 2
                self.fails("%s':%d: item 'x': SID of 1 code" % (name, line), "plan", "--input",
                           self.write(name, text[:-1].rstrip() + more))
        twice = members[:-1] + ',\n"\\\\": ["<a_1>", "<b_1>"]}'
        self.fails("a.json':%d: item '\\' comes twice, first in line 3" % (twice.count("\n") + 1), "plan", "--input",
                   self.write("a.json", twice))

    def test_rows_of_numbers(self):
        count = 70001
        codes = [i * 7 % 50 for i in range(3 * count)]
        numbers = self.write("n.npy", npy("<i4", (count, 3), codes))
        raw = self.write("n.raw", struct.pack("<%di" % (3 * count), *codes))
        records = self.write("n.bin", b"".join(struct.pack("<q3i", i, *codes[3 * i:3 * i + 3]) for i in range(count)))
        rows = self.jsonl("n.jsonl", [(i, codes[3 * i:3 * i + 3]) for i in range(count)])
        prints = {self.json("build", "--input", path, "--output", self.path("x.sidx"), *options)["fingerprint"]
                  for path, *options in [(numbers,), (raw, "--levels", 3), (records, "--format", "xllm"), (rows,)]}
        self.assertEqual(len(prints), 1)


class VariableLength(Case):
    SIDS = [[1], [1, 2], [1, 2, 0], [0, 3]]

    def check(self, name, content, *options):
        path, index = self.write(name, content), self.path("x.sidx")
        report = self.json("build", "--input", path, "--output", index, "--variable-length", *options)
        self.assertEqual((report["sids"], report["levels"], report["codes"]), (4, 3, [2, 4, 1]))
        for ordinal, sid in enumerate([[0, 3], [1, 2, 0], [1, 2], [1]]):
            found = self.json("lookup", index, "--sid", ",".join(map(str, sid)))
            self.assertEqual((found["ordinal"], found["items"]), (ordinal, [str(self.SIDS.index(sid))]))

    def test_jsonl(self):
        self.check("a.jsonl", "".join(json.dumps({"item": i, "sid": s}) + "\n" for i, s in enumerate(self.SIDS)))

    def test_lcrec(self):
        tokens = {i: ["<%s_%d>" % (letter, code) for letter, code in zip("abc", s)] for i, s in enumerate(self.SIDS)}
        self.check("a.json", json.dumps(tokens))
        self.check("a.json", json.dumps({i: "".join(each) for i, each in tokens.items()}))

    def test_csv(self):
        rows = "".join("%d,%s\n" % (i, " ".join(map(str, s))) for i, s in enumerate(self.SIDS))
        self.check("a.csv", "item,sid\n" + rows)
        rows = "".join("%d,%s\n" % (i, ",".join(map(str, s + [""] * (3 - len(s))))) for i, s in enumerate(self.SIDS))
        self.check("a.csv", "item,a,b,c\n" + rows, "--sid-columns", "a,b,c")

    def test_npy_and_raw(self):
        padded = [c for s in self.SIDS for c in s + [-1] * (3 - len(s))]
        self.check("a.npy", npy("<i4", (4, 3), padded))
        self.check("a.raw", struct.pack("<12i", *padded), "--levels", "3")


class Bad(Case):
    """Bad input fails alike in build and plan, and leaves no file."""

    def bad(self, text, name, content, *options):
        path = self.write(name, content)
        self.fails(text, "build", "--input", path, "--output", self.path("x.sidx"), *options)
        self.assertFalse(os.path.exists(self.path("x.sidx")))
        self.fails(text, "plan", "--input", path, *options)


class BadRows(Bad):
    def test_codes(self):
        two = '{"item":1,"sid":[1,2]}\n'
        self.bad("a.jsonl':2: item '1': code 300 at level 1, expected 0..255", "a.jsonl",
                 two + '{"item":1,"sid":[1,300]}', "--codes", "256")
        self.bad("a.jsonl':1: item '1': code 2 at level 1, expected 0..1", "a.jsonl", two, "--codes", "9,2")
        self.bad("code -1 at level 0, expected 0..16777215", "a.jsonl", '{"item":1,"sid":[-1]}')
        self.bad("code 16777216 at level 0, expected 0..16777215", "a.jsonl", '{"item":1,"sid":[16777216]}')
        self.bad("code 16777215 at level 0, expected 0..16777214", "a.jsonl", '{"item":1,"sid":[16777215]}',
                 "--variable-length")
        self.bad("1.5, expected an integer code", "a.jsonl", '{"item":1,"sid":[1.5]}')
        self.bad("code 5000000000 at level 0, expected 0..16777215", "a.jsonl", '{"item":1,"sid":[5000000000]}')
        self.bad("99999999999999999999, expected an integer code", "a.jsonl", '{"item":1,"sid":[99999999999999999999]}')
        self.bad("a.json':1: item '7': token 'x_' at level 0 has no code, expected one such as '<a_236>'", "a.json",
                 '{"7":["x_"]}')
        self.bad("item '7': code 9 at level 1, expected 0..3", "a.json", '{"7":["<a_0>","<b_9>"]}', *CODES)
        self.bad("a.csv':3: item '2': token '2x' at level 1, expected a plain number, as '2' (item '1', line 2)",
                 "a.csv", "item,sid\n1,1 2\n2,1 2x\n")
        self.bad("a.csv':2: item '1': an empty token, expected a code", "a.csv", "item,sid\n1,1-2-\n")
        self.bad("a.csv':2: item '1': code -2 at level 0", "a.csv", "item,sid\n1,-2\n")
        self.bad("a.csv':3: item '2': token '<a_>' at level 1, expected one of the family <b_*>", "a.csv",
                 "item,sid\n1,<a_1><b_1>\n2,<a_1><a_>\n")
        self.bad("a.npy': row 1: code 9 at level 0, expected 0..3", "a.npy", npy("|u1", (2, 1), [0, 9]), *CODES)
        self.bad("a.npy': row 0: code 18446744073709551615 is too large", "a.npy", npy("<u8", (1, 1), [2**64 - 1]))
        self.bad("a.npy': row 1: code -1 at level 1", "a.npy", npy("<i4", (2, 2), [0, 1, 0, -1]))
        self.bad("a.raw': row 1: code -5 at level 1", "a.raw", struct.pack("<4i", 0, 0, 0, -5), "--levels", "2")
        self.bad("a.bin': row 0: code -5 at level 2", "a.bin", struct.pack("<q3i", 1, 0, 0, -5), "--format", "xllm")

    def test_lengths(self):
        self.bad("a.jsonl':2: item '2': SID of 1 code, expected 2 as in the first row (or --variable-length)",
                 "a.jsonl",
                 '{"item":1,"sid":[1,2]}\n{"item":2,"sid":[1]}')
        self.bad("SID of 2 codes, expected 3 (or --variable-length)", "a.jsonl", '{"item":1,"sid":[1,2]}',
                 "--levels", "3")
        self.bad("SID of more than 1 code, expected 1", "a.jsonl", '{"item":1,"sid":[1,2]}', "--levels", "1")
        self.bad("SID of more than 1 code, expected at most 1", "a.jsonl", '{"item":1,"sid":[1,2]}', "--levels", "1",
                 "--variable-length")
        for name, content in [("a.jsonl", json.dumps({"item": 1, "sid": [0] * 1000000})),
                              ("a.index.json", json.dumps({"1": [0] * 1000000})),
                              ("a.csv", "item,sid\n1," + "0 " * 1000000)]:
            self.bad("SID of more than 255 codes, expected at most 255", name, content, "--variable-length")
            self.bad("SID of more than 3 codes, expected 3", name, content, "--levels", 3)
        self.bad("a.jsonl':2: item '2': SID of more than 2 codes, expected 2 as in the first row", "a.jsonl",
                 '{"item":1,"sid":[1,2]}\n{"item":2,"sid":[1,2,-9]}')
        self.bad("SID of more than 255 codes, expected at most 255", "a.jsonl",
                 json.dumps({"item": 1, "sid": [0] * 256}))
        self.bad("a.jsonl':3: item '1': empty SID, expected at least one code", "a.jsonl",
                 '{"item":1,"sid":[1]}\n\n{"item":1,"sid":[]}', "--variable-length")
        self.bad("a.csv':2: item '1': empty SID", "a.csv", "item,sid\n1,\n")
        self.bad("a.npy': row 1: empty SID", "a.npy", npy("<i4", (2, 2), [0, -1, -1, -1]), "--variable-length")
        self.bad("SIDs of 3 codes, expected 4 (--levels)", "a.npy", npy("<i4", (1, 3), [0, 0, 0]), "--levels", "4")
        # By the header, before rows of any width are read.
        self.bad("SIDs of 1000000 codes, expected at most 255", "a.npy", npy("|i1", (1, 1000000), b"\xff" * 1000000),
                 "--levels", "4", "--variable-length")
        self.bad("SIDs of 3 codes, expected 2 (--codes)", "a.npy", npy("<i4", (1, 3), [0, 0, 0]), "--codes", "1,1")
        self.bad("SIDs of 3 codes, expected 4", "a.bin", struct.pack("<q3i", 1, 0, 0, 0), "--format", "xllm",
                 "--levels",
                 "4")
        self.bad("SIDs of 256 codes, expected at most 255", "a.npy", npy("|u1", (1, 256), [0] * 256))

    def test_items(self):
        self.bad("a.jsonl':1: no \"item\" (--item-column), expected the item's id", "a.jsonl", '{"sid":[1]}')
        self.bad("a.jsonl':1: \"item\": expected a string or an integer", "a.jsonl", '{"item":1.5,"sid":[1]}')
        self.bad("a.jsonl':1: \"item\": empty id", "a.jsonl", '{"item":"","sid":[1]}')
        self.bad("\"priority\": expected an integer", "a.jsonl", '{"item":1,"sid":[1],"priority":"x"}')
        self.bad("a.csv':2: empty 'item'", "a.csv", "item,sid\n,1\n")
        self.bad("item '': empty id", "a.json", '{"":["<a_1>"]}')

    def test_ids_file(self):
        rows = npy("|u1", (2, 1), [0, 1])
        self.bad("ids': 1 ids, expected 2, one for each row of", "a.npy", rows, "--ids", self.write("ids", "7\n"))
        self.bad("ids': 3 ids, expected 2", "a.npy", rows, "--ids", self.write("ids", npy("<i8", (3,), [1, 2, 3])))
        self.bad("ids':2: empty id", "a.npy", rows, "--ids", self.write("ids", "7\n\n"))
        self.bad("expected (N,) integers", "a.npy", rows, "--ids", self.write("ids", npy("<f4", (2,), [1, 2])))
        self.bad("absent': cannot open: No such file", "a.npy", rows, "--ids", self.path("absent"))
        for name, content in [("a.jsonl", '{"item":1,"sid":[1]}'), ("a.csv", "item,sid\n1,1\n")]:
            self.misused("--ids: goes with npy, npz and raw", "build", "--input", self.write(name, content), "--output",
                         self.path("x"), "--ids", self.write("ids", "7\n"))


class BadFiles(Bad):
    def test_absent_empty_or_no_file(self):
        self.fails("absent.jsonl': cannot open: No such file", "build", "--input", self.path("absent.jsonl"),
                   "--output",
                   self.path("x"))
        self.fails("cannot read: Is a directory", "build", "--input", self.folder, "--output", self.path("x"))
        for name in ["a.jsonl", "a.csv", "a.json", "a.npy", "a.raw"]:
            self.bad("empty file, expected at least one SID", name, "", "--levels", "2")

    def test_empty_catalogue(self):
        self.bad("a.jsonl': no SID in it, expected at least one", "a.jsonl", "\n \n")
        self.bad("no SID in it", "a.csv", "item,sid\n")
        self.bad("no SID in it", "a.json", "{}")
        self.bad("shape (0, 3), expected at least one SID", "a.npy", npy("<i4", (0, 3), []))
        self.bad("expected at least one SID", "a.npy", npy("<i4", (3, 0), []))

    def test_unknown_format(self):
        for name in ["a.bin", "a.parquet", "a"]:
            self.misused("cannot tell the format", "build", "--input", self.write(name, "\1\2\3"), "--output",
                         self.path("x"))

    def test_json(self):
        self.bad("a.jsonl':2: not JSON", "a.jsonl", '{"item":1,"sid":[1]}\n{"item":1,"sid":[1]\n')
        self.bad("a.jsonl':1: not JSON", "a.jsonl", '{"item":1,"sid":[1]} x\n')
        self.bad("a.jsonl': a JSON list, expected one of objects", "a.jsonl", "[1]\n")
        self.bad("a.jsonl':1: expected an object", "a.jsonl", "[1]\n", "--format", "jsonl")
        self.bad("a.jsonl':1: item '1': no \"sid\"", "a.jsonl", '{"item":1}\n')
        self.bad("true, expected a token such as", "a.jsonl", '{"item":1,"sid":true}\n')
        self.bad("a.json':1: not JSON", "a.json", '{"1": ["<a_1>"]')
        self.bad("a.json':2: not JSON", "a.json", '{"1": ["<a_1>"],\n}')
        self.bad("a.json':1: item '1': not JSON", "a.json", '{"1": ["<a_1>"] "2": ["<a_1>"]}')
        self.bad("a.json':1: not JSON", "a.json", '{, "1": ["<a_1>"]}')
        self.bad("a.json':1: not JSON", "a.json", '{] "1": ["<a_1>"]}')
        self.bad("a.json':2: not JSON", "a.json", '{"1": ["<a_1>"]}\n{}', "--format", "lcrec")
        self.bad("a.json':1: item '1': not JSON", "a.json", '{"1": ["<a_1>"}]', "--format", "lcrec")
        self.bad("a.json': expected one JSON object", "a.json", "[1]", "--format", "lcrec")
        self.bad("a.json':2: item '1': null, expected a token such as", "a.json", '{\n"1": null}')

    def test_keys_that_come_twice(self):
        self.bad("a.jsonl':2: item '2': \"sid\" comes twice in one object", "a.jsonl",
                 '{"item":1,"sid":[1]}\n{"item":2,"sid":[1],"sid":[2]}')
        self.bad("a.jsonl':1: item '1': \"x\" comes twice", "a.jsonl", '{"item":1,"x":1,"sid":[1],"x":[[]]}')
        self.bad("a.index.json':5: item '17' comes twice, first in line 2", "a.index.json",
                 '{\n"17": ["<a_1>"],\n"\\"17\\\\": [\n"<a_2>"],\n"17": ["<a_1>"]}')
        self.bad("a.index.json':1: item 'a' comes twice, first in line 1", "a.index.json",
                 '{"a": ["<a_1>", "<b_2>"], "\\u0061": ["<a_1>", "<b_2>"]}')
        # Behind keys in order, of which it can be the last one or another.
        keys = ["%d" % (7 * i) for i in range(150)]
        for key in [keys[-1], keys[-2], keys[70], keys[0]]:
            members = ['"%s": ["<a_%d>"]' % (each, i) for i, each in enumerate([*keys, key])]
            self.bad("a.index.json':%d: item '%s' comes twice, first in line %d" %
                     (len(members), key, keys.index(key) + 1), "a.index.json", "{%s}" % ",\n".join(members))

    def test_the_line_of_a_record_behind_many_that_are_alike(self):
        """Which are read some at a time."""
        forms = [("a.jsonl", "", '{"item": "i%d", "sid": [%d, 1]}', '{"item": "i%d", "sid": [1]}', "\n", ""),
                 ("a.json", "[", '{"item": "i%d", "sid": [%d, 1]}', '{"item": "i%d", "sid": [1]}', ",\n", "]"),
                 ("a.index.json", "{", '"i%d": ["<a_%d>", "<b_1>"]', '"i%d": ["<a_1>"]', ",\n", "}"),
                 ("a.csv", "item,sid\n", "i%d,<a_%d><b_1>", "i%d,<a_1>", "\n", "")]
        for name, begin, row, bad, between, end in forms:
            for count in [1, 2, 64, 65, 66, 129, 200]:
                rows = [row % (i, i) for i in range(count)] + [bad % count] + [row % (i, i) for i in range(201, 300)]
                line = begin.count("\n") + count + 1
                self.bad("%s':%d: item 'i%d': SID of 1 code, expected 2" % (name, line, count), name,
                         begin + between.join(rows) + end)

    def test_csv(self):
        self.bad("no column of item ids (--item-column), the first line has 'x', 'sid'", "a.csv", "x,sid\n1,2\n")
        self.bad("no column of SIDs (--sid-columns), the first line has 'item', 'x'", "a.csv", "item,x\n1,2\n")
        self.bad("no column 'item' (--item-column), there are 'id', 'sid'", "a.csv", "id,sid\n1,2\n", "--item-column",
                 "item")
        self.bad("no column 'c1' (--sid-columns)", "a.csv", "item,c0\n1,2\n", "--sid-columns", "c0,c1")
        twice = "item,sid,sid,item,p,p\n1,2,3,4,5,6\n"
        self.bad("a.csv': column 'sid' (--sid-columns) comes twice", "a.csv", twice)
        self.bad("a.csv': column 'item' (--item-column) comes twice", "a.csv", twice.replace("sid", "x", 1))
        once = self.write("b.csv", "item,sid,p,p\n1,2,3,4\n")
        self.ok("plan", "--input", once)
        self.fails("b.csv': column 'p' (--priority-column) comes twice", "plan", "--input", once,
                   "--priority-column", "p")
        self.bad("a.csv':3: 3 fields, expected 2 as in the first line", "a.csv", "item,sid\n1,2\n1,2,3\n")
        self.bad("a.csv':2: a quote that does not end", "a.csv", 'item,sid\n1,"2\n', "--quotes", "rfc4180")
        self.bad("a.csv':4: text after a closing quote", "a.csv", 'item,sid\n"1\n",2\n1,"2"3\n', "--quotes", "rfc4180")
        self.misused("go with lcrec, records, jsonl, csv and npz, not npy", "build",
                     "--input", self.write("a.npy", npy("|u1", (1, 1), [0])), "--output", self.path("x"),
                     "--item-column", "id")

    def test_npy(self):
        good = npy("<i4", (2, 2), [0, 1, 2, 3])
        for length in [3, 7, 9, 30, 127]:
            self.bad("a.npy': ", "a.npy", good[:length])
        self.bad("12 bytes of data, expected 16 for shape (2, 2) of '<i4'", "a.npy", good[:-4])
        self.bad("17 bytes of data, expected 16", "a.npy", good + b"x")
        self.bad("a.npy': row 1: a number that is not whole", "a.npy", npy("<f4", (2, 2), [0, 1, 2, 0.5]))
        self.bad("a.npy': row 0: NaN, expected integer codes", "a.npy", npy("<f8", (2, 2), [0, float("nan"), 2, 1]))
        self.bad("dtype '|b1', expected integer codes", "a.npy", npy("|b1", (2, 2), bytes(4)))
        self.bad("dtype '<U3', expected numbers", "a.npy", npy("<U3", (2, 2), bytes(48)))
        self.bad("dtype '|O', expected numbers", "a.npy", npy("|O", (2, 2), bytes(32)))
        self.bad("dtype with fields", "a.npy", good.replace(b"'<i4'", b"[('a']"))
        self.bad("shape (4,), expected (N, L)", "a.npy", npy("<i4", (4,), [0, 1, 2, 3]))
        self.bad("shape (1, 2, 2), expected (N, L)", "a.npy", npy("<i4", (1, 2, 2), [0, 1, 2, 3]))
        self.bad("shape (%d, %d) overflows" % (2**62, 2**62), "a.npy", npy("<i4", (2**62, 2**62), b""))
        self.bad(".npy version 9, expected 1, 2 or 3", "a.npy", good.replace(b"NUMPY\1", b"NUMPY\x09"))
        self.bad("not a .npy file", "a.npy", b"hello, world, hello", "--format", "npy")
        self.bad("header without 'shape'", "a.npy", good.replace(b"shape", b"sharp"))

    def test_raw_and_xllm(self):
        self.bad("10 bytes, expected a multiple of 8 (2 codes of 4 bytes)", "a.raw", bytes(10), "--levels", "2")
        self.bad("30 bytes, expected a multiple of 20", "a.bin", bytes(30), "--format", "xllm")
        self.misused("--levels: raw rows need it", "build", "--input", self.write("a.raw", bytes(8)), "--output",
                     self.path("x"))
