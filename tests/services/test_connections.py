"""Clients that are slow, silent, many, hasty, or gone.

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib
import resource
import select
import socket

import pytest
from http_client import Closed, Connection, request
from test_mistakes import refused

QUESTION = {"histories": [[1000, 1017]], "k": 3}


def unread(metrics, status):
    """How many connections were refused before there was a request."""
    return metrics.get(f'requests_total{{route="other",code="{status}"}}', 0)


def answered(service, send):
    """A connection, and the answer to what is sent on it first.

    Go's time for the headers of a connection's first request begins with the connection. One of which it is over before
    anything was sent, since the test was held up, is closed without an answer, and another takes its place.
    """
    for _ in range(20):
        connection = service.connect()
        try:
            send(connection)
            return connection, connection.answer()
        except (Closed, ConnectionError):
            connection.close()
    raise AssertionError("expected an answer, got closed connections")


def ask_for_health(connection):
    connection.send(request("GET", "/healthz"))


def drip(connection, data):
    """Sends a byte now and then, until something comes back or the data ends; the slowness is the client's own."""
    for byte in data:
        if select.select([connection.socket], [], [], 0.02)[0]:
            return
        try:
            connection.send(bytes([byte]))
        except OSError:
            return


def test_headers_that_never_end(start):
    service = start(header_time="1s")
    endless = b"GET /healthz HTTP/1.1\r\nHost: test\r\n" + b"X: y\r\n" * 2000
    for send in [lambda connection: drip(connection, endless), lambda connection: connection.send(endless[:40])]:
        connection, answer = answered(service, send)
        with connection:
            refused(answer, 408, "timeout")
            assert answer.closes and connection.rest() == b""
    kept, answer = answered(service, ask_for_health)
    with kept:  # the time is that of each request
        assert answer.status == 200
        kept.send(endless[:40])
        assert kept.answer().status == 408
    after = service.until("they are closed", lambda metrics: metrics["connections"] == 1)
    assert unread(after, 408) == 3


def test_a_body_that_never_ends(start):
    service = start(body_time="1s")
    whole = request("POST", "/recommend", QUESTION, Content_Length="100000")
    for send in [lambda connection: drip(connection, whole + b" " * 10000), lambda connection: connection.send(whole)]:
        with service.connect() as connection:
            send(connection)
            answer = connection.answer()
            refused(answer, 408, "timeout")
            assert answer.closes and connection.rest() == b""
    service.until("they are closed", lambda metrics: metrics["connections"] == 1 and metrics["requests_running"] == 0)


def test_a_silent_connection_is_closed(start):
    service = start(header_time="1s", idle_time="1s")
    kept, answer = answered(service, ask_for_health)
    with service.connect() as silent, kept:
        assert answer.status == 200
        assert silent.rest() == kept.rest() == b""


def test_half_a_connection_is_none(shared):
    """What is closed by half hangs up; what was asked before may be answered."""
    before = shared.until("nothing else is open", lambda metrics: metrics["connections"] == 1)
    whole = request("POST", "/recommend", QUESTION)
    for part in [b"", whole[:10], whole[:whole.index(b"\r\n\r\n") + 4], whole[:-5], whole, whole + whole[:30]]:
        with shared.connect() as connection:
            connection.send(part)
            connection.socket.shutdown(socket.SHUT_WR)
            answered = connection.rest()
            statuses = [line.split()[1] for line in answered.splitlines() if line.startswith(b"HTTP/1.1 ")]
            assert len(statuses) <= 2 and set(statuses) <= {b"200", b"400", b"408"}, answered
            assert bool(answered) == bool(statuses), answered
    after = shared.until("they are closed",
                         lambda metrics: metrics["connections"] == 1 and metrics["requests_running"] == 0)
    assert after["reloads_total"] == before["reloads_total"]


def test_requests_may_be_pipelined(shared):
    with shared.connect() as connection:
        connection.send(b"".join(
            request("POST", "/recommend", QUESTION | {"k": 1 + i % 8}, X_Request_Id=f"piped-{i}") for i in range(50))
            + request("GET", "/nothing", X_Request_Id="piped-50"))
        for i in range(50):
            answer = connection.answer()
            assert answer.headers["x-request-id"] == f"piped-{i}"
            assert len(answer.json["results"][0]) == 1 + i % 8
        assert connection.answer().error["request_id"] == "piped-50"


def test_an_answer_keeps_the_connection(shared):
    with shared.connect() as connection:
        for method, path, body, status in [
                ("POST", "/recommend", QUESTION, 200), ("POST", "/recommend", b"{", 400),
                ("GET", "/nothing", None, 404), ("PUT", "/recommend", QUESTION, 405), ("POST", "/items", QUESTION, 401),
                ("GET", "/metrics", None, 200), ("POST", "/recommend", QUESTION, 200)]:
            answer = connection.ask(method, path, body)
            assert answer.status == status and not answer.closes, answer
        assert connection.ask("GET", "/healthz", Connection="close").closes
        assert connection.rest() == b""


