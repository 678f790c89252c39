"""How a service starts and ends: no client that follows HTTP sees more of it than a connection that is closed.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import threading

import pytest
from http_client import PATIENCE, Closed, request
from load import Load
from proxy import Proxy
from test_limits import SHORT, begin, busy, of_histories  # noqa: F401: a fixture
from test_mistakes import refused

LAST = b"}"  # of a body


@pytest.fixture
def opening(start, tmp_path):
    """Starts a service that is being opened until `go` is called: the file of its filters is a pipe."""
    filters = tmp_path / "filters.json"
    os.mkfifo(filters)

    def start_one(**options):
        return start(ready=False, filters=filters, **options), lambda: filters.write_text("{}")

    return start_one


def holds(path):
    """Waits until the service reads a pipe, and keeps it reading: the pipe's end, to be closed."""
    attempt = threading.Event()
    for _ in range(PATIENCE * 20):
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads
            attempt.wait(0.05)
    raise AssertionError(f"not within {PATIENCE} s: somebody reads {path}")


def test_it_listens_before_it_is_ready(opening):
    service, go = opening()
    assert service.ask("GET", "/healthz").json == {"status": "ok"}
    for method, path in [("GET", "/readyz"), ("POST", "/recommend"), ("GET", "/metrics"), ("POST", "/reload"),
                         ("GET", "/versions")]:
        refused(service.ask(method, path, SHORT if method == "POST" else None), 503, "starting")
    go()
    service.ready()
    assert service.ask("GET", "/readyz").json["status"] == "ready"
    assert service.ask("POST", "/recommend", SHORT).status == 200
    assert service.ask("GET", "/metrics").status == 200


def test_it_ends_before_it_is_ready(opening):
    service, _ = opening()
    service.terminate()
    assert service.ended() == 0


def test_what_cannot_be_opened_ends_it(starting, tmp_path):
    for options in [{"index": tmp_path / "none.sidx"}, {"model": tmp_path / "none"}, {"index": __file__}]:
        service = starting(**options)
        assert service.ended() == 1
        (path,) = options.values()
        assert str(path) in service.wait_for("failed")["message"]


def hold(service, count):
    """Connections, each with a request under way of which the last byte, LAST, was not sent yet: whatever holds the
    test up, none of them is answered before that."""
    connections = [service.connect() for _ in range(count)]
    for connection in connections:
        connection.send(request("POST", "/recommend", of_histories(64)).removesuffix(LAST))
    service.until("they run", lambda metrics: metrics["requests_running"] == count)
    return connections


def test_it_waits_for_what_runs(busy):  # noqa: F811
    service = busy(drain="10m", body_time="10m")
    connections = hold(service, 2)
    (begun,) = begin(service, 1, histories=64)
    with service.connect() as idle:
        assert not idle.ask("GET", "/readyz").closes
        service.terminate()
        service.wait_for("draining")
        # Whoever asks is answered, on old connections and new ones, which close.
        refused(service.ask("GET", "/readyz"), 503, "draining")
        for path, status in [("/healthz", 200), ("/metrics", 200), ("/nothing", 404)]:
            answer = service.ask("GET", path)
            assert answer.status == status and answer.closes
        late = service.connect()
        late.send(request("POST", "/recommend", SHORT))
        for connection in connections:
            connection.send(LAST)
        assert service.metrics()["draining"] == 1  # asked after the late one, which therefore is open
        answer = idle.ask("GET", "/readyz")
        assert answer.status == 503 and answer.closes and idle.rest() == b""
    with begun:  # which may have been answered before the signal
        assert begun.answer().status == 200
    for connection in [late, *connections]:
        with connection:
            answer = connection.answer()
            assert answer.status == 200 and answer.closes and connection.rest() == b""
    assert service.ended() == 0
    assert service.lines[-2]["event"] == "ended"


def test_it_waits_for_what_runs_however_short_its_quiet_time(busy):  # noqa: F811
    service = busy(quiet="0s", drain="10m", body_time="10m")
    (connection,) = hold(service, 1)
    with connection:
        service.terminate()
        service.wait_for("draining")
        connection.send(LAST)
        assert connection.answer().status == 200 and connection.rest() == b""
    assert service.ended() == 0
    assert [line["event"] for line in service.lines[-3:-1]] == ["request", "ended"]


def test_it_does_not_wait_for_ever(start):
    service = start(drain="1s")
    with service.connect() as idle:
        assert idle.ask("GET", "/healthz").status == 200
        service.terminate()
        assert idle.rest() == b""  # closed in order
        assert service.ended() == 0
    assert service.wait_for("dropped")["connections"] == 1


