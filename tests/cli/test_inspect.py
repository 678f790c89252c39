"""sidbeam inspect and verify.
SPDX-License-Identifier: Apache-2.0
"""
import html.parser
import os
import re

from support import CATALOGUE, Case

KEYS = ["format_version", "verified", "sids", "items", "levels", "codes", "variable_length", "shortest", "longest",
        "id_type", "kinds", "file_bytes", "bytes_per_item", "merged_pairs", "collisions", "max_items_per_sid",
        "items_per_sid",
        "nodes_per_level", "mean_children_per_level", "max_children_per_level", "fingerprint", "codebook", "metadata",
        "attributes", "attribute_digest", "priorities", "sections"]


class Inspect(Case):
    def test_json(self):
        index = self.index("--codes", "4,5,6", "--kinds", "trie,sorted,hash", "--metadata", "k=v", "--codebook", "c")
        report = self.json("inspect", index)
        self.assertEqual(list(report), KEYS)
        size = os.path.getsize(index)
        expected = {"format_version": "1.2", "verified": "header", "sids": 7, "items": 8, "levels": 3,
                    "codes": [4, 5, 6], "variable_length": False, "shortest": 3, "longest": 3, "id_type": "i64",
                    "kinds": ["trie", "sorted", "hash"], "file_bytes": size, "bytes_per_item": size / 8,
                    "merged_pairs": 0, "collisions": 1, "max_items_per_sid": 2,
                    "items_per_sid": [{"items": 1, "sids": 6}, {"items": 2, "sids": 1}],
                    "nodes_per_level": [4, 6, 7], "max_children_per_level": [4, 2, 2],
                    "mean_children_per_level": [4.0, 1.5, 7 / 6], "codebook": "c", "metadata": {"k": "v"}}
        self.assertEqual({key: report[key] for key in expected}, expected)
        self.assertRegex(report["fingerprint"], r"^[0-9a-f]{32}$")
        for section in report["sections"]:
            self.assertEqual(list(section), ["kind", "level", "encoding", "bytes"])
        kinds = {section["kind"] for section in report["sections"]}
        self.assertLessEqual({"tokens", "row_pointers", "columns", "seeded_hash_keys", "item_ids"}, kinds)
        self.assertEqual({s["level"] for s in report["sections"] if s["kind"] == "tokens"}, {0, 1, 2})
        self.assertEqual({s["level"] for s in report["sections"] if s["kind"] == "item_ids"}, {None})

    def test_variable_length(self):
        index = self.index("--variable-length", catalogue=[("a", [1]), ("b", [1, 2])])
        report = self.json("inspect", index)
        self.assertEqual((report["variable_length"], report["shortest"], report["longest"], report["id_type"]),
                         (True, 1, 2, "string"))
        self.assertEqual(report["max_children_per_level"], [1, 2])

    def test_text(self):
        out = self.ok("inspect", self.index())
        self.assertRegex(out, r"\nverified +header\n")
        self.assertRegex(out, r"\nlevel  codes  nodes below  mean children  most children\n0 +4 +4 +4\.00 +4\n")
        self.assertRegex(out, r"\ntokens +u16 +2 +14 ")

    def test_page_is_whole_and_self_contained(self):
        catalogue = dict(CATALOGUE, **{str(100 + i): (0, 0, 0) for i in range(40)})
        index = self.index("--metadata", "k=<&>", catalogue=catalogue, name="a<b.sidx")
        self.ok("inspect", index, "--html", self.path("x.html"))
        page = self.read("x.html").decode()
        self.assertIn("a&lt;b.sidx", page)
        self.assertIn("k", page)
        self.assertIn("&lt;&amp;&gt;", page)
        self.assertNotRegex(page, r"(?i)https?://|src=|@import|url\(|<script|<link")
        self.assertIn("prefers-color-scheme: dark", page)
        self.assertEqual(page.count("<svg"), 4)
        self.assertIn('<th scope="row">verified</th><td>header</td>', page)
        for text in ["Sections by bytes", "Nodes per level", "Branching per level", "Collisions", "33 to 64 items",
                     "fingerprint", "bytes per item"]:
            self.assertIn(text, page)
        self.assertEqual(self.unclosed(page), [])
        for width in re.findall(r'<rect[^>]* width="([^"]*)"', page):
            self.assertTrue(0 < float(width) <= 720, width)

    def unclosed(self, page):
        """Elements that the page opens and does not close, in order."""
        stack = []

        class Parser(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                if tag != "meta":
                    stack.append(tag)

            def handle_startendtag(self, tag, attributes):
                pass

            def handle_endtag(self, tag):
                if stack and stack[-1] == tag:
                    stack.pop()
                else:
                    stack.append("/" + tag)

        Parser().feed(page)
        return stack


class Verify(Case):
    def test_report(self):
        index = self.index()
        for options, checked in [([], ["header", "checksums"]), (["--full"], ["header", "checksums", "structure"])]:
            report = self.json("verify", index, *options)
            self.assertEqual(list(report), ["ok", "checked", "sections", "bytes", "fingerprint", "seconds"])
            self.assertEqual((report["ok"], report["checked"]), (True, checked))
        self.assertIn("structure  not checked (--full)", self.ok("verify", index))
        self.assertIn("structure  ok, 7 SIDs of 3 levels, 8 items", self.ok("verify", index, "--full"))

    def test_every_flipped_byte_is_found(self):
        index = self.index("--kinds", "trie,sorted,hash")
        good = self.read("x.sidx")
        for at in range(0, len(good), max(1, len(good) // 150)):
            self.write("x.sidx", good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1:])
            self.fails("x.sidx': ", "verify", index)

    def test_truncated_file(self):
        index = self.index()
        good = self.read("x.sidx")
        for length in [0, 10, 63, 64, len(good) // 2, len(good) - 1]:
            self.write("x.sidx", good[:length])
            said = "file too short: " if length <= len(good) // 2 else "the file has %d bytes, its header" % length
            self.fails("x.sidx': " + said, "verify", index)
            self.fails("x.sidx': " + said, "inspect", index)
