"""Clients that never stop asking.

SPDX-License-Identifier: Apache-2.0
"""

import random
import threading

from http_client import PATIENCE, Connection


def question(draws):
    return {"histories": [[1000 + draws.randrange(500), 1000 + draws.randrange(500)], [1000 + draws.randrange(500)]],
            "k": 5}


def check(answer):
    """What is wrong with an answer to a question; None: nothing."""
    if answer.status != 200:
        return repr(answer)
    lists = answer.json["results"]
    return None if [len(items) for items in lists] == [5, 5] else repr(answer)


class Load:
    """Clients with a connection each, which follow HTTP: one that an answer closes is not used again.

    close_is_the_end: such a client stops then; otherwise it connects anew.
    """

    def __init__(self, address, clients, ask=question, check=check, close_is_the_end=False):
        self.address, self.ask_next, self.check, self.once = address, ask, check, close_is_the_end
        self.answers, self.closed, self.failures = 0, 0, []
        self.answered = set()  # clients
        self.changed = threading.Condition()
        self.ending = False
        self.threads = [threading.Thread(target=self._client, args=(seed,)) for seed in range(clients)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ending = True
        self.wait()

    def wait(self):
        for thread in self.threads:
            thread.join(PATIENCE)

    def until(self, answers):
        """Returns once there are that many answers, of each client one at least, or a failure."""
        def enough():
            return self.answers >= answers and len(self.answered) == len(self.threads)

        with self.changed:
            assert self.changed.wait_for(lambda: enough() or self.failures, PATIENCE)

    def _client(self, seed):
        draws, connection = random.Random(seed), None
        while not self.ending and not self.failures:
            failure, closes = None, False
            try:
                connection = connection or Connection(self.address)
                answer = connection.ask("POST", "/recommend", self.ask_next(draws))
                failure, closes = self.check(answer), answer.closes
            except Exception as error:  # a reset, above all
                failure = repr(error)
            with self.changed:
                if failure is None:
                    self.answers += 1
                    self.answered.add(seed)
                self.closed += closes
                self.failures += [failure] if failure else []
                self.changed.notify_all()
            if closes or failure:
                connection and connection.close()
                connection = None
                if self.once and closes:
                    return
        if connection:
            connection.close()
