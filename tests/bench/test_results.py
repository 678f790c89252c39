"""Tests of compare, plot.py and document.py with small results of known content.

    python3 tests/bench/test_results.py

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "speculation"), os.path.join(HERE, "..", "gpu", "bench")]
import draft_table
import hidden_table
import measurements
import overhead
import papers.readme
import plot
import quotes
import report
import sampling_tables
import svg
import table
import vllm_table


def load_compare():
    loader = importlib.machinery.SourceFileLoader("compare", os.path.join(HERE, "compare"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
    loader.exec_module(module)
    return module


compare = load_compare()


def measurement(name="trie", median=100.0, spread=0.01, table="static", unit="us", **case):
    return {"table": table, "case": {"N": 1000000, **case}, "name": name, "unit": unit, "median": median,
            "p10": median * (1 - spread), "p90": median * (1 + spread), "p99": median * (1 + 2 * spread), "runs": 30,
            "note": ""}


def verdict(old, new, threshold=3.0):
    """The one verdict that is worth a line, or none."""
    found = [v[0] for v in compare.verdicts([old], [new], threshold)]
    assert len(found) <= 1
    return found[0] if found else None


class Overhead(unittest.TestCase):
    LINES = ["overhead c one 100 300", "made for lines of others", "overhead java one 900 2000",
             "overhead c one 300 500", "overhead java one 1100 3000", "overhead java one 5000 9000", "missing go", ""]

    def test_rounds_are_kept_apart_by_language_and_case(self):
        rounds, missing = overhead.read(self.LINES)
        self.assertEqual(rounds["c", "one"], [(0.1, 0.3), (0.3, 0.5)])
        self.assertEqual(len(rounds["java", "one"]), 3)
        self.assertEqual(missing, ["go"])

    def test_a_language_is_held_against_c_and_the_missing_are_named(self):
        text = "\n".join(overhead.table(*overhead.read(self.LINES)))
        self.assertRegex(text, r"java +1\.10 +3\.00 +0\.90 +1\.0")  # medians of the rounds, and over C's 0.2
        self.assertIn("go: not built", text)

    def test_a_measurement_has_every_field_of_a_results_file(self):
        rounds, _ = overhead.read(self.LINES)
        made = overhead.measurement("java", "one", rounds["java", "one"])
        self.assertEqual(measurements.check(made, "here")["runs"], 3)
        self.assertEqual((made["median"], made["p99"]), (1.1, 3.0))


class Compare(unittest.TestCase):
    def test_a_time_that_rises_is_slower_and_one_that_falls_faster(self):
        self.assertEqual(verdict(measurement(median=100), measurement(median=120)), "slower")
        self.assertEqual(verdict(measurement(median=120), measurement(median=100)), "faster")

    def test_rates_and_shares_are_the_other_way_round(self):
        for unit in ("GB/s", "M SIDs/s", "share of the exact beams found"):
            self.assertEqual(verdict(measurement(median=100, unit=unit), measurement(median=120, unit=unit)), "faster")
            self.assertEqual(verdict(measurement(median=120, unit=unit), measurement(median=100, unit=unit)), "slower")

    def test_what_lies_within_either_spread_is_noise(self):
        self.assertIsNone(verdict(measurement(median=100, spread=0.3), measurement(median=120)))
        self.assertIsNone(verdict(measurement(median=100), measurement(median=120, spread=0.3)))

    def test_small_changes_are_noise_however_narrow_the_spread(self):
        self.assertIsNone(verdict(measurement(median=100, spread=0), measurement(median=102, spread=0)))
        self.assertEqual(verdict(measurement(median=100, spread=0), measurement(median=102, spread=0), 1.0), "slower")

    def test_differences_below_zero_are_not_judged(self):
        below, above = measurement(median=-5, spread=0, unit="ms"), measurement(median=5, spread=0, unit="ms")
        self.assertIsNone(verdict(below, above))

    def test_new_and_gone_cases(self):
        before, after = [measurement("a"), measurement("b")], [measurement("b"), measurement("b", level="1")]
        found = compare.verdicts(before, after, 3)
        self.assertEqual(sorted(v[0] for v in found), ["gone", "new"])

    def test_the_order_of_a_case_does_not_matter(self):
        old, new = measurement(B=2, M=70), measurement(M=70, B=2)
        self.assertEqual(compare.verdicts([old], [new], 3), [])

    def test_the_slowest_comes_first(self):
        old = [measurement(name) for name in "abc"]
        new = [measurement("a", 110), measurement("b", 50), measurement("c", 200)]
        self.assertEqual([v[3]["name"] for v in compare.verdicts(old, new, 3)], ["c", "a", "b"])

    def run_program(self, old, new, *options):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("old.json", "new.json")]
            for path, found in zip(paths, (old, new)):
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"machine": {"cpu": path[-8:-5]}, "measurements": found}, file)
            out, before = io.StringIO(), sys.argv
            sys.argv = ["compare", *paths, *options]
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                    return compare.main(), out.getvalue()
            finally:
                sys.argv = before

    def test_exit_status(self):
        old, new = [measurement(median=100)], [measurement(median=120)]
        self.assertEqual(self.run_program(old, new)[0], 0)
        self.assertEqual(self.run_program(old, new, "--fail-on-slower", "10")[0], 1)
        self.assertEqual(self.run_program(old, new, "--fail-on-slower", "30")[0], 0)
        self.assertEqual(self.run_program(new, old, "--fail-on-slower", "10")[0], 0)
        self.assertEqual(self.run_program([{"table": "x"}], new)[0], 2)

    def test_what_it_prints(self):
        _, text = self.run_program([measurement(median=100)], [measurement(median=120)])
        self.assertIn("+20.0 %", text)
        self.assertIn("static  N=1e6  trie: 100 -> 120 us", text)
        self.assertIn("cpu: old -> new", text)
        self.assertIn("1 slower, 0 faster, 0 new, 0 gone", text)


class Plot(unittest.TestCase):
    def static(self):
        where = {"rows": "hot", "M": 70}
        return [measurement(name, 10.0 * (i + 1) * sids / 1e5, N=sids, level="all", **where)
                for i, name in enumerate(("trie", "none")) for sids in (100000, 1000000, 10000000)]

    def draw(self, found):
        with tempfile.TemporaryDirectory() as folder:
            paths = plot.draw_all(found, folder)
            return {os.path.basename(path): ElementTree.parse(path).getroot() for path in paths}

    def texts(self, root):
        return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]

    def test_lines_have_a_point_for_each_size_and_a_name_in_the_legend(self):
        drawn = self.draw(self.static())
        self.assertEqual(sorted(drawn), ["overview.svg", "static_by_sids.svg", "static_rows.svg"])
        circles = list(drawn["static_by_sids.svg"].iter("{http://www.w3.org/2000/svg}circle"))
        self.assertEqual(len(circles), 6)
        texts = self.texts(drawn["static_by_sids.svg"])
        for text in ("trie", "none", "SIDs", "100k", "10M"):
            self.assertIn(text, texts)

    def test_higher_values_stand_higher(self):
        root = self.draw(self.static())["static_by_sids.svg"]
        points = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter("{http://www.w3.org/2000/svg}circle")]
        self.assertEqual(points[:3], sorted(points[:3]))
        self.assertEqual([y for _, y in points[:3]], sorted((y for _, y in points[:3]), reverse=True))
        self.assertLess(points[3][1], points[0][1])

    def test_bars_of_percentiles(self):
        found = []
        for phase in ("before", "during"):
            found.append(measurement("open, map", 50, table="swap", phase=phase))
            found.append(measurement("open, map, p99.9", 900, table="swap", phase=phase))
        root = self.draw(found)["swap.svg"]
        texts = self.texts(root)
        for text in ("median", "p99", "p99.9", "map", "before", "during"):
            self.assertIn(text, texts)
        self.assertEqual(len(list(root.iter("{http://www.w3.org/2000/svg}rect"))), 1 + 6)

    def test_another_value_than_the_median_has_no_spread(self):
        found = [{**measurement("sidbeam", load, table="load_models", unit="ms", load_percent=load), "p99": 10.0 * load}
                 for load in (10, 50)]
        drawn = self.draw(found)
        self.assertEqual(sorted(drawn), ["load.svg", "load_p99.svg"])
        self.assertIn("500", self.texts(drawn["load_p99.svg"]))
        self.assertNotIn("500", self.texts(drawn["load.svg"]))

    def test_a_bar_of_less_than_zero_hangs_from_zero(self):
        found = [measurement(name, value, table="nvidia442", unit="ms", level="all", B=1)
                 for name, value in (("up & <down>", 2.0), ("down", -1.0))]
        root = self.draw(found)["nvidia442.svg"]
        up, down = list(root.iter("{http://www.w3.org/2000/svg}rect"))[1:]
        self.assertAlmostEqual(float(up.get("y")) + float(up.get("height")), float(down.get("y")), delta=0.2)
        self.assertAlmostEqual(float(up.get("height")), 2 * float(down.get("height")), delta=0.2)
        self.assertIn("up & <down>", self.texts(root))

    def test_points_of_two_units_stand_where_both_say(self):
        found = []
        for rounds, us, nats in ((1, 20.0, 0.4), (2, 50.0, 0.1)):
            for unit, value in (("us per result", us), ("nats", nats)):
                found.append(measurement("DISC", value, spread=0, table="quality", unit=unit, K=rounds))
        root = self.draw(found)["quality.svg"]
        points = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter("{http://www.w3.org/2000/svg}circle")]
        self.assertEqual(len(points), 2)
        self.assertLess(points[0][0], points[1][0])  # longer
        self.assertLess(points[0][1], points[1][1])  # nearer to 0
        self.assertIn("50", self.texts(root))

    def test_nothing_is_drawn_of_nothing(self):
        self.assertEqual(self.draw([measurement(table="unknown")]), {})

    def test_two_values_at_one_place_are_refused(self):
        found = self.static()
        with self.assertRaisesRegex(ValueError, "static_by_sids: two values of trie at 100000"):
            self.draw(found + [{**found[0], "case": {**found[0]["case"], "M": 512}}])

    def test_every_figure_has_a_file_of_its_own(self):
        files = [figure.file for figure in plot.FIGURES]
        self.assertEqual(len(files), len(set(files)))
        for figure in plot.FIGURES:
            self.assertEqual([bool(figure.x), bool(figure.x_unit), bool(figure.groups)].count(True), 1, figure.file)

    def test_the_figures_beside_the_results_are_drawn_from_them(self):
        folder = pathlib.Path(HERE, "results")
        drawn = {}
        for results in folder.glob("*.json"):
            with tempfile.TemporaryDirectory() as other:
                for path in plot.draw_all(measurements.read_document(results)[1], other):
                    drawn.setdefault(os.path.basename(path), []).append(pathlib.Path(path).read_text(encoding="utf-8"))
        figures = sorted(folder.glob("*.svg"))
        self.assertEqual([path.name for path in figures], sorted(drawn))
        for path in figures:
            self.assertIn(path.read_text(encoding="utf-8"), drawn[path.name], f"{path.name}: plot.py draws another one")

    def test_what_a_legend_calls_a_method(self):
        found = self.static() + [measurement("mask_torch", level="all", rows="hot")]
        texts = self.texts(self.draw(found)["overview.svg"])
        self.assertIn("mask, then top-k, as PyTorch does it", texts)
        self.assertNotIn("mask_torch", texts)

    def test_ticks_enclose_the_values(self):
        for low, high in ((0.3, 0.31), (1, 1), (7, 9000), (1e-3, 1e6), (99.9, 100.1)):
            for log in (False, True):
                scale = svg.Scale(low, high, log, 400, 40)
                for value in (low, high):
                    self.assertTrue(40 <= scale(value) <= 400, (low, high, log, scale.ticks))
                self.assertTrue(2 <= len(scale.ticks) <= 12, (low, high, log, scale.ticks))


class Readme(unittest.TestCase):
    def test_its_tables_are_those_of_the_results(self):
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
            text = file.read()
        for name, tables in (("hidden", hidden_table.tables), ("speculation", table.tables)):
            _, found = measurements.read_document(os.path.join(HERE, "results", name + ".json"))
            printed = tables(found)
            self.assertTrue(printed)
            for lines in printed:
                self.assertIn("\n".join(lines), text)
        self.assertEqual(table.updated(text, printed), text)  # those of speculation


class Speculation(unittest.TestCase):
    def test_a_table_replaces_the_one_of_its_first_cell_and_a_new_one_follows_the_one_before(self):
        text = "# A\n\n| K | 1 |\n\n## Speculation\n\nText.\n\n| K (9 us) | 1 |\n\nMore.\n\n| N | 1 |\n\n## B\n"
        made = [["| K (10 us) | 2 |", "| 3 | 4 |"], ["| M | 2 |"], ["| N | 2 |"]]
        self.assertEqual(table.updated(text, made),
                         "# A\n\n| K | 1 |\n\n## Speculation\n\nText.\n\n| K (10 us) | 2 |\n| 3 | 4 |\n\n| M | 2 |\n\n"
                         "More.\n\n| N | 2 |\n\n## B\n")

    def test_the_cost_model_keeps_its_limit(self):
        _, found = measurements.read_document(os.path.join(HERE, "results", "speculation.json"))
        medians = {measurements.key(m)[1:]: m["median"] for m in found if m["unit"] == "us"}
        cases = [(case, name, unit) for case, name, unit in medians if (case, name + ", predicted", unit) in medians]
        errors = [abs(medians[case, name + ", predicted", unit] / medians[case, name, unit] - 1)
                  for case, name, unit in cases]
        self.assertGreater(len(errors), 40)
        self.assertLess(max(errors), 0.15)
        self.assertAlmostEqual(max(errors), max(m["median"] for m in found if m["name"] == "worst error"))


class Sampling(unittest.TestCase):
    def test_the_readme_quotes_the_results(self):
        """Word for word what sampling_tables.py makes of them."""
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
            quoted = sampling_tables.quoted(file.read())
        made = sampling_tables.made(measurements.read_document(os.path.join(HERE, "results", "sampling.json")))
        self.assertEqual(quoted, made)

    def test_a_figure_that_is_missing_or_there_twice_is_refused_by_name(self):
        for found in ([], [measurement(L=4), measurement(L=4, M=70)]):
            with self.assertRaisesRegex(ValueError, f"{len(found)} measurements of static: trie in us for .*'L': 4"):
                sampling_tables.Results({}, found).one("static", "trie", "us", L=4)

    def test_figures_have_three_digits_and_a_missed_target_stands_out(self):
        self.assertEqual([sampling_tables.figure(v) for v in (0.0346, 1.234, 12.34, 123.4, 5911018.0)],
                         ["0.035", "1.23", "12.3", "123", "5,911,018"])
        self.assertEqual([sampling_tables.target(v) for v in (1.154, 1.156)], ["1.15", "*1.16*"])


class Documents(unittest.TestCase):
    def test_of_a_measurement_made_twice_the_last_counts(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            for m in (measurement(median=1), measurement("none", 2), measurement(median=3)):
                file.write(json.dumps(m) + "\n")
            file.flush()
            self.assertEqual([(m["name"], m["median"]) for m in measurements.read_lines(file.name)],
                             [("trie", 3), ("none", 2)])

    def test_a_line_without_a_field_is_refused_by_name(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            broken = measurement()
            del broken["p90"]
            file.write(json.dumps(broken) + "\n")
            file.flush()
            with self.assertRaisesRegex(ValueError, ":1: a measurement without 'p90'"):
                measurements.read_lines(file.name)

    def test_percentiles(self):
        made = measurements.summary("t", {}, "n", "us", [5, 1, 2, 4, 3])
        self.assertEqual((made["median"], made["p10"], made["p90"], made["runs"]), (3, 1.4, 4.6, 5))

    def test_short_numbers(self):
        self.assertEqual([measurements.short(v) for v in (70, 2048, 1000000, 25000000, 20887, "all")],
                         ["70", "2048", "1e6", "2.5e7", "20887", "all"])


class Papers(unittest.TestCase):
    FOUND = [measurement(name, value, table="cold_start", unit=unit, data="Some_Shop", **{"newest %": 2}, **seed)
             for name, value, unit, seed in (
                 ("cold SIDs", 73, "SIDs", {}), ("cold queries", 24, "queries", {}),
                 ("newest alone", 0.25, "share R@1", {"seed": 1}), ("newest alone", 0.35, "share R@1", {"seed": 2}))]

    def test_a_cell_is_the_mean_over_seeds_or_a_dash(self):
        text = papers.readme.text_of(self.FOUND)
        self.assertIn("| Some, newest 2 % | 73 | 24 | – | – | – | 0.3000 |", text)
        self.assertEqual(text.count("`"), 2)  # other tables have nothing, and are not there

    def test_the_readme_quotes_the_results(self):
        """Word for word what readme.py makes of them; or it says that there are none."""
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
            quoted = quotes.quoted(file.read(), papers.readme.BEGIN)
        results = os.path.join(HERE, "results", "papers.json")
        expected = papers.readme.NOTHING
        if os.path.exists(results):
            expected = papers.readme.text_of(measurements.read_document(results)[1])
        self.assertEqual(quoted, expected)


class OnACard(unittest.TestCase):
    def test_the_readme_quotes_the_results(self):
        gpu = os.path.join(HERE, "..", "gpu")
        with open(os.path.join(gpu, "README.md"), encoding="utf-8") as file:
            quoted = quotes.quoted(file.read(), report.BEGIN)
        results = measurements.read_document(os.path.join(HERE, "results", "h200.json"))
        self.assertEqual(quoted, report.text_of(*results))


class Draft(unittest.TestCase):
    def test_the_readme_quotes_the_results(self):
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
            quoted = quotes.quoted(file.read(), draft_table.BEGIN)
        results = measurements.read_document(os.path.join(HERE, "results", "draft.json"))
        self.assertEqual(quoted, draft_table.text_of(*results))

    def test_the_readme_quotes_those_of_vllm(self):
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
            quoted = quotes.quoted(file.read(), vllm_table.BEGIN)
        results = measurements.read_document(os.path.join(HERE, "results", "vllm.json"))
        self.assertEqual(quoted, vllm_table.text_of(*results))

    def test_what_the_first_readme_says_of_vllm(self):
        _, found = measurements.read_document(os.path.join(HERE, "results", "vllm.json"))
        with open(os.path.join(HERE, "..", "..", "README.md"), encoding="utf-8") as file:
            self.assertIn(vllm_table.sentence_of(found), " ".join(file.read().split()))

    def test_what_is_put_between_marks_leaves_the_rest(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "README.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"a <!-- b --> old {quotes.END} c <!-- d --> e {quotes.END} f")
            quotes.put(path, "<!-- b -->", "new")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), f"a <!-- b -->\n\nnew\n\n{quotes.END} c <!-- d --> e {quotes.END} f")


if __name__ == "__main__":
    unittest.main()
