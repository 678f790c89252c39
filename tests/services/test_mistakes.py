"""What is refused, with which status and code, and at which place.

SPDX-License-Identifier: Apache-2.0
"""

import json

import pytest
from http_client import request

HISTORY = '"histories": [[1000]]'


def refused(answer, status, code, path=None):
    """Expects an error, whole, and says what it says."""
    assert answer.status == status, answer
    error = answer.error
    assert error["code"] == code and error.get("path") == path, answer
    assert error["request_id"] == answer.headers["x-request-id"] and error["message"], answer
    assert (answer.headers.get("retry-after") == "1") == (status == 503), answer
    return error["message"]


def body(text):
    return text if isinstance(text, bytes) else text.encode()


@pytest.mark.parametrize("text, path", [
    ("", "body"),
    ("null", "body"),
    ("[]", "body"),
    ('{"histories": [[1]], "k": ', "body"),
    ('{"histories": [[1]]} x', "body"),
    ('{"histories": [[1]]}{}', "body"),
    ('{"histories": [[1]], }', "body"),
    ("{'histories': [[1]]}", "body"),
    ('{"histories": [["\\ud800"]]}', "body"),
    (b'{"histories": [["\xff"]]}', "body"),
    ("[" * 100000, "body"),
    ("{}", "histories"),
    ('{"history": [1]}', "history"),
    ('{"Histories": [[1]]}', "Histories"),
    ('{"histories": null}', "histories"),
    ('{"histories": 5}', "histories"),
    ('{"histories": []}', "histories"),
    ('{"histories": [%s[]]}' % ("[]," * 16), "histories"),
    ('{"histories": [[], 1]}', "histories[1]"),
    ('{"histories": [[1000, null]]}', "histories[0][1]"),
    ('{"histories": [[1000], [1000, "1001"]]}', "histories[1][1]"),
    ('{"histories": [[1000.5]]}', "histories[0][0]"),
    ('{"histories": [[1e3]]}', "histories[0][0]"),
    ('{"histories": [[true]]}', "histories[0][0]"),
    ('{"histories": [[{}]]}', "histories[0][0]"),
    ('{"histories": [[9223372036854775808]]}', "histories[0][0]"),
    ('{"histories": [[1000, []]]}', "histories[0][1]"),
    ('{"histories": [[[1, 2]]]}', "histories[0][0]"),
    ('{"histories": [[[1, 2, 3, 4]]]}', "histories[0][0]"),
    ('{"histories": [[[1, 2, 16]]]}', "histories[0][0][2]"),
    ('{"histories": [[[1, -1, 2]]]}', "histories[0][0][1]"),
    ('{"histories": [[[1, 2, "3"]]]}', "histories[0][0][2]"),
    ('{"histories": [[[1, 2, 3.5]]]}', "histories[0][0][2]"),
    ("{%s, %s}" % (HISTORY, HISTORY), "histories"),
    ('{%s, "k": 2, "k": 3}' % HISTORY, "k"),
    ('{%s, "k": 2, "\\u006b": 3}' % HISTORY, "k"),
    ('{%s, "k": 2, "k": 3, "x": 1}' % HISTORY, "k"),
    ('{"x": 1, %s, "k": 2, "k": 3}' % HISTORY, "k"),
    ('{"k": 2, %s, %s, "k": 3}' % (HISTORY, HISTORY), "k"),
    ('{"histories": [[{"a": 1, "a": 2}]]}', "histories[0][0]"),
    ('{%s, "k": 0}' % HISTORY, "k"),
    ('{%s, "k": 9}' % HISTORY, "k"),
    ('{%s, "k": 1.5}' % HISTORY, "k"),
    ('{%s, "k": "2"}' % HISTORY, "k"),
    ('{%s, "k": null}' % HISTORY, "k"),
    ('{%s, "exclude": 5}' % HISTORY, "exclude"),
    ('{%s, "exclude": null}' % HISTORY, "exclude"),
    ('{%s, "exclude": {"id": 5}}' % HISTORY, "exclude"),
    ('{%s, "exclude": [1, "2"]}' % HISTORY, "exclude[1]"),
    ('{%s, "exclude": [%s1]}' % (HISTORY, "1," * 10000), "exclude"),
    ('{%s, "allow": [null]}' % HISTORY, "allow[0]"),
    ('{%s, "allow": [1.5]}' % HISTORY, "allow[0]"),
    ('{%s, "allow": [[1]]}' % HISTORY, "allow[0]"),
    ('{%s, "allow": [123456789012345678901]}' % HISTORY, "allow[0]"),
    ('{%s, "where": 5}' % HISTORY, "where"),
    ('{%s, "where": null}' % HISTORY, "where"),
    ('{%s, "where": ""}' % HISTORY, "where"),
    ('{%s, "where": "price<"}' % HISTORY, "where"),
    ('{%s, "where": "price<1\\u0000"}' % HISTORY, "where"),
    ('{%s, "where": "cost<5"}' % HISTORY, "where"),
    ('{%s, "where": "price=red"}' % HISTORY, "where"),
    ('{%s, "where": "%s"}' % (HISTORY, "(" * 4097), "where"),
    ('{%s, "filter": "new"}' % HISTORY, "filter"),
    ('{%s, "filter": ["cheap"]}' % HISTORY, "filter"),
    ('{%s, "filters": "cheap"}' % HISTORY, "filters"),
], ids=lambda value: repr(value)[:60])
def test_a_mistake_in_a_question_has_its_place(shared, text, path):
    message = refused(shared.ask("POST", "/recommend", body(text)), 400, "invalid_argument", path)
    assert path in message


