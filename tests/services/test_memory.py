"""Many requests leave nothing behind.

SPDX-License-Identifier: Apache-2.0
"""

import random
import threading

from http_client import Connection
from load import check, question

CLIENTS = 4
MOST = 8 << 20  # bytes that a service may grow by: what a request of the long run leaves is then less than 100 bytes


def ask(service, count):
    """Requests of every kind, over connections that are renewed now and then."""
    failures = []

    def client(seed):
        draws = random.Random(seed)
        for left in range(count // CLIENTS, 0, -100):
            with Connection(service.address) as connection:
                for _ in range(min(left, 100)):
                    asked, kind = question(draws), draws.randrange(20)
                    if kind == 0:
                        asked |= {"where": f"price<{draws.randrange(1000) + 50}", "exclude": [1000, 1001]}
                    if kind == 1:
                        asked["histories"][0].append("wrong")
                    answer = connection.ask("POST", "/recommend", asked)
                    wrong = check(answer) if kind != 1 else None if answer.status == 400 else answer
                    if wrong:
                        failures.append(wrong)
                        return

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_memory_stays_flat(start, long):
    count = 100000 if long else 10000
    service = start(plain=True)
    ask(service, 4000)  # until caches and pools have their size
    after = service.resident()
    for _ in range(2):  # a thread or an arena that is new by chance costs once, what is left behind costs each time
        before = after
        ask(service, count)
        after = service.resident()
        print(f"{count} requests: {before >> 10} KiB before, {after >> 10} KiB after")
        if after - before < MOST:
            break
    assert after - before < MOST, f"{before} bytes before, {after} after {count} requests"
    metrics = service.metrics()
    assert metrics["requests_running"] == metrics["runner_queued"] == metrics["runner_running"] == 0
    assert metrics["runner_failed_total"] == metrics["runner_cancelled_total"] == 0
