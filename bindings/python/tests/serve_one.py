"""Asks a service one question, and ends it: test_wheel.sh has it do so.

    python serve_one.py COMMAND ...        of a service of item 7, whose SID is 1, 2, 3

SPDX-License-Identifier: Apache-2.0
"""

import json
import signal
import subprocess
import sys
import urllib.request

with subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, text=True) as service:
    assert service.stderr is not None
    events = (json.loads(line) for line in service.stderr)
    address = next(event["address"] for event in events if event["event"] == "listening")
    assert next(event for event in events if event["event"] in ("ready", "failed"))["event"] == "ready"
    question = json.dumps({"histories": [[7]]}).encode()
    request = urllib.request.Request(f"http://{address}/recommend", question, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        assert [item["id"] for item in json.load(answer)["results"][0]] == [7]
    service.send_signal(signal.SIGTERM)
    said = [event["event"] for event in events]
assert said[-1] == "ended" and service.returncode == 0, (said, service.returncode)
