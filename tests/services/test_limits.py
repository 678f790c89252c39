"""What a service does when it has too much to do, or too little time: requests of a slow model on one lane.

SPDX-License-Identifier: Apache-2.0
"""

import pytest
from http_client import request
from test_mistakes import refused

# Some seconds of work, as one request: longer than the test itself may be held up.
HISTORIES = 512
SHORT = {"histories": [[1000]]}


def of_histories(count):
    return {"histories": [[1000 + i % 500 for i in range(h, h + 150)] for h in range(count)]}


LONG = of_histories(HISTORIES)


@pytest.fixture
def busy(start, slow):
    """Starts a service of a slow model."""
    def start_one(**options):
        return start(model=slow, **({"lanes": 1, "prompt": 450, "histories": HISTORIES, "queue": 10000,
                                     "timeout": "10m"} | options))
    return start_one


def begin(service, count, histories=HISTORIES, **headers):
    """Connections, each with a long request under way."""
    connections = [service.connect() for _ in range(count)]
    for connection in connections:
        connection.send(request("POST", "/recommend", of_histories(histories), **headers))
    # Of each, all histories: before that, a later request would overtake those that the runner has not been given yet.
    service.until("they run", lambda metrics: count * histories
                  == metrics["runner_queued"] + metrics["runner_running"] + metrics["runner_finished_total"])
    return connections


def test_a_client_that_hangs_up_cancels_its_request(busy):
    service = busy()
    for connection in begin(service, 6, X_Request_Id="gone"):
        connection.close()
    # The counts are read one after the other: one of them may be of before the end of a request, another of after it.
    after = service.until("they are cancelled", lambda metrics: metrics["requests_running"] == 0
                          and metrics["runner_queued"] == metrics["runner_running"] == 0
                          and metrics["runner_cancelled_total"] > 0
                          and metrics.get('requests_total{route="/recommend",code="499"}') == 6)
    assert after["runner_finished_total"] < 6 * HISTORIES
    assert service.wait_for("request", request_id="gone")["status"] == 499
    assert service.ask("POST", "/recommend", SHORT).status == 200


def test_so_does_one_that_closes_its_half(busy):
    service = busy()
    for connection in begin(service, 6):
        connection.socket.shutdown(1)
    service.until("they are cancelled", lambda metrics: metrics["requests_running"] == 0
                  and metrics["runner_cancelled_total"] > 0)


def test_more_requests_than_may_run(busy):
    service = busy(requests=5)
    connections = begin(service, 5)
    with service.connect() as connection:
        for path in ["/recommend", "/reload"]:
            refused(connection.ask("POST", path, SHORT, Authorization="Bearer " + service.token), 503, "overloaded")
        for path in ["/healthz", "/readyz", "/metrics"]:
            assert connection.ask("GET", path).status == 200
    assert service.metrics()["requests_running"] == 5
    for connection in connections:
        connection.close()
    service.until("there is room", lambda metrics: metrics["requests_running"] == 0)
    assert service.ask("POST", "/recommend", SHORT).status == 200


def test_more_histories_than_may_wait(busy):
    service = busy(queue=4)
    refused(service.ask("POST", "/recommend", LONG), 503, "queue_full")
    # All its histories end with the one for which there was no room.
    service.until("nothing runs", lambda metrics: metrics["runner_queued"] == metrics["runner_running"] == 0)
    assert service.metrics()["runner_refused_total"] > 0
    assert service.ask("POST", "/recommend", SHORT).status == 200


def test_the_time_of_a_request(busy):
    service = busy(timeout="1ms")
    refused(service.ask("POST", "/recommend", LONG), 504, "deadline_exceeded")
    # A client cannot have more.
    refused(service.ask("POST", "/recommend", LONG, X_Request_Timeout_Ms="86400000"), 504, "deadline_exceeded")
    after = service.until("nothing runs", lambda metrics: metrics["runner_queued"] == metrics["runner_running"] == 0)
    assert after['requests_total{route="/recommend",code="504"}'] == 2


def test_the_time_that_a_client_has(busy):
    service = busy()
    with service.connect() as connection:
        refused(connection.ask("POST", "/recommend", LONG, X_Request_Timeout_Ms="1"), 504, "deadline_exceeded")
        assert connection.ask("POST", "/recommend", SHORT, X_Request_Timeout_Ms="86400000").status == 200


def test_the_time_of_a_request_that_waits(busy):
    """It is over while those before it still wait and run: by the runner's deadline or by the service's own, which are
    the same moment."""
    service = busy()
    connections = begin(service, 6)
    message = refused(service.ask("POST", "/recommend", SHORT, X_Request_Timeout_Ms="50"), 504, "deadline_exceeded")
    assert "context" not in message
    metrics = service.metrics()
    assert metrics["requests_running"] == 6 and metrics["runner_queued"] > 0
    for connection in connections:
        connection.close()
    service.until("nothing runs", lambda metrics: metrics["requests_running"] == 0)
