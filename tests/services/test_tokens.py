"""Who may change what is served.

SPDX-License-Identifier: Apache-2.0
"""

from test_mistakes import refused

GUARDED = [("POST", "/reload", None), ("POST", "/items", {"items": [{"id": 7, "sid": [1, 2, 3]}]}),
           ("DELETE", "/items/7", None), ("POST", "/publish", None), ("POST", "/rollback", {"version": 1}),
           ("POST", "/compact", None)]


def test_the_guarded_routes_are_those_of_the_contract(contract):
    guarded = {(method.upper(), path) for path, methods in contract["paths"].items()
               for method, operation in methods.items() if operation.get("security") == [{"token": []}]}
    assert guarded == {(method, path.replace("7", "{id}")) for method, path, _ in GUARDED}


def test_without_a_token_nobody_may(start, catalogue):
    service = start(index=catalogue, token=None)
    for method, path, body in GUARDED:
        for header in [None, "Bearer", "Bearer ", "Bearer x"]:
            refused(service.ask(method, path, body, Authorization=header), 403, "forbidden")
    assert service.ask("GET", "/versions").json["version"] == 1


def test_whoever_bears_the_token_may(start, catalogue, tmp_path):
    token = tmp_path / "token"
    token.write_text("of-the-file\n")
    service = start(index=catalogue, token="of-the-environment", token_file=token)
    for method, path, body in GUARDED:
        for header in [None, "", "Bearer", "Bearer ", "Bearer of-the-environment", "Bearer of-the-file2",
                       "Bearer of-the-fil", "Basic of-the-file", "of-the-file", "Bearer of-the-file of-the-file"]:
            answer = service.ask(method, path, body, Authorization=header)
            refused(answer, 401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
    answers = [service.ask(method, path, body, Authorization=("Bearer of-the-file", "bearer  of-the-file ")[i % 2])
               for i, (method, path, body) in enumerate(GUARDED)]
    assert [answer.json for answer in answers] == [
        {"version": 1}, {"added": 1}, {"removed": 7}, {"version": 2}, {"version": 3}, {"version": 4}]


def test_a_token_that_cannot_be_used_stops_the_start(starting, tmp_path):
    token = tmp_path / "token"
    for text in [None, "", "\n", "two words", "é", "a\nb"]:
        if text is not None:
            token.write_text(text)
        assert fails(starting, str(token), token_file=token)
    assert fails(starting, "SIDBEAM_TOKEN", token="two words")


def fails(starting, text, **options):
    """Whether the process ends with status 1 or 2 and a log that names what is wrong."""
    service = starting(wait=False, **options)
    return service.ended() in (1, 2) and text in str(service.lines)
