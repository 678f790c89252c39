"""An index that is replaced under load: no request fails, and none sees half of an index.

SPDX-License-Identifier: Apache-2.0
"""

import json
import signal

import catalogues
from load import Load


def replace(path, content):
    """As `sidbeam build` does: the new file takes the old one's name when it is whole."""
    path.with_suffix(".new").write_bytes(content)
    path.with_suffix(".new").rename(path)


def versions(folder, *catalogue):
    """Files of indexes by version, in their order."""
    found = {}
    for pairs in catalogue:
        version = catalogues.index(folder / "made.sidx", pairs)
        found[version] = (folder / "made.sidx").read_bytes()
    return found


def question(draws):
    number = draws.randrange(500)  # one of the two is in the catalogue, whichever that is
    return {"histories": [[1000 + number, 2000 + number], [2000 + number // 2, 1000 + number // 2]], "k": 5}


def test_reloads_under_load(start, tmp_path):
    files = versions(tmp_path, catalogues.items(first=2000), catalogues.items(first=1000))
    first = dict(zip(files, (2000, 1000)))
    path = tmp_path / "numbers.sidx"
    replace(path, list(files.values())[-1])
    service = start(index=path)

    def check(answer):
        if answer.status != 200:
            return repr(answer)
        begin = first[answer.json["version"]]
        for items in answer.json["results"]:
            scores = [item["score"] for item in items]
            if len(items) != 5 or scores != sorted(scores, reverse=True) or \
                    not all(begin <= item["id"] < begin + 500 for item in items):
                return repr(answer)

    with Load(service.address, 8, question, check) as load:
        for reload in range(20):
            version = list(files)[reload % 2]
            replace(path, files[version])
            if reload % 4 == 3:  # by signal
                service.process.send_signal(signal.SIGHUP)
                service.until("it is reloaded", lambda metrics: metrics["reloads_total"] == reload + 1)
            else:
                assert service.change("POST", "/reload").json == {"version": version}
            # What comes after the reload is answered from the new index.
            answer = service.ask("POST", "/recommend", {"histories": [[1000], [2000]]})
            assert answer.json["version"] == version
            load.until(load.answers + 20)
    assert load.failures == []
    metrics = service.metrics()
    assert metrics["reloads_total"] == 20 and metrics["reload_failures_total"] == 0
    assert metrics['requests_total{route="/recommend",code="200"}'] == load.answers + 20
    assert metrics["runner_failed_total"] == metrics["runner_queued"] == metrics["runner_running"] == 0


def test_garbage_under_load(start, tmp_path, numbers):
    """What cannot be served leaves what is there, whatever is wrong with it."""
    path = tmp_path / "numbers.sidx"
    whole = numbers.read_bytes()
    replace(path, whole)
    service = start(index=path)
    version = service.ask("GET", "/readyz").json["version"]
    catalogues.sidbeam("build", "--input", numbers.with_suffix(".jsonl"), "--codes", "16,16,17", "--output",
                       tmp_path / "another.sidx")
    garbage = {"empty": b"", "text": b"no index", "half": whole[:len(whole) // 2], "random": bytes(range(256)) * 64,
               "a flipped bit": whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:],
               "out of order": (catalogues.ROOT / "tests/cli/data/out_of_order.sidx").read_bytes(),
               "another codebook": (tmp_path / "another.sidx").read_bytes()}

    def check(answer):
        return None if answer.status == 200 and answer.json["version"] == version else repr(answer)

    with Load(service.address, 8, check=check) as load:
        for number, (name, content) in enumerate(garbage.items(), 1):
            replace(path, content)
            answer = service.change("POST", "/reload")
            assert answer.status == 500 and answer.error["code"] == "internal", (name, answer)
            assert service.metrics()["reload_failures_total"] == number
            assert service.wait_for("reload_failed")["message"]
            load.until(load.answers + 20)
        path.unlink()
        assert service.change("POST", "/reload").status == 500
        load.until(load.answers + 20)
        assert service.ask("GET", "/readyz").json == {"status": "ready", "version": version}
        replace(path, whole)
        assert service.change("POST", "/reload").json == {"version": version}
    assert load.failures == []


def test_rules_while_catalogue_and_filters_change(start, tmp_path):
    """Each answer keeps to its rules, by the filters of the version that it names."""
    settings, path = tmp_path / "filters.json", tmp_path / "numbers.sidx"
    files = versions(tmp_path, *([pair for pair in catalogues.items() if pair["item"] != 1400 + i] for i in range(3)))
    most = dict(zip(files, (30, 50, 70)))

    def replace_both(version):
        settings.write_text(json.dumps({"cheap": f"price<{most[version]}"}))
        replace(path, files[version])

    def ask(draws):
        begin = 1000 + draws.randrange(300)
        return {"histories": [[1000, begin], [begin + 7]], "exclude": list(range(begin, begin + 100)),
                "where": f"price>={draws.randrange(20)}", "filter": "cheap"}

    def check(answer):
        if answer.status != 200:
            return repr(answer)
        bound = most[answer.json["version"]]
        lists = answer.json["results"]
        good = all(len(items) == 8 and all(item["id"] % 100 < bound for item in items) for items in lists)
        return None if good else repr(answer)

    replace_both(list(files)[0])
    service = start(index=path, filters=settings)
    with Load(service.address, 6, ask, check) as load:
        for reload in range(1, 16):
            version = list(files)[reload % 3]
            replace_both(version)
            assert service.change("POST", "/reload").json == {"version": version}
            load.until(load.answers + 10)
    assert load.failures == []
    metrics = service.metrics()
    assert metrics['filter_requests_total{filter="cheap"}'] == metrics["where_requests_total"] \
        == metrics["list_requests_total"] == load.answers
