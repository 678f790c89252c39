"""sidbeam.vllm in vLLM's OpenAI server, in processes of its own, with the openai package for a client; see
engine_cases.py. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import errno
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
from engine_cases import LENGTH, Asked, model_folder, prompt_of
from serving_cases import BEGIN, CATALOGUES, END, OFFSETS, SID_END, id_of, name_catalogues, write_entry_points
from test_vllm_search import by_brute_force, check_found

openai = pytest.importorskip("openai")
import sidbeam
from sidbeam._vllm_search import Found

KEY = "the test's"


class Log:
    """What a process says, line by line."""

    def __init__(self, stream):
        self._lines, self._more, self._ended = [], threading.Condition(), False
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        for line in stream:
            with self._more:
                self._lines.append(line)
                self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()

    def said(self, *texts, since=0):
        """Whether each of them was said, after so many lines."""
        return all(any(text in line for line in self._lines[since:]) for text in texts)

    def says(self, *texts, since=0):
        """The same, once they were, or nothing will be said any more."""
        said = lambda: self.said(*texts, since=since)  # noqa: E731
        with self._more:
            return self._more.wait_for(lambda: said() or self._ended, timeout=1200) and said()

    def wait(self, *texts, since=0):
        """Until each of them was said, after so many lines; returns how many there are."""
        with self._more:
            assert self.says(*texts, since=since), "".join(self._lines)
            return len(self._lines)


def put(path, sids, **more):
    """An index in the place of what is there, by rename."""
    made = path.with_suffix(".new")
    sidbeam.Index.build(sids, codes=[5] * len(sids[0]), path=made, **more).close()
    made.rename(path)


def start(command, **options):
    """A server's process, its log and its port, which another process may take before the server does."""
    for _ in range(3):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        child = subprocess.Popen([*command, "--port", str(port)], **options)
        log = Log(child.stdout)
        if log.says("Application startup complete") or not log.said(f"[Errno {errno.EADDRINUSE}]"):
            break
        end(child)
    return child, log, port


def end(child):
    child.terminate()
    try:
        child.wait(timeout=60)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A client, the server's log, and the file of the catalogue "shop", which it follows."""
    folder = tmp_path_factory.mktemp("server")
    write_entry_points(folder)
    name_catalogues()
    entries = {}
    for name, sids in CATALOGUES.items():
        ids, attributes = [id_of(i) for i in range(len(sids))], {"price": list(range(len(sids)))}
        shape = {"codes": [5] * len(OFFSETS[name]), "variable_length": name == "variable"}
        sidbeam.Index.build(sids, ids, attributes=attributes, path=folder / f"{name}.sidx", **shape).close()
        words = {"offsets": OFFSETS[name], "end_column": SID_END if name == "variable" else -1, "end": END}
        entries[name] = {"path": str(folder / f"{name}.sidx"), "filters": {"cheap": "price<3"}, **words}
        entries[f"{name}-tagged"] = {**entries[name], "begin": BEGIN}
    put(folder / "shop.sidx", [(0, 1, 0)], ids=[1])
    entries["shop"] = {"path": str(folder / "shop.sidx"), "offsets": [10, 20, 30], "end": END, "follow": True}
    entries["shop-tagged"] = {**entries["shop"], "begin": BEGIN}
    (folder / "catalogues.json").write_text(json.dumps(entries))
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model_folder()]
    command += ["--served-model-name", "m", "--host", "127.0.0.1", "--api-key", KEY]
    command += ["--dtype", "float32", "--enforce-eager", "--max-model-len", str(LENGTH), "--max-num-seqs", "8"]
    command += ["--kv-cache-memory-bytes", str(1 << 25), "--no-enable-chunked-prefill"]
    command += ["--worker-extension-cls", "sidbeam.vllm.Worker", "--middleware", "sidbeam.vllm.Routes"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(folder)]),
        "SIDBEAM_CATALOGUES": str(folder / "catalogues.json"),
        "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
        "VLLM_LOGGING_LEVEL": "INFO",
    }
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    child, log, port = start(command, env=environment, **out)
    try:
        log.wait("Application startup complete")
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY, max_retries=0)
        yield client, log, folder / "shop.sidx"
    finally:
        end(child)


