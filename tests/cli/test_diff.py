"""sidbeam diff.
SPDX-License-Identifier: Apache-2.0
"""
import random

from support import CATALOGUE, Case

KEYS = ["a", "b", "same", "only_a", "only_b", "both", "differ", "attributes", "attributes_only_a", "attributes_only_b",
        "attributes_of_other_types"]


class Diff(Case):
    def test_counts_and_lists(self):
        x = self.index()
        others = dict(CATALOGUE, **{"20": (0, 0, 0), "9": (3, 3, 3)})
        del others["11"]
        others["12"] = (1, 1, 1)
        y = self.index(catalogue=others, name="y.sidx")
        report = self.json("diff", x, y)
        self.assertEqual(list(report), KEYS)
        self.assertEqual((report["a"], report["b"], report["same"]), (x, y, False))
        self.assertEqual((report["only_a"], report["only_b"], report["both"], report["differ"]), (2, 3, 6, 0))
        report = self.json("diff", x, y, "--list", 2)
        self.assertEqual(list(report), KEYS + ["items_only_a", "items_only_b", "values"])
        self.assertEqual(report["items_only_a"], [{"sid": [0, 0, 0], "item": "12"}, {"sid": [3, 1, 0], "item": "11"}])
        self.assertEqual(report["items_only_b"], [{"sid": [0, 0, 0], "item": "20"}, {"sid": [1, 1, 1], "item": "12"}])
        self.assertEqual(self.ok("diff", x, y, "--list", 2),
                         "only in A  2\nonly in B  3\nin both    6\n- 0,0,0  12\n- 3,1,0  11\n+ 0,0,0  20\n"
                         "+ 1,1,1  12\n+ ... 1 more\n")
        self.assertEqual(self.json("diff", x, x)["same"], True)

    def test_lengths_and_ids(self):
        options = ["--variable-length", "--codes", 4, "--levels", 3]
        x = self.index(*options, catalogue=[("5", [1]), ("-5", [1, 2]), ("7", [1, 2, 3])])
        y = self.index(*options, catalogue=[("5", [1]), (str(2**64 - 5), [1, 2]), ("7", [1, 2])], name="y.sidx")
        report = self.json("diff", x, y, "--list", 9)
        self.assertEqual(report["both"], 1)
        self.assertEqual(report["items_only_a"], [{"sid": [1, 2, 3], "item": "7"}, {"sid": [1, 2], "item": "-5"}])
        self.assertEqual(report["items_only_b"], [{"sid": [1, 2], "item": "7"},
                                                  {"sid": [1, 2], "item": "18446744073709551611"}])
        names = self.index(catalogue=[("a", [1])], name="z.sidx")
        self.fails("has ids that are integers, '%s' strings: no item is in both" % names, "diff", x, names)

    def test_attributes(self):
        rows = [{"item": i, "sid": [i % 3, i], "price": i / 2, "stock": i, "new": i % 2 == 0, "region": "us",
                 "tags": ["x", "y"], "old": 1} for i in range(6)]
        attributes = "price:f32,stock,new,region,tags,"
        x = self.index("--attributes", attributes + "old", catalogue=rows)
        changed = [dict(row) for row in rows]
        changed[0].update(price=None, tags=["y", "x"])
        changed[1].update(region="ca", stock=9)
        changed[2].update(new=None)
        changed[3].update(tags=None)
        for row in changed:
            row.update(old="1", fresh=2)
        y = self.index("--attributes", attributes + "old,fresh", catalogue=changed, name="y.sidx")
        report = self.json("diff", x, y, "--list", 10)
        self.assertEqual((report["same"], report["both"], report["differ"]), (False, 6, 4))
        self.assertEqual({each["name"]: each["differ"] for each in report["attributes"]},
                         {"price": 1, "stock": 1, "new": 1, "region": 1, "tags": 2})
        self.assertEqual((report["attributes_only_a"], report["attributes_only_b"],
                          report["attributes_of_other_types"]), ([], ["fresh"], ["old"]))
        values = {(each["item"], each["attribute"]): (each["a"], each["b"]) for each in report["values"]}
        self.assertEqual(values, {("0", "price"): (0, None), ("0", "tags"): (["x", "y"], ["y", "x"]),
                                  ("1", "region"): ("us", "ca"), ("1", "stock"): (1, 9), ("2", "new"): (True, None),
                                  ("3", "tags"): (["x", "y"], None)})
        out = self.ok("diff", x, y, "--list", 10)
        self.assertIn("\nin both, with other values  4\n  of new ", out)
        self.assertIn('\n~ 1,1  1  region: "us" -> "ca"\n', out)
        self.assertIn("attributes only in B       fresh\n", out)

    def test_attributes_of_versions(self):
        live = self.path("live")
        rows = [{"item": i, "sid": [0, i], "price": i, "region": "us", "tags": ["x"]} for i in range(4)]
        source = self.jsonl("rows.jsonl", rows)
        self.ok("catalog", "create", live, "--input", source, "--codes", 8, "--levels", 2, "--attributes",
                "price,region,tags")
        rows = [dict(rows[0], price=9), dict(rows[1], region="ca", tags=["x", "y"]), dict(rows[2], item=7, sid=[5, 1])]
        self.ok("catalog", "add", live, self.jsonl("rows.jsonl", rows), "--attributes", "price,region,tags")
        self.ok("catalog", "compact", live)
        for newest in [live + "@2", live]:
            report = self.json("diff", live + "@1", newest, "--list", 9)
            self.assertEqual((report["only_a"], report["only_b"], report["both"], report["differ"]), (0, 1, 4, 2))
            self.assertEqual([(each["item"], each["attribute"], each["a"], each["b"]) for each in report["values"]],
                             [("0", "price", 0, 9), ("1", "region", "us", "ca"), ("1", "tags", ["x"], ["x", "y"])])
        self.assertEqual(self.json("diff", live + "@2", live)["same"], True)

    def test_against_sets(self):
        generator = random.Random(5)
        rows = [(str(generator.randrange(3000)), [generator.randrange(5) for _ in range(4)]) for _ in range(9000)]
        live = self.path("live")
        self.index("--codes", 5, catalogue=rows[:6000])
        self.ok("catalog", "create", live, "--base", self.path("x.sidx"))
        pairs = [{(tuple(sid), item) for item, sid in rows[:6000]}]
        for step in range(3):
            new = rows[6000 + 1000 * step:7000 + 1000 * step]
            self.ok("catalog", "add", live, self.jsonl("new.jsonl", new))
            gone = [str(generator.randrange(3000)) for _ in range(200)]
            self.ok("catalog", "remove", live, "--ids", self.write("gone", "\n".join(gone)))
            pairs.append({pair for pair in pairs[-1] | {(tuple(sid), item) for item, sid in new}
                          if pair[1] not in gone})
        self.ok("catalog", "compact", live)
        pairs.append(pairs[-1])
        versions = [1, 3, 5, 7, 8]
        for a, b in [(0, 1), (1, 3), (3, 0), (2, 4), (3, 4)]:
            report = self.json("diff", "%s@%d" % (live, versions[a]), "%s@%d" % (live, versions[b]), "--list", 10**6)
            for key, expected in [("items_only_a", pairs[a] - pairs[b]), ("items_only_b", pairs[b] - pairs[a])]:
                listed = [(tuple(each["sid"]), each["item"]) for each in report[key]]
                self.assertEqual(sorted(listed), sorted(expected))
                self.assertEqual([sid for sid, _ in listed], sorted(sid for sid, _ in listed))
            self.assertEqual(report["both"], len(pairs[a] & pairs[b]))
