"""What the tests of samples/deploy share. SPDX-License-Identifier: Apache-2.0"""

import pathlib
import re
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
sys.path += [str(ROOT / "tests/services"), str(ROOT / "tests/bindings")]


@pytest.fixture(scope="session")
def x_options():
    """The options of the services' contract."""
    return yaml.safe_load((ROOT / "samples/service.yaml").read_text())["x-options"]


@pytest.fixture(scope="session")
def seconds(x_options):
    """The default of an option that is a time, in seconds."""
    def of(name):
        return float(re.fullmatch(r"(\d+)s", x_options[name]["default"])[1])

    return of
