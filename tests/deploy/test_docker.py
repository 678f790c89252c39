"""The Dockerfile, by hadolint and by what it names in this repository.

SPDX-License-Identifier: Apache-2.0
"""

import re
import shlex
import subprocess

import deployment
from conftest import ROOT

TARGETS = {"go", "java", "serve"}


def stages():
    """Instructions of each stage, in their order, by its name: (instruction, the rest of its line)."""
    text = deployment.DOCKERFILE.read_text().replace("\\\n", "")
    found = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            base, name = re.fullmatch(r"(\S+) AS (\S+)", rest).groups()
            found[name] = [("FROM", base)]
        elif word.isupper():
            found[name].append((word, rest))
    return found


def lineage(name):
    """Instructions of a stage after those of the stages that it is made from."""
    own = stages().get(name)
    return [] if own is None else lineage(own[0][1]) + own


def test_hadolint_finds_no_mistake():
    found = subprocess.run(["hadolint", deployment.DOCKERFILE], capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_images_run_as_nobody_with_a_look_at_their_health():
    assert TARGETS <= set(stages())
    for name in TARGETS:
        instructions = lineage(name)
        users = [rest for word, rest in instructions if word == "USER"]
        user = deployment.pod()["securityContext"]
        assert users[-1] == f"{user['runAsUser']}:{user['runAsGroup']}", name
        after = [word for word, _ in instructions[instructions.index(("USER", users[-1])):]]
        assert "HEALTHCHECK" in after and after[-1] == "ENTRYPOINT", name
        port = deployment.container()["ports"][0]["containerPort"]
        assert ("EXPOSE", str(port)) in instructions and f"/{port} " in deployment.health_command()[-1]


def test_it_names_what_there_is():
    """Files, CMake's options and packages of this repository."""
    text = deployment.DOCKERFILE.read_text()
    for name, instructions in stages().items():
        for word, rest in instructions:
            if word == "COPY" and not rest.startswith("--from"):
                assert (ROOT / rest.split()[0]).exists(), rest
            elif word == "COPY":
                assert re.match(r"--from=(\S+)", rest)[1] in stages(), rest
    options = re.findall(r"\b(?:option|set)\((SIDBEAM_\w+)", (ROOT / "CMakeLists.txt").read_text())
    assert set(re.findall(r"-D(SIDBEAM_\w+)=", text)) <= set(options)
    known = set(re.findall(r"[\w.+-]+", (ROOT / "samples/install_packages.sh").read_text()))
    for packages in re.findall(r"install_packages ([a-z][^&\n]*)&&", text):
        assert set(packages.split()) <= known, packages


def test_the_library_can_be_configured_where_tests_cannot(tmp_path):
    """As the image does, without what it has no package of."""
    (run,) = [rest for word, rest in stages()["library"] if word == "RUN" and "cmake -S" in rest]
    configure = shlex.split(run.partition("&&")[0])
    assert configure[:5] == ["cmake", "-S", ".", "-B", "/build"]
    configure[4] = tmp_path
    configure.append("-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON")
    made = subprocess.run(configure, cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_nothing_is_built_into_the_images_that_is_secret_or_of_this_machine():
    assert not re.search(r"(?i)token|password|secret", deployment.DOCKERFILE.read_text())
    left_out = (deployment.FILES / "Dockerfile.dockerignore").read_text().split("\n")
    assert {".git", "build"} <= set(left_out)