def complete(client, one):
    """The tokens that each of a request's choices said."""
    settings = dict(one.settings)
    body = {"vllm_xargs": one.extra or None, "return_token_ids": True, "stop_token_ids": [END]}
    answer = client.completions.create(model="m", prompt=one.prompt, extra_body=body, **settings)
    return [choice.token_ids for choice in answer.choices]


def recommend(client, **body):
    answer = client.post("/sidbeam/recommend", body=body, cast_to=object)
    return [Found(**{**one, "scores": np.array(one["scores"])}) for one in answer["results"]]


def test_requests(server):
    client, rng = server[0], np.random.default_rng(0)
    for name in [None, *CATALOGUES, *(f"{name}-tagged" for name in CATALOGUES)]:
        one = Asked(name, prompt_of(rng))
        assert complete(client, one) == [one.expected()]
        several = Asked(name, prompt_of(rng), temperature=1.5, n=3, seed=5)
        for said in complete(client, several):
            several.check_valid(said)
    drawn = Asked("deep", [1, 2], temperature=0.9, seed=3, extra={"sidbeam_request": 7})
    ruled = Asked("duplicates", [1, 2], {0, 2}, extra={"sidbeam_filter": "cheap", "sidbeam_exclude": [id_of(1)]})
    assert [complete(client, one) for one in (drawn, ruled)] == [[drawn.expected()], [ruled.expected()]]


@pytest.mark.parametrize(
    "extra, message",
    [
        ({"sidbeam": "nowhere"}, "catalogue 'nowhere' is not known, expected one of ['bigrams', "),
        ({"sidbeam": "bigrams", "sidbeam_filter": "dear"}, "catalogue 'bigrams': sidbeam_filter is 'dear', expected"),
        ({"sidbeam": "bigrams", "sidbeam_exclude": ["a"]}, "sidbeam_exclude[0] is 'a', expected an integer"),
        ({"sidbeam_where": "price<2"}, "sidbeam_where is given, expected a catalogue for it under sidbeam"),
    ],
)
def test_what_is_wrong_with_a_request_is_a_400(server, extra, message):
    client = server[0]
    with pytest.raises(openai.BadRequestError) as error:
        client.completions.create(model="m", prompt=[1, 2], max_tokens=4, extra_body={"vllm_xargs": extra})
    assert error.value.status_code == 400 and message in error.value.body["message"]
    one = Asked("deep", [1, 2])
    assert complete(client, one) == [one.expected()]


def test_searches(server):
    client, rng = server[0], np.random.default_rng(1)
    for name in CATALOGUES:
        prompts = [prompt_of(rng) for _ in range(3)]
        for prompt, found in zip(prompts, recommend(client, catalogue=name, prompts=prompts, beams=4)):
            check_found(found, by_brute_force(name, prompt, 4))
    ruled = {"exclude": [[id_of(0)], None], "filter": "cheap", "normalization": "valid"}
    for found, kept in zip(recommend(client, catalogue="deep", prompts=[[3], [3]], **ruled), ({1, 2}, {0, 1, 2})):
        check_found(found, by_brute_force("deep", [3], 50, "valid", kept))


@pytest.mark.parametrize(
    "body, param, message",
    [
        ({"catalogue": "nowhere", "prompts": [[1]]}, None, "catalogue 'nowhere' is not known"),
        ({"catalogue": "deep", "prompts": [[1], [999]]}, None, "prompts[1] has tokens 999 to 999, expected 0 to 63"),
        ({"catalogue": "deep", "prompts": [[1], [True]]}, "prompts[1][0]", "prompts[1][0] is true, expected a token"),
        ({"catalogue": "deep", "prompts": [[1]], "beams": True}, "beams", "beams is true, expected 1 .. 256"),
        ({"catalogue": "deep", "prompts": [[1]], "filter": "dear"}, None, "catalogue 'deep': sidbeam_filter is 'dear'"),
        ([], "body", "body is [], expected an object"),
    ],
)
def test_what_is_wrong_with_a_search_is_a_400(server, body, param, message):
    """More of them in bindings/python/tests/test_vllm_bodies.py."""
    with pytest.raises(openai.BadRequestError) as error:
        server[0].post("/sidbeam/recommend", body=body, cast_to=object)
    assert message in error.value.body["message"] and error.value.body["param"] == param


