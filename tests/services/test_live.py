"""A live catalogue over HTTP: what comes and goes, is gone back to, and is followed.

SPDX-License-Identifier: Apache-2.0
"""

import random
import threading

import catalogues
import pytest
from load import Load
from test_mistakes import refused

QUESTION = {"histories": [[1000, 1017, 1299], [1205, 1210, 1005], [1001]], "k": 8}
RULES = [{}, {"filter": "cheap"}, {"where": "price>=30", "exclude": [1003, 1004, 2000]}, {"where": "price=77"},
         {"allow": [1017, 1205, 2000, 2001, 2002]}]
SETTINGS = '{"cheap": "price<40"}'


class Pairs(dict):
    """What a catalogue is expected to have: prices by item and SID."""

    @classmethod
    def of_the_base(cls):
        """300 items of several to a SID, of which every fifth has a second SID."""
        draws, pairs = random.Random(1), cls()
        for item in range(1000, 1300):
            for _ in range(2 if item % 5 == 0 else 1):
                pairs[item, (draws.randrange(4), draws.randrange(4), draws.randrange(8))] = item % 100
        return pairs

    def remove(self, item):
        for pair in [pair for pair in self if pair[0] == item]:
            del self[pair]

    def least(self, item):
        return min(pair for pair in self if pair[0] == item)

    def lines(self):
        return [{"item": item, "sid": list(sid), "price": price} for (item, sid), price in sorted(self.items())]

    def body(self):
        return {"items": [{"id": item, "sid": list(sid), "attributes": {"price": price}}
                          for (item, sid), price in self.items()]}


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "filters.json"
    path.write_text(SETTINGS)
    return path


@pytest.fixture
def living(tmp_path):
    """The folder of a live catalogue of Pairs.of_the_base."""
    catalogues.index(tmp_path / "base.sidx", Pairs.of_the_base().lines())
    return catalogues.live(tmp_path / "live", tmp_path / "base.sidx")


@pytest.fixture
def serves(start, tmp_path, settings):
    """Expects a version, and the answers of a service whose index has some pairs and no others."""
    def check(service, version, pairs):
        catalogues.index(tmp_path / "alone.sidx", pairs.lines())
        alone = start(index=tmp_path / "alone.sidx", filters=settings)
        for rules in RULES:
            want = alone.ask("POST", "/recommend", QUESTION | rules).json | {"version": version}
            assert service.ask("POST", "/recommend", QUESTION | rules).json == want, rules
        alone.stop()
    return check


def do(service, method, path, body, answer):
    got = service.change(method, path, body)
    assert got.status == 200 and got.json == answer, got


def test_items_come_and_go(start, living, settings, serves):
    """Each version answers as an index of its items alone does, also for histories of items that have gone, moved or
    changed."""
    service = start(index=living, filters=settings)
    pairs = Pairs.of_the_base()
    serves(service, 1, pairs)

    added = Pairs({(2000, (4, 0, 0)): 77, (2001, (0, 9, 0)): 5, (2001, (8, 9, 0)): 5})
    do(service, "POST", "/items", added.body(), {"added": 3})
    serves(service, 1, pairs)  # nobody sees it yet
    do(service, "POST", "/publish", None, {"version": 2})
    do(service, "POST", "/publish", {}, {"version": 2})
    pairs |= added
    serves(service, 2, Pairs(pairs))

    do(service, "DELETE", "/items/1205", None, {"removed": 1205})
    assert "1205" in refused(service.change("DELETE", "/items/1205"), 404, "not_found")
    do(service, "DELETE", "/items/1017", None, {"removed": 1017})
    pairs = Pairs(pairs)
    pairs.remove(1205)
    pairs.remove(1017)
    changed = Pairs({(1017, (5, 1, 1)): 17, pairs.least(1210): 77})  # one moves; one changes, of two SIDs
    do(service, "POST", "/items", changed.body(), {"added": 2})
    pairs = Pairs(pairs | changed)
    do(service, "POST", "/publish", None, {"version": 3})
    serves(service, 3, pairs)

    do(service, "DELETE", "/items/1000", None, {"removed": 1000})
    do(service, "POST", "/rollback", {"version": 1}, {"version": 4})
    serves(service, 4, Pairs.of_the_base())
    do(service, "POST", "/publish", None, {"version": 4})  # the rollback dropped what waited
    do(service, "POST", "/rollback", {"version": 3}, {"version": 5})
    do(service, "POST", "/compact", None, {"version": 6})
    serves(service, 6, pairs)
    do(service, "POST", "/rollback", {"version": 2}, {"version": 7})  # of the generation before
    do(service, "POST", "/rollback", {"version": 6}, {"version": 8})
    serves(service, 8, pairs)


