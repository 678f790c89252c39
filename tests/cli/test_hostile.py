"""Catalogues that are nearly right: each was read as another catalogue, or might be, and is refused.
SPDX-License-Identifier: Apache-2.0
"""
import io
import struct
import zipfile

from support import Case, npy, run


class Hostile(Case):
    def refused(self, content, *pieces, options=(), name="a"):
        """The command refuses the file, in one line with all the pieces, and leaves the old output alone."""
        source, output = self.write(name, content), self.write("x.sidx", "old")
        status, out, err = run("build", "--input", source, "--output", output, *options)
        self.assertEqual((status, out), (1, ""), (content, err))
        self.assertEqual(err.count("\n"), 1, err)
        for piece in pieces:
            self.assertIn(piece, err, content)
        self.assertEqual(self.read("x.sidx"), b"old")

    def sids(self, content, options=(), name="a"):
        """{item: SIDs} of items x and y, and the families."""
        source = self.write(name, content)
        report = self.json("build", "--input", source, "--output", self.path("x.sidx"), *options)
        found = {}
        for item in "xy"[:report["items"]]:
            found[item] = [each["sid"] for each in self.json("lookup", self.path("x.sidx"), "--item", item)["sids"]]
        return found, report["seen"]["families"]


class Strings(Hostile):
    """SIDs in one string."""

    def test_a_minus_after_a_space_is_a_sign(self):
        for text in ["3 -1 2", "3 1 -1", "[ 3  1 -1]", "[3, 1, -1]", "3|1|-1", "3 - 1 -2"]:
            for first in ["3 1 2", text]:
                self.refused('{"x": "%s", "y": "%s"}' % (first, text), "code -")
        self.assertEqual(self.sids('{"x": "3-1-2", "y": "3 - 1 - 2"}')[0], {"x": [[3, 1, 2]], "y": [[3, 1, 2]]})

    def test_nothing_between_separators(self):
        for text in ["1,,2", "1, ,2", "1;;2", "1__2", "1,2,"]:
            self.refused('{"x": "%s"}' % text, "item 'x': an empty token, expected a code")
            self.refused('{"x": "1 2", "y": "%s"}' % text, "item 'y': an empty token, expected a code")

    def test_numbers_with_an_exponent(self):
        self.refused('{"x": "1e-3"}', "1e-3 at level 0, expected an integer code")
        self.assertEqual(self.sids('{"x": "1e+03 20e-1"}')[0], {"x": [[1000, 2]]})

    def test_lists_over_several_lines(self):
        self.assertEqual(self.sids('item,sid\nx,"[ 1  2\n  3]"\ny,[1 2 3]\n')[0], {"x": [[1, 2, 3]], "y": [[1, 2, 3]]})

    def test_words_end_where_they_end(self):
        for first, text, piece in [("s b_1 c_2", "sb_1 c_2", "'sb_1', expected the begin token 's'"),
                                   ("a_1 b_2 end", "a_1 b_2end", "'b_2end', expected the end token 'end'"),
                                   ("a_1 b_2", "a_1-b_2", "token '-b_2' at level 1, expected one of the family b_*"),
                                   ("a_1 b_2 c_3", "a_1b_2 c_3", "token 'a_1b_2' at level 0"),
                                   ("<a_1><b_2>", "<a_1>-<b_2>", "token '-' at level 1")]:
            self.refused('{"x": "%s", "y": "%s"}' % (first, text), "item 'y': ", piece)
        self.assertEqual(self.sids('{"x": "a_1 b_2", "y": "a_1b_2"}')[0], {"x": [[1, 2]], "y": [[1, 2]]})

    def test_lists_that_are_cut_or_of_another_kind(self):
        for text in ["[1, 2", "{1, 2}", "tensor([1, 2])", "array([1, 2], dtype=int32)", "(a_1)(b_2)"]:
            self.refused('item,sid\nx,"%s"\n' % text, "has a bracket that does not close, expected a list [12, 24]")
        self.refused("item,sid\nx,1:2\ny,1:3\n", "'1:2' at level 0 has several numbers", "--token-pattern")

    def test_zeros_before_a_code(self):
        self.refused('{"x": ["<s0_01>"]}', "token '<s0_01>' at level 0", "; codes have no zeros before them")


