"""Which service is tested, and what it serves.

SPDX-License-Identifier: Apache-2.0
"""

import catalogues
import pytest
import yaml
from launch import SERVICES, Service


def pytest_addoption(parser):
    parser.addoption("--service", choices=SERVICES, required=True)
    parser.addoption("--long", action="store_true", help="the full numbers of requests, examples and connections")


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(ability): skipped where the service lacks it (launch.py)")


def pytest_runtest_setup(item):
    lacks = SERVICES[item.config.getoption("--service")]["lacks"]
    for mark in item.iter_markers("needs"):
        if mark.args[0] in lacks:
            pytest.skip(lacks[mark.args[0]])


@pytest.fixture(scope="session")
def long(request):
    return request.config.getoption("--long")


@pytest.fixture(scope="session")
def contract():
    return yaml.safe_load((catalogues.ROOT / "samples/service.yaml").read_text())


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("services")


@pytest.fixture(scope="session")
def tiny(folder):
    return catalogues.model(folder / "tiny")


@pytest.fixture(scope="session")
def slow(folder):
    return catalogues.slow_model(folder / "slow")


@pytest.fixture(scope="session")
def numbers(folder):
    """An index with integer ids, 1000 to 1499."""
    catalogues.index(folder / "numbers.sidx", catalogues.items())
    return folder / "numbers.sidx"


@pytest.fixture(scope="session")
def names(folder):
    """An index with names, item/1000 to item/1499."""
    catalogues.index(folder / "names.sidx", catalogues.items(named=True))
    return folder / "names.sidx"


@pytest.fixture(scope="session")
def starting(request, tiny, numbers):
    """Starts services, which need not be ready yet; use `start` or `shared` where they end with the test."""
    name = request.config.getoption("--service")

    def start(**options):
        return Service(name, **({"model": tiny, "index": numbers, "offsets": catalogues.OFFSETS, "beams": 8,
                                 "prompt": 64, "lanes": 2, "quiet": "100ms"} | options))

    return start


@pytest.fixture
def start(starting):
    """Starts services of the test's own: all of them end with it."""
    services = []

    def start_one(ready=True, **options):
        services.append(starting(**options))
        return services[-1].ready() if ready else services[-1]

    yield start_one
    for service in services:
        service.stop()


@pytest.fixture(scope="session")
def shared(starting):
    """The service of all tests that leave it as it is: integer ids, a token."""
    service = starting().ready()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def shared_names(starting, names):
    service = starting(index=names).ready()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def shared_live(starting, folder, numbers):
    """The service of a live catalogue, which tests leave as it is."""
    service = starting(index=catalogues.live(folder / "live", numbers)).ready()
    yield service
    service.stop()


@pytest.fixture
def catalogue(tmp_path, numbers):
    """The folder of a live catalogue of the test's own, of the items of `numbers`."""
    return catalogues.live(tmp_path / "live", numbers)
