"""What is answered where nothing is wrong.

SPDX-License-Identifier: Apache-2.0
"""

import json

import catalogues
import pytest


def ids(answer):
    assert answer.status == 200, answer
    return [[item["id"] for item in items] for items in answer.json["results"]]


def test_the_best_items_come_first_and_are_of_the_index(shared):
    answer = shared.ask("POST", "/recommend", {"histories": [[1000, 1017], [1299], []], "k": 5})
    first, second, third = answer.json["results"]
    assert len(first) == len(second) == 5 and third == []
    for items in first, second:
        assert all(1000 <= item["id"] < 1500 for item in items)
        scores = [item["score"] for item in items]
        assert scores == sorted(scores, reverse=True) and scores[0] < 0
    assert answer.json["version"] == shared.ask("GET", "/readyz").json["version"]


def test_k_is_ten_or_all_beams(shared):
    assert [len(items) for items in ids(shared.ask("POST", "/recommend", {"histories": [[1000]]}))] == [8]


def test_an_item_is_named_by_its_id_or_its_sid(shared):
    sid = next(pair["sid"] for pair in catalogues.items() if pair["item"] == 1017)
    by_id = shared.ask("POST", "/recommend", {"histories": [[1017], [1000, 1017]]})
    by_sid = shared.ask("POST", "/recommend", {"histories": [[sid], [1000, sid]]})
    assert by_id.json == by_sid.json


def test_ids_that_the_index_lacks_are_passed_over(shared):
    known, unknown = shared.ask("POST", "/recommend", {"histories": [[1017], [5]]}), \
        shared.ask("POST", "/recommend", {"histories": [[5, 1017, -7, 77], [5, -1]]})
    assert ids(known)[0] == ids(unknown)[0] and ids(known)[1] == ids(unknown)[1] == []


def test_names(shared_names):
    (items,) = ids(shared_names.ask("POST", "/recommend", {"histories": [["item/1017", "none"]]}))
    assert len(items) == 8 and all(name.startswith("item/") for name in items)


def test_rules_hold_for_answers_alone(shared, start, tmp_path):
    """As a service answers whose index holds the allowed items alone, to the SIDs that histories read."""
    sids = {pair["item"]: pair["sid"] for pair in catalogues.items()}
    histories = [[1000, 1017], [1299]]
    read = [[sids[item] for item in history] for history in histories]
    found = {item for items in ids(shared.ask("POST", "/recommend", {"histories": histories})) for item in items}
    excluded = sorted(found | {1000, 1017, 1299})
    some = list(range(1100, 1300))
    for rules, keeps, unknown in [
            ({"exclude": excluded + [5, 6]}, lambda item, price: item not in excluded, {"unknown_excluded": 2}),
            ({"where": "price>=20 and price<70"}, lambda item, price: 20 <= price < 70, {}),
            ({"allow": some + [5]}, lambda item, price: item in some, {"unknown_allowed": 1}),
            ({"where": "price<50", "exclude": [1101], "allow": some},
             lambda item, price: item in some and price < 50 and item != 1101,
             {"unknown_excluded": 0, "unknown_allowed": 0})]:
        catalogues.index(tmp_path / "alone.sidx", [pair for pair in catalogues.items()
                                                   if keeps(pair["item"], pair["price"])])
        alone = start(index=tmp_path / "alone.sidx").ask("POST", "/recommend", {"histories": read}).json
        answer = shared.ask("POST", "/recommend", {"histories": histories} | rules).json
        assert answer == {"version": answer["version"], "results": alone["results"]} | unknown, rules


@pytest.mark.parametrize("nothing", [{"allow": []}, {"allow": [5]}, {"where": "false"}])
def test_rules_that_leave_nothing(shared, nothing):
    assert ids(shared.ask("POST", "/recommend", {"histories": [[1000], [1001]]} | nothing)) == [[], []]


def test_filters_of_the_settings(start, tmp_path, numbers):
    settings = tmp_path / "filters.json"
    settings.write_text('{"cheap": "price<40", "none": "false"}')
    service = start(filters=settings)
    question = {"histories": [[1000]]}
    by_name = service.ask("POST", "/recommend", question | {"filter": "cheap"})
    by_text = service.ask("POST", "/recommend", question | {"where": "price<40"})
    assert by_name.json == by_text.json and len(ids(by_name)[0]) == 8
    assert ids(service.ask("POST", "/recommend", question | {"filter": "none"})) == [[]]
    both = service.ask("POST", "/recommend", question | {"filter": "cheap", "where": "price>=10"})
    assert both.json == service.ask("POST", "/recommend", question | {"where": "price>=10 and price<40"}).json
    metrics = service.metrics()
    assert metrics['filter_requests_total{filter="cheap"}'] == 2 and metrics["where_requests_total"] == 3

    # What cannot be made leaves those that there are.
    for broken in ['{"broken": "price<"}', '{"gone": "cost<40"}', '{"a b": "price<40"}', '{"cheap": 5}', "{", "[]"]:
        settings.write_text(broken)
        answer = service.change("POST", "/reload")
        assert (answer.status, answer.error["code"]) == (500, "internal"), answer
        assert service.ask("POST", "/recommend", question | {"filter": "cheap"}).json == by_name.json
    settings.write_text('{"cheap": "price<0", "dear": "price>=0"}')
    assert service.change("POST", "/reload").status == 200
    assert ids(service.ask("POST", "/recommend", question | {"filter": "cheap"})) == [[]]
    assert len(ids(service.ask("POST", "/recommend", question | {"filter": "dear"}))[0]) == 8


@pytest.mark.parametrize("options", [
    {"group": 1, "normalize": "level", "start_tokens": "192"},
    {"group": 3, "normalize": "valid", "start_tokens": "192"},
    {"group": 1, "normalize": "full"}], ids=str)
def test_the_items_that_the_command_finds(start, tmp_path, options):
    """By the trained model of samples/train, ids and scores are those of `sidbeam run`."""
    model, offsets = catalogues.ROOT / "samples/train/made_up", "0,64,128"
    path = tmp_path / "trained.sidx"
    catalogues.index(path, catalogues.items(codes=64), codes=64)
    given = [text for name, value in options.items() for text in ("--" + name.replace("_", "-"), value)]
    found = json.loads(catalogues.sidbeam("run", model, path, "--history", "1000,1017", "--offsets", offsets,
                                          "--beams", 8, "--json", *given))
    (request,) = found["requests"]
    want = [(int(item), beam["score"]) for beam in request["beams"] for item in beam["items"]][:8]
    service = start(model=model, index=path, offsets=offsets, prompt=8, **options)
    (items,) = service.ask("POST", "/recommend", {"histories": [[1000, 1017]], "k": 8}).json["results"]
    assert [item["id"] for item in items] == [id for id, _ in want]
    assert [item["score"] for item in items] == pytest.approx([score for _, score in want], abs=2e-5)


def test_health_and_readiness(shared, numbers):
    assert shared.ask("GET", "/healthz").json == {"status": "ok"}
    ready = shared.ask("GET", "/readyz").json
    assert ready["status"] == "ready" and len(ready["version"]) == 32
