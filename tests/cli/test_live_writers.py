"""sidbeam catalog: one writer at a time, folders that are damaged or none, and interrupts.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import signal
import subprocess

import support
from live_case import Live
from support import SECONDS, run


class Writers(Live):
    def test_one_at_a_time(self):
        self.create()
        writer = subprocess.Popen([support.PROGRAM, "catalog", "publish", self.live], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        writer.stdin.write(b'{"remove": 10}\n{"publish": true}\n')
        writer.stdin.flush()
        self.assertIn(b"version 2 ", writer.stdout.readline())
        source = self.jsonl("new.jsonl", [(20, [0, 0, 1])])
        for command in [["add", self.live, source], ["remove", self.live, 1], ["rollback", self.live, 1],
                        ["compact", self.live], ["publish", self.live]]:
            self.fails("has another writer: process %d on " % writer.pid, "catalog", *command)
        self.assertEqual(self.json("inspect", self.live)["version"], 2)
        writer.communicate()
        self.assertEqual(writer.returncode, 0)
        self.assertEqual(self.add([(20, [0, 0, 1])])["version"], 3)

    def test_a_folder_that_holds_none(self):
        os.mkdir(self.live)
        for command in [["log"], ["remove", 1], ["compact"], ["follow"]]:
            self.fails("it holds no catalogue", "catalog", command[0], self.live, *command[1:])
        for command in [["inspect"], ["verify"], ["lookup", "--item", "1"]]:
            self.fails("it holds no catalogue", command[0], self.live, *command[1:])
        self.fails("it holds no catalogue", "catalog", "log", self.path("absent"))

    def test_damage(self):
        self.create()
        self.add([(20, [0, 0, 1])])
        self.add([(21, [0, 0, 1])])
        log = self.live + "/log-1.slog"
        with open(log, "rb") as file:
            good = file.read()
        self.write("live/log-1.slog", good + b"half a record")
        status, out, err = run("catalog", "remove", self.live, 20, "--json")
        self.assertEqual((status, json.loads(out)["version"]), (0, 4))
        self.assertEqual(err, "sidbeam catalog: warning: catalogue '%s': cut off 13 bytes of a record that was never "
                              "whole\n" % self.live)
        bad = bytearray(good)
        bad[good.index(b"SLIV", good.index(b"SLIV") + 1)] ^= 1  # of version 2
        self.write("live/log-1.slog", bytes(bad))
        self.fails("is damaged at byte", "catalog", "remove", self.live, 20)
        self.fails("is damaged at byte", "lookup", self.live, "--item", 20)
        status, out, err = run("catalog", "remove", self.live, 12, "--json", "--accept-loss")
        self.assertEqual(status, 0, err)
        self.assertIn("is given up, since", err)

    def interrupted_at(self, pipe, *arguments):
        """What comes of a command that waits for more from a pipe."""
        os.mkfifo(pipe)
        process = subprocess.Popen([support.PROGRAM, "catalog", *arguments], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        with open(pipe, "wb") as writer:  # opens once the program opens it, which catches signals by then
            writer.write(b'{"item":21,"sid":[1,1,1]}\n')
            writer.flush()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=SECONDS)
        self.assertEqual((process.returncode, out), (1, b""))
        self.assertEqual(err.decode(), "sidbeam catalog %s: cancelled; '%s' is as it was\n" % (arguments[0], self.live))

    def test_interrupted_creation(self):
        pipe = self.path("rows.jsonl")
        self.interrupted_at(pipe, "create", self.live, "--input", pipe)
        self.assertFalse(os.path.exists(self.live))

    def test_interrupted_addition(self):
        self.create()
        pipe = self.path("rows.jsonl")
        self.interrupted_at(pipe, "add", self.live, self.jsonl("a.jsonl", [(20, [0, 0, 1])]), pipe)
        self.assertEqual(self.versions(), [1])

    def test_interrupted_compaction(self):
        source = self.path("big.npy")
        self.ok("synth", "--items", 1000000, "--levels", 4, "--codes", 256, "--output", source)
        self.ok("build", "--input", source, "--output", self.x)
        self.create()
        self.remove(5)
        before = sorted(os.listdir(self.live))
        process, terminal = self.start("catalog", "compact", self.live, "--rate", "1M")  # for a minute
        text = self.read_until(terminal, ["gathering"])
        process.send_signal(signal.SIGINT)
        self.cancelled(process, terminal, text, "catalog compact", self.live)
        self.assertEqual(sorted(os.listdir(self.live)), before)
        self.assertEqual(self.versions(), [2, 1])
