"""Tests of what makes the site and follows its links, on small pages of known content.

    python3 bindings/site/test_site.py

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
os.chdir(pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, "bindings/site")
import headers
import links
import markup
import pages
import prose


class Links(unittest.TestCase):
    def broken(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                pathlib.Path(folder, name.replace("_", ".")).write_text(text)
            return [line.replace(f"{folder}/", "") for line in links.Site(pathlib.Path(folder)).broken()]

    def test_what_leads_somewhere_is_right(self):
        a = '<a href="b.html#x">b</a><a href="#y">y</a><h1 id="y">y</h1><img src="c.svg"><a href="https://a.org/z">'
        self.assertEqual(self.broken(a_html=a, b_html='<a name="x"></a>', c_svg=""), [])

    def test_what_leads_nowhere_is_named_with_its_line(self):
        self.assertEqual(self.broken(a_html='\n<a href="b.html">b</a>'), ["a.html:2: b.html is not in the site"])
        self.assertEqual(self.broken(a_html='<a href="a.html#x">x</a>'), ["a.html:1: a.html#x has no such anchor"])
        self.assertEqual(self.broken(a_html='<a href="http:/x">x</a>'), ["a.html:1: http:/x is no address"])
        self.assertEqual(self.broken(a_html='<img src="x.png">'), ["a.html:1: x.png is not in the site"])
        self.assertEqual(self.broken(s_css='\np { background: url("x.png") }'), ["s.css:2: x.png is not in the site"])

    def test_nothing_is_loaded_from_a_network(self):
        for tag in ('<script src="https://example.org/x.js">', '<link rel="stylesheet" href="//example.org/x.css">',
                    '<img src="http://example.org/x.png">'):
            self.assertEqual(len(self.broken(a_html=tag)), 1, tag)
        self.assertEqual(self.broken(s_css="@import 'https://example.org/font.css';"),
                         ["s.css:1: https://example.org/font.css loads from a network"])


class Markdown(unittest.TestCase):
    def test_links_in_code_are_none(self):
        text = "[a](b.md) `[c](d.md)`\n```sh\n[e](f.md)\n```\n![g](h.svg) [`i`](j.md#k)\n"
        self.assertEqual([(image, target) for _, image, target in markup.links(text)],
                         [(False, "b.md"), (True, "h.svg"), (False, "j.md#k")])

    def test_anchors_are_github_s(self):
        text = "# What a card said\n## A live catalogue's `folder`\n## [x](y.md) & z\n```\n# no\n```\n# Twice\n# Twice"
        self.assertEqual(markup.anchors(text),
                         {"what-a-card-said", "a-live-catalogues-folder", "x--z", "twice", "twice-1"})

    def test_a_link_that_is_rewritten_keeps_its_label(self):
        text = "see [`x` (y)](x.c) and ![z](z.svg)"
        self.assertEqual(markup.rewrite(text, lambda target, image: ("page" if image else "file", "to/" + target)),
                         'see <a href="to/x.c">`x` (y)</a> and ![z](to/z.svg)')


class Pages(unittest.TestCase):
    def test_what_stands_for_a_path(self):
        site = pages.Site(pathlib.Path("unused"))
        for target, stands in (("../../README.md", ("page", "../../index.md")),
                               ("../gpu/README.md#x", ("page", "../gpu/README.md#x")),
                               ("../gpu", ("page", "../gpu/README.md")),
                               ("../../include/sidbeam/rows.h", ("page", "../../c/rows.h.md")),
                               ("plot.py", ("page", "../../source/tests/bench/plot.py.md")),
                               ("results/latest.json", ("file", "../../files/tests/bench/results/latest.json")),
                               ("https://example.org", ("page", "https://example.org"))):
            self.assertEqual(site.link("tests/bench/README.md", "tests/bench/README", target, image=False), stands)
        with self.assertRaisesRegex(SystemExit, "links to gone.md, which is not in the repository"):
            site.link("README.md", "index", "gone.md", image=False)


class Prose(unittest.TestCase):
    def rst(self, text):
        return prose.to_rst(text, {"sidbeam_x_open": "func", "SIDBEAM_OK": "enumerator"}, {"rows"}).strip()

    def test_names_become_links_and_families_do_not(self):
        self.assertEqual(self.rst("SIDBEAM_OK of sidbeam_x_open()"),
                         r"\ :c:enumerator:`SIDBEAM_OK`\  of \ :c:func:`sidbeam_x_open`\ ".strip())
        self.assertEqual(self.rst("see sidbeam_disc_*, libsidbeam_runner.so, rows.h"),
                         r"see sidbeam\_disc\_\*, libsidbeam\_runner.so, \ :doc:`rows.h`\ ".strip())

    def test_marks_mean_nothing_outside_code(self):
        self.assertEqual(self.rst("*out and `count`"), r"\*out and \ ``count``\ ".strip())

    def test_definitions_lists_and_programs(self):
        self.assertEqual(self.rst("Words:\n  code  one\n        element\n  SID   codes"),
                         "Words:\n\n``code``\n   one element\n``SID``\n   codes")
        self.assertEqual(self.rst("And\n  - one\n    more\n  - two"), "And\n\n- one more\n- two")
        self.assertEqual(self.rst("So:\n\n  int x = 1;\n  f(x);"), "So:\n\n::\n\n   int x = 1;\n   f(x);")


class Headers(unittest.TestCase):
    def complaints(self, text, parameters):
        function = headers.Item(2, "function", name="sidbeam_f", text=text, parameters=parameters)
        return list(headers.complaints("x.h", "", [[function]], {}))

    def test_a_function_needs_a_comment_that_names_its_plain_parameters(self):
        self.assertEqual(self.complaints("", []), ["x.h:2: sidbeam_f has no comment"])
        self.assertEqual(self.complaints("Does.", [("int32_t", "count"), ("sidbeam_error *", "err")]),
                         ["x.h:2: sidbeam_f: the comment does not name the parameter count"])
        parameters = [("int32_t", "count"), ("int64_t", "item_row")]
        self.assertEqual(self.complaints("Does `count` of an item row.", parameters), [])

    def test_comments_are_marked_by_where_they_stand(self):
        text = "/* file */\n/* free */\n\n/* of f */\nint f(void); /* beside */\n"
        self.assertEqual([kind for _, kind in headers.comments(text)], ["file", "free", "member", "beside"])
        self.assertEqual(headers.marked(text).count("\n"), text.count("\n"))

    def test_a_block_shares_its_first_comment(self):
        lines = ["/* of both */", "int f(void);", "int g(void);", "", "int h(void);"]
        items = [headers.Item(2, "function", text="of both"), headers.Item(3, "function"), headers.Item(5, "function")]
        self.assertEqual([len(group) for group in headers.groups(items, lines)], [2, 1])


if __name__ == "__main__":
    unittest.main()
