"""A small proxy before instances of a service, as a rolling restart needs one.

It keeps its connections to the instances, learns from an answer that closes its connection that the instance is about
to end, and then sends new requests elsewhere. Where a connection cannot be made, nothing was sent, so that another
instance is asked; a connection that breaks later is a failure, which the client sees as 502.

SPDX-License-Identifier: Apache-2.0
"""

import collections
import itertools
import socket
import threading

from http_client import PATIENCE, Closed, Connection, request


class Proxy:
    def __init__(self, instances):
        self.instances = {place: address for place, address in enumerate(instances)}
        self.leaving = set()  # addresses
        self.clients = collections.defaultdict(set)  # by the address of an instance that has answered them
        self.changed = threading.Condition()
        self.failures = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = self.listener.getsockname()
        self.threads = []

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(PATIENCE)

    def replace(self, place, address):
        self.instances[place] = address

    def until_it_answered(self, clients, address):
        """Returns once so many clients have had an answer of that instance, over connections that are kept."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.clients[address]) >= clients or self.failures, PATIENCE)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.threads.append(threading.Thread(target=self._serve, args=(client,), daemon=True))
            self.threads[-1].start()

    def _choose(self, turn):
        addresses = list(self.instances.values())
        serving = [address for address in addresses if address not in self.leaving] or addresses
        return serving[turn % len(serving)]

    def _serve(self, socket_of_client):
        client, kept, turns = Connection.__new__(Connection), {}, itertools.count()
        client.socket, client.pending = socket_of_client, b""
        socket_of_client.settimeout(PATIENCE)
        try:
            while True:
                body = self._read(client)
                answer = self._forward(kept, turns, body)
                client.send(b"HTTP/1.1 %d x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                            % (answer[0], len(answer[1]), answer[1]))
        except (Closed, OSError):
            pass  # the client has gone
        finally:
            for connection in [client, *kept.values()]:
                connection.close()

    @staticmethod
    def _read(client):
        head = client._until(b"\r\n\r\n").lower()
        return client._take(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))

    def _forward(self, kept, turns, body):
        while True:
            for address in self.leaving & kept.keys():
                kept.pop(address).close()
            address = self._choose(next(turns))
            if address not in kept:
                try:
                    kept[address] = Connection(address)
                except ConnectionRefusedError:
                    self.leaving.add(address)
                    continue
            try:
                kept[address].send(request("POST", "/recommend", body))
                answer = kept[address].answer()
            except (Closed, OSError) as error:
                with self.changed:
                    self.failures.append(f"{address}: {error!r}")
                    self.changed.notify_all()
                return 502, b"{}"
            with self.changed:
                self.clients[address].add(threading.get_ident())
                self.changed.notify_all()
            if answer.closes:
                self.leaving.add(address)
                kept.pop(address).close()
            return answer.status, answer.body
