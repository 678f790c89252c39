"""sidbeam catalog, and live catalogues in the commands that read an index.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import subprocess
import threading

import support
from live_case import Live
from support import CATALOGUE, SECONDS, npy, run

PUBLISHED = ["version", "published", "generation", "items", "changed", "compact_soon", "seconds"]


class Changes(Live):
    def test_create(self):
        report = self.create()
        self.assertEqual(list(report), ["folder", *PUBLISHED])
        self.assertEqual((report["folder"], report["version"], report["generation"], report["items"]),
                         (self.live, 1, 1, 8))
        self.assertEqual(self.pairs(self.live), {(sid, item) for item, sid in CATALOGUE.items()})
        self.fails("create: the folder '%s' holds a catalogue already" % self.live, "catalog", "create", self.live,
                   "--base", self.x)
        self.fails("create: '%s' is a version of a live catalogue, expected an index file" % self.live, "catalog",
                   "create", self.path("other"), "--base", self.live)

    def test_create_of_items(self):
        source = self.jsonl("a.jsonl", [{"item": int(item), "sid": sid, "price": 3} for item, sid in CATALOGUE.items()])
        report = self.json("catalog", "create", self.live, "--input", source, "--attributes", "price")
        self.assertEqual(report["items"], 8)
        self.assertEqual(self.pairs(self.live), self.pairs(self.x))
        self.assertEqual(self.json("diff", self.x, self.live)["same"], True)

    def test_create_refuses(self):
        self.misused("expected either --base INDEX or --input FILE", "catalog", "create", self.live)
        self.misused("--base excludes --input", "catalog", "create", self.live, "--base", "x", "--input", "y")
        self.misused("--levels requires --input", "catalog", "create", self.live, "--base", "x", "--levels", 3)
        self.fails("absent.sidx': No such file", "catalog", "create", self.live, "--base", self.path("absent.sidx"))
        sorted_only = self.index("--kinds", "sorted", name="y.sidx")
        self.fails("y.sidx' was built without trie", "catalog", "create", self.live, "--base", sorted_only)

    def test_add_and_remove(self):
        self.create()
        report = self.add([(20, [3, 1, 2]), (21, [3, 3, 3]), (10, [0, 1, 0])])
        self.assertEqual(list(report), ["rows", *PUBLISHED])
        self.assertEqual((report["rows"], report["version"], report["items"], report["changed"]), (3, 2, 11, 3))
        report = self.remove(10, 99)
        self.assertEqual(list(report), ["ids", "unknown", *PUBLISHED])
        self.assertEqual((report["ids"], report["unknown"], report["version"], report["items"]), (2, 1, 3, 9))
        left = {(sid, item) for item, sid in CATALOGUE.items() if item != "10"}
        self.assertEqual(self.pairs(self.live), left | {((3, 1, 2), "20"), ((3, 3, 3), "21")})
        self.assertEqual(self.pairs(self.live + "@1"), {(sid, item) for item, sid in CATALOGUE.items()})
        self.assertEqual(self.pairs(self.live + "@2"), self.pairs(self.live) | {((3, 1, 2), "10"), ((0, 1, 0), "10")})

    def test_nothing_new(self):
        self.create()
        self.remove(12)
        for report in self.add([(10, [3, 1, 2])]), self.remove(99):
            self.assertEqual((report["version"], report["published"], report["changed"]), (2, False, 0))
        self.assertIn("\nversion  2, as before\n", self.ok("catalog", "remove", self.live, 99))

    def test_several_files_become_one_version(self):
        self.create()
        self.write("codes.npy", npy("<i2", (2, 3), [0, 3, 0, 0, 3, 1]))
        self.write("ids.txt", "30\n31\n")
        table = self.write("new.csv", "item,sid\n32,0 3 2\n")
        report = self.json("catalog", "add", self.live, table, self.jsonl("new.jsonl", [(33, [0, 3, 3])]))
        self.assertEqual((report["rows"], report["version"], report["items"]), (2, 2, 10))
        report = self.json("catalog", "add", self.live, self.path("codes.npy"), "--ids", self.path("ids.txt"))
        self.assertEqual((report["rows"], report["version"], report["items"]), (2, 3, 12))
        self.assertEqual(self.json("lookup", self.live, "--prefix", "0,3"),
                         {"prefix": [0, 3], "next": [0, 1, 2, 3], "end": False, "sids": 4, "items": 4})

    def test_what_does_not_fit_changes_nothing(self):
        self.create()
        good = self.jsonl("good.jsonl", [(20, [0, 0, 1])])
        for text, rows in [("new.jsonl':1: ", [(21, [4, 0, 0])]), ("new.jsonl':1: ", [(21, [0, 0])]),
                           ("ids are strings, expected integers", [("a", [0, 0, 0])])]:
            self.fails(text, "catalog", "add", self.live, good, self.jsonl("new.jsonl", rows))
        self.write("codes.npy", npy("<i2", (1, 3), [0, 3, 0]))
        self.fails("no ids (--ids)", "catalog", "add", self.live, self.path("codes.npy"))
        self.fails("--attributes: 'price' is no attribute", "catalog", "add", self.live, good, "--attributes", "price")
        self.fails("'x', expected a signed 64-bit integer", "catalog", "remove", self.live, "x")
        self.misused("expected either ids or --ids FILE", "catalog", "remove", self.live)
        self.assertEqual(self.versions(), [1])

    def test_types_of_attributes(self):
        source = self.jsonl("a.jsonl", [{"item": 1, "sid": [0, 1], "price": 3, "tags": ["x"]}])
        self.json("catalog", "create", self.live, "--input", source, "--attributes", "price,tags")
        rows = [{"item": 2, "sid": [0, 0], "price": 4, "tags": ["y"]}]
        self.assertEqual(self.add(rows, "--attributes", "price:i64,tags:strings")["items"], 2)
        more = self.jsonl("new.jsonl", rows)
        for given in ["price:f32", "price:", "price:number"]:
            self.fails("--attributes: '%s', expected type i64, which 'price' has in the catalogue" % given,
                       "catalog", "add", self.live, more, "--attributes", "tags," + given)
        self.assertEqual(self.versions(), [2, 1])

    def test_ids_of_a_file_and_of_standard_input(self):
        self.create()
        path = self.write("gone.txt", "12\n\n13\r\n")
        self.assertEqual(self.json("catalog", "remove", self.live, "--ids", path)["items"], 6)
        path = self.write("gone.jsonl", '[14, "16"]')
        self.assertEqual(self.json("catalog", "remove", self.live, "--ids", path)["items"], 4)
        status, out, err = run("catalog", "remove", self.live, "--ids", "-", "--json", input=b"17\n98\n")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual((json.loads(out)["items"], json.loads(out)["unknown"]), (3, 1))

    def test_tokens(self):
        tokens = {"1": ["<a_1>", "<b_0>"], "2": ["<a_0>", "<b_1>"]}
        source = self.write("tokens.json", json.dumps(tokens))
        self.json("catalog", "create", self.live, "--input", source)
        more = self.write("more.json", json.dumps({"3": ["<a_1>", "<b_1>"]}))
        self.assertEqual(self.json("catalog", "add", self.live, more)["items"], 3)
        other = self.write("other.json", json.dumps({"4": ["<c_1>", "<b_1>"]}))
        self.fails('families ["<c_*>", "<b_*>"], expected ["<a_*>", "<b_*>"]', "catalog", "add", self.live, other)

    def test_names_and_variable_length(self):
        self.x = self.index("--variable-length", "--codes", 4, "--levels", 3,
                            catalogue=[("a", [1]), ("b", [1, 2]), ("7", [1, 2, 3])], name="y.sidx")
        self.create()
        self.assertEqual(self.add([("c", [1]), (8, [0, 1])])["items"], 5)
        self.assertEqual(self.json("lookup", self.live, "--sid", "1")["items"], ["a", "c"])
        self.assertEqual(self.json("lookup", self.live, "--prefix", "1"),
                         {"prefix": [1], "next": [2], "end": True, "sids": 3, "items": 4})
        self.assertEqual(self.remove("a", "8")["items"], 3)
        self.assertEqual(self.json("lookup", self.live, "--sid", "0,1")["found"], False)

    def test_priorities(self):
        self.create()
        self.add([{"item": 20, "sid": [3, 3, 3], "priority": 5}, {"item": 21, "sid": [3, 3, 3], "priority": 7}])
        self.assertEqual(self.json("lookup", self.live, "--sid", "3,3,3")["items"], ["21", "20"])
        self.assertEqual(self.add([(21, [3, 3, 3])])["version"], 2)
        self.assertEqual(self.json("lookup", self.live, "--sid", "3,3,3")["items"], ["21", "20"])
        self.add([{"item": 21, "sid": [3, 3, 3], "priority": 0}])
        self.assertEqual(self.json("lookup", self.live, "--sid", "3,3,3")["items"], ["20", "21"])

    def test_rollback(self):
        self.create()
        self.add([(20, [0, 0, 1])])
        report = self.json("catalog", "rollback", self.live, 1)
        self.assertEqual(list(report), ["back_to", *PUBLISHED])
        self.assertEqual((report["version"], report["items"], report["back_to"]), (3, 8, 1))
        self.assertEqual(self.json("diff", self.live, self.live + "@1")["same"], True)
        self.fails("version is 9, expected one of those that are kept, 1 to 3", "catalog", "rollback", self.live, 9)

    def test_compact(self):
        self.create()
        self.add([(20, [0, 0, 1])])
        self.assertEqual(self.remove(10)["compact_soon"], True)
        report = self.json("catalog", "compact", self.live, "--threads", 2, "--memory-limit", "1G", "--rate", "100M")
        self.assertEqual(list(report), ["base_items", *PUBLISHED])
        self.assertEqual((report["version"], report["generation"], report["base_items"]), (4, 2, 8))
        left = [(item, sid) for item, sid in CATALOGUE.items() if item != "10"] + [("20", (0, 0, 1))]
        self.index(catalogue=left, name="full.sidx")
        with open(self.live + "/base-2.sidx", "rb") as file:
            self.assertEqual(file.read(), self.read("full.sidx"))
        self.assertEqual(self.json("diff", self.live, self.live + "@3")["same"], True)
        self.fails("bytes, memory_limit_bytes is 1024", "catalog", "compact", self.live, "--memory-limit", "1K")
        self.misused("--rate: 'fast', expected a number of bytes", "catalog", "compact", self.live, "--rate", "fast")

    def test_versions_that_are_kept(self):
        self.create()
        for i in range(3):
            self.add([(20 + i, [0, 0, 1])])
        self.json("catalog", "compact", self.live, "--keep-versions", 1)
        self.assertEqual(self.versions(), [5])
        self.assertEqual(sorted(os.listdir(self.live)), ["base-2.sidx", "catalog.live", "lock", "log-5.slog"])
        self.fails("expected one of those that are kept, 5 to 5", "lookup", self.live + "@1", "--item", 1)

    def test_versions_that_are_not_too_old(self):
        """Each is published by a process of its own, so that there is a millisecond from one to the next."""
        self.create()
        for i in range(2):
            self.add([(20 + i, [0, 0, 1])], "--keep-age", 86400)
        self.fails("expected one of those that are kept, 2 to 3", "catalog", "rollback", self.live, 1, "--keep-age",
                   0.001)
        self.json("catalog", "compact", self.live, "--keep-age", 0.001)
        self.assertIn("base-1.sidx", os.listdir(self.live))  # of version 3, which was the newest until now
        self.remove(20, "--keep-age", 0.001)
        self.assertEqual(self.versions(), [5, 4])
        self.assertEqual(sorted(os.listdir(self.live)), ["base-2.sidx", "catalog.live", "lock", "log-4.slog"])
        for wrong in -1, "nan", "inf", 1e10, "1s", "0x10":
            self.misused("--keep-age: expected seconds, at least 0", "catalog", "publish", self.live, "--keep-age",
                         wrong)


class Session(Live):
    """sidbeam catalog publish"""

    def publish(self, *operations, options=()):
        lines = "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in operations)
        return run("catalog", "publish", self.live, *options, input=lines.encode())

    def test_operations(self):
        self.create()
        status, out, err = self.publish(
            {"add": {"item": 20, "sid": [0, 0, 1], "priority": 3}}, "",
            {"add": [{"item": "21", "sid": [[0, 0, 1], [0, 0, 2]]}, {"item": 22, "sid": [0, 0, 1], "priority": 4}]},
            {"publish": True}, {"remove": [10, 98]}, {"remove": "11"}, {"publish": True},
            {"remove": 12}, {"discard": True}, {"publish": True}, options=["--json"])
        self.assertEqual((status, err), (0, ""))
        reports = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([(r["version"], r["items"], r["changed"], r["new"]) for r in reports],
                         [(2, 12, 4, True), (3, 10, 2, True), (3, 10, 2, False)])
        self.assertEqual(self.json("lookup", self.live, "--sid", "0,0,1")["items"], ["22", "20", "21"])
        self.assertEqual(len(self.json("lookup", self.live, "--item", "21")["sids"]), 2)
        self.assertEqual(self.json("lookup", self.live, "--item", "11")["sids"], [])

    def test_operations_that_change_nothing(self):
        self.create()
        status, out, err = self.publish({"publish": True}, {"remove": 10}, {"publish": True}, {"publish": True})
        self.assertEqual((status, err), (0, ""))
        self.assertEqual([(line.split("  ")[0], line.endswith("  as before")) for line in out.splitlines()],
                         [("version 1", True), ("version 2", False), ("version 2", True)])

    def test_attributes(self):
        types = {"price": 1.5, "stock": 3, "new": True, "region": "us", "tags": ["x", "y"]}
        self.x = self.index("--attributes", "price:f32,stock,new,region,tags",
                            catalogue=[dict(types, item=1, sid=[0, 1]), dict(types, item=2, sid=[1, 0], tags=[])],
                            name="y.sidx")
        self.create()
        status, _, err = self.publish({"add": [
            {"item": 3, "sid": [1, 1], "price": 7, "stock": 9, "new": False, "region": "ca", "tags": ["z", "x"]},
            {"item": 4, "sid": [1, 1], "price": None, "region": "", "tags": []}, {"item": 1, "sid": [0, 1],
                                                                                  "price": 2}]}, {"publish": True})
        self.assertEqual((status, err), (0, ""))
        self.write("f.npy", npy("<f4", (1, 2, 2), [0.0] * 4))
        def left(where):
            request = self.json("decode", self.live, "--logits", self.path("f.npy"), "--beams", 4, "--where",
                                where)["requests"][0]
            return sorted(item for beam in request["beams"] for item in beam["items"])
        for where, items in [("price=7", ["3"]), ("price=2 and stock=3", ["1"]), ("tags contains z", ["3"]),
                             ("new=true", ["1", "2"]), ('region=""', ["4"]), ("stock>=9", ["3"]),
                             ("tags contains x and region=us", ["1"])]:
            self.assertEqual(left(where), items, where)
        for text, operation in [("'colour' is no attribute", {"colour": 1}), ("'stock': 1.5, expected i64 or null",
                                                                             {"stock": 1.5}),
                                ("'tags': \"x\", expected strings", {"tags": "x"}),
                                ("'price': 1e300, expected f32", {"price": 1e300})]:
            status, out, err = self.publish({"add": dict(operation, item=5, sid=[0, 0])})
            self.assertEqual((status, out), (1, ""))
            self.assertIn("standard input:1: " + text, err.replace("1e+300", "1e300"))

    def test_wrong_operations(self):
        self.create()
        good = {"add": {"item": 20, "sid": [0, 0, 1]}}
        for text, operation in [("not JSON", "{"), ("expected an object with one of", "[]"),
                                ("expected an object with one of", {"add": 1, "remove": 2}),
                                ('"put", expected "add"', {"put": 1}), ('"publish": expected true', {"publish": 1}),
                                ('expected an object with "item" and "sid"', {"add": {"item": 1}}),
                                ('"sid": 2 codes, expected 3', {"add": {"item": 1, "sid": [1, 2]}}),
                                ('"sid": "x", expected a code', {"add": {"item": 1, "sid": ["x", 1, 1]}}),
                                ("level 0", {"add": {"item": 1, "sid": [4, 1, 1]}}),
                                ("'x', expected a signed 64-bit integer", {"add": {"item": "x", "sid": [1, 1, 1]}}),
                                ('comes twice', '{"add": {"item": 1, "item": 2, "sid": [1, 1, 1]}}'),
                                ('"priority": "a", expected an integer',
                                 {"add": {"item": 1, "sid": [1, 1, 1], "priority": "a"}}),
                                ("'x', expected a signed 64-bit integer", {"remove": [1, "x"]})]:
            status, out, err = self.publish(good, operation, {"publish": True})
            self.assertEqual((status, out), (1, ""), operation)
            self.assertIn("standard input:2", err)
            self.assertIn(text, err)
            self.assertEqual(err.count("\n"), 1, err)
        status, _, err = self.publish(good)
        self.assertEqual(status, 1)
        self.assertIn('its end, expected {"publish": true} before it: 1 changes are dropped', err)
        self.assertEqual(self.versions(), [1])


class Reading(Live):
    def test_log(self):
        self.create()
        self.add([(20, [0, 0, 1])])
        self.json("catalog", "rollback", self.live, 1)
        report = self.json("catalog", "log", self.live)
        self.assertEqual(list(report), ["folder", "versions"])
        for each in report["versions"]:
            self.assertEqual(list(each), ["version", "generation", "published", "published_ns", "items", "changed",
                                          "back_to", "bytes"])
            self.assertRegex(each["published"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual([(each["version"], each["items"], each["changed"], each["back_to"])
                          for each in report["versions"]], [(3, 8, 1, 1), (2, 9, 1, None), (1, 8, 0, None)])
        out = self.ok("catalog", "log", self.live)
        self.assertRegex(out, r"^version +generation +published +items +changed +back to +bytes\n +3 ")

    def test_follow(self):
        self.create()
        follower = subprocess.Popen([support.PROGRAM, "catalog", "follow", self.live, "--json", "--count", "3",
                                     "--since", "0"], stdout=subprocess.PIPE)
        timer = threading.Timer(SECONDS, follower.kill)
        timer.start()
        self.assertEqual(json.loads(follower.stdout.readline())["version"], 1)
        self.add([(20, [0, 0, 1])])
        self.assertEqual(json.loads(follower.stdout.readline())["version"], 2)
        self.json("catalog", "compact", self.live)
        last = json.loads(follower.stdout.readline())
        self.assertEqual((last["version"], last["generation"]), (3, 2))
        self.assertEqual(follower.wait(SECONDS), 0)
        timer.cancel()
        self.assertEqual(self.ok("catalog", "follow", self.live, "--wait", 0), "")
        self.assertRegex(self.ok("catalog", "follow", self.live, "--wait", 0.1, "--since", 2),
                         r"^version 3  generation 2  20\S+Z  9 items  \d+ changed\n$")
        self.misused("--wait: expected seconds", "catalog", "follow", self.live, "--wait", -1)

    def test_a_follower_lets_go_of_bases_that_are_no_longer_kept(self):
        self.create()
        follower = subprocess.Popen([support.PROGRAM, "catalog", "follow", self.live, "--json", "--since", "0"],
                                    stdout=subprocess.PIPE)
        timer = threading.Timer(SECONDS, follower.kill)
        timer.start()
        self.addCleanup(follower.communicate)
        self.addCleanup(follower.kill)
        self.addCleanup(timer.cancel)

        def maps(base):
            with open("/proc/%d/maps" % follower.pid) as file:
                return any("/" + base in line for line in file)

        def shows(version, generation):
            shown = json.loads(follower.stdout.readline())
            self.assertEqual((shown["version"], shown["generation"]), (version, generation))

        def add(version, generation):
            self.add([(20 + version, [0, 0, 1])])
            shows(version, generation)
            return version

        shows(1, 1)
        self.assertTrue(maps("base-1.sidx"))
        version = 1
        for generation in [1, 2]:
            version = add(version + 1, generation)
            self.json("catalog", "compact", self.live, "--keep-versions", 1)
            version += 1
            shows(version, generation + 1)
            while maps("base-%d.sidx" % generation):  # it may have been opened again before the writer dropped that
                version = add(version + 1, generation + 1)
            self.assertTrue(maps("base-%d.sidx" % (generation + 1)))
        add(version + 1, 3)

    def test_inspect(self):
        self.create()
        self.add([(20, [0, 0, 1])])
        self.remove(10, 11)
        report = self.json("inspect", self.live)
        self.assertEqual(list(report), ["folder", "version", "generation", "published", "published_ns", "items", "sids",
                                        "base_items", "added", "removed", "compact_soon", "oldest_version",
                                        "memory_bytes", "generations", "versions", "files"])
        expected = {"version": 3, "generation": 1, "items": 7, "sids": 8, "base_items": 8, "added": 1, "removed": 2,
                    "compact_soon": True, "oldest_version": 1,
                    "generations": [{"generation": 1, "oldest_version": 1, "newest_version": 3}]}
        self.assertEqual({key: report[key] for key in expected}, expected)
        self.assertEqual([each["version"] for each in report["versions"]], [3, 2, 1])
        self.assertEqual({each["name"]: each["bytes"] for each in report["files"]},
                         {name: os.path.getsize(os.path.join(self.live, name)) for name in os.listdir(self.live)})
        out = self.ok("inspect", self.live + "/")
        self.assertRegex(out, r"\ncompaction +due: sidbeam catalog compact\n")
        self.assertRegex(out, r"\nbase-1.sidx +\d")
        self.ok("inspect", self.live, "--html", self.path("x.html"))
        page = self.read("x.html").decode()
        self.assertNotRegex(page, r"(?i)https?://|src=|@import|url\(|<script|<link")
        for text in ["<h1>live</h1>", "compaction", "base-1.sidx", "back to"]:
            self.assertIn(text, page)
        self.misused("the whole catalogue is shown", "inspect", self.live + "@1")

    def test_verify(self):
        self.create()
        self.add([(20, [0, 0, 1])])
        self.assertEqual(self.json("verify", self.live, "--full")["checked"],
                         ["header", "checksums", "structure", "logs"])
        self.assertIn("logs       ok, version 2\n", self.ok("verify", self.live))
        read = sum(section["bytes"] for section in self.json("inspect", self.x)["sections"])
        self.assertGreater(read, 0)
        self.assertEqual(self.json("verify", self.live)["bytes"], read)
        self.assertRegex(self.ok("verify", self.live + "@1"), r"\nread +{:,} bytes in ".format(read))
        self.assertEqual(self.json("verify", self.x)["bytes"], os.path.getsize(self.x))

    def test_paths(self):
        self.create()
        self.add([(20, [0, 0, 1])])
        self.assertEqual(self.json("lookup", self.live + "/@1", "--item", 20)["sids"], [])
        self.assertEqual(len(self.json("lookup", self.live + "@2", "--item", 20)["sids"]), 1)
        for version in ["", "x", "0", "-1"]:
            self.misused("expected a version after the @", "lookup", self.live + "@" + version, "--item", 20)
        self.fails("version is 7, expected one of those that are kept", "lookup", self.live + "@7", "--item", 20)
        at = self.index(name="live@3")
        self.assertEqual(len(self.json("lookup", at, "--item", 10)["sids"]), 1)
        self.fails("No such file", "lookup", self.path("other@3"), "--item", 20)
        self.fails("is a version of a live catalogue", "convert", self.live, "--output-dir", self.path("static"))

    def test_searches_are_those_of_an_index_of_the_live_items(self):
        generator = random.Random(3)
        items = {str(i): [generator.randrange(4) for _ in range(3)] for i in range(100, 160)}
        self.x = self.index("--codes", 4, "--kinds", "trie", catalogue=dict(list(items.items())[:40]), name="y.sidx")
        self.create()
        self.add(list(items.items())[40:])
        gone = generator.sample(sorted(items), 20)
        self.remove(*gone)
        left = self.index("--codes", 4, catalogue={i: sid for i, sid in items.items() if i not in gone}, name="z.sidx")
        self.write("f.npy", npy("<f4", (2, 3, 4), [generator.gauss(0, 2) for _ in range(24)]))
        def beams(index, command, *options):
            requests = self.json(command, index, "--logits", self.path("f.npy"), *options)["requests"]
            return [[{k: v for k, v in beam.items() if k != "ordinal"} for beam in request.get("beams", []) or
                     request.get("draws", [])] for request in requests]
        for options in [["--beams", 7], ["--beams", 30, "--normalize", "valid", "--distinct"]]:
            found = beams(self.live, "decode", *options)
            expected = beams(left, "decode", *options)
            self.assertEqual([[(b["sid"], b["score"], sorted(b["items"])) for b in r] for r in found],
                             [[(b["sid"], b["score"], sorted(b["items"])) for b in r] for r in expected])
            self.assertGreater(len(found[0]), 5)
        options = ["--draws", 20, "--seed", 4]
        self.assertEqual([[d["sid"] for d in r] for r in beams(self.live, "sample", *options)],
                         [[d["sid"] for d in r] for r in beams(left, "sample", *options)])
        self.assertEqual(self.json("diff", left, self.live)["same"], True)
