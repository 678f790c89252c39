"""The table of call overhead, from the lines that tests/bindings/overhead.sh collected: `overhead LANGUAGE CASE
MEDIAN_NS
P99_NS`, one per round, and `missing LANGUAGE`.

    python3 tests/bench/overhead.py [--json LINES] RESULTS

A figure is the median over the rounds, p10 and p90 are those of the rounds' medians.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import statistics

import measurements

LANGUAGES = {"c": None, "python": 5.0, "java": 1.0, "go": 1.0}  # and how many us more than C a call may take
CASES = {"one": "one beam, given lse", "list": "2 x 70 beams, given lse", "full": "2 x 70 beams, rows read whole"}


def read(lines):
    """{(language, case): [(median, p99) per round]} in us, and the languages that are missing."""
    rounds, missing = {}, []
    for line in lines:
        word, language, *rest = line.split() or [""] * 2
        if word == "missing":
            missing.append(language)
        elif word == "overhead":
            case, median, p99 = rest
            rounds.setdefault((language, case), []).append((float(median) / 1000, float(p99) / 1000))
    return rounds, missing


def measurement(language, case, rounds):
    medians, p99s = zip(*rounds)
    return measurements.summary("overhead", {"case": case}, language, "us", medians) | {
        "p99": statistics.median(p99s), "note": f"p99 is the median of {len(rounds)} rounds' p99"}


def table(rounds, missing):
    """Lines of text: one row per case and language, with its time beyond C's."""
    count = max(map(len, rounds.values()), default=0)
    yield f"overhead: a step's call through each language, us ({count} rounds in turns)"
    yield f"  {'case':31}{'language':10}{'median':>9}{'p99':>9}{'more than C':>13}{'target':>8}"
    for case, text in CASES.items():
        for language, target in LANGUAGES.items():
            if (language, case) not in rounds:
                continue
            m, c = (measurement(which, case, rounds[which, case]) if (which, case) in rounds else None
                    for which in (language, "c"))
            more = f"{m['median'] - c['median']:.2f}" if c and language != "c" else ""
            yield f"  {text:31}{language:10}{m['median']:9.2f}{m['p99']:9.2f}{more:>13}{target or '':>8}"
    for language in missing:
        yield f"  {language}: not built, left out"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("results")
    options = parser.parse_args()
    with open(options.results, encoding="utf-8") as file:
        rounds, missing = read(file)
    print("\n".join(table(rounds, missing)))
    if options.json:
        with open(options.json, "a", encoding="utf-8") as file:
            for (language, case), each in rounds.items():
                file.write(json.dumps(measurement(language, case, each)) + "\n")


if __name__ == "__main__":
    main()
