"""Attributes of items: `build --attributes` from JSON and CSV, and what `inspect` shows of them.
SPDX-License-Identifier: Apache-2.0
"""
import json

from support import Case

# Without types: i64, f32, bool, string and a list of strings.
RECORDS = [
    {"item": "a", "sid": [0, 1], "price": 5, "score": 0.5, "stock": True, "region": "us", "tags": ["x", "y"]},
    {"item": "b", "sid": [1, 1], "price": -7, "score": 2, "stock": False, "region": "ca", "tags": []},
    {"item": "c", "sid": [2, 0], "price": None, "score": None, "stock": None, "region": None, "tags": None},
    {"item": "d", "sid": [3, 3], "price": 12345, "score": -1e3, "stock": True, "region": "us", "tags": ["y", "y"]},
    {"item": "e", "sid": [[2, 1], [2, 2]], "price": 1, "stock": True, "region": "us\u00e9", "tags": ["x"]},
]
ALL = "price,score,stock,region,tags"
# By name: what inspect says.
EXPECTED = [
    {"name": "price", "type": "i64", "nulls": 1, "distinct": None, "least": -7, "greatest": 12345, "commonest": []},
    {"name": "region", "type": "string", "nulls": 1, "distinct": 3, "least": None, "greatest": None,
     "commonest": [{"value": "us", "items": 2}, {"value": "us\u00e9", "items": 2}, {"value": "ca", "items": 1}]},
    {"name": "score", "type": "f32", "nulls": 3, "distinct": None, "least": -1000.0, "greatest": 2.0, "commonest": []},
    {"name": "stock", "type": "bool", "nulls": 1, "distinct": 2, "least": None, "greatest": None,
     "commonest": [{"value": "true", "items": 4}, {"value": "false", "items": 1}]},
    {"name": "tags", "type": "strings", "nulls": 1, "distinct": 2, "least": None, "greatest": None,
     "commonest": [{"value": "x", "items": 3}, {"value": "y", "items": 2}]},
]


def lines(records):
    return "\n".join(map(json.dumps, records))


