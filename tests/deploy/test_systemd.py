"""The unit of systemd: sound, shut off, and of times and limits that fit the service's.

SPDX-License-Identifier: Apache-2.0
"""

import shutil
import subprocess

import deployment
import pytest


@pytest.fixture(params=["go and serve", "java"])
def unit(request, tmp_path):
    """The unit as it is installed; for Java with its own lines."""
    shutil.copy(deployment.UNIT, tmp_path)
    if request.param == "java":
        folder = tmp_path / "sidbeam@.service.d"
        folder.mkdir()
        shutil.copy(deployment.FILES / "systemd/java.conf", folder)
    return tmp_path / deployment.UNIT.name


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", *map(str, arguments)], capture_output=True, text=True)


def test_systemd_finds_no_mistake(unit):
    found = analyze("verify", "--man=no", unit)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_it_is_shut_off(unit):
    """Exposure of 1.2 of 10 at most."""
    found = analyze("security", "--offline=yes", "--threshold=12", unit)
    assert found.returncode == 0, found.stdout


def test_its_limits_are_above_those_of_the_service(x_options, seconds):
    given = deployment.unit_options()
    assert not {"drain", "connections"} & set(given)
    assert float(deployment.setting("TimeoutStopSec")) > seconds("drain")
    assert int(deployment.setting("LimitNOFILE")) > 1.5 * x_options["connections"]["default"]


def test_it_locks_the_index():
    assert deployment.unit_options()["residency"] == "lock" and deployment.setting("LimitMEMLOCK") == "infinity"


def test_the_token_is_a_credential():
    name, _, file = deployment.setting("LoadCredential").partition(":")
    assert file == "/etc/sidbeam/%i.token"
    assert deployment.unit_options()["token_file"] == f"/credentials/{name}"
    assert "SIDBEAM_TOKEN" not in deployment.UNIT.read_text()


def test_it_listens_where_it_may(x_options):
    """Other addresses than loopback's are denied, and so is listening on them no use."""
    assert deployment.setting("IPAddressDeny") == "any" and deployment.setting("IPAddressAllow") == "localhost"
    assert deployment.unit_options()["listen"] == x_options["listen"]["default"]


def test_options_are_those_of_the_contract(x_options):
    of_run = {"draft", "offsets", "start-tokens", "begin-tokens", "end-column", "group", "normalize"}
    for given in [deployment.unit_options(), deployment.options(deployment.container()["args"])]:
        assert {name.replace("_", "-") for name in given} <= set(x_options) | of_run
