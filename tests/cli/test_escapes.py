"""Bytes that a terminal would obey, in ids, metadata, the codebook and names of files, are escaped in all text of every
command, as they are in JSON and in pages. SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess

from support import TINY, Case, data, npy, run

# Titles, colours, lines that look like ours, C1 in UTF-8, writing from right to left, a line separator.
EVIL = "\x1b]0;owned\x07\x1b[31m\r\nsidbeam: all is well\x7f\u009b2J\u202egnp.\u2066\u2028"
SHOWN = ("\\x1b]0;owned\\x07\\x1b[31m\\x0d\\x0asidbeam: all is well\\x7f\\xc2\\x9b2J\\xe2\\x80\\xaegnp."
         "\\xe2\\x81\\xa6\\xe2\\x80\\xa8")
FILE = EVIL.replace("/", "")
FORBIDDEN = [*map(chr, range(0x20)), *map(chr, range(0x7f, 0xa0)), "\u200e", "\u200f", "\u061c",
             *map(chr, range(0x2028, 0x202f)), *map(chr, range(0x2066, 0x206a))]


class Escapes(Case):
    def setUp(self):
        super().setUp()
        self.source = self.jsonl(FILE + ".jsonl", [(EVIL, [1, 2]), ("plain", [1, 3])])
        self.x = self.path(FILE + ".sidx")
        self.built = self.clean("build", "--input", self.source, "--output", self.x, "--codebook", EVIL, "--metadata",
                                "%s=%s" % ("key", EVIL))

    def check(self, text):
        for character in FORBIDDEN:
            if character != "\n":
                self.assertNotIn(character, text, repr(text))
        self.assertNotIn("\nsidbeam: all is well", text)

    def clean(self, *arguments):
        out = self.ok(*arguments)
        self.check(out)
        return out

    def fails_clean(self, *arguments):
        status, out, err = run(*arguments)
        self.assertIn(status, [1, 2])
        self.assertEqual((out, err.count("\n")), ("", status), err)
        self.check(err)
        self.assertIn("\\x1b", err)

    def test_build_and_synth_and_convert(self):
        self.assertIn(SHOWN, self.built)
        self.assertIn(SHOWN, self.clean("synth", "--items", 3, "--levels", 1, "--codes", 3, "--output",
                                        self.path(FILE + ".npy")))
        self.assertIn(SHOWN, self.clean("convert", self.x, "--output-dir", self.path(FILE), "--dense-levels", 1))

    def test_plan(self):
        self.clean("plan", "--input", self.source)

    def test_inspect(self):
        out = self.clean("inspect", self.x)
        self.assertEqual(out.count(SHOWN), 2)
        self.assertIn("metadata       key=" + SHOWN, out)

    def test_verify(self):
        self.clean("verify", "--full", self.x)

    def test_lookup(self):
        self.assertIn(SHOWN, self.clean("lookup", self.x, "--sid", "1,2"))
        self.clean("lookup", self.x, "--item", EVIL)
        self.clean("lookup", self.x, "--prefix", "1")
        self.assertEqual(self.clean("lookup", self.x, "--item", EVIL + "!"), "no item " + SHOWN + "!\n")

    def test_decode(self):
        logits = self.write(FILE + ".npy", npy("<f4", (2, 4), [0.0] * 8))
        self.assertIn(SHOWN, self.clean("decode", self.x, "--logits", logits, "--beams", 4))

    def test_sample(self):
        logits = self.write(FILE + ".npy", npy("<f4", (2, 4), [0.0] * 8))
        self.assertIn(SHOWN, self.clean("sample", self.x, "--logits", logits, "--draws", 4, "--seed", 1))
        self.fails_clean("sample", self.x, "--logits", logits + "absent", "--draws", 4, "--seed", 1)

    def test_run_and_draft(self):
        if "was built without the runner" in run("draft", "h", "x", "--hidden", "n", "--beams", 1)[2]:
            self.skipTest("built without the runner")
        index, model = self.index("--codes", 4, catalogue=[(EVIL, [3, 1, 2])], name="y.sidx"), self.path("model")
        subprocess.run(["python3", "-B", TINY, model], check=True)
        question = ["run", model, index, "--offsets", "16,24,32", "--beams", 1]
        self.assertIn(SHOWN, self.clean(*question, "--history", EVIL))
        self.fails_clean(*question, "--history", EVIL + "!")
        self.fails_clean(*question, "--input", self.write(FILE + ".prompts", '{"history": "x"}'))
        self.fails_clean("run", model + EVIL, index, "--tokens", 1, "--beams", 1)
        hidden = self.write(FILE + ".npy", npy("<f4", (4, 3), [0.0] * 12))
        self.assertIn(SHOWN, self.clean("draft", data("gru.sdraft"), index, "--hidden", hidden, "--beams", 1))
        self.fails_clean("draft", data("gru.sdraft") + EVIL, index, "--hidden", hidden, "--beams", 1)

    def test_json_and_pages_keep_what_is_there(self):
        self.assertEqual(self.json("lookup", self.x, "--sid", "1,2")["items"], [EVIL])
        self.assertEqual(self.json("inspect", self.x)["metadata"], {"key": EVIL})
        self.ok("inspect", self.x, "--html", self.path("x.html"))
        self.assertIn(EVIL.encode(), self.read("x.html"))

    def test_bytes_that_are_no_utf8(self):
        wild = b"\xff\x1b\xc3".decode("utf-8", "surrogateescape")
        out = self.path(wild)
        self.assertIn("\\xff\\x1b\\xc3\n", self.clean("build", "--input", self.source, "--output", out, "--metadata",
                                                       "key=" + wild))
        self.assertIn("key=\\xff\\x1b\\xc3\n", self.clean("inspect", out))
        os.remove(out)
        self.assertIn("\\xff\\x1b\\xc3': No such file", run("verify", out)[2])

    def test_failures(self):
        absent = self.path(FILE + "absent")
        for arguments in [("inspect", absent), ("verify", absent), ("lookup", absent, "--prefix", "1"),
                          ("convert", absent, "--output-dir", self.path("out")),
                          ("decode", absent, "--logits", "x", "--beams", 1), ("plan", "--input", absent),
                          ("build", "--input", absent, "--output", self.path("out")),
                          ("build", "--input", self.source, "--output", absent + "/x"),
                          ("synth", "--items", 1, "--levels", 1, "--codes", 1, "--output", absent + "/x"),
                          ("inspect", self.x, "--html", absent + "/x"), (EVIL,), ("verify", "x", "--" + EVIL),
                          ("plan", "--input", self.source, "--codes", EVIL)]:
            self.fails_clean(*arguments)

    def test_a_forged_index(self):
        """Errors about what is in files: an id, a key, a column's name."""
        cases = {"id.jsonl": json.dumps({"item": EVIL, "sid": "x"}), "key.jsonl": json.dumps({"item": EVIL}),
                 "twice.index.json": '{%s: ["<a_1>"], %s: ["<a_1>"]}' % ((json.dumps(EVIL),) * 2),
                 "code.index.json": json.dumps({EVIL: [EVIL]}),
                 "column.csv": '"%s",b\n1,2\n' % EVIL, "cell.csv": 'item,sid\n1,"%s"\n' % EVIL}
        for name, content in cases.items():
            path = self.write(name, content)
            status, out, err = run("plan", "--input", path)
            self.assertEqual((status, out, err.count("\n")), (1, "", 1), (name, err))
            self.check(err)
