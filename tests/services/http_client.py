"""An HTTP/1.1 client on a bare socket, which sends what it is told and hides nothing of what comes back.

SPDX-License-Identifier: Apache-2.0
"""

import json
import socket

PATIENCE = 120  # seconds until a test gives up; none of them is about time


class Answer:
    """status, headers (their names in small letters) and body, which `json` reads."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        assert self.headers["content-type"].split(";")[0] == "application/json", self
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]

    @property
    def closes(self):
        return self.headers.get("connection", "").lower() == "close"

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:2000]!r}"


class Closed(Exception):
    """The connection was closed in order, before an answer or within it; a reset is a ConnectionResetError."""


class Connection:
    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, method, path, body=None, **headers):
        """Sends a request and reads its answer; header names have underscores for hyphens."""
        self.send(request(method, path, body, **headers))
        return self.answer()

    def answer(self):
        head = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        status = int(head[0].split(" ")[1])
        if status == 100:
            return self.answer()
        if "content-length" in headers:
            body = self._take(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            body = self._chunks()
        else:
            body = self.rest()
        return Answer(status, headers, body)

    def rest(self):
        """Everything until the connection is closed, in order."""
        data, self.pending = self.pending, b""
        while more := self.socket.recv(65536):
            data += more
        return data

    def _receive(self):
        data = self.socket.recv(65536)
        if not data:
            raise Closed(f"after {self.pending[:200]!r}")
        self.pending += data

    def _until(self, end):
        while end not in self.pending:
            self._receive()
        data, self.pending = self.pending.split(end, 1)
        return data

    def _take(self, count):
        while len(self.pending) < count:
            self._receive()
        data, self.pending = self.pending[:count], self.pending[count:]
        return data

    def _chunks(self):
        body = b""
        while count := int(self._until(b"\r\n"), 16):
            body += self._take(count)
            self._take(2)
        self._until(b"\r\n")
        return body


def request(method, path, body=None, **headers):
    """The bytes of a request; a body that is no bytes is sent as JSON."""
    lines = {"Host": "test"}
    if body is not None:
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (body or b"")