class Lists(Hostile):
    """SIDs as lists."""

    def test_a_token_or_a_sid(self):
        for tokens in ['"s|12", "s|7"', '"[SID]12", "[SID]7"', '"<s><a_1>", "<s><a_2>"']:
            self.refused('{"x": [%s]}' % tokens, "whether each is a token or a SID cannot be told", "--token-pattern")
        options = ["--token-pattern", "[SID]*"]
        self.assertEqual(self.sids('{"x": ["[SID]12", "[SID]7"]}', options), ({"x": [[12, 7]]}, ["[SID]*", "[SID]*"]))
        self.assertEqual(self.sids('{"x": ["<s><a_1>"], "y": [["<s>", "<a_1>"], ["<s>", "<a_3>"]]}')[0],
                         {"x": [[1]], "y": [[1], [3]]})

    def test_several_tokens_in_the_place_of_one(self):
        for first, second in [('[["<a_1><b_2>"]]', '[["<a_1><b_3>"]]'), ('[["1 2"]]', '[["1 3"]]'),
                              ('["<a_1>", "<b_2><c_3>"]', '["<a_2>", "<b_2><c_4>"]')]:
            self.refused('{"x": %s, "y": %s}' % (first, second), "item 'x': ",
                         "has several numbers, expected one token")

    def test_numbers_have_no_begin_token(self):
        self.refused('{"x": [1, 2], "y": ["<s>", "3", "4"]}', "item 'y': token '<s>' at level 0")
        self.refused('{"x": ["<s>", "3", "4"], "y": [1, 2]}',
                     "item 'y': a SID of numbers, expected the token '<s>' as in item 'x', line 1")
        self.refused('{"item": "x", "sid": ["<s>", "3", "4"]}\n{"item": "y", "sid": [1, 2]}\n',
                     "a':2: item 'y': a SID of numbers, expected the token '<s>' as in item 'x', line 1")

    def test_a_digit_in_the_name_of_a_family(self):
        tokens = '["<v2_0>", "<v2_1>", "<v2_2>"]'
        self.refused('{"x": %s}' % tokens, "which number is the code cannot be told", "'<v2_*>' or '<v*_0>'")
        self.assertEqual(self.sids('{"x": %s, "y": ["<v2_5>", "<v2_1>", "<v2_2>"]}' % tokens)[1], ["<v2_*>"] * 3)

    def test_numbers_beside_tokens(self):
        for sid in ['["3", "<b_2>"]', '["<b_2>", "3"]', '"<a_1> 7"', '"<a_1>00"', '"a_1 7"']:
            self.refused('{"x": %s}' % sid, "at level 1 beside tokens like '", "expected numbers or tokens")
        self.refused('{"x": "<a_1><b_2>", "y": "<a_1><b_2>7"}', "token '7' at level 2 beside tokens like '<a_1>' (item "
                     "'x', line 1)", options=["--variable-length"])
        self.assertEqual(self.sids('{"x": ["3", "<b_2>"]}', ["--token-pattern", "* <b_*>"])[0], {"x": [[3, 2]]})

    def test_tokens_are_no_token_ids(self):
        options = ["--token-base", 100, "--codes", "100,50"]
        self.refused('{"x": ["<a_100>", "<b_200>"]}', "item 'x': tokens at level 0, expected token ids",
                     options=options)
        self.assertEqual(self.sids('{"x": ["100", "249"]}', options)[0], {"x": [[0, 49]]})


