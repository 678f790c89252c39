"""Ctrl-C and SIGTERM: the old file stays, nothing else is left, one line says so.
SPDX-License-Identifier: Apache-2.0
"""
import os
import shutil
import signal
import threading

import support
from support import SECONDS, Case


class Interrupt(Case):
    def interrupt(self, number, phase, output, arguments, prepare):
        """Signals the command once the terminal shows `phase`; tries again if it was done before the signal came."""
        for _ in range(20):
            prepare()
            process, terminal = self.start(*arguments)
            text = self.read_until(terminal, [phase])
            process.send_signal(number)
            text = self.read_until(terminal, ["as it was\r\n"], text)
            if process.wait(SECONDS) != 0:
                return self.cancelled(process, terminal, text, arguments[0], output)
        self.fail("%s was always done before the signal came" % arguments[0])

    def test_build_at_each_phase(self):
        source = self.path("big.npy")
        self.ok("synth", "--items", 1500000, "--levels", 4, "--codes", 256, "--output", source)
        output = self.index()
        before, files = self.read("x.sidx"), sorted(os.listdir(self.folder))
        for phase in ["scanning", "reading", "sorting"]:
            for number in [signal.SIGINT, signal.SIGTERM]:
                self.interrupt(number, phase, output, ["build", "--input", source, "--output", output, "--kinds",
                                                       "trie,sorted,hash"], lambda: self.write("x.sidx", before))
                self.assertEqual(self.read("x.sidx"), before)
                self.assertEqual(sorted(os.listdir(self.folder)), files)

    def test_build_that_waits_for_a_pipe(self):
        pipe = self.path("rows.jsonl")
        os.mkfifo(pipe)
        process, terminal = self.start("build", "--input", pipe, "--output", self.path("x.sidx"))
        with open(pipe, "wb") as writer:  # opens once the program opens it, which catches signals by then
            writer.write(b'{"item":1,"sid":[1]}\n')
            writer.flush()
            process.send_signal(signal.SIGINT)
            self.cancelled(process, terminal, "", "build", self.path("x.sidx"))
        self.assertEqual(os.listdir(self.folder), ["rows.jsonl"])

    def test_synth(self):
        output = self.path("a.npy")
        self.interrupt(signal.SIGINT, "writing", output, ["synth", "--items", 10**7, "--levels", 8, "--codes", 2048,
                                                           "--skew", "zipf", "--output", output], lambda: None)
        self.assertEqual(os.listdir(self.folder), [])

    def test_convert(self):
        source, index, output = self.path("big.npy"), self.path("x.sidx"), self.path("static")
        self.ok("synth", "--items", 1000000, "--levels", 4, "--codes", 256, "--output", source)
        self.ok("build", "--input", source, "--output", index)

        def prepare():
            shutil.rmtree(output, ignore_errors=True)
            os.mkdir(output)
            self.write("static/start_mask.npy", "old")

        self.interrupt(signal.SIGINT, "converting", output, ["convert", index, "--output-dir", output], prepare)
        self.assertEqual(os.listdir(output), ["start_mask.npy"])
        self.assertEqual(self.read("static/start_mask.npy"), b"old")


class Pipes(Case):
    def test_a_pipe_is_read_whole(self):
        pipe = self.path("rows.jsonl")
        os.mkfifo(pipe)

        def feed():
            with open(pipe, "wb") as writer:
                for i in range(100000):
                    writer.write(b'{"item":%d,"sid":[%d,%d]}\n' % (i, i % 7, i % 300))

        feeder = threading.Thread(target=feed)
        feeder.start()
        report = self.json("build", "--input", pipe, "--output", self.path("x.sidx"))
        feeder.join()
        self.assertEqual((report["rows"], report["items"], report["codes"]), (100000, 100000, [7, 300]))

    def test_no_progress_where_standard_error_is_no_terminal(self):
        source = self.path("a.npy")
        self.ok("synth", "--items", 300000, "--levels", 3, "--codes", 99, "--output", source)
        self.ok("build", "--input", source, "--output", self.path("x.sidx"))