def test_versions_are_listed(start, living, contract):
    service = start(index=living, keep=2)
    for id in range(2000, 2003):
        service.change("POST", "/items", Pairs({(id, (4, 0, 0)): 1}).body())
        service.change("POST", "/publish")
    listed = service.ask("GET", "/versions").json
    assert listed["version"] == 4 and listed["versions"][-1]["version"] == 4
    newest = listed["versions"][-1]
    assert set(newest) == set(contract["components"]["schemas"]["Kept"]["required"])
    assert newest["items"] == len(Pairs.of_the_base()) + 3 and newest["changed"] == 1 and newest["in_use"] is True
    assert 1 not in [kept["version"] for kept in listed["versions"]]
    refused(service.change("POST", "/rollback", {"version": 1}), 400, "invalid_argument", "version")


def test_an_index_file_has_no_changes(shared):
    for method, path, body in [("POST", "/items", Pairs({(7, (1, 2, 3)): 1}).body()), ("DELETE", "/items/7", None),
                               ("POST", "/publish", None), ("POST", "/rollback", {"version": 1}),
                               ("POST", "/compact", None), ("GET", "/versions", None)]:
        assert "numbers.sidx" in refused(shared.change(method, path, body), 409, "conflict")


def test_all_that_an_item_may_have(start, tmp_path):
    """Names, SIDs of any length, attributes of each type. What an update does not give stays."""
    base = tmp_path / "base.sidx"
    (tmp_path / "base.jsonl").write_text(
        '{"item": "hat", "sid": [0, 0], "price": 1, "rating": 1, "new": false, "brand": "b", "tags": ["t"]}\n')
    catalogues.sidbeam("build", "--input", tmp_path / "base.jsonl", "--codes", "16,16", "--variable-length",
                       "--attributes", "price:i64,rating:f32,new:bool,brand:string,tags:strings", "--output", base)
    service = start(index=catalogues.live(tmp_path / "live", base), offsets="0,16", end_column=32)

    def where(text, *expected):
        answer = service.ask("POST", "/recommend", {"histories": [["hat"]], "where": text, "k": 8})
        assert answer.status == 200 and [item["id"] for item in answer.json["results"][0]] == list(expected), answer

    do(service, "POST", "/items", {"items": [
        {"id": "a/b", "sid": [1], "priority": 3,
         "attributes": {"price": -5, "rating": 0.5, "new": True, "brand": "é", "tags": ["x", "y"]}},
        {"id": "", "sid": [1], "priority": 9223372036854775807,
         "attributes": {"price": None, "rating": 2, "new": None, "brand": None, "tags": []}}]}, {"added": 2})
    do(service, "POST", "/publish", None, {"version": 2})
    where("price=-5 and rating=0.5 and new and brand=é and tags contains x and tags contains y", "a/b")
    where("price is null and rating=2 and new is null and brand is null and tags is not null and rating>1", "")
    where("rating<=2 and rating!=1", "", "a/b")  # by priority
    do(service, "POST", "/items", {"items": [{"attributes": {"price": 7}, "sid": [1], "id": "a/b"}]}, {"added": 1})
    do(service, "POST", "/publish", None, {"version": 3})
    where("price=7 and rating=0.5 and new and brand=é and tags contains y", "a/b")
    for value, path in [({"rating": 1e39}, ".rating"), ({"rating": True}, ".rating"), ({"new": 1}, ".new"),
                        ({"brand": 5}, ".brand"), ({"tags": "x"}, ".tags"), ({"tags": ["x", None]}, ".tags[1]")]:
        answer = service.change("POST", "/items", {"items": [{"id": "c", "sid": [2], "attributes": value}]})
        refused(answer, 400, "invalid_argument", "items[0].attributes" + path)
    for sid, path in [([], ""), ([1, 2, 3], ""), ([16], "[0]")]:
        answer = service.change("POST", "/items", {"items": [{"id": "c", "sid": sid}]})
        refused(answer, 400, "invalid_argument", "items[0].sid" + path)
    do(service, "DELETE", "/items/a%2Fb", None, {"removed": "a/b"})
    do(service, "DELETE", "/items/", None, {"removed": ""})
    do(service, "POST", "/items", b'{"items": [{"id": "\\ud83d\\uDE00\\\\ud800", "sid": [3]}]}', {"added": 1})
    do(service, "DELETE", "/items/%F0%9F%98%80%5Cud800", None, {"removed": "😀\\ud800"})
    for path, status in [("..//%22%C3%A9", 404), ("%EF%BF%BD", 404), ("a%FF", 400), ("hat%00", 404), ("hat/", 404)]:
        assert service.change("DELETE", f"/items/{path}").status == status, path
    for half in ["\\ud800", "\\uDC00", "\\\\\\ud83d\\n\\ude00", "\\ud83d\\ud83d\\ude00"]:
        answer = service.change("POST", "/items", b'{"items": [{"id": "%s", "sid": [3]}]}' % half.encode())
        refused(answer, 400, "invalid_argument", "body")
    do(service, "POST", "/publish", None, {"version": 4})
    where("true", "hat")


