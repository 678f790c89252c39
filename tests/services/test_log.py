"""What a service says while it serves: each line as the contract has it, with the ids of its request.

SPDX-License-Identifier: Apache-2.0
"""

import datetime


def test_lines_are_those_of_the_contract(start, contract, tmp_path, numbers):
    index = tmp_path / "numbers.sidx"
    index.write_bytes(numbers.read_bytes())
    service = start(index=index, drain="1s")
    service.ask("POST", "/recommend", {"histories": [[1000]]})
    service.ask("POST", "/recommend", {})
    service.change("POST", "/reload")
    index.unlink()
    service.change("POST", "/reload")
    with service.connect() as connection:
        connection.send(b"no HTTP\r\n\r\n")
        no_http = connection.answer().error
    line = service.wait_for("request", request_id=no_http["request_id"])
    assert (line["route"], line["status"], line["code"], line["message"]) == (
        "other", 400, "invalid_argument", no_http["message"])
    with service.connect() as idle:
        idle.ask("GET", "/healthz")
        service.terminate()
        assert service.ended() == 0
    lines = service.lines[:-1]
    for line in lines:
        members = contract["x-log"][line["event"]].get("members", [])
        named = {member.strip("[]") for member in members}
        needed = {member for member in members if not member.startswith("[")}
        assert needed <= line.keys() - {"time", "level", "event"} <= named, line
        assert line["level"] == contract["x-log"][line["event"]].get("level", "info"), line
        assert datetime.datetime.fromisoformat(line["time"][:19])
    assert [line["event"] for line in lines if line["event"] != "request"] == [
        "listening", "ready", "reloaded", "reload_failed", "draining", "dropped", "ended"]
    assert {line["status"] for line in lines if line["event"] == "request"} == {200, 400, 500}


def test_request_ids(shared):
    given = "a.Request-id_1"
    answer = shared.ask("POST", "/recommend", {"histories": [[1000]]}, X_Request_Id=given)
    assert answer.headers["x-request-id"] == given
    line = shared.wait_for("request", request_id=given)
    assert (line["method"], line["route"], line["status"]) == ("POST", "/recommend", 200) and line["seconds"] >= 0
    for other in ["a b", "", "é", "x" * 129, "a/b", 'a"b']:
        answer = shared.ask("GET", "/nothing", X_Request_Id=other.encode().decode("latin-1"))
        made = answer.headers["x-request-id"]
        assert made != other and made == answer.error["request_id"]
        line = shared.wait_for("request", request_id=made)
        assert (line["route"], line["status"], line["code"]) == ("other", 404, "not_found") and line["message"]
    assert len({shared.ask("GET", "/healthz").headers["x-request-id"] for _ in range(20)}) == 20


def test_trace_contexts(shared):
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    shared.ask("GET", "/healthz", traceparent=f"00-{trace}-{parent}-01", X_Request_Id="traced")
    line = shared.wait_for("request", request_id="traced")
    assert (line["trace_id"], line["parent_id"]) == (trace, parent)
    for number, other in enumerate([f"00-{'0' * 32}-{parent}-01", f"00-{trace}-{'0' * 16}-01", f"00-{trace}-{parent}",
                                    f"ff-{trace}-{parent}-01", f"00-{trace.upper()}-{parent}-01",
                                    f"00-{trace}-{parent}-01-x", "x"]):
        shared.ask("GET", "/healthz", traceparent=other, X_Request_Id=f"untraced-{number}")
        assert "trace_id" not in shared.wait_for("request", request_id=f"untraced-{number}")
