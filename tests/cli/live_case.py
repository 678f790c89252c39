"""A live catalogue to test the command with. SPDX-License-Identifier: Apache-2.0"""
from support import Case


class Live(Case):
    """An index x.sidx and the folder of a catalogue that begins with it."""

    def setUp(self):
        super().setUp()
        self.x = self.index()
        self.live = self.path("live")

    def create(self, *options):
        return self.json("catalog", "create", self.live, "--base", self.x, *options)

    def add(self, rows, *options):
        return self.json("catalog", "add", self.live, self.jsonl("new.jsonl", rows), *options)

    def remove(self, *ids):
        return self.json("catalog", "remove", self.live, *ids)

    def pairs(self, index):
        """All (SID, item) pairs, by the SIDs of the items that there are in any version."""
        found = set()
        for item in map(str, range(10, 40)):
            found |= {(tuple(sid["sid"]), item) for sid in self.json("lookup", index, "--item", item)["sids"]}
        return found

    def versions(self):
        return [each["version"] for each in self.json("catalog", "log", self.live)["versions"]]