def test_filters_go_with_each_version(start, living, settings):
    """A reload reads those of the settings anew, a publish keeps those that were read."""
    service = start(index=living, filters=settings)

    def cheap():
        return service.ask("POST", "/recommend", QUESTION | {"filter": "cheap"}).json["results"]

    before = cheap()
    settings.write_text('{"cheap": "price<0"}')
    do(service, "POST", "/items", Pairs({(2000, (15, 15, 15)): 99}).body(), {"added": 1})
    do(service, "POST", "/publish", None, {"version": 2})
    assert cheap() == before
    do(service, "POST", "/reload", None, {"version": 2})
    assert cheap() == [[], [], []]
    settings.write_text('{"cheap": "price<"}')
    refused(service.change("POST", "/reload"), 500, "internal")
    do(service, "POST", "/rollback", {"version": 1}, {"version": 3})
    assert cheap() == [[], [], []]


def test_a_follower_serves_what_is_published(start, living, settings, serves):
    """Across compactions; it changes nothing itself."""
    writer = start(index=living, filters=settings)
    follower = start(index=living, filters=settings, follow="true")
    pairs = Pairs.of_the_base()
    serves(follower, 1, pairs)
    for method, path, body in [("POST", "/items", {}), ("DELETE", "/items/1000", None), ("POST", "/publish", None),
                               ("POST", "/rollback", {"version": 1}), ("POST", "/compact", None)]:
        refused(follower.change(method, path, body), 409, "conflict")

    def follows(version):
        follower.until("it is followed", lambda metrics: metrics["catalog_version"] == version)
        serves(follower, version, pairs)

    pairs.remove(1205)
    do(writer, "DELETE", "/items/1205", None, {"removed": 1205})
    do(writer, "POST", "/publish", None, {"version": 2})
    follows(2)
    # A folder that cannot be read leaves the version.
    manifest = living / "catalog.live"
    manifest.rename(living / "away")
    refused(follower.change("POST", "/reload"), 500, "internal")
    follower.until("a refresh failed", lambda metrics: metrics["catalog_refresh_errors_total"] > 0)
    assert "catalog.live" in follower.wait_for("refresh_failed")["message"]
    follows(2)
    (living / "away").rename(manifest)
    do(writer, "POST", "/compact", None, {"version": 3})
    follows(3)
    pairs[2000, (4, 0, 0)] = 77
    do(writer, "POST", "/items", Pairs({(2000, (4, 0, 0)): 77}).body(), {"added": 1})
    do(writer, "POST", "/publish", None, {"version": 4})
    do(follower, "POST", "/reload", None, {"version": 4})
    follows(4)


def test_there_is_one_writer(start, starting, living):
    start(index=living)
    second = starting(index=living)
    assert second.ended() == 1 and "process" in second.wait_for("failed")["message"]


def test_publishes_under_load(start, living, settings, serves):
    """Each answer's items are live in the version that it names."""
    service = start(index=living, filters=settings, where_kept=1)
    pairs, lived = Pairs.of_the_base(), {1: Pairs.of_the_base()}

    def ask(draws):
        rules = draws.choice([{}, {"filter": "cheap"}, {"where": "price<40", "exclude": [1001]}])
        return {"histories": [[1000 + draws.randrange(300), 1299], [1298, 1000 + draws.randrange(300)]]} | rules

    def check(answer):
        if answer.status != 200:
            return repr(answer)
        has = {item for item, _ in lived[answer.json["version"]]}
        lists = answer.json["results"]
        good = all(len(items) == 8 and all(item["id"] in has for item in items) for items in lists)
        return None if good else repr(answer)

    draws = random.Random(9)
    with Load(service.address, 6, ask, check) as load:
        for version in range(2, 42):
            gone = 1000 + draws.randrange(298)
            assert service.change("DELETE", f"/items/{gone}").status in (200, 404)
            pairs.remove(gone)
            pair = (1000 + draws.randrange(300), (draws.randrange(4), draws.randrange(4), draws.randrange(8)))
            pairs[pair] = draws.randrange(80)
            do(service, "POST", "/items", Pairs({pair: pairs[pair]}).body(), {"added": 1})
            lived[version] = Pairs(pairs)
            do(service, "POST", "/publish", None, {"version": version})
            if version % 20 == 0:
                do(service, "POST", "/reload", None, {"version": version})
    assert load.failures == []
    do(service, "POST", "/compact", None, {"version": 42})  # which orders the items of a SID
    serves(service, 42, pairs)


def test_changes_side_by_side(start, living):
    """Whoever publishes is served that version or a later one, whatever others do meanwhile."""
    service, failures = start(index=living), []

    def change(client):
        for round in range(8):
            id = 2000 + 8 * client + round
            added = service.change("POST", "/items", Pairs({(id, (4, client, round)): 1}).body())
            published = service.change("POST", "/publish")
            served = service.ask("POST", "/recommend", {"histories": [[id]], "allow": [id]})
            if added.status != 200 or published.status != 200 or served.status != 200 or \
                    served.json["version"] < published.json["version"] or \
                    [item["id"] for item in served.json["results"][0]] != [id]:
                failures.append((added, published, served))

    threads = [threading.Thread(target=change, args=(client,)) for client in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert service.metrics()["index_items"] == len(Pairs.of_the_base()) + 32
