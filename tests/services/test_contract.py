"""schemathesis reads the contract, and asks all that it allows and forbids.

SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import subprocess
import sys

import catalogues
from launch import BUILT

FOLDER = pathlib.Path(__file__).parent
EXAMPLES = {False: "20", True: "1000"}  # of each operation, short and long


def answers_as_the_contract_says(service, long):
    run = subprocess.run(
        [pathlib.Path(sys.executable).with_name("schemathesis"), "--config-file", FOLDER / "schemathesis.toml", "run",
         catalogues.ROOT / "samples/service.yaml", "--url", "http://%s:%d" % service.address,
         "--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES[long], "--seed", "1", "--no-color",
         "--header", f"Authorization: Bearer {service.token}"], cwd=BUILT, capture_output=True, text=True)
    told = "\n".join(line[:300] for line in (run.stdout + run.stderr).splitlines()[-200:])
    assert run.returncode == 0, told
    assert "Tested: 11" in run.stdout, run.stdout
    assert service.process.poll() is None
    assert not [line for line in service.lines if line["event"] in ("failed", "")]


def test_an_index_file(shared, long):
    answers_as_the_contract_says(shared, long)


def test_names(shared_names, long):
    answers_as_the_contract_says(shared_names, long)


def test_a_live_catalogue(start, catalogue, long):
    answers_as_the_contract_says(start(index=catalogue), long)


def test_the_examples_of_the_contract_are_answered(start, catalogue, contract):
    service = start(index=catalogue)
    (questions,) = contract["paths"]["/recommend"]["post"]["requestBody"]["content"].values()
    for name, example in questions["examples"].items():
        answer = service.ask("POST", "/recommend", example["value"])
        assert answer.status == 200 and all(answer.json["results"]), (name, answer)
    (items,) = contract["paths"]["/items"]["post"]["requestBody"]["content"].values()
    assert service.change("POST", "/items", items["example"]).json == {"added": 1}