def test_reloads_that_wait_hold_up_no_metrics(opening, tmp_path):
    """However many."""
    service, go = opening()
    go()
    service.ready()
    reloading = [service.connect() for _ in range(12)]
    for connection in reloading:
        connection.send(request("POST", "/reload", Authorization=f"Bearer {service.token}"))
    writing = holds(tmp_path / "filters.json")
    try:
        service.until("they run", lambda metrics: metrics["requests_running"] == len(reloading))
        assert service.ask("POST", "/recommend", SHORT).status == 200
        assert service.ask("GET", "/readyz").status == 200
    finally:
        os.close(writing)


@pytest.mark.parametrize("way", ["SIGHUP", "POST"])
def test_it_does_not_wait_for_a_reload(opening, tmp_path, way):
    """Of a file that somebody is still writing."""
    service, go = opening(drain="15s")
    go()
    service.ready()
    with service.connect() as kept, service.connect() as reloading:
        for connection in (kept, reloading):
            assert connection.ask("GET", "/readyz").status == 200
        if way == "SIGHUP":
            service.process.send_signal(signal.SIGHUP)
        else:
            reloading.send(request("POST", "/reload", Authorization=f"Bearer {service.token}"))
        writing = holds(tmp_path / "filters.json")
        try:
            service.terminate()
            service.wait_for("draining")
            answer = kept.ask("GET", "/readyz")
            refused(answer, 503, "draining")
            assert answer.closes and kept.rest() == b""
            assert service.ended() == 0
        finally:
            os.close(writing)
    assert [line["event"] for line in service.lines if line["event"] != "request"] == [
        "listening", "ready", "draining", "dropped", "ended", "end of the log"]


def test_what_is_opened_while_it_drains_is_told(opening):
    """And is served until the end."""
    service, go = opening(drain="10m")
    with service.connect() as idle:
        assert idle.ask("GET", "/healthz").status == 200
        service.terminate()
        service.wait_for("draining")
        go()
        service.ready()
        refused(idle.ask("GET", "/readyz"), 503, "draining")
    assert service.ended() == 0


def test_a_second_signal_ends_it_at_once(start):
    service = start(drain="10m")
    with service.connect() as idle:
        idle.ask("GET", "/healthz")
        service.terminate()
        service.wait_for("draining")
        service.terminate()
        assert service.ended() == -signal.SIGTERM


def test_it_cuts_what_runs_too_long(busy):  # noqa: F811
    service = busy(drain="1ms")
    connections = begin(service, 5)
    service.terminate()
    assert service.ended() == 0
    assert service.wait_for("dropped")["requests"] > 0
    for connection in connections:
        try:
            answer = connection.answer()
            assert answer.status in (200, 503), answer
        except (Closed, ConnectionResetError):
            pass


def test_the_end_cancels_a_compaction_and_nothing_else(start, catalogue):
    service = start(index=catalogue, quiet="2s")
    with service.connect() as idle:
        idle.ask("GET", "/healthz")
        service.terminate()
        service.wait_for("draining")
        refused(service.change("POST", "/compact"), 503, "draining")
        assert service.change("POST", "/items", {"items": [
            {"id": 7, "sid": [1, 2, 3], "attributes": {"price": 1}}]}).json == {"added": 1}
        assert service.change("POST", "/publish").json == {"version": 2}
    assert service.ended() == 0
    assert start(index=catalogue).ask("GET", "/readyz").json["version"] == 2


def test_clients_that_keep_their_connections_see_no_reset(start):
    for _ in range(3):
        service = start()
        with Load(service.address, 16, close_is_the_end=True) as load:
            load.until(500)
            service.terminate()
            assert service.ended() == 0
            load.wait()
        assert load.failures == [] and load.answers >= 500
        assert load.closed == 16  # each by an answer that said so


def test_a_rolling_restart_fails_no_request(start):
    """Two instances behind a proxy; each is replaced under load, while its clients keep their connections."""
    instances = [start(), start()]
    with Proxy([instance.address for instance in instances]) as proxy:
        with Load(proxy.address, 16) as load:
            load.until(500)
            for place in (0, 1, 0, 1):
                # It waits for the connections that it has: a client that makes its own only now might come too late.
                proxy.until_it_answered(16, instances[place].address)
                instances[place].terminate()
                assert instances[place].ended() == 0
                instances[place] = start()
                proxy.replace(place, instances[place].address)
                load.until(load.answers + 200)
        assert load.failures == [] and load.answers > 1200
        assert proxy.failures == []
    print(f"{load.answers} requests over 4 restarts")