def test_the_key_is_asked_for(server):
    stranger = server[0].with_options(api_key="another")
    for call in (
        lambda: stranger.post("/sidbeam/recommend", body={}, cast_to=object),
        lambda: stranger.post("/sidbeam/refresh", body={"catalogue": "shop"}, cast_to=object),
        lambda: stranger.get("/sidbeam/catalogues", cast_to=object),
    ):
        with pytest.raises(openai.AuthenticationError):
            call()


def refresh(client, name="shop"):
    return client.post("/sidbeam/refresh", body={"catalogue": name}, cast_to=object)


def test_another_file_in_a_running_server(server):
    """Taken over by itself, or at once where that is asked for; a damaged one leaves the last, as the log and refresh
    say."""
    client, log, path = server
    shop = Asked("shop", [1, 2])
    versions = lambda: client.get("/sidbeam/catalogues", cast_to=object)["catalogues"]["shop"]  # noqa: E731
    before = versions()
    assert complete(client, shop) == [[10, 21, 30, END]]
    seen = log.wait(f"catalogue 'shop': version 0, fingerprint {before['fingerprint']}")
    put(path, [(4, 3, 2)], ids=[2])
    fingerprint = sidbeam.Index.peek(path).fingerprint
    seen = log.wait(f"catalogue 'shop': requests that begin follow version 0, fingerprint {fingerprint}", since=seen)
    assert refresh(client)["catalogues"]["shop"] == versions()
    assert versions()["fingerprint"] == fingerprint != before["fingerprint"]
    assert complete(client, shop) == [[14, 23, 32, END]]
    (found,) = recommend(client, catalogue="shop", prompts=[[1, 2]])
    assert (found.items, found.fingerprint) == ([2], fingerprint)
    damaged = pathlib.Path(path).with_suffix(".new")
    damaged.write_bytes(path.read_bytes()[:-64])
    damaged.rename(path)
    log.wait("catalogue 'shop': requests go on with version 0: ", since=seen)
    for _ in range(2):
        with pytest.raises(openai.InternalServerError, match="shop.sidx"):
            refresh(client)
    assert complete(client, shop) == [[14, 23, 32, END]] and versions()["fingerprint"] == fingerprint
    put(path, [(0, 0, 0)], ids=[3])
    refresh(client)
    assert complete(client, shop) == [[10, 20, 30, END]]
    assert [one.items for one in recommend(client, catalogue="shop", prompts=[[1]])] == [[3]]


def test_a_running_request_keeps_its_catalogue(server):
    """It says one SID after another: its model wants nothing but to begin the next."""
    client, _, path = server
    put(path, [(1, 1, 1)], ids=[4])
    refresh(client, "shop-tagged")
    body = {"vllm_xargs": {"sidbeam": "shop-tagged"}, "return_token_ids": True, "logit_bias": {str(BEGIN): 100}}
    settings = {"temperature": 0, "max_tokens": 80, "stream": True}
    running, said = client.completions.create(model="m", prompt=[BEGIN], extra_body=body, **settings), []
    replaced = False
    for part in running:
        said += part.choices[0].token_ids
        if said and not replaced:  # a first part may have several tokens
            put(path, [(2, 2, 2)], ids=[5])
            refresh(client, "shop-tagged")
            replaced = True
    assert said == [11, 21, 31, BEGIN] * 20
    (found,) = recommend(client, catalogue="shop-tagged", prompts=[[1]])
    assert found.items == [5]