def test_ids_are_of_the_kind_that_the_index_has(shared_names):
    for members, path in [('"histories": [["item/1000", 5]]', "histories[0][1]"),
                          ('"histories": [["item/1000"]], "exclude": [1000]', "exclude[0]"),
                          ('"histories": [["item/1000"]], "allow": ["item/1001", null]', "allow[1]")]:
        message = refused(shared_names.ask("POST", "/recommend", body("{%s}" % members)), 400, "invalid_argument", path)
        assert "string" in message


@pytest.mark.parametrize("text, path", [
    ("", "body"),
    ('{"items": []} x', "body"),
    ("{}", "items"),
    ('{"items": null}', "items"),
    ('{"items": {}}', "items"),
    ('{"items": []}', "items"),
    ('{"items": [5]}', "items[0]"),
    ('{"items": [], "publish": 1}', "publish"),
    ('{"items": [], "items": []}', "items"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3]}, {"id": 2, "sids": [1, 2, 3]}]}', "items[1].sids"),
    ('{"items": [{"id": 1}]}', "items[0].sid"),
    ('{"items": [{"sid": [1, 2, 3]}]}', "items[0].id"),
    ('{"items": [{"id": "1", "sid": [1, 2, 3]}]}', "items[0].id"),
    ('{"items": [{"id": null, "sid": [1, 2, 3]}]}', "items[0].id"),
    ('{"items": [{"id": 1, "i\\u0064": 1, "sid": [1, 2, 3]}]}', "items[0].id"),
    ('{"items": [{"x": 1, "id": 1, "id": 2, "sid": [1, 2, 3]}]}', "items[0].id"),
    ('{"items": [{"id": 1, "id": 2, "sid": [1, 2, 3]}], "x": 1}', "x"),
    ('{"items": [{"id": "1", "sid": [1, 2, 3]}, {"id": 2, "id": 3, "sid": [1, 2, 3]}]}', "items[0].id"),
    ('{"items": [{"id": 1, "sid": 1}]}', "items[0].sid"),
    ('{"items": [{"id": 1, "sid": []}]}', "items[0].sid"),
    ('{"items": [{"id": 1, "sid": [1, 2]}]}', "items[0].sid"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3, 4]}]}', "items[0].sid"),
    ('{"items": [{"id": 1, "sid": [1, 16, 3]}]}', "items[0].sid[1]"),
    ('{"items": [{"id": 1, "sid": [1, 2, -1]}]}', "items[0].sid[2]"),
    ('{"items": [{"id": 1, "sid": [1.5, 2, 3]}]}', "items[0].sid[0]"),
    ('{"items": [{"id": 1, "sid": [1, null, 3]}]}', "items[0].sid[1]"),
    ('{"items": [{"id": 1, "sid": [4294967297, 2, 3]}]}', "items[0].sid[0]"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3], "priority": "x"}]}', "items[0].priority"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3], "priority": null}]}', "items[0].priority"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3], "priority": 9223372036854775808}]}', "items[0].priority"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3]}, {"id": 2, "sid": [1, 2, 3], "priority": 1}]}', "items[1]"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3], "attributes": 5}]}', "items[0].attributes"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3], "attributes": {"cost": 5}}]}', "items[0].attributes.cost"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3], "attributes": {"price": 1.5}}]}', "items[0].attributes.price"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3], "attributes": {"price": "1"}}]}', "items[0].attributes.price"),
    ('{"items": [{"id": 1, "sid": [1, 2, 3], "attributes": {"price": 1, "price": 2}}]}', "items[0].attributes.price"),
], ids=lambda value: repr(value)[:80])
def test_a_mistake_in_items_has_its_place(shared_live, text, path):
    message = refused(shared_live.ask("POST", "/items", body(text), Authorization="Bearer " + shared_live.token), 400,
                      "invalid_argument", path)
    assert path in message
    # Nothing of a refused call was added.
    assert shared_live.metrics()["catalog_changes"] == 0


