"""How the index is in memory: what the kernel says of the process.

SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import re

import pytest
from test_tokens import fails


def about(service, what):
    return pathlib.Path(f"/proc/{service.process.pid}/{what}").read_text()


def locked(service):
    """Bytes that are locked in memory."""
    return 1024 * int(re.search(r"^VmLck:\s+(\d+) kB", about(service, "status"), re.M)[1])


@pytest.mark.parametrize("residency, mapped", [("map", True), ("prefault", True), ("lock", True), ("copy", False)])
def test_a_file_is_in_memory_as_asked(start, numbers, residency, mapped):
    service = start(residency=residency)
    assert (str(numbers) in about(service, "maps")) == mapped
    assert (locked(service) >= numbers.stat().st_size) == (residency == "lock")
    assert service.ask("POST", "/recommend", {"histories": [[1000]]}).status == 200


def test_a_reload_locks_the_new_file_and_frees_the_old_one(start):
    service = start(residency="lock")
    before = locked(service)
    assert service.change("POST", "/reload").status == 200
    assert locked(service) == before > 0


def test_the_base_of_a_live_catalogue_too(start, catalogue):
    assert locked(start(index=catalogue, residency="lock")) > 0


def test_a_residency_that_there_is_not_stops_the_start(starting):
    assert fails(starting, "residency", residency="disk")