def test_one_answer_for_each_request(shared):
    """Whatever the request: nothing follows the last answer."""
    for line, *statuses in [
            ("HEAD /healthz HTTP/1.1", 405), ("OPTIONS * HTTP/1.1", 200, 404), ("GET /healthz HTTP/1.0", 200),
            ("TRACE /healthz HTTP/1.1", 405), ("GET http://test/healthz HTTP/1.1", 200),
            ("GET /healthz?x=%zz HTTP/1.1", 200), ("GET /health%7A HTTP/1.1", 200)]:
        with shared.connect() as connection:
            connection.send(line.encode() + b"\r\nHost: test\r\nConnection: close\r\n\r\n")
            answers = connection.rest()
            assert answers.count(b"HTTP/1.") == 1 and int(answers.split()[1]) in statuses, answers


def test_chunked_bodies_and_clients_that_wait_for_100(shared):
    text = json.dumps(QUESTION).encode()
    chunked = request("POST", "/recommend", Content_Type="application/json", Transfer_Encoding="chunked")
    with shared.connect() as connection:
        chunks = b"".join(b"%x\r\n%s\r\n" % (1, text[i:i + 1]) for i in range(len(text))) + b"0\r\n\r\n"
        connection.send(chunked + chunks)
        assert connection.answer().status == 200
        head = request("POST", "/recommend", Content_Type="application/json", Content_Length=str(len(text)),
                       Expect="100-continue")
        connection.send(head)
        assert connection._until(b"\r\n\r\n").startswith(b"HTTP/1.1 100 ")
        connection.send(text)
        assert connection.answer().status == 200
    with shared.connect() as connection:  # the same size, as chunks
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        connection.send(chunked + piece * 16 + b"1\r\n \r\n")
        refused(connection.answer(), 413, "too_large")
    for broken in [b"x\r\n", b"-1\r\n", b"1\r\n{}\r\n"]:
        with shared.connect() as connection:
            connection.send(chunked + broken)
            answer = connection.answer()
            refused(answer, 400, "invalid_argument", "body")
            assert connection.rest() == b""
        line = shared.wait_for("request", request_id=answer.error["request_id"])
        assert (line["route"], line["status"]) == ("/recommend", 400)


@pytest.mark.needs("lingering")
def test_a_large_body_is_refused_without_a_reset(shared):
    """Also for a client that sends all of it before it reads."""
    with shared.connect() as connection:
        refused(connection.ask("POST", "/recommend", b" " * (8 << 20)), 413, "too_large")
        assert connection.rest() == b""


@pytest.mark.parametrize("headers", [
    b"X-Long: " + b"x" * (1 << 20),
    b"".join(b"X-Many-%d: y\r\n" % i for i in range(60000))[:-2],
    b"X-Long: " + b"x" * (18 << 10),
], ids=["one of a megabyte", "a megabyte of them", "18 KiB"])
def test_headers_beyond_the_limit(shared, headers):
    before = unread(shared.metrics(), 431)
    with shared.connect() as connection:
        try:
            connection.send(b"GET /healthz HTTP/1.1\r\nHost: test\r\n" + headers + b"\r\n\r\n")
        except ConnectionError:
            pass  # it has answered before it had read all
        answer = connection.answer()
        refused(answer, 431, "headers_too_large")
        assert answer.closes
    assert unread(shared.metrics(), 431) == before + 1
    with shared.connect() as connection:
        assert connection.ask("GET", "/healthz", X_Long="x" * (15 << 10)).status == 200


@pytest.mark.needs("json_for_what_is_no_http")
@pytest.mark.parametrize("text", [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS\r\n\r\n", b"hello\r\n\r\n", b"GET\r\n\r\n",
    b"GET / HTTP/9\r\n\r\n", b"GET / HTTP/2.0\r\nHost: test\r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: test\r\nno colon\r\n\r\n",
    b"POST /recommend HTTP/1.1\r\nHost: test\r\nContent-Length: many\r\n\r\n",
    b"POST /recommend HTTP/1.1\r\nHost: test\r\nContent-Length: -1\r\n\r\n",
    b"POST /recommend HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"GET /healthz HTTP/1.2\r\nHost: test\r\n\r\n", b"G@T /healthz HTTP/1.1\r\nHost: test\r\n\r\n",
    b"GET /caf\xc3\xa9 HTTP/1.1\r\nHost: test\r\n\r\n", b"GET /healthz#\xff HTTP/1.1\r\nHost: test\r\n\r\n",
    b"GET healthz HTTP/1.1\r\nHost: test\r\n\r\n", b"GET 127.0.0.1/healthz HTTP/1.1\r\nHost: test\r\n\r\n",
    b"GET /%zz HTTP/1.1\r\nHost: test\r\n\r\n", b"GET /healthz% HTTP/1.1\r\nHost: test\r\n\r\n",
    b"DELETE /items/%4 HTTP/1.1\r\nHost: test\r\n\r\n", b"GET http://test/%zz HTTP/1.1\r\nHost: test\r\n\r\n",
], ids=lambda text: repr(text)[2:40])
def test_what_is_no_http(shared, text):
    before = unread(shared.metrics(), 400)
    with shared.connect() as connection:
        connection.send(text)
        answer = connection.answer()
        refused(answer, 400, "invalid_argument")
        assert answer.closes and connection.rest() == b""
    assert unread(shared.metrics(), 400) == before + 1