class Attributes(Case):
    def build(self, name, content, attributes, *options):
        self.ok("build", "--input", self.write(name, content), "--output", self.path("a.sidx"), "--attributes",
                attributes, *options)
        self.ok("verify", "--full", self.path("a.sidx"))
        return self.json("inspect", self.path("a.sidx"))

    def refuses(self, text, content, attributes, name="a.jsonl"):
        self.fails(text, "build", "--input", self.write(name, content), "--output", self.path("a.sidx"),
                   "--attributes", attributes)

    def test_types_come_from_the_data(self):
        found = self.build("a.jsonl", lines(RECORDS), ALL)
        self.assertEqual(found["attributes"], EXPECTED)
        self.assertEqual(found["format_version"], "1.3")
        self.assertRegex(found["attribute_digest"], "^[0-9a-f]{32}$")

    def test_every_format_of_json_and_any_order_give_the_same_bytes(self):
        self.build("a.jsonl", lines(RECORDS), ALL)
        expected = self.read("a.sidx")
        self.build("b.json", json.dumps(RECORDS[::-1]), "tags:strings,price:i64,score:f32,stock:bool,region:string")
        self.assertEqual(self.read("a.sidx"), expected)
        items = {record["item"]: {key: record[key] for key in record if key != "item"} for record in RECORDS}
        self.build("c.json", json.dumps(items, indent=1), ALL)
        self.assertEqual(self.read("a.sidx"), expected)

    def test_csv(self):
        cells = ["item,sid,price,score,stock,region,tags"]
        for record in RECORDS[:4]:
            values = [record[name] for name in ALL.split(",")]
            shown = ["" if v is None else "|".join(v) if isinstance(v, list) else str(v) for v in values]
            cells.append(",".join([record["item"], " ".join(map(str, record["sid"]))] + shown))
        # A list without strings, and an empty cell, are one in CSV: null.
        records = [dict(record) for record in RECORDS[:4]]
        records[1]["tags"] = None
        self.build("a.jsonl", lines(records), ALL)
        expected = self.read("a.sidx")
        report = self.build("a.csv", "\n".join(cells), "price,score,stock,region,tags:strings")
        self.assertEqual(self.read("a.sidx"), expected)
        self.assertEqual(report["attributes"][0]["greatest"], 12345)

    def test_types_that_are_given(self):
        text = lines([{"item": 1, "sid": [0], "a": 7, "b": 1, "c": 2.0, "d": 1.5, "e": [3, "x"]}])
        found = self.build("a.jsonl", text, "a:string,b:bool,c:i64,d:string,e:strings")
        self.assertEqual([(a["type"], a["least"], [v["value"] for v in a["commonest"]]) for a in found["attributes"]],
                         [("string", None, ["7"]), ("bool", None, ["true"]), ("i64", 2, []), ("string", None, ["1.5"]),
                          ("strings", None, ["3", "x"])])
        csv = "item,sid,a,b\n1,0,007,TRUE\n2,1,8,false\n3,2,,0\n"
        found = self.build("a.csv", csv, "a,b:bool")
        self.assertEqual([(a["name"], a["type"], a["nulls"]) for a in found["attributes"]],
                         [("a", "string", 1), ("b", "bool", 0)])

    def test_the_report_and_the_plan_name_them(self):
        source = self.write("a.jsonl", lines(RECORDS))
        seen = self.json("build", "--input", source, "--output", self.path("a.sidx"), "--attributes", ALL)["seen"]
        self.assertEqual(seen["attributes"],
                         {"price": "i64", "score": "f32", "stock": "bool", "region": "string", "tags": "strings"})
        plan = self.json("plan", "--input", source, "--attributes", ALL)
        self.assertEqual(plan["file_bytes"], len(self.read("a.sidx")))

    def test_text(self):
        self.build("a.jsonl", lines(RECORDS), ALL)
        text = self.ok("inspect", self.path("a.sidx"))
        for line in [r"price +i64 +1 +-7 \.\. 12,345", r"score +f32 +3 +-1000 \.\. 2",
                     r"region +string +1 +3 +us \(2\), us\u00e9 \(2\), ca \(1\)", r"attribute_integers +i64 +"]:
            self.assertRegex(text, line)

    def test_files_without_them_show_none(self):
        self.ok("build", "--input", self.write("a.jsonl", lines(RECORDS)), "--output", self.path("a.sidx"))
        report = self.json("inspect", self.path("a.sidx"))
        self.assertEqual((report["attributes"], report["format_version"]), ([], "1.2"))
        self.assertNotIn("attribute", self.ok("inspect", self.path("a.sidx")))

    def test_bad_values_are_named_with_file_line_and_field(self):
        self.refuses("a.jsonl':2: item 'b': \"price\": \"x\", expected an integer (i64) as in the records before",
                     lines([{"item": "a", "sid": [0], "price": 5}, {"item": "b", "sid": [1], "price": "x"}]), "price")
        self.refuses("':1: item 'a': \"price\": 1.5, expected an integer (i64)",
                     lines([{"item": "a", "sid": [0], "price": 1.5}]), "price:i64")
        self.refuses("\"price\": 1e300, expected a number (f32)",
                     '{"item": "a", "sid": [0], "price": 1e300}', "price:f32")
        self.refuses("\"tags\": a list, expected a list of texts (strings)",
                     lines([{"item": "a", "sid": [0], "tags": [None]}]), "tags:strings")
        self.refuses("\"tags\": an object, expected a number, true, false, text or",
                     lines([{"item": "a", "sid": [0], "tags": {}}]), "tags")
        self.refuses("a.csv':3: 'price': 'cheap', expected a number (f32)",
                     "item,sid,price\n1,0,5\n2,1,cheap\n", "price:f32", "a.csv")
        self.refuses("\"price\": 1e300, expected a number (f32) as in the records before",
                     '{"item": "a", "sid": [0], "price": 1e300}', "price")
        self.refuses("'region': '\\xff', expected text in UTF-8", b"item,sid,region\n1,0,\xff\n", "region", "a.csv")
        self.assertEqual(self.build("a.csv", "item,sid,n\n1,0,1e300\n", "n")["attributes"][0]["type"], "string")
        self.refuses("expected true or false (bool)", "item,sid,b\n1,0,2\n", "b:bool", "a.csv")

    def test_attributes_that_are_not_there(self):
        self.refuses("no record has a field 'colour' (--attributes)", lines(RECORDS), "colour")
        self.refuses("no column 'colour' (--attributes), there are 'item', 'sid'", "item,sid\n1,0\n", "colour", "a.csv")
        self.refuses("'price' has no value, expected --attributes to say its type, as in price:i64",
                     lines([{"item": "a", "sid": [0], "price": None}]), "price")

    def test_identical_pairs_must_agree(self):
        record = {"item": "a", "sid": [0], "price": 5}
        self.build("a.jsonl", lines([record, {"item": "a", "sid": [0]}]), "price")
        self.refuses("attribute 'price' of the item 'a' with the SID 0 is", lines([record, dict(record, price=6)]),
                     "price")

    def test_misuse(self):
        source = self.write("a.jsonl", lines(RECORDS))
        for text, value in [("expected a type i64, f32, bool, string or strings after the colon", "price:int"),
                            ("an empty name in ':i64'", ":i64"), ("an empty name in 'a,'", "a,"),
                            ("--attributes: 'a' comes twice", "a,b,a:i64")]:
            self.misused(text, "build", "--input", source, "--output", self.path("a.sidx"), "--attributes", value)
        raw = self.write("a.raw", b"\0" * 12)
        self.misused("go with lcrec, records, jsonl and csv, not raw", "build", "--input", raw, "--levels", "3",
                     "--output", self.path("a.sidx"), "--attributes", "a")
