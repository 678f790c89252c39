"""Wrong usage, help, version, and the behaviour that all commands share.
SPDX-License-Identifier: Apache-2.0
"""
import os
import resource
import subprocess

import support
from support import Case, run

COMMANDS = run()[2].split("expected a command: ")[1].split("\n")[0].split(", ")


class Help(Case):
    def test_help_lists_every_command(self):
        out = self.ok("--help")
        for command in COMMANDS:
            self.assertIn("\n  " + command + " ", out)

    def test_help_of_every_command_has_an_example(self):
        for command in COMMANDS:
            self.assertRegex(self.ok(command, "--help"), r"Examples?:\n  sidbeam " + command)

    def test_version_is_that_of_the_library(self):
        self.assertRegex(self.ok("--version"), r"^sidbeam \d+\.\d+\.\d+ \(ABI 1, kernels \w+\)\n$")


class Misuse(Case):
    def test_no_command(self):
        self.misused("sidbeam: expected a command: build, synth")

    def test_unknown_command(self):
        self.misused("'built', expected a command: build, synth", "built")

    def test_the_service_is_in_another_package(self):
        for arguments in ["serve"], ["serve", "--model", "x"]:
            self.misused("'serve' is a command of the Python package: pip install 'sidbeam[serve]'", *arguments)
        self.assertIn("pip install 'sidbeam[serve]'", self.ok("--help"))

    def test_command_of_a_command(self):
        self.misused("expected a command: create, add", "catalog")
        self.misused("'put', expected a command: create, add", "catalog", "put")
        for command in ["create", "add", "remove", "publish", "rollback", "compact", "log", "follow"]:
            self.assertRegex(self.ok("catalog", command, "--help"), r"Examples?:\n  sidbeam catalog " + command)

    def test_unknown_option(self):
        self.misused("The following argument was not expected: --fast", "verify", "x.sidx", "--fast")
        self.misused("The following argument was not expected: --versio", "--versio")

    def test_an_empty_argument_before_an_unknown_option(self):
        status, _, err = support.run("lookup", "x", "", "--fast", timeout=60)  # this once never ended
        self.assertEqual(status, 2, err)
        self.assertIn("--fast", err)

    def test_lookup_asks_one_question(self):
        for questions in [], ["--prefix", "", "--sid", "1"]:
            self.misused("expected exactly one of --prefix, --sid and --item", "lookup", "x", *questions)

    def test_missing_required_option(self):
        self.misused("--output is required", "build", "--input", "x")
        self.misused("--beams is required", "decode", "x", "--logits", "y")
        self.misused("index is required", "inspect")

    def test_option_values_that_are_not_offered(self):
        build = ["build", "--input", "x", "--output", "y"]
        self.misused("zip not in {auto,lcrec,records,jsonl,csv,npy,npz,raw,xllm}", *build, "--format", "zip")
        self.misused("drop not in {keep,error,first}", *build, "--collisions", "drop")
        self.misused("--kinds: 'tree', expected some of trie,compact,sorted,hash", *build, "--kinds", "trie,tree")
        self.misused("--levels: Value 256 not in range 1 to 255", *build, "--levels", "256")
        self.misused("--levels: 'three', expected an integer", *build, "--levels", "three")
        self.misused("--codes: 'a', expected integers", *build, "--codes", "a")
        self.misused("--codes: 0, expected 1..16777216", *build, "--codes", "4,0")
        self.misused("--codes: 2 numbers, expected 1 or 3", *build, "--codes", "4,4", "--levels", "3")
        self.misused("--memory-limit: '2X', expected a number of bytes", *build, "--memory-limit", "2X")
        self.misused("--memory-limit: '99999999T', expected a number of bytes", *build, "--memory-limit", "99999999T")
        decode = ["decode", "x", "--logits", "y", "--beams"]
        self.misused("--beams: Value 0 not in range 1 to 4096", *decode, "0")
        self.misused("--beams: Value 4097 not in range 1 to 4096", *decode, "4097")
        self.misused("greedy not in {trie,sorted,sorted_topk,hash_final,none}", *decode, "1", "--strategy", "greedy")
        self.misused("most not in {full,level,valid,none}", *decode, "1", "--normalize", "most")

    def test_empty_values(self):
        build, synth = ["build", "--input", "x", "--output", "y"], ["synth", "--items", 1, "--levels", 1, "--codes", 1]
        for option in ["--ids", "--codes", "--sid-columns", "--memory-limit"]:
            self.misused(option + ": empty, expected a value", *build, option, "")
        self.misused("--offsets: empty", "decode", "x", "--logits", "y", "--beams", 1, "--offsets", "")
        self.misused("--html: empty", "inspect", "x", "--html", "")
        self.misused("--output: empty", *synth, "--output", "")

    def test_numbers(self):
        decode = ["decode", "x", "--logits", "y", "--beams"]
        for number in ["010", "0x10", "+1", "1e3"]:
            self.misused("--beams: '%s', expected an integer in decimal" % number, *decode, number)
        synth = ["synth", "--items", 1, "--levels", 1, "--codes", 1, "--output", self.path("y"), "--seed"]
        for seed in ["-1", "18446744073709551616"]:
            self.misused("--seed: '%s', expected an integer from 0 to 2^64-1" % seed, *synth, seed)
        self.ok(*synth, "18446744073709551615")
        self.misused("--end-column: expected 0 or more", *decode, 1, "--end-column", "-1")
        for number in ["1e-46", "0", "-1", "nan", "inf"]:
            self.misused("--inverse-temperature: expected a number above 0", *decode, 1, "--inverse-temperature",
                         number)
        for number in ["1e-46", "-1", "nan"]:
            self.misused("--soft-cap: expected a number above 0", *decode, 1, "--soft-cap", number)
        self.misused("--threads: Value 1025 not in range 0 to 1024", "verify", "x", "--threads", "1025")

    def test_options_without_effect(self):
        self.misused("--top-k: goes with --strategy sorted_topk", "decode", "x", "--logits", "y", "--beams", 1,
                     "--top-k", 2)
        for option in ["--memory-limit", "--ids", "--priority-column"]:
            self.misused(option + " requires --input", "plan", "--items", 4, "--levels", 1, "--codes", 1, option, "5")

    def test_lookup_takes_exactly_one_question(self):
        self.misused("--item, 0 were given", "lookup", "x.sidx")
        self.misused("--item, 2 were given", "lookup", "x.sidx", "--prefix", "1", "--item", "2")

    def test_output_that_is_the_input(self):
        source = self.jsonl("a.jsonl", [("1", [1])])
        before = self.read("a.jsonl")
        self.misused("is an input file", "build", "--input", source, "--output", source)
        self.assertEqual(self.read("a.jsonl"), before)
        index = self.index()
        self.misused("is the index file", "inspect", index, "--html", index)