def test_ten_thousand_idle_connections(start):
    """They are kept, and cost others nothing but memory."""
    count, may = 10000, resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if may < count + 500:
        pytest.skip(f"a process may open {may} files here, {count} connections need {count + 500}")
    service = start(connections=count + 100, idle_time="10m", header_time="10m")
    idle = [service.connect() for _ in range(count)]
    try:
        for connection in idle[::10]:  # of which some have asked
            assert connection.ask("GET", "/healthz").status == 200
        service.until("all are counted", lambda metrics: metrics["connections"] == count + 1)
        assert service.ask("POST", "/recommend", QUESTION).status == 200
        for connection in idle[::100]:
            assert connection.ask("POST", "/recommend", QUESTION).status == 200
    finally:
        for connection in idle:
            connection.close()
    service.until("they are closed", lambda metrics: metrics["connections"] == 1)
    print(f"{count} idle connections")


def test_one_connection_too_many_is_told_so(start):
    service = start(connections=20)
    kept = [service.connect() for _ in range(20)]
    for connection in kept:
        assert connection.ask("GET", "/healthz").status == 200
    for _ in range(3):
        with service.connect() as connection:
            answer = connection.answer()  # unasked
            refused(answer, 503, "overloaded")
            assert answer.closes and connection.rest() == b""
        with service.connect() as connection:  # one that asks at once sees it as well, and no reset
            connection.send(request("POST", "/recommend", QUESTION))
            refused(connection.answer(), 503, "overloaded")
            assert connection.rest() == b""
    for connection in kept:
        assert connection.ask("POST", "/recommend", QUESTION).status == 200
    assert b'{route="other",code="503"} 6\n' in kept[0].ask("GET", "/metrics").body
    kept.pop().close()
    assert eventually(service).status == 200
    for connection in kept:
        connection.close()


def test_file_descriptors_that_run_out(start):
    """Whoever has a connection is served, and so is everybody once there are descriptors again."""
    service = start(header_time="10m")
    with service.connect() as kept:
        assert kept.ask("GET", "/healthz").status == 200
        most = len(list(pathlib.Path(f"/proc/{service.process.pid}/fd").iterdir())) + 20
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (most, most))
        others = [service.connect() for _ in range(100)]  # which the kernel accepts
        assert kept.ask("POST", "/recommend", QUESTION).status == 200
        for connection in others:
            connection.close()
        assert service.ask("POST", "/recommend", QUESTION).status == 200
        assert kept.ask("POST", "/recommend", QUESTION).status == 200


def eventually(service):
    """The first answer to a question that is not 503: a connection that was closed has to be noticed."""
    while True:
        with service.connect() as connection:
            connection.send(request("POST", "/recommend", QUESTION))
            answer = connection.answer()
            if answer.status != 503:
                return answer


def test_answers_that_nobody_takes(start):
    """A client that asks and asks, and reads nothing, stops being read itself; others are served."""
    service = start()
    with service.connect() as connection:
        connection.socket.setblocking(False)
        piece, sent = request("GET", "/metrics") * 100, 0
        while select.select([], [connection.socket], [], 1)[1] and sent < (64 << 20):
            sent += connection.socket.send(piece[sent % len(piece):])
        assert sent < (64 << 20), "expected the service to stop reading"
        assert service.ask("POST", "/recommend", QUESTION).status == 200
    service.until("it is closed", lambda metrics: metrics["connections"] == 1)


def test_connections_that_are_reset(shared):
    """A client that drops its connection in the middle of anything leaves nothing behind."""
    whole = request("POST", "/recommend", QUESTION)
    for length in range(0, len(whole), 7):
        connection = shared.connect()
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.send(whole[:length])
        connection.close()
    shared.until("they are closed", lambda metrics: metrics["connections"] == 1 and metrics["requests_running"] == 0)


def test_only_loopback_unless_told_otherwise(start):
    """The address is that of the option, and of nothing else."""
    service = start()
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for other in others:
        with pytest.raises(ConnectionRefusedError):
            Connection((other, service.address[1])).close()
    assert service.address[0] == "127.0.0.1"
