"""What the tests share: a folder per test, running the program, reading and writing .npy.
SPDX-License-Identifier: Apache-2.0
"""
import array
import json
import os
import pty
import select
import shutil
import struct
import subprocess
import tempfile
import unittest

PROGRAM = None  # set by run.py
IO_FAULTS = None  # set by run.py, if it is given

SECONDS = 120  # to wait for events that must happen; no result depends on how long they take

# Writes the folder of a small model.
TINY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bindings", "tiny_model.py")

# Eight items, seven SIDs; 3,1,2 has two.
CATALOGUE = {
    "10": (3, 1, 2),
    "11": (3, 1, 0),
    "12": (0, 0, 0),
    "13": (2, 3, 3),
    "14": (0, 2, 1),
    "15": (3, 1, 2),
    "16": (1, 0, 3),
    "17": (3, 0, 1),
}


def run(*arguments, **options):
    """Exit status, standard output and standard error of `sidbeam arguments`."""
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    done = subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def data(name):
    """A file of the folder data, whose README says what it is."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", name)


def npy(dtype, shape, values, version=1, fortran=False):
    """The bytes of a .npy file; values are flat, or bytes already."""
    extents = "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (dtype, fortran, extents)
    prefix = 8 + (2 if version == 1 else 4)
    text += " " * (-(prefix + len(text) + 1) % 64) + "\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    if not isinstance(values, bytes):
        values = struct.pack("<%d%s" % (len(values), FORMATS[dtype[1:]]), *values)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + values


FORMATS = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f", "f2": "e",
           "b1": "?", "f8": "d"}


def read_npy(path):
    """(dtype, shape, flat values) of a .npy file of version 1."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length = struct.unpack("<H", data[8:10])[0]
    assert (10 + length) % 64 == 0 and data[9 + length:10 + length] == b"\n"
    header = eval(data[10:10 + length], {"__builtins__": {}}, {"False": False})
    values = array.array(FORMATS[header["descr"][1:]].replace("?", "B"), data[10 + length:])
    return header["descr"], header["shape"], values


class Case(unittest.TestCase):
    """A test with a folder of its own, and the checks that every command shares."""

    maxDiff = None
    base = None  # where the folder is; None: where temporary files go

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sidbeam-cli-", dir=self.base)
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def ok(self, *arguments):
        """Standard output of a command that succeeds without a word on standard error."""
        status, out, err = run(*arguments)
        self.assertEqual((status, err), (0, ""), arguments)
        return out

    def json(self, *arguments):
        out = self.ok(*arguments, "--json")
        self.assertEqual(out.count("\n"), 1)
        return json.loads(out)

    def fails(self, text, *arguments, **options):
        """The command exits 1 with nothing on standard output and one line on standard error that has `text`."""
        status, out, err = run(*arguments, **options)
        self.assertEqual((status, out), (1, ""), err)
        command = " ".join(arguments[:2] if arguments[0] == "catalog" else arguments[:1])
        self.assertTrue(err.startswith("sidbeam %s: " % command), err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn(" ", text, "expected a phrase of: " + err)
        self.assertIn(text, err)

    def misused(self, text, *arguments):
        """The command exits 2 and points at --help."""
        status, out, err = run(*arguments)
        self.assertEqual((status, out), (2, ""), err)
        self.assertIn(" ", text, "expected a phrase of: " + err)
        self.assertIn(text, err)
        self.assertRegex(err, r"See 'sidbeam[a-z ]* --help'\.\n$")

    def start(self, *arguments):
        """The command with a terminal as standard error, and the terminal's other end."""
        mine, theirs = pty.openpty()
        self.addCleanup(os.close, mine)
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=theirs)
        os.close(theirs)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process, mine

    def read_until(self, terminal, words, text=""):
        """What the terminal shows until one of the words has come, or its end; without words its end."""
        while not any(word in text for word in words):
            if not select.select([terminal], [], [], SECONDS)[0]:
                self.fail("nothing on the terminal after %r" % text)
            try:
                text += os.read(terminal, 4096).decode()
            except OSError:  # Linux: the other end is closed
                break
        return text

    def cancelled(self, process, terminal, text, command, output):
        """The signal was heard, and the last words are right."""
        text = self.read_until(terminal, ["as it was\r\n"], text)
        self.assertEqual(process.wait(SECONDS), 1, text)
        last = text.split("\033[K")[-1]
        self.assertEqual(last, "sidbeam %s: cancelled; '%s' is as it was\r\n" % (command, output))
        self.assertEqual(process.stdout.read(), b"")

    def jsonl(self, name, rows):
        """rows: (item, sid) pairs, or whole objects."""
        lines = [row if isinstance(row, dict) else {"item": row[0], "sid": list(row[1])} for row in rows]
        return self.write(name, "".join(json.dumps(line) + "\n" for line in lines))

    def index(self, *options, catalogue=CATALOGUE, name="x.sidx"):
        """An index of a catalogue."""
        source = self.jsonl(name + ".jsonl", catalogue.items() if isinstance(catalogue, dict) else catalogue)
        self.ok("build", "--input", source, "--output", self.path(name), *options)
        os.remove(source)
        return self.path(name)

    def index_of_overlapping_names(self):
        """Damage that opening does not see: items aa, bb, cc and dd of SID 1,2, whose names begin at 0, 8, 0 and 8."""
        path = self.index(catalogue=[(name, [1, 2]) for name in ["aa", "bb", "cc", "dd"]], name="names.sidx")
        data, offsets = self.read("names.sidx"), struct.pack("<5Q", 0, 2, 4, 6, 8)
        self.assertEqual(data.count(offsets), 1)
        return self.write("names.sidx", data.replace(offsets, struct.pack("<5Q", 0, 8, 0, 8, 0)))


def real_data():
    """The folder of real catalogues, or skips the test."""
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = os.environ.get("SIDBEAM_DATA") or os.path.join(checkout, "..", "shared", "data")
    if not os.path.isdir(folder):
        raise unittest.SkipTest("no real catalogues: ../shared/data is absent and SIDBEAM_DATA not set")
    return folder