class Failures(Case):
    def test_absent_index(self):
        for command in ["inspect", "verify"]:
            self.fails("absent.sidx': No such file", command, self.path("absent.sidx"))

    def test_index_that_is_none(self):
        for content in ["", "hello", "x" * 5000]:
            path = self.write("bad.sidx", content)
            self.fails("bad.sidx': ", "verify", path)
            self.fails("bad.sidx': ", "lookup", path, "--prefix", "1")

    def test_control_bytes_are_escaped(self):
        self.fails("a\\x1bb': No such file", "verify", self.path("a\x1bb"))

    def test_convert_of_a_damaged_section(self):
        data = bytearray(self.read(self.index()))
        sections = 32 + int.from_bytes(data[16:24], "little")  # after preamble and header
        for at in range(sections, len(data)):
            data[at] ^= 1
        path = self.write("bad.sidx", bytes(data))
        self.fails("bad.sidx': section row_pointers of level 0: wrong checksum", "convert", path,
                   "--output-dir", self.path("static"))

    def test_output_into_a_missing_or_wrong_folder(self):
        source = self.jsonl("a.jsonl", [("1", [1])])
        self.fails("nowhere/x.sidx': No such file", "build", "--input", source, "--output", self.path("nowhere/x.sidx"))
        self.fails("Is a directory", "build", "--input", source, "--output", self.folder)
        self.fails("it is not a file", "build", "--input", source, "--output", "/dev/null")
        self.fails("nowhere/x.npy': No such file", "synth", "--items", 1, "--levels", 1, "--codes", 1, "--output",
                   self.path("nowhere/x.npy"))
        self.assertEqual(os.listdir(self.folder), ["a.jsonl"])

    def test_no_room_for_the_output(self):
        index, source = self.path("x.sidx"), self.path("a.npy")
        self.ok("synth", "--items", 50000, "--levels", 3, "--codes", 64, "--output", source)
        self.ok("build", "--input", source, "--output", index)
        before, files = self.read("x.sidx"), sorted(os.listdir(self.folder))

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

        for arguments in [("build", "--input", source, "--output", index),
                          ("synth", "--items", 50000, "--levels", 3, "--codes", 64, "--output", source),
                          ("convert", index, "--output-dir", self.path("static"), "--dense-levels", 1),
                          ("inspect", index, "--html", self.path("x.html"))]:
            self.fails("File too large", *arguments, preexec_fn=limit)
            self.assertEqual(self.read("x.sidx"), before)
            self.assertEqual(sorted(os.listdir(self.folder)), files, arguments)

    def test_full_standard_output(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        index = self.index()
        for name, arguments in [("sidbeam inspect", ["inspect", index]), ("sidbeam", ["--help"]),
                                ("sidbeam", ["--version"])] + [("sidbeam " + c, [c, "--help"]) for c in COMMANDS]:
            with open("/dev/full", "w") as full:
                done = subprocess.run([support.PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertEqual(done.stderr.decode(),
                             name + ": standard output: cannot write: No space left on device\n")


class Outputs(Case):
    """One implementation writes for every command: the library's."""

    def commands(self):
        source, index = self.jsonl("a.jsonl", [("1", [1, 2])]), self.index(name="in.sidx")
        return {"x.sidx": ["build", "--input", source, "--output"],
                "a.npy": ["synth", "--items", 1, "--levels", 1, "--codes", 1, "--output"],
                "x.html": ["inspect", index, "--html"],
                "static/csr_indptr.npy": ["convert", index, "--output-dir"]}

    def write_all(self, check):
        os.mkdir(self.path("static"))
        for name, command in self.commands().items():
            target = self.path("static" if name.startswith("static") else name)
            check(self.path(name), lambda: run(*command, target), command[0])

    def test_links_are_followed_also_to_what_is_not_there_yet(self):
        os.mkdir(self.path("elsewhere"))

        def check(path, write, command):
            for _ in range(2):
                if not os.path.islink(path):
                    os.symlink(os.path.relpath(self.path("elsewhere/" + command), os.path.dirname(path)), path)
                self.assertEqual(write()[::2], (0, ""))
                self.assertTrue(os.path.islink(path))
                self.assertGreater(os.path.getsize(self.path("elsewhere/" + command)), 0)
            os.remove(path)
            os.symlink(os.path.basename(path), path)
            status, _, err = write()
            self.assertEqual(status, 1)
            self.assertIn("Too many levels of symbolic links", err)
        self.write_all(check)

    def test_mode_owner_and_attributes_are_kept(self):
        def check(path, write, _):
            self.write(path, "old")
            os.chmod(path, 0o604)
            if os.geteuid() == 0:
                os.chown(path, 1234, 4321)
            try:
                os.setxattr(path, "user.origin", b"here")
            except OSError:
                pass
            kept = os.stat(path), {name: os.getxattr(path, name) for name in os.listxattr(path)}
            self.assertEqual(write()[::2], (0, ""))
            now = os.stat(path)
            self.assertGreater(now.st_size, 3)
            self.assertEqual((now.st_mode, now.st_uid, now.st_gid), (kept[0].st_mode, kept[0].st_uid, kept[0].st_gid))
            self.assertEqual({name: os.getxattr(path, name) for name in os.listxattr(path)}, kept[1])
        self.write_all(check)

    def test_an_owner_that_cannot_be_kept(self):
        if os.geteuid() != 0:
            self.skipTest("only root may become another user")
        for folder in [self.folder, self.path("static")]:
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, 0o777)

        def other(command, *options):
            return run(*command, *options, preexec_fn=lambda: (os.setgroups([]), os.setgid(4321), os.setuid(1234)))
        for name, command in self.commands().items():
            path = self.write(name, "old")
            target = self.path("static") if name.startswith("static") else path
            status, _, err = other(command, target)
            self.assertEqual(status, 1)
            self.assertIn("cannot keep the owner of '%s': Operation not permitted" % path, err)
            self.assertIn("--allow-attribute-loss", err)
            self.assertEqual(self.read(name), b"old")
            self.assertEqual(other(command, target, "--allow-attribute-loss")[::2], (0, ""))
            self.assertEqual(os.stat(path).st_uid, 1234)