class Json(Hostile):
    def test_values_that_nobody_asks_for_are_json_too(self):
        for value in ["tru", "nullx", "nul", "(1", "00", '4"x"', "1e", "falsey"]:
            for text in ['{"x": {"t": %s, "sid": [1]}}', '[{"item": "x", "t": %s, "sid": [1]}]',
                         '{"item": "x", "sid": [1], "t": %s}\n{"item": "y", "sid": [1]}\n']:
                self.refused(text % value, "a':1: ", "not JSON: ")
        for value in ["null", "true", "false", "-1.5e3", '"x"', "[null, {}]", "{}"]:
            self.assertEqual(self.sids('{"x": {"t": %s, "sid": [1]}}' % value)[0], {"x": [[1]]})

    def test_brackets_around_one_word(self):
        rows = '{"x": "[a_1][b_2]", "y": "[a_2]"}'
        self.assertEqual(self.sids(rows, ["--variable-length"]), ({"x": [[1, 2]], "y": [[2]]}, ["[a_*]", "[b_*]"]))
        self.assertEqual(self.sids('{"x": "[a_1]"}')[1], ["[a_*]"])
        self.assertEqual(self.sids('{"x": "[12]", "y": "[\'3\']"}'), ({"x": [[12]], "y": [[3]]}, ["*"]))
        self.refused('{"x": "<, <a_1>"}', "token '<, <a_1>' has a bracket that does not close")


class Arrays(Hostile):
    ROWS = struct.pack("<6i", 1, 2, 3, 4, 5, 6)

    def header(self, text):
        text += " " * (-(len(text) + 11) % 64) + "\n"
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + self.ROWS

    def test_headers(self):
        good = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }"
        self.ok("plan", "--input", self.write("a", self.header(good)))
        for old, new, piece in [("False", "0", "neither True nor False"), ("False", "Falses", "neither True nor False"),
                                ("}", "'shape': (3, 2), }", "two 'shape'"), ("}", "'descr': '<u4', }", "two 'descr'"),
                                ("2, 3", "2,, 3", "'' in its shape"), ("2, 3", ", 2, 3", "'' in its shape")]:
            self.refused(self.header(good.replace(old, new)), ".npy header with", piece)

    def test_floats_that_may_have_been_rounded(self):
        for dtype, code in [("<f2", 2048.0), ("<f2", 4096.0), ("<f4", 2.0**24), ("<f8", 2.0**53)]:
            self.refused(npy(dtype, (1, 2), [1.0, code]), "or that '%s' does not tell from its neighbours" % dtype)
        self.ok("plan", "--input", self.write("a", npy("<f2", (1, 2), [1.0, 2047.0])))
        self.refused("item,sid,priority\nx,1,9007199254740993.0\n", "'priority': '9007199254740993.0', expected",
                     options=["--priority-column", "priority"])

    def test_integers_that_stand_for_nan_elsewhere(self):
        rows = npy("<i8", (2, 2), [1, 2, 1, -2**63])
        self.refused(rows, "row 1: code -9223372036854775808 at level 1", options=["--variable-length"])

    def zipped(self, arrays):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:
            for name, data in arrays.items():
                file.writestr(name, data)
        return out.getvalue()

    def test_members(self):
        sids = npy("<i4", (2, 3), self.ROWS)
        self.refused(self.zipped({"sid.npy_old": sids, "x.npy": sids}), "which of its arrays has the SIDs")
        priorities = npy("<u8", (2,), [1, 2**63 + 5])
        self.refused(self.zipped({"sid.npy": sids, "priority.npy": priorities}), "a:priority.npy': ",
                     "expected (2,) integers that an int64 holds")


class Names(Hostile):
    def test_long_names_do_not_hide_the_rest_of_the_message(self):
        text = '{"x": ["<a_1>"], "%s": ["<%s_1>"]}' % ("k" * 5000, "\u00e9" * 5000)
        self.refused(text, "item 'kkk", "kkk...': token '<", "...' at level 0, expected one of the family <a_*>, as "
                     "'<a_1>' (item 'x', line 1)")
