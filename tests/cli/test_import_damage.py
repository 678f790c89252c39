"""What a slip of the hand or a program makes of a catalogue: ids that are missing, bytes that are no text, a column of
another name, an array with a changed byte. An error, or the same catalogue; never another.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os

from support import npy, run
from test_import import Refusal, zipped


class MissingIds(Refusal):
    """An id that is missing, as programs write it into text: never one of an item, and never one of two."""

    # Format, a row of it, and what its ids are in, for the message.
    FORMS = [("a.csv", "item,sid\n%s", "%s,<a_%d><b_1>\n", "'item'"),
             ("a.tsv", "id\tc0\tc1\n%s", "%s\t%d\t1\n", "'id'"),
             ("a.jsonl", "%s", '{"docid": "%s", "sid": [%d, 1]}\n', '"docid"'),
             ("a.json", "[\n%s{\"item\": \"9\", \"sid\": [0, 0]}]", '{"item": "%s", "sid": [%d, 1]},\n', '"item"')]
    SPELLED = ["nan", "NaN", "NAN", "-nan", "null", "NULL", "None", "NA", "n/a", "<NA>", "NaT", "nil", "undefined",
               "#N/A"]

    def text(self, frame, row, ids):
        return frame % "".join(row % (item, i) for i, item in enumerate(ids))

    def test_among_numbers_it_is_an_error(self):
        for word in self.SPELLED:
            for name, frame, row, field in self.FORMS:
                line = 2 + (1 if frame.count("\n") else 0)
                self.refused(["%s':%d: item '%s': %s: '%s', an id that is missing, expected a number as the others"
                              % (name, line, word, field, word)], "plan", "--input",
                             self.write(name, self.text(frame, row, ["12", word, "14"])))
        self.refused(["a.json':2: item 'NaN': key: 'NaN', an id that is missing"], "plan", "--input",
                     self.write("a.json", '{"1": ["<a_1>"],\n"NaN": ["<a_2>"]}'))
        ids = self.write("ids.txt", "7\nnan\n8\n")
        self.refused(["ids.txt':2: 'nan', an id that is missing, expected a number"], "plan", "--input",
                     self.write("a.npy", npy("|u1", (3, 1), [0, 1, 2])), "--ids", ids)
        # Numbers in any form, and as many as a pattern takes: the line is told all the same.
        text = "item,sid\n" + "".join("%d.0,%d\n" % (i, i % 9) for i in range(1000)) + " nan ,1\n"
        self.refused(["a.csv':1002: item ' nan '"], "plan", "--input", self.write("a.csv", text))

    def test_two_items_are_never_made_one(self):
        for word in self.SPELLED:
            for name, frame, row, field in self.FORMS:
                line = 4 + (1 if frame.count("\n") else 0)
                self.refused(["%s':%d: item '%s': %s: '%s' again, as in item '%s', line %d: written like an id that is "
                              "missing, expected one of its own for each item"
                              % (name, line, word, field, word, word, line - 2)], "plan", "--input",
                             self.write(name, self.text(frame, row, ["B07", word, "B08", word])))
        self.refused(["ids.txt':3: 'null' again, as in line 1"], "plan", "--input",
                     self.write("a.npy", npy("|u1", (3, 1), [0, 1, 2])), "--ids",
                     self.write("ids.txt", "null\nx\nnull"))
        for name, text in [("a.csv", "item,sid\n1,2\n  ,3\n"), ("a.jsonl", '{"item": " ", "sid": [1]}\n')]:
            self.fails("empty id", "plan", "--input", self.write(name, text))

    def test_it_is_an_id_where_ids_are_words(self):
        index = self.path("x.sidx")
        for name, frame, row, _ in self.FORMS:
            ids = ["B07", "nan", "none", "NA"]
            self.ok("build", "--input", self.write(name, self.text(frame, row, ids)), "--output", index)
            for i, item in enumerate(ids):
                self.assertEqual([s["sid"] for s in self.json("lookup", index, "--item", item)["sids"]], [[i, 1]])
        # One item with two SIDs, in one record.
        several = '{"item": "nan", "sid": [[1], [2]]}\n{"item": "b", "sid": [1]}'
        self.ok("build", "--input", self.write("a.jsonl", several), "--output", index)
        self.assertEqual(len(self.json("lookup", index, "--item", "nan")["sids"]), 2)
        # Other ids may come as often as they like.
        self.ok("build", "--input", self.write("a.csv", "item,sid\nnano,1\nnano,2\n"), "--output", index)


class NoUtf8(Refusal):
    def test_ids_and_tokens(self):
        for name, text, pieces in [
                ("a.csv", b"item,sid\nb,1\n\xff\xfe,0\n", ["a.csv':3: item '\\xff\\xfe': 'item': ", "is not UTF-8"]),
                ("a.tsv", b"sid\titem\n1\tb\n0\t\xc3\n", ["a.tsv':3: ", "'item': '\\xc3' is not UTF-8"]),
                ("a.csv", b"item,sid\nb,<a_1>\nc,<\xe9_1>\n", ["a.csv':3: item 'c': token '<\\xe9_1>' at level 0"]),
                ("a.csv", b"item,sid\nb,<\xe9_1>\nc,<\xe9_2>\n", ["a.csv':2: item 'b': token ", "is not UTF-8"]),
                ("a.csv", b"item,sid\nb,<\xe9> <a_1>\n", ["a.csv':2: item 'b': token '<\\xe9>' is not UTF-8"]),
                ("a.jsonl", b'{"item": "\xff", "sid": [1]}\n', ["a.jsonl':1: ", "UTF-8"]),
                ("a.jsonl", b'{"item": 1, "sid": "<\xe9_1>"}\n', ["a.jsonl':1: ", "UTF-8"]),
                ("a.json", b'{"a": ["<a_1>"],\n"\xff": ["<a_2>"]}\n', ["a.json':2: ", "UTF-8"])]:
            self.refused(pieces, "plan", "--input", self.write(name, text))
        # In a line that is like others, which no parser sees.
        rows = b"".join(b"x%d,%d,t\n" % (i, i % 7) for i in range(500))
        self.refused(["a.csv':502: ", "is not UTF-8"], "plan", "--input",
                     self.write("a.csv", b"item,sid,title\n" + rows + b"x\xf0\x9f\x98,1,t\n"))
        self.refused(["ids.txt':2: '\\xff' is not UTF-8, expected text that is"], "plan", "--input",
                     self.write("a.npy", npy("|u1", (2, 1), [0, 1])), "--ids", self.write("ids.txt", b"b\n\xff\n"))
        self.misused("is not UTF-8", "plan", "--input", self.write("a.csv", "item,sid\n1,<a_1>\n"),
                     "--token-pattern", os.fsdecode(b"<\xe9_*>"))
        # What is no part of the index may be anything.
        self.ok("plan", "--input", self.write("a.csv", b"item,sid,title\n" + rows + b"z\xc3\xa9,1,\xff\xfe\n"))


class LevelColumns(Refusal):
    """A level is never dropped for the name of its column."""

    def test_a_gap_is_named(self):
        for names, pieces in [("code_0,code_1,code_3", ["'code_0' and 'code_3' are there, and no 'code_2'"]),
                              ("c2,c3,c4", ["'c2' and 'c4' are there, and no 'c1'"]),
                              ("sid_00,sid_01,sid_03", ["no 'sid_02'"]), ("sid_0,sid_1,sid_22", ["no 'sid_2'"])]:
            self.refused([*pieces, "--sid-columns"], "plan", "--input",
                         self.write("a.csv", "item,%s\n1,2,3,4\n" % names))
        self.ok("plan", "--input", self.write("a.csv", "item,sid,code_1,code_5\n1,2,3,4\n"))

    def test_one_letter_of_one_name(self):
        """Every such change of every name: an error, or the same catalogue."""
        rows = "\n7,3,1,2,red\n8,0,1,9,blue\n"
        for stem, first in [("sid_", 0), ("c", 0), ("level-", 1), ("code_0", 0)]:
            names = ["item", *(stem + str(first + l) for l in range(3)), "colour"]
            right = self.fingerprint(",".join(names) + rows)
            self.assertIsNotNone(right)
            refusals = 0
            for at in range(1, 4):
                for changed in sorted(set(self.changes(names[at]))):
                    text = ",".join([*names[:at], changed, *names[at + 1:]])
                    found = self.fingerprint(text + rows)
                    self.assertIn(found, [None, right], text)
                    refusals += found is None
            self.assertGreater(refusals, 60)

    def test_files_that_are_as_they_should_be(self):
        for text in ["item,c0,c1,cat\n1,2,3,4\n", "item,c0,c1,cx\n1,2,3,red\n",
                     "item,level_1,level_2,level\n1,2,3,4\n", "c1,item,c0,c2\n1,2,3,4\n",
                     "item,l0,l1,lr\n1,2,3,0.5\n", "item,c3,c2,c1\n1,2,3,4\n",
                     "item,code_0,code_1,code_len\n1,2,3,4\n"]:
            self.ok("plan", "--input", self.write("a.csv", text))
        named = self.write("a.csv", "item,c0,c1,cs\n1,2,3,4\n")
        self.refused(["column 'cs' may be that of another level, 'c2', beside 'c0' ...: expected --sid-columns"],
                     "plan", "--input", named)
        self.ok("plan", "--input", named, "--sid-columns", "c0,c1")

    def fingerprint(self, text):
        status, out, _ = run("build", "--input", self.write("a.csv", text), "--output", self.path("x.sidx"), "--json")
        return json.loads(out)["fingerprint"] if status == 0 else None

    @staticmethod
    def changes(name):
        """What a slip of the hand makes of it."""
        for at in range(len(name) + 1):
            for letter in "x0_3S":
                yield name[:at] + letter + name[at:]
                yield name[:at] + letter + name[at + 1:]
            yield name[:at] + name[at + 1:]
            yield name[:at] + name[at + 1:at + 2] + name[at:at + 1] + name[at + 2:]


class OtherNames(Refusal):
    """Ids and priorities that a file may have or not are not dropped for their names either."""

    def test_a_field_of_priorities(self):
        rows = '{"item": 1, "sid": [1], "%s": 5}\n{"item": 2, "sid": [1], "%s": 9}\n'
        self.ok("plan", "--input", self.write("a.jsonl", rows % ("priority", "priority")))
        for name in ["priorty", "Priority", "priority_", "prioritY", "pirority"]:
            for line, names in [(1, (name, name)), (2, ("priority", name)), (1, (name, "priority"))]:
                self.refused(["a.jsonl':%d: item '%d': \"%s\" may be \"priority\", expected --priority-column"
                              % (line, line, name)], "plan", "--input", self.write("a.jsonl", rows % names))
        named = self.write("a.jsonl", rows % ("priorty", "priorty"))
        self.ok("plan", "--input", named, "--priority-column", "priorty")
        # Another field beside it is another field.
        self.ok("plan", "--input", self.write("a.jsonl", '{"item": 1, "sid": [1], "priority": 1, "priority2": 5}\n'))

    def test_an_array_of_ids_or_priorities(self):
        sid, column = npy("<i4", (3, 1), [0, 1, 2]), npy("<i8", (3,), [7, 8, 9])
        for name, usual, option in [("itm", "item", "--item-column"), ("ids", "id", "--item-column"),
                                    ("asni", "asin", "--item-column"), ("priorities", None, None),
                                    ("Prioriti", "priority", "--priority-column")]:
            path = self.write("a.npz", zipped({"sid": sid, name: column}))
            if usual is None:
                self.ok("plan", "--input", path)
                continue
            self.refused(["a.npz': array '%s' may be '%s', expected %s to say which array that is"
                          % (name, usual, option)], "plan", "--input", path)
            self.ok("plan", "--input", path, option, name)
        for other in [npy("<i8", (2,), [7, 8]), npy("<f4", (3,), [1, 2, 3]), npy("<i4", (3, 1), [0, 1, 2]), b"none"]:
            self.ok("plan", "--input", self.write("a.npz", zipped({"sid": sid, "ids": other})))
        self.ok("plan", "--input", self.write("a.npz", zipped({"sid": sid, "item": column, "ids": column})))


class Checksums(Refusal):
    def test_a_changed_byte_of_an_npz(self):
        arrays = {"sid": npy("<i4", (3, 2), [0, 1, 2, 3, 1, 1]), "item": npy("<i8", (3,), [5, 6, 7]),
                  "priority": npy("<i4", (3,), [1, 1, 2]), "other": npy("<i4", (1,), [77])}
        good, index = zipped(arrays), self.path("x.sidx")
        expected = self.json("build", "--input", self.write("a.npz", good), "--output", index)["fingerprint"]
        for name in ("sid", "item", "priority"):
            at = good.index(arrays[name]) + len(arrays[name]) - 4
            self.refused(["a.npz': array '%s.npy' is damaged: its CRC-32 is" % name], "plan", "--input",
                         self.write("a.npz", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]))
        # What is not read need not be whole.
        at = good.index(arrays["other"]) + len(arrays["other"]) - 4
        path = self.write("a.npz", good[:at] + b"\x01" + good[at + 1:])
        self.assertEqual(self.json("build", "--input", path, "--output", index)["fingerprint"], expected)
        # Of more than one piece, of a length that is no multiple of a word.
        count = 1500001
        large = zipped({"sid": npy("|u1", (count, 1), bytes(i * 7 % 251 for i in range(count)))})
        self.ok("plan", "--input", self.write("a.npz", large))
        at = large.index(b"\n", 64) + 1 + 1400003
        self.refused(["'sid.npy' is damaged"], "plan", "--input",
                     self.write("a.npz", large[:at] + bytes([large[at] ^ 128]) + large[at + 1:]))
