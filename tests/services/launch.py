"""Starts a service, in whatever language, and tells what it says: its log, its metrics, its end.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import threading

from http_client import PATIENCE, Closed, Connection

BUILT = pathlib.Path(__file__).parents[2] / "build/services"
TOKEN = "a-token-of-tests"

# What run.sh has built of each service, and what it cannot do, by name and reason: the tests of that are skipped.
SERVICES = {
    "go": {"lacks": {}},
    "java": {"lacks": {}},
    "serve": {"lacks": {}},
}


def command(name, options):
    """A command line; the options have the same names in all services (x-options of the contract)."""
    return [str(BUILT / name / "run")] + [f"--{option.replace('_', '-')}={value}" for option, value in options.items()]


class Service:
    """A process that serves. Its options are the contract's, with underscores for hyphens.

    token: None: there is none. wait: until it listens, or else ends. plain: without what watches it (run.sh).
    """

    def __init__(self, name, token=TOKEN, wait=True, plain=False, **options):
        environment = {key: value for key, value in os.environ.items() if key != "SIDBEAM_TOKEN"}
        if token is not None:
            environment["SIDBEAM_TOKEN"] = token
        if plain:
            environment["SIDBEAM_PLAIN"] = "1"
        self.token = token
        self.lines = []  # of its log: events, and text that is none
        self.told = threading.Condition()
        self.process = subprocess.Popen(
            command(name, {"listen": "127.0.0.1:0", "log": "json"} | options),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if not wait:  # it is expected to fail
            return
        host, _, port = self.wait_for("listening")["address"].rpartition(":")
        self.address = (host.strip("[]"), int(port))

    def _read(self):
        for line in self.process.stderr:
            try:
                event = json.loads(line)
            except ValueError:
                event = {"event": "", "text": line}
            with self.told:
                self.lines.append(event)
                self.told.notify_all()
        with self.told:
            self.lines.append({"event": "end of the log"})
            self.told.notify_all()

    def wait_for(self, event, **members):
        """The first line of that event with these members."""
        def found():
            return next((line for line in self.lines if line["event"] == event
                         and all(line.get(key) == value for key, value in members.items())), None)

        with self.told:
            self.told.wait_for(lambda: found() or self.lines and self.lines[-1]["event"] == "end of the log", PATIENCE)
            line = found()
        assert line, f"expected {event} {members}, got {self.lines[-20:]}"
        return line

    def ready(self):
        self.wait_for("ready")
        return self

    def connect(self):
        return Connection(self.address)

    def ask(self, method, path, body=None, **headers):
        """One request over a connection of its own."""
        with self.connect() as connection:
            return connection.ask(method, path, body, Connection="close", **headers)

    def change(self, method, path, body=None):
        """One request with the token."""
        return self.ask(method, path, body, Authorization=f"Bearer {self.token}")

    def metrics(self):
        """Values by name and labels as they are written, without the prefix."""
        text = self.ask("GET", "/metrics").body.decode()
        return {name: float(value) for name, value in re.findall(r"^sidbeam_(\S+) (\S+)$", text, re.M)}

    def until(self, what, holds):
        """Asks for the metrics until they are as expected."""
        attempt, metrics = threading.Event(), None
        for _ in range(PATIENCE * 20):
            try:
                metrics = self.metrics()
                if holds(metrics):
                    return metrics
            except Closed:  # a pause has made it too late for a short header_time
                pass
            attempt.wait(0.05)
        raise AssertionError(f"not within {PATIENCE} s: {what}: {metrics}")

    def resident(self):
        """Bytes of memory."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"^VmRSS:\s+(\d+) kB", text, re.M).group(1))

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def ended(self):
        """The status with which the process ended."""
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return status

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.ended()