@pytest.mark.parametrize("text, path", [
    ("", "body"), ("{}", "version"), ('{"version": "1"}', "version"), ('{"version": 1.5}', "version"),
    ('{"version": 0}', "version"), ('{"version": 2}', "version"), ('{"to": 1}', "to"),
])
def test_a_mistake_in_a_rollback_has_its_place(shared_live, text, path):
    answer = shared_live.ask("POST", "/rollback", body(text), Authorization="Bearer " + shared_live.token)
    refused(answer, 400, "invalid_argument", path)


def test_a_route_without_a_body_takes_none_or_an_empty_object(shared_live):
    for method, path in [("POST", "/publish"), ("POST", "/reload"), ("DELETE", "/items/77")]:
        for text, place in [("x", "body"), ("[]", "body"), ('{"version": 1}', "version")]:
            refused(shared_live.change(method, path, text.encode()), 400, "invalid_argument", place)
        for text in [None, b"", b"{}", b" { } "]:
            assert shared_live.change(method, path, text).status in (200, 404)


@pytest.mark.parametrize("id", ["hat", "1.0", "", "%201000", "1000/", "18446744073709551616", "+1000", "001000",
                                "-01000", "-", "1_000", "a%FF"])
def test_the_id_in_a_path_is_of_the_kind_that_the_index_has(shared_live, id):
    refused(shared_live.change("DELETE", f"/items/{id}"), 400, "invalid_argument", "id")


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "1e3", "ten", "", "86400001", "99999999999999999999", "1 2"])
def test_the_time_that_a_client_gives_is_in_milliseconds(shared, value):
    answer = shared.ask("POST", "/recommend", {"histories": [[1000]]}, X_Request_Timeout_Ms=value)
    assert "X-Request-Timeout-Ms" in refused(answer, 400, "invalid_argument", "X-Request-Timeout-Ms")


def test_each_time_that_a_client_gives(shared):
    for first, second in [("1000", "x"), ("x", "1000")]:
        with shared.connect() as connection:
            twice = request("POST", "/recommend", {"histories": [[1000]]}, X_Request_Timeout_Ms=first).replace(
                b"\r\n\r\n", b"\r\nX-Request-Timeout-Ms: %s\r\n\r\n" % second.encode(), 1)
            connection.send(twice)
            refused(connection.answer(), 400, "invalid_argument", "X-Request-Timeout-Ms")


def test_what_is_not_there(shared):
    for method, path in [("GET", "/"), ("GET", "/nothing"), ("POST", "/recommend/"), ("POST", "//recommend"),
                         ("GET", "/metrics/x"), ("GET", "/recommend/../metrics"), ("PUT", "/nothing")]:
        refused(shared.ask(method, path), 404, "not_found")


def test_a_method_that_a_route_is_not_for(shared, contract):
    for path, methods in contract["paths"].items():
        (allowed,) = [method.upper() for method in methods]
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} - {allowed}:
            answer = shared.ask(method, path.replace("{id}", "1000"))
            refused(answer, 405, "method_not_allowed")
            assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("kind", [
    None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp",
    "application", "application/json, text/plain"])
def test_a_body_that_is_not_said_to_be_json(shared, kind):
    refused(shared.ask("POST", "/recommend", {"histories": [[1000]]}, Content_Type=kind), 415, "unsupported_media_type")


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON", "application/json; charset=utf-8",
                                  "application/json;charset=UTF-8"])
def test_the_ways_to_say_json(shared, kind):
    assert shared.ask("POST", "/recommend", {"histories": [[1000]]}, Content_Type=kind).status == 200


def test_a_body_of_more_than_a_mebibyte(shared):
    text = json.dumps({"histories": [[1000]]}).encode()
    most = text + b" " * ((1 << 20) - len(text))
    assert shared.ask("POST", "/recommend", most).status == 200
    answer = shared.ask("POST", "/recommend", most + b" ")
    refused(answer, 413, "too_large")
    assert answer.closes


def test_the_first_of_several_reasons_counts(shared, start, catalogue):
    assert shared.ask("PUT", "/nothing", b"x", Content_Type=None).status == 404
    assert shared.ask("PUT", "/reload", b"x").status == 405
    assert shared.ask("POST", "/items", b"x", Content_Type="text/plain").status == 401
    assert shared.change("POST", "/items", b"x").status == 409
    live = start(index=catalogue, body_time="1s")
    too_large = b" " * ((1 << 20) + 1)
    token = {"Authorization": "Bearer " + live.token}
    assert live.ask("POST", "/items", too_large, Content_Type="text/plain", **token).status == 415
    assert live.ask("POST", "/items", too_large, **token).status == 413
    assert live.ask("DELETE", "/items/hat", too_large, **token).status == 413
    assert live.ask("DELETE", "/items/hat", b"{", **token | {"Content_Length": "9"}).status == 408
