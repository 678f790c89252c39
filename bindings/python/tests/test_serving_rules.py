"""Rules of requests to serving engines: what is read, refused, shared and said. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import gc
import json
import logging
import weakref
from typing import Any

import numpy as np
import pytest

import sidbeam
from sidbeam import kept_filters, serving, serving_rules
from test_serving import no_names as no_names

SIDS = [(0, 1), (0, 1), (0, 2), (2, 2), (2, 0)]
IDS, PRICES, REGIONS = [10, 11, 12, 13, 14], [5, 25, 15, 30, None], ["us", "de", "us", "us", "ca"]


def make(ids: Any = IDS, **options: Any) -> sidbeam.Index:
    return sidbeam.Index.build(SIDS, ids, codes=3, attributes={"price": PRICES, "region": REGIONS}, **options)


def named(**settings: Any) -> serving.Catalogue:
    filters = {"cheap": "price<20", "american": "region in (us, ca)"}
    return serving.register("shop", make(), default=True, **{"filters": filters, **settings})


def asked(**rules: Any) -> serving.Choice:
    choice = serving.choice_of({f"sidbeam_{key}": value for key, value in rules.items()})
    assert choice is not None
    return choice


def allowed(**rules: Any) -> list[int]:
    """The ids that come under rules of a request, on the default catalogue."""
    choice = asked(**rules)
    constraint = choice.constraint() or choice.catalogue.index.constraint
    rows, _, _, _ = constraint.item_rows_of(np.arange(len(choice.catalogue.index)))
    return sorted(choice.catalogue.index.item_ids(rows).tolist())


def test_what_a_request_may_say() -> None:
    named()
    assert allowed() == IDS and asked().constraint() is None
    assert allowed(filter="cheap") == [10, 12]
    assert allowed(where="price>=25") == [11, 13]
    assert allowed(filter="american", where="not price<20") == [13, 14]
    assert allowed(exclude=[10, 999, 10]) == [11, 12, 13, 14]
    assert allowed(allow=[14, 999, 12], filter="cheap") == [12]
    assert allowed(allow=[11, 12], exclude=(12,)) == [11]
    assert allowed(allow=[]) == []
    assert allowed(exclude=[], filter=None) == IDS and asked(exclude=[]).rules is None


def test_rules_need_a_catalogue() -> None:
    serving.register("shop", make())
    for arguments in ({"sidbeam_exclude": [1]}, {"sidbeam": False, "sidbeam_where": "true"}):
        with pytest.raises(sidbeam.InvalidArgument, match=r"sidbeam_\w+ is given, expected a catalogue for it under"):
            serving.choice_of(arguments)
    assert serving.choice_of({"sidbeam": False, "sidbeam_exclude": None}) is None
    own = serving.choice_of({"sidbeam": {"index": "shop", "end": 7}, "sidbeam_allow": [10]})
    assert own is not None and own.end == 7 and own.rules == (None, None, None, (10,))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"filter": "dear"}, "catalogue 'shop': sidbeam_filter is 'dear', expected one of ['american', 'cheap']"),
    ({"filter": 3}, "catalogue 'shop': sidbeam_filter is 3, expected one of ['american', 'cheap']"),
    ({"where": "price<"}, "catalogue 'shop': sidbeam_where: at byte 6 (after `price<`): expected a value"),
    ({"where": "price<", "filter": "cheap"}, "catalogue 'shop': sidbeam_where: at byte 6"),
    ({"where": "colour=red"}, "sidbeam_where: column 'colour' is not there, expected one of 'price', 'region'"),
    ({"where": ""}, "sidbeam_where: at byte 0"),
    ({"where": "price<20\0"}, "sidbeam_where: at byte 8"),
    ({"where": "region='\ud800'"}, 'sidbeam_where: text is "region='),
    ({"where": ["price<20"]}, "sidbeam_where is list, expected a text"),
    ({"where": "not " * 30 + "price<2"}, "sidbeam_where has 127 bytes, expected at most 100 (max_where)"),
    ({"where": "region='" + "ä" * 50 + "'"}, "sidbeam_where has 109 bytes, expected at most 100 (max_where)"),
    ({"exclude": 5}, "catalogue 'shop': sidbeam_exclude is int, expected a list of ids"),
    ({"exclude": "10"}, "sidbeam_exclude is str, expected a list of ids"),
    ({"allow": {"a": 1}}, "sidbeam_allow is dict, expected a list of ids"),
    ({"exclude": [1, 2, 3, 4]}, "sidbeam_exclude has 4 ids, expected at most 3 (max_listed)"),
    ({"exclude": [1, "a"]}, "sidbeam_exclude[1] is 'a', expected an integer, as the ids of its items are"),
    ({"allow": [1.0]}, "sidbeam_allow[0] is 1.0, expected an integer"),
    ({"allow": [1, True]}, "sidbeam_allow[1] is True, expected an integer"),
    ({"allow": [None]}, "sidbeam_allow[0] is None, expected an integer"),
    ({"exclude": [[1]]}, "sidbeam_exclude[0] is [1], expected an integer"),
    ({"exclude": [1, 2**63]}, "sidbeam_exclude[1] is 9223372036854775808, out of the range of int64"),
]


@pytest.mark.parametrize("rules, message", REFUSED, ids=[message[:60] for _, message in REFUSED])
def test_what_is_refused(rules: dict[str, Any], message: str) -> None:
    named(max_listed=3, max_where=100)
    with pytest.raises(sidbeam.InvalidArgument) as error:
        asked(**rules)
    assert message in error.value.message
    assert allowed(filter="cheap", exclude=[10, 1, 2], where="price>0") == [12]


def test_an_operator_may_leave_named_filters_alone() -> None:
    named(max_listed=0, max_where=0)
    assert allowed(filter="cheap") == [10, 12] and allowed(allow=[]) == []
    for rules in ({"exclude": [1]}, {"allow": [1]}, {"where": "price<2"}):
        with pytest.raises(sidbeam.InvalidArgument, match="expected at most 0"):
            asked(**rules)


def test_ids_that_are_texts_and_ids_without_sign() -> None:
    serving.register("shop", make(["a", "b", "17", "d", "ä"]), default=True)
    assert allowed(exclude=["a", 17, "ä"]) == ["b", "d"]
    with pytest.raises(sidbeam.InvalidArgument, match=r"sidbeam_allow\[1\] is 1.5, expected a text"):
        asked(allow=["a", 1.5])
    with pytest.raises(sidbeam.InvalidArgument, match=r"sidbeam_allow\[0\] is '.ud800', which is no text"):
        asked(allow=["\ud800"])
    serving.register("shop", make(np.array([1, 2, 3, 4, 2**64 - 1], np.uint64)), default=True)
    assert allowed(allow=[2**64 - 1, 1]) == [1, 2**64 - 1]
    with pytest.raises(sidbeam.InvalidArgument, match="sidbeam_allow"):
        asked(allow=[-1])


def test_requests_with_the_same_rules_share_a_constraint() -> None:
    named()
    first = asked(filter="cheap", exclude=[10]).constraint()
    assert asked(filter="cheap", exclude=(10,)).constraint() is first
    assert asked(filter="cheap", exclude=[12]).constraint() is not first
    assert first is not None
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None and allowed(filter="cheap", exclude=[10]) == [12]


def test_texts_are_parsed_once_and_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, kept = [], kept_filters.KeptFilters
    parse = kept._parse
    monkeypatch.setattr(kept, "_parse", lambda *given: parsed.append(given[-1]) or parse(*given))
    named()
    texts = [f"price<{number}" for number in range(serving_rules._KEPT + 1)]
    for text in [*texts, texts[-1], texts[0], "price<"]:
        for _ in range(2):
            try:
                asked(where=text)
            except sidbeam.InvalidArgument:
                pass
    assert parsed == [*texts, texts[0], "price<", "price<"]


def test_unknown_ids_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    named()
    with caplog.at_level(logging.DEBUG, "sidbeam.serving_rules"):
        held = [asked(exclude=[10, 998, 999]).constraint(), asked(allow=[10, 999]).constraint()]
        held.append(asked(exclude=[10, 999, 998]).constraint())
        held.append(asked(exclude=[10]).constraint())
    assert [record.message for record in caplog.records] == [
        "catalogue 'shop': 2 of 3 ids of sidbeam_exclude name no item",
        "catalogue 'shop': 1 of 2 ids of sidbeam_allow name no item",
        "catalogue 'shop': 2 of 3 ids of sidbeam_exclude name no item",
    ]


def test_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    path = str(tmp_path / "shop.sidx")
    make(path=path).close()
    settings = {"path": path, "filters": {"cheap": "price<20"}, "max_listed": 2, "max_where": 9, "default": True}
    monkeypatch.setenv(serving.ENVIRONMENT, json.dumps({"shop": settings}))
    assert allowed(filter="cheap", exclude=[10, 11], where="price<20") == [12]
    with pytest.raises(sidbeam.InvalidArgument, match=r"sidbeam_allow has 3 ids, expected at most 2 \(max_listed\)"):
        asked(allow=[1, 2, 3])
    with pytest.raises(sidbeam.InvalidArgument, match=r"10 bytes, expected at most 9 \(max_where\)"):
        asked(where="price<=200")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"filters": {"cheap": "price<"}}, "filter 'cheap': at byte 6 (after `price<`): expected a value, found the end"),
    ({"filters": {"cheap": "colour=1"}}, "filter 'cheap': column 'colour' is not there, expected one of 'price'"),
    ({"filters": {"cheap": 3}}, "filter 'cheap' is int, expected a text"),
    ({"filters": ["price<20"]}, "filters is list, expected texts by name"),
    ({"max_listed": -1}, "max_listed is -1, expected an integer from 0 on"),
    ({"max_where": True}, "max_where is True, expected an integer from 0 on"),
    ({"max_where": "9"}, "max_where is '9', expected an integer from 0 on"),
]


@pytest.mark.parametrize("settings, message", WRONG, ids=[message[:40] for _, message in WRONG])
def test_wrong_settings_name_variable_filter_and_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, settings: dict[str, Any], message: str
) -> None:
    path = str(tmp_path / "shop.sidx")
    make(path=path).close()
    monkeypatch.setenv(serving.ENVIRONMENT, json.dumps({"shop": {"path": path, **settings}}))
    with pytest.raises(sidbeam.InvalidArgument) as error:
        serving.named()
    assert error.value.message.startswith(f"SIDBEAM_CATALOGUES: catalogue 'shop': {message}")
    with pytest.raises(sidbeam.InvalidArgument) as error:
        serving.register("shop", make(), **settings)
    assert error.value.message.startswith(f"catalogue 'shop': {message}") and "shop" not in serving._registered


def test_filters_of_the_process_itself() -> None:
    index = make()
    few = index.filter(ids=[10, 14])
    catalogue = serving.register("shop", index, filters={"few": few}, default=True)
    assert not few.info.prepared
    catalogue.newest.rules.prepare()
    assert few.info.prepared
    assert allowed(filter="few") == [10, 14] and allowed(filter="few", where="region=ca") == [14]
    with pytest.raises(sidbeam.InvalidArgument, match="catalogue 'shop': filter 'few': .*of another index"):
        serving.register("shop", make(), filters={"few": few})
