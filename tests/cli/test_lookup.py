"""sidbeam lookup: the three questions, exactly in their JSON form.
SPDX-License-Identifier: Apache-2.0
"""
import struct

from support import Case


class Lookup(Case):
    def setUp(self):
        super().setUp()
        self.x = self.index()

    def exactly(self, expected, *arguments):
        self.assertEqual(self.ok("lookup", *arguments, "--json"), expected + "\n")

    def test_prefix(self):
        self.exactly('{"prefix":[3],"next":[0,1],"end":false,"sids":3,"items":4}', self.x, "--prefix", "3")
        self.exactly('{"prefix":[3,1],"next":[0,2],"end":false,"sids":2,"items":3}', self.x, "--prefix", "3,1")
        self.exactly('{"prefix":[3,1,2],"next":[],"end":true,"sids":1,"items":2}', self.x, "--prefix", "3,1,2")
        self.exactly('{"prefix":[],"next":[0,1,2,3],"end":false,"sids":7,"items":8}', self.x, "--prefix", "")
        self.exactly('{"prefix":[3,3],"next":[],"end":false,"sids":0,"items":0}', self.x, "--prefix", "3,3")
        self.exactly('{"prefix":[3,3,3],"next":[],"end":false,"sids":0,"items":0}', self.x, "--prefix", "3,3,3")

    def test_sid(self):
        self.exactly('{"sid":[3,1,2],"found":true,"ordinal":6,"items":["10","15"]}', self.x, "--sid", "3,1,2")
        self.exactly('{"sid":[3,1,1],"found":false,"ordinal":null,"items":[]}', self.x, "--sid", "3,1,1")

    def test_item(self):
        self.exactly('{"item":"15","sids":[{"sid":[3,1,2],"ordinal":6}]}', self.x, "--item", "15")
        self.exactly('{"item":"99","sids":[]}', self.x, "--item", "99")
        self.exactly('{"item":"-5","sids":[]}', self.x, "--item", "-5")

    def test_item_with_several_sids(self):
        index = self.index(catalogue=[("a", [2]), ("b", [1]), ("a", [0])], name="y.sidx")
        self.exactly('{"item":"a","sids":[{"sid":[0],"ordinal":0},{"sid":[2],"ordinal":2}]}', index, "--item", "a")
        self.exactly('{"item":"","sids":[]}', index, "--item", "")

    def test_variable_length(self):
        index = self.index("--variable-length", catalogue=[("1", [1]), ("2", [1, 2]), ("3", [1, 0])], name="y.sidx")
        self.exactly('{"prefix":[1],"next":[0,2],"end":true,"sids":3,"items":3}', index, "--prefix", "1")
        self.exactly('{"sid":[1],"found":true,"ordinal":2,"items":["1"]}', index, "--sid", "1")
        self.exactly('{"sid":[0],"found":false,"ordinal":null,"items":[]}', index, "--sid", "0")

    def test_every_kind_answers_alike(self):
        for kinds in ["compact", "sorted", "hash", "sorted,hash"]:
            index = self.index("--kinds", kinds, name="y.sidx")
            for question in [("--prefix", "3"), ("--prefix", ""), ("--sid", "3,1,2"), ("--item", "13")]:
                self.assertEqual(self.json("lookup", index, *question), self.json("lookup", self.x, *question), kinds)

    def test_more_continuations_than_codes(self):
        """Damage that opening does not see: the first node has the children of the second too."""
        rows = [(str(i), [i // 10, i % 10]) for i in range(40)]
        index = self.index("--codes", "4,10", catalogue=rows, name="y.sidx")
        data = self.read("y.sidx")
        row_pointers = struct.pack("<5I", 0, 10, 20, 30, 40)
        self.assertEqual(data.count(row_pointers), 2)  # and the ordinals, which are the same
        self.write("y.sidx", data.replace(row_pointers, struct.pack("<5I", 0, 20, 20, 30, 40)))
        self.fails("y.sidx': 11 codes follow a prefix of 1, expected at most 10: the index is damaged", "lookup", index,
                   "--prefix", "0")

    def test_names_that_overlap(self):
        # Copies of all of them could be as long as the section of names times the number of items.
        self.fails("the names of item rows 1 and 2 overlap: the index is damaged", "lookup",
                   self.index_of_overlapping_names(), "--sid", "1,2")

    def test_text(self):
        self.assertIn("next codes  0,1\n", self.ok("lookup", self.x, "--prefix", "3"))
        self.assertEqual(self.ok("lookup", self.x, "--sid", "3,1,2"),
                         "SID      3,1,2\nordinal  6\nitems    10\n         15\n")
        self.assertEqual(self.ok("lookup", self.x, "--sid", "3,1,1"), "no SID 3,1,1\n")
        self.assertEqual(self.ok("lookup", self.x, "--item", "99"), "no item 99\n")

    def test_bad_questions(self):
        self.fails("--prefix: code 4 at level 1, expected 0..3", "lookup", self.x, "--prefix", "3,4")
        self.fails("--prefix: code -1 at level 0, expected 0..3", "lookup", self.x, "--prefix", "-1")
        self.fails("--prefix: 4 codes, expected at most 3", "lookup", self.x, "--prefix", "0,0,0,0")
        self.fails("--sid: 2 codes, expected 3", "lookup", self.x, "--sid", "3,1")
        self.fails("--sid: 0 codes, expected 3", "lookup", self.x, "--sid", "")
        self.fails("--sid: code 9 at level 2, expected 0..3", "lookup", self.x, "--sid", "3,1,9")
        self.fails("--item: 'B07', expected a signed 64-bit integer", "lookup", self.x, "--item", "B07")
        self.misused("--prefix: '3,x', expected integers separated by commas", "lookup", self.x, "--prefix", "3,x")
        self.misused("--prefix: '3,', expected integers", "lookup", self.x, "--prefix", "3,")
