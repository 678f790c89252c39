"""Faults in every call that reaches the file system, in turn, for every command that reads or writes a file: the old
file or the whole new one, no litter, one line that names the file. SPDX-License-Identifier: Apache-2.0
"""
import errno
import json
import os
import shutil
import signal
import subprocess
import unittest

import support
from support import SECONDS, TINY, Case, data, npy

FAIL, SHORT, INTERRUPT, END, CUT = 0, 2, 3, 5, 6  # tests/capi/io_faults.h
ERRORS = [errno.EIO, errno.ENOSPC, errno.EDQUOT]
OLD = b"the old file"
# The words for a failed call, where they are not its name (as in tests/capi/io_rig.c).
WORDS = {"openat": "create|open|extended attributes", "fallocate": "allocate", "pwrite": "write", "pread": "read",
         "fsync": "sync", "linkat": "link", "renameat": "rename", "fstat": "stat", "fstatat": "stat", "access": "stat",
         "readlinkat": "readlink", "mmap": "map", "mkdir": "create", "fchown": "owner", "fchmod": "mode",
         "fsetxattr": "attribute", "fgetxattr": "attribute", "flistxattr": "attributes",
         "fremovexattr": "system.posix_acl_access"}


@unittest.skipUnless(support.IO_FAULTS, "no library of faults: sanitizers replace the C library's functions too")
class Faults(Case):
    # In memory if the system has a place for that: hundreds of files are synced.
    base = "/dev/shm" if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) else None

    def run_faulty(self, arguments, at, error, kind):
        """Exit status, standard error, calls counted and the name of the one that failed; None if a signal ended it."""
        report = self.path("report")
        environment = dict(os.environ, LD_PRELOAD=support.IO_FAULTS, SIDBEAM_IO_FAULT="%d %d %d" % (at, error, kind),
                           SIDBEAM_IO_REPORT=report)
        status, _, err = support.run(*arguments, env=environment)
        if not os.path.exists(report):
            return status, err, None, None
        with open(report) as file:
            calls, failed = file.read().split()
        os.remove(report)
        return status, err, int(calls), failed

    def contents(self, folder):
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
        return found

    def put_old(self, folder, names):
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        for name in names:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(OLD)
            os.chmod(os.path.join(folder, name), 0o640)

    def fail_everywhere(self, arguments, folder, least):
        """Runs a command that writes into `folder` with a fault at each call, until a run has fewer calls."""
        inputs = {name for name in os.listdir(self.folder)}
        os.makedirs(folder, exist_ok=True)
        self.ok(*arguments)
        new, at, failures = self.contents(folder), 0, 0
        while True:
            self.put_old(folder, new)
            status, err, calls, failed = self.run_faulty(arguments, at, ERRORS[at % len(ERRORS)], FAIL)
            now = self.contents(folder)
            self.assertEqual(set(now), set(new), (at, failed, err))
            for name, content in now.items():
                self.assertIn(content, [OLD, new[name]], (at, failed, err))
            if status == 0:
                self.assertEqual(now, new, (at, failed))
            else:
                failures += 1
                self.assertEqual((status, err.count("\n")), (1, 1), (at, failed, err))
                self.assertIn(os.strerror(ERRORS[at % len(ERRORS)]), err, (at, failed))
                self.assertRegex(err, WORDS.get(failed, failed), at)
                self.assertIn(self.folder, err, (at, failed))
            if calls <= at:
                break
            at += 1
        self.assertEqual(status, 0)
        self.assertGreater(failures, least)
        self.put_old(folder, new)
        for kind, error in [(SHORT, 0), (INTERRUPT, errno.EINTR)]:
            status, err, _, _ = self.run_faulty(arguments, 0, error, kind)
            self.assertEqual((status, err, self.contents(folder)), (0, "", new))
        self.assertEqual(set(os.listdir(self.folder)), inputs | {os.path.basename(folder)})

    def test_build(self):
        source = self.jsonl("a.jsonl", support.CATALOGUE.items())
        folder = self.path("out")
        self.fail_everywhere(["build", "--input", source, "--output", folder + "/x.sidx"], folder, 30)

    def test_synth(self):
        folder = self.path("out")
        self.fail_everywhere(["synth", "--items", 100, "--levels", 3, "--codes", 9, "--output", folder + "/a.npy"],
                             folder, 10)

    def test_convert(self):
        folder = self.path("out")
        self.fail_everywhere(["convert", self.index(), "--output-dir", folder], folder, 60)

    def test_convert_tells_which_files_are_new(self):
        folder, index = self.path("out"), self.index()
        arguments = ["convert", index, "--output-dir", folder]
        self.ok(*arguments)
        new, at, mixed = self.contents(folder), 0, 0
        while True:
            self.put_old(folder, list(new)[::2])  # the others are absent
            status, err, calls, _ = self.run_faulty(arguments, at, errno.EIO, FAIL)
            if calls <= at:
                break
            now = self.contents(folder)
            if status != 0:
                self.assertEqual(set(now), set(list(new)[::2]))
                told = err.rstrip().partition("; new in the place of old ones: ")[2]
                replaced = {name for name in now if now[name] == new[name]}
                self.assertEqual(set(filter(None, told.split(", "))), replaced, err)
                mixed += len(replaced) > 0
            at += 1
        self.assertGreater(mixed, 3)

    def test_convert_into_a_folder_of_its_own(self):
        folder, index = self.path("out"), self.index()
        arguments, at, synced = ["convert", index, "--output-dir", folder], 0, 0
        self.ok(*arguments)
        new = self.contents(folder)
        while True:
            shutil.rmtree(folder)
            status, err, calls, failed = self.run_faulty(arguments, at, errno.EIO, FAIL)
            if calls <= at:
                break
            if status == 0:
                self.assertEqual(self.contents(folder), new)
            else:
                self.assertEqual((status, err.count("\n"), os.path.exists(folder)), (1, 1, False), (at, failed, err))
                self.assertIn(self.folder, err)
                synced += "cannot sync the folder above" in err
                os.mkdir(folder)
            at += 1
        self.assertEqual((status, synced), (0, 1), err)
        self.assertEqual(self.contents(folder), new)

    def test_page(self):
        folder = self.path("out")
        self.fail_everywhere(["inspect", self.index(), "--html", folder + "/x.html"], folder, 10)

    def readers(self):
        """A command for everything that reads a file."""
        index, logits = self.index("--codes", 4), self.write("logits.npy", npy("<f4", (3, 4), [0.5] * 12))
        ids = self.write("ids.txt", "".join("%d\n" % i for i in range(5)))
        codes = self.write("codes.npy", npy("<i4", (5, 2), list(range(10))))
        text = self.write("a.csv", "item,sid\n1,2\n")
        lcrec = self.write("a.index.json", '{"1": ["<a_1>"]}')
        commands = [["decode", index, "--logits", logits, "--beams", 2], ["plan", "--input", codes, "--ids", ids],
                    ["plan", "--input", text], ["plan", "--input", lcrec], ["verify", index], ["inspect", index],
                    ["lookup", index, "--prefix", "3"],
                    ["sample", index, "--logits", logits, "--draws", 2, "--seed", 1]]
        if "was built without the runner" not in support.run("draft", "h", "x", "--hidden", "n", "--beams", 1)[2]:
            commands += self.readers_of_models(index)
        return commands

    def readers_of_models(self, index):
        model = self.path("model")
        subprocess.run(["python3", "-B", TINY, model], check=True)
        head = shutil.copy(data("gru.sdraft"), self.path("head.sdraft"))
        hidden = self.write("hidden.npy", npy("<f4", (4, 3), [0.5] * 12))
        tokens = self.write("map.json", json.dumps([[level * 4 + code for code in range(4)] for level in range(3)]))
        prompts = self.write("prompts.jsonl", '{"history": ["10"]}\n')
        return [["draft", head, index, "--hidden", hidden, "--beams", 2],
                ["run", model, index, "--map", tokens, "--input", prompts, "--beams", 2]]

    def test_inputs_that_cannot_be_read(self):
        for arguments in self.readers():
            at = 0
            while True:
                status, err, calls, failed = self.run_faulty(arguments, at, errno.EIO, FAIL)
                if calls <= at:
                    break
                if status != 0:
                    self.assertEqual((status, err.count("\n")), (1, 1), (at, failed, err))
                    self.assertRegex(err, "cannot (%s)" % WORDS.get(failed, failed), at)
                    self.assertIn("Input/output error", err)
                    self.assertIn(self.folder, err)
                at += 1
            self.assertEqual((status, at > 3), (0, True), err)

    def test_inputs_that_are_truncated_while_they_are_read(self):
        commands = self.readers()
        commands.append(["convert", commands[0][1], "--output-dir", self.path("static")])
        inputs = {}
        for folder, _, names in os.walk(self.folder):
            inputs.update({os.path.join(folder, name): self.read(os.path.join(folder, name)) for name in names})
        for arguments in commands:
            at, signals = 0, 0
            while True:
                status, err, calls, _ = self.run_faulty(arguments, at, 0, CUT)
                for path, content in inputs.items():
                    self.write(path, content)
                if status == 0 and calls <= at:
                    break
                signals += calls is None
                if status != 0:
                    self.assertEqual((status, err.count("\n")), (1, 1), (at, err))
                    self.assertTrue(err.startswith("sidbeam %s: " % arguments[0]), err)
                    self.assertRegex(err, "cannot read .*: truncated while it was read" if calls is None
                                     else "ended at byte|ends at byte|expected", (at, arguments[0]))
                    self.assertIn(self.folder, err)
                shutil.rmtree(self.path("static"), ignore_errors=True)
                at += 1
            self.assertEqual(signals > 0, arguments[0] not in ["plan", "convert"], arguments)

    def test_inputs_that_end_early(self):
        ids = self.write("ids.txt", "".join("%d\n" % i for i in range(5)))
        files = [["--input", self.write("codes.npy", npy("<i4", (5, 2), list(range(10)))), "--ids", ids],
                 ["--input", self.write("a.csv", "item,sid\n1,2\n")],
                 ["--input", self.write("a.jsonl", '{"item":1,"sid":[2]}\n')],
                 ["--input", self.write("a.index.json", '{"1": ["<a_1>"]}')],
                 ["--input", self.write("a.bin", bytes(20)), "--format", "xllm"],
                 ["--input", self.write("a.raw", bytes(24)), "--levels", 3]]
        for options in files:
            at, ended = 0, 0
            while True:
                status, err, calls, _ = self.run_faulty(["plan", *options], at, 0, END)
                if calls <= at:
                    break
                if status != 0:
                    ended += 1
                    self.assertRegex(err, "cannot read: it ends at byte [0-9]+, expected [0-9]+ as when it was opened")
                at += 1
            self.assertEqual(status, 0, err)
            self.assertGreater(ended, 2, options)


class Truncation(Case):
    def test_a_file_cut_short_while_it_is_read(self):
        """With real signals: stopped in the middle, the file truncated, and continued."""
        source = self.path("big.npy")
        self.ok("synth", "--items", 3000000, "--levels", 4, "--codes", 256, "--output", source)
        size = os.path.getsize(source)
        for _ in range(20):
            process, terminal = self.start("build", "--input", source, "--output", self.path("x.sidx"))
            text = self.read_until(terminal, ["scanning"])
            process.send_signal(signal.SIGSTOP)
            os.truncate(source, 4096)
            process.send_signal(signal.SIGCONT)
            text += self.read_until(terminal, [])
            status = process.wait(SECONDS)
            if status != 0:
                self.assertEqual(status, 1, text)
                self.assertIn("big.npy': cannot read: it ends at byte", text)
                self.assertFalse(os.path.exists(self.path("x.sidx")))
                return
            self.ok("synth", "--items", 3000000, "--levels", 4, "--codes", 256, "--output", source)
            self.assertEqual(os.path.getsize(source), size)
        self.fail("the file was always read before it was cut")
