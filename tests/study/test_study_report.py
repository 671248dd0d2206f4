"""The study's figures, tables and page: they show what the records say, and nothing else."""

from __future__ import annotations

import json
import re
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from study_fakes import made_up_records, two_moons
from svmpress.cli import main
from svmpress.errors import InputError
from svmpress.study import METHODS, QUICK_METHODS, Records, curves, figures, publish
from svmpress.study.averages import at
from svmpress.study.plan import FULL
from svmpress.study.records import Cell, Journal
from svmpress.study.report import page
from svmpress.study.tables import gaps_table, not_run, not_run_table, table1

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def records():
    return made_up_records()


def with_accuracy(records: Records, change) -> Records:
    """Return records in which each done cell has the accuracy that a function of it gives."""
    cells = {k: replace(c, accuracy=change(c)) if c.status == "done" else c for k, c in records.cells.items()}
    return replace(records, cells=cells)


def section(text: str, title: str) -> str:
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return unwrapped(found)


def unwrapped(text: str) -> str:
    """Return text with a line for each paragraph; tables as they are."""
    return re.sub(r"(?<![|\n])\n(?![|\n])", " ", text)


# ---------------------------------------------------------------------------------------------------------
# Curves
# ---------------------------------------------------------------------------------------------------------


def test_points_are_means_over_seeds_that_are_done():
    cells = [Cell("a", "b", s, 5, "done", acc, acc, 5, 50, 100, 1.0, 0.1) for s, acc in enumerate((0.8, 0.9))]
    cells += [Cell("a", "b", 2, 5, "failed"), Cell("a", "b", 0, 9, "done", 0.7, 1, 9, 9, 9, 9, 9)]
    (curve,) = curves(Records.of(cells)).values()
    assert [(p.size, p.seeds) for p in curve] == [(5, 2), (9, 1)]
    assert curve[0].accuracy == pytest.approx(0.85)
    assert curve[0].spread == pytest.approx(0.1 / 2**0.5)
    assert curve[1].spread == 0
    assert at(curve, 5.4).size == 5
    assert at(curve, 8.5).size == 9
    assert at(curve, 8) is None
    assert at([], 5) is None


# ---------------------------------------------------------------------------------------------------------
# Figures
# ---------------------------------------------------------------------------------------------------------


def drawn(records, kind, tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(figures, "save_figure", lambda figure, *paths: kept.append(figure))
    figures.draw(records, kind, tmp_path / "a.png")
    return kept[0]


def test_figure_3_has_a_panel_for_each_set_and_bars_for_seeds(records, tmp_path, monkeypatch):
    figure = drawn(records, figures.KINDS[0], tmp_path, monkeypatch)
    assert [p.get_title().split(":")[0] for p in figure.axes] == list(records.sets)
    magic = figure.axes[1]
    assert magic.get_xscale() == "log"
    assert len(magic.containers) == 4  # with one machine there is nothing per machine
    line, caps, (bars,) = magic.containers[3].lines
    curve = curves(records)["magic", "auto"]
    assert line.get_xdata().tolist() == [p.vectors for p in curve]
    assert line.get_ydata() == pytest.approx([100 * p.accuracy for p in curve])
    lengths = [abs(s[1][1] - s[0][1]) for s in bars.get_segments()]
    assert lengths == pytest.approx([200 * p.spread for p in curve])
    assert caps
    assert magic.lines[0].get_ydata() == pytest.approx([87.0, 87.0])
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == [
        METHODS[m].label
        for m in (FULL, "auto", "cvm", "cvm-per-machine", "lars-svm", "lars-svm-per-machine", "reduced-svm")
    ]


@pytest.mark.parametrize("kind", figures.KINDS, ids=lambda k: k.name)
def test_methods_differ_without_colour(records, kind, tmp_path, monkeypatch):
    figure = drawn(records, kind, tmp_path, monkeypatch)
    looks = [(c.lines[0].get_marker(), c.lines[0].get_linestyle()) for c in figure.axes[0].containers]
    assert len(set(looks)) == len(looks) > 3
    colours = [c.lines[0].get_color() for c in figure.axes[0].containers]
    assert len(set(colours)) == len(colours)
    assert {panel.get_xlabel() for panel in figure.axes} == {kind.title}


def test_a_panel_of_a_set_where_nothing_was_run_says_so(records, tmp_path, monkeypatch):
    cells = {k: c for k, c in records.cells.items() if c.set != "letters" or c.method == FULL}
    figure = drawn(replace(records, cells=cells), figures.KINDS[0], tmp_path, monkeypatch)
    assert [[t.get_text() for t in panel.texts if t.get_text() == "not run"] for panel in figure.axes] == [
        [], [], ["not run"], [], [], [],
    ]  # fmt: skip
    low = with_accuracy(records, lambda c: 0.1 if c.set == "mnist" else c.accuracy)
    (mnist,) = (p for p in drawn(low, figures.KINDS[2], tmp_path, monkeypatch).axes if "mnist" in p.get_title())
    assert "all is cut off" in [t.get_text() for t in mnist.texts]


def test_every_method_has_a_style_and_is_in_a_figure():
    assert set(figures.STYLES) | {FULL} == set(METHODS)
    assert {m for kind in figures.KINDS for m in kind.methods} | {FULL} == set(METHODS)


def test_one_set_is_one_panel(records, tmp_path):
    some = Records.of([*records.runs, records.sets["magic"], *(c for c in records.cells.values() if c.set == "magic")])
    paths = [tmp_path / f"a.{form}" for form in ("png", "svg", "pdf")]
    figures.draw(some, figures.KINDS[1], *paths)
    first = [p.read_bytes() for p in paths]
    assert [c[:4] for c in first] == [b"\x89PNG", b"<?xm", b"%PDF"]
    figures.draw(some, figures.KINDS[1], *paths)
    assert [p.read_bytes() for p in paths] == first


# ---------------------------------------------------------------------------------------------------------
# Page
# ---------------------------------------------------------------------------------------------------------


def test_table_1(records):
    lines = table1(records)
    assert lines[0] == "|  | pageblocks | magic | letters | 20news | mnist | ohsumed |"
    assert "| support vectors | 419 | 4,652 | 7,595 | 8,454 | 13,375 | 3,268 |" in lines


def test_the_claim_is_judged_set_by_set(records):
    def lost(cell: Cell) -> float:
        full = records.sets[cell.set].accuracy
        good = cell.method == "auto" or (cell.method == "cvm" and cell.set == "magic")
        return full - (0.0099 if good else 0.0101)

    text = section(page(with_accuracy(records, lost)), "What the paper claims, and whether it holds")
    assert "holds on 1 of 6 sets (magic); with svmpress on 6 of 6 (pageblocks" in text
    assert "| magic | 87.00 | 86.01 | yes | 86.01 | yes | 47 vectors (1 %) |" in text
    assert "| letters | 97.70 | 96.69 | no, 1.0 lost | 96.71 | yes |" in text


CLAIM = "What the paper claims, and whether it holds"


def test_the_claim_is_read_per_machine_too(records):
    def lost(cell: Cell) -> float:
        holds = cell.method == "cvm-per-machine" and cell.set in ("letters", "mnist")
        return records.sets[cell.set].accuracy - (0.0099 if holds else 0.0101)

    judged = with_accuracy(records, lost)
    text = section(page(judged), CLAIM)
    assert "the claim holds on 0 of 6 sets;" in text
    assert "Read per machine, the claim holds on 2 of 4 sets of more than two classes (letters, mnist)." in text
    # 760 of 7,595 vectors, each kept by 25 machines
    assert "| letters | 325 | 189,875 | 7,595 | 19,000 | 19,000 | 19,000 | 250 % | 96.71 | yes |" in text
    assert "| 20news | 190 | 160,626 | 8,454 |" in text
    assert "no, 1.0 lost" in text
    assert "letters, 250 %, more than the full SVM itself; " in text
    assert "could do with fewer: about 1,462 on letters, " in text  # 25 machines of 19,000 / 325
    some = {k: c for k, c in judged.cells.items() if (c.set, c.method) != ("letters", "cvm-per-machine")}
    text = section(page(replace(judged, cells=some)), CLAIM)
    assert (
        "| letters | 325 | 189,875 | 7,595 | about 18,988 | about 18,988 | 19,000 | about 250 % | not run |  |" in text
    )
    assert "holds on 1 of 3 sets of more than two classes (mnist)." in text
    assert "On letters it was not run." in text


def test_the_claim_of_two_classes_has_one_reading(records):
    binary = {k: c for k, c in records.cells.items() if records.sets[c.set].classes == 2}
    sets = {name: about for name, about in records.sets.items() if about.classes == 2}
    assert "of each machine.**" not in section(page(replace(records, sets=sets, cells=binary)), CLAIM)


OTHERS = "What one could train instead, at the same costs"


def test_what_one_could_train_instead_gets_as_much(records):
    def even(cell: Cell) -> float:
        return 0.5 + 0.003 * (cell.method == "mlp" and cell.set == "magic" and cell.size == 93)

    cells = {
        k: replace(c, multiply_adds=c.multiply_adds // 2) if c.method == "mlp" and c.status == "done" else c
        for k, c in with_accuracy(records, even).cells.items()
    }
    text = section(page(replace(records, cells=cells)), OTHERS)
    (by_operations, by_bytes) = (part for part in text.split("**At equal ")[1:])
    # the network of 93 units costs what 47 vectors do
    magic = "| magic | 1 % | 50.00 ± 0.00 (517) |"
    assert magic in by_operations
    assert "| **50.30 ± 0.00** (511) |" in by_operations
    assert "is more than 0.2 points ahead in 0, behind in 1." in by_operations
    assert "behind in 0." in by_bytes
    assert "**50.30" not in by_bytes
    assert "gradient boosting |" in by_operations
    assert "gradient boosting, by bytes |" in by_bytes


def test_what_was_not_run_is_said(records):
    gone = ("letters", "auto"), ("letters", "mlp"), ("20news", "cvm")
    cells = {k: c for k, c in records.cells.items() if k[:2] not in gone}
    text = page(replace(records, cells=cells))
    assert "| letters | 1 % | not run |" in section(text, OTHERS)
    assert "| 20news | 77.60 | not run |  |" in section(text, CLAIM)
    assert re.search(r"^\| svmpress \| not run \| not run \| not run \| not run \| not run \|$", text, re.MULTILINE)
    assert "| multilayer perceptron | not run |  |" in text
    assert "letters: all" in section(text, "Cells that were not run")


def test_the_page_of_the_project_misses_methods_without_any_record(records):
    cells = {k: c for k, c in records.cells.items() if c.method != "nystroem"}
    some = replace(records, cells=cells)
    assert METHODS["nystroem"].label not in section(page(some), "Cells without a model")
    assert f"| {METHODS['nystroem'].label} | 0, 1, 2 | pageblocks: all;" in page(some, docs=True)
    assert "Cells that were not run" not in page(some)


def test_losses_are_said_plainly(records):
    def flat(cell: Cell) -> float:
        ahead = cell.method == "k-means" and cell.set == "magic" and cell.size == 47
        return 0.5 + (0.0031 if ahead else 0.0)

    text = section(page(with_accuracy(records, flat)), "Where svmpress loses")
    assert "1 of " in text
    assert f"| magic | 47 (1 %) | {METHODS['k-means'].label} | 50.31 ± 0.00 | 50.00 ± 0.00 | 0.31 |" in text
    nothing = section(page(with_accuracy(records, lambda c: 0.5)), "Where svmpress loses")
    assert "No other method is ahead anywhere" in nothing


def test_a_cheaper_peer_is_a_loss(records):
    cheap = {
        k: replace(c, multiply_adds=7, accuracy=0.87) if c.method == "nystroem" and c.status == "done" else c
        for k, c in records.cells.items()
    }
    line = least(replace(records, cells=cheap), "multiply-adds for an accuracy")
    assert f"| 7 (47) | {METHODS['nystroem'].label} | **loses** |" in line
    same = {k: replace(c, multiply_adds=7, accuracy=0.87) if c.status == "done" else c for k, c in cheap.items()}
    line = least(replace(records, cells=same), "multiply-adds for an accuracy")
    assert re.search(r"^\| magic \| 7 \| 7 \(47\) \| 7 \(47\) \| .* \| equal \|$", line)


def least(records: Records, what: str) -> str:
    """Return the row of magic in the table of least costs."""
    table = section(page(records), "Where svmpress loses").split(f"**In {what}")[1].split("**In ")[0]
    (line,) = re.findall(r"^\| magic .*$", table, re.MULTILINE)
    return line


def test_a_file_larger_than_the_full_one_is_a_loss(records):
    assert "a file has nowhere more than with the full SVM" in page(records).replace("\n", " ")
    heavy = {
        k: replace(c, file_bytes=2**30 + c.size, accuracy=0.87) if (c.set, c.method) == ("magic", "auto") else c
        for k, c in records.cells.items()
    }
    text = page(replace(records, cells=heavy)).replace("\n", " ")
    assert "a file has more than with the full SVM on magic (1,048,576 KiB, the full SVM 363)." in text
    assert "| 1,048,576 (47) |" in (line := least(replace(records, cells=heavy), "bytes"))
    assert line.endswith("| **loses** |")


def test_the_recipe_section_goes_when_it_does_not_fail(records):
    assert "label" in section(page(records), "Where the paper's recipe fails, and why")
    fine = with_accuracy(records, lambda c: records.sets[c.set].accuracy)
    assert "recipe fails" not in page(fine)


WHY = "Where the paper's recipe fails, and why"


def test_where_only_many_classes_fail_the_pairs_are_the_first_reason(records):
    def of_pairs(cell: Cell) -> float:
        about = records.sets[cell.set]
        return about.accuracy - (0.3 if about.classes > 2 and cell.method in ("cvm", "lars-svm") else 0.0)

    text = section(page(with_accuracy(records, of_pairs)), WHY)
    assert "CVM loses 30.0 points on average on sets of more than two classes (letters, 20news, mnist, ohsumed)" in text
    assert "and nothing on sets of two (pageblocks, magic)" in text
    assert "On two classes it is close." in text
    assert "explain most of this" not in text
    first, then, last = (text.index(s) for s in ("each pair of classes alone", "regresses labels", "are shrunken"))
    assert first < then < last
    assert "| letters | 26 | 325 | 760 | 2.3 |" in text
    assert "| mnist | 10 | 45 | 1,338 | 29.7 |" in text


def test_where_two_classes_fail_more_the_labels_are_the_first_reason(records):
    def of_two(cell: Cell) -> float:
        about = records.sets[cell.set]
        return about.accuracy - (0.3 if about.classes == 2 else 0.1) * (cell.method in ("cvm", "lars-svm"))

    text = section(page(with_accuracy(records, of_two)), WHY)
    assert "Two properties of the recipe explain most of this" in text
    assert text.index("regresses labels") < text.index("each pair of classes alone")
    binary = {k: c for k, c in records.cells.items() if records.sets[c.set].classes == 2}
    sets = {name: about for name, about in records.sets.items() if about.classes == 2}
    alone = section(page(with_accuracy(replace(records, sets=sets, cells=binary), of_two)), WHY)
    assert "each pair" not in alone


def test_revisions_are_named(records):
    assert "revision" not in section(page(records), "What was run")
    cells = {k: replace(c, code="abc1234" if c.set == "magic" else None) for k, c in records.cells.items()}
    unknown = sum(c.set != "magic" for c in records.done())
    text = section(page(replace(records, cells=cells)), "What was run")
    assert f"svmpress 0.1.0 (revision abc1234; of {unknown:,} models it is not known), Python" in text
    cells = {k: replace(c, code=f"abc{c.seed}") for k, c in records.cells.items()}
    assert "(revisions abc0, abc1, abc2)," in section(page(replace(records, cells=cells)), "What was run")


def test_times_of_different_machines_are_not_compared(records):
    small = replace(records.runs[0], cores=2, jobs=1, predictor="compiled C")
    (ours, theirs) = ([c for c in records.cells.values() if (c.method == "auto") == here] for here in (True, False))
    ours = [replace(cell, device="cuda") for cell in ours]
    mixed = Records.of([*records.runs, *records.sets.values(), *theirs, small, *ours])
    text = page(mixed)
    about = section(text, "What was run")
    assert "times of cells from different machines are not comparable, and" in about
    assert f"| 2 | 1 | 1 | cuda | compiled C | {len(ours)} |" in about
    assert "| 16 | 16 | 1 | cpu | NumPy |" in about
    assert "on 16, 2 cores" not in about
    assert "compressed on cuda" in about
    losses = section(text, "Where svmpress loses")
    assert "0 of 0 models of other methods" in losses
    assert "mnist, ohsumed, points of svmpress were timed on another machine" in losses.replace("\n", " ")
    assert re.search(r"^\| svmpress \| .* \| [\d.,]+\* \| [\d.,]+\* \|$", text, re.MULTILINE)
    assert "not comparable" not in page(records)


def test_cells_that_were_not_run_are_listed(records):
    def kept(c: Cell) -> bool:
        if c.set == "mnist":
            return c.method in ("random", "k-means") and c.seed == 0
        return c.set != "magic" or c.seed == 0 or c.method != "auto" or c.size == 47

    some = replace(records, cells={k: c for k, c in records.cells.items() if kept(c)})
    absent = not_run(some)
    assert ("mnist", "full", 0, 13375) in absent
    assert ("mnist", "cvm", 0, 134) in absent
    assert ("mnist", "cvm", 1, 134) not in absent  # another seed gives no other model
    assert ("magic", "auto", 1, 47) not in absent
    assert {*absent} == {*records.cells} - {*some.cells}
    text = page(some)
    listed = section(text, "Cells that were not run")
    assert "| svmpress | 1, 2 | magic: 93, 233, 465, 930 |" in listed
    assert "| k-means + refit; random + refit | 1, 2 | mnist: all |" in listed
    assert f"not run {len(absent)}." in section(text, "What was run")
    between = replace(next(iter(records.cells.values())), set="magic", method="cvm", seed=0, size=60, status="done")
    more = page(replace(some, cells={**some.cells, between.key: between})).replace("\n", " ")
    lacking = len(not_run(replace(some, cells={**some.cells, between.key: between}))) - len(absent)
    assert lacking > 0
    said = (
        f"not run {len(absent)} at the shares of the tables (1 %, 2 %, 5 %, 10 %, 20 %) and {lacking} at sizes between"
    )
    assert said in more
    assert "| mnist |  | not tried |" in section(text, "Where svmpress loses")
    assert not_run(records) == not_run(Records()) == not_run_table(records) == []
    odd = replace(records.cells["letters", "cvm", 0, 76], size=90)
    absent = not_run(replace(records, cells={**records.cells, odd.key: odd}))
    assert ("letters", "auto", 0, 90) in absent
    assert not any(method.startswith("dlib") for _, method, _, _ in absent)  # not applicable at any size


def test_cells_without_a_model_are_listed(records):
    lines = "\n".join(gaps_table(records))
    assert "not within 60 s" in lines
    assert "mnist (2,675)" in lines
    assert "dlib reduces binary models only" in lines
    assert "not finished" in page(records)
    assert gaps_table(Records()) == []


def test_a_quick_run_says_so(records):
    assert "quick run" not in unwrapped(page(records))
    quick = replace(records, runs=(replace(records.runs[0], rows=1000, limit=60.0),))
    assert "at most 1,000 training rows" in unwrapped(page(quick))
    assert "given 60 seconds" in unwrapped(page(quick))
    assert "both can do better" not in unwrapped(page(quick))
    less = replace(quick, runs=(replace(quick.runs[0], quick=True),))
    assert "was given 5e+10 operations" in unwrapped(page(less))


def test_dmoz_is_explained_and_links_lead_to_figures(records):
    text = page(records, figures="pictures")
    assert "DMOZ" in text
    names = {"figure2", *(k.name for k in figures.KINDS)}
    for suffix in ("png", "pdf"):
        found = set(re.findall(rf"\((pictures/[^)]*\.{suffix})\)", text))
        assert found == {f"pictures/{name}.{suffix}" for name in names}
    assert "![" not in page(records, figures=None)
    assert "](method.md)" not in text
    assert "](method.md)" in page(records, docs=True)


def test_publish(records, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "KINDS", figures.KINDS[:1])
    monkeypatch.setattr("svmpress.plots.FRAMES", (0, 5))
    monkeypatch.setattr("svmpress.plots.ITERATIONS", (0, 5))
    seen = []
    done = publish(records, tmp_path / "study.md", progress=lambda *a: seen.append(a))
    assert sorted(p.name for p in done.pictures) == [
        "figure2.gif", "figure2.pdf", "figure2.png", "figure2.svg", "figure3.pdf", "figure3.png", "figure3.svg",
    ]  # fmt: skip
    assert all(p.stat().st_size > 0 for p in done.pictures)
    assert seen[-1] == ("figures", 2, 2)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    without = publish(records, tmp_path / "other" / ".." / "page.md")
    assert without.pictures == ()
    assert "svmpress[plots]" in without.note
    with pytest.raises(InputError, match="nothing to report"):
        publish(Records(), tmp_path / "study.md")


# ---------------------------------------------------------------------------------------------------------
# Command
# ---------------------------------------------------------------------------------------------------------


def test_a_study_on_the_command_line(tmp_path, capsys):
    two_moons(tmp_path, "magic")
    argv = ["study", "--data", str(tmp_path), "--out", str(tmp_path / "out"), "--no-figures", "--seeds", "0"]
    argv += ["--methods", "full,random,lars-svm", "--sizes", "4,8", "--jobs", "1", "--json"]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    facts = json.loads(out)
    assert facts["cells"] == {"done": 5, "skipped": 0, "unfinished": 0, "failed": 0}
    assert "left out, because they are not in" in err
    assert "magic random seed 0" in err
    assert facts["figures"] == []
    assert main([*argv[:-1], "--report"]) == 0
    out = capsys.readouterr().out
    assert "test accuracy at 10 % of the vectors" in out
    text = (tmp_path / "out" / "study.md").read_text()
    assert "![" not in text
    assert METHODS["random"].label in text


def test_a_quick_study_is_small_and_says_what_it_keeps(tmp_path, capsys):
    two_moons(tmp_path, "magic", n=500)
    argv = ["study", "--data", str(tmp_path), "--out", str(tmp_path / "out"), "--no-figures", "--json", "--jobs", "1"]
    assert main([*argv, "--quick", "--methods", "auto,cvm,random"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["cells"] == {"done": 6, "skipped": 0, "unfinished": 0, "failed": 0}
    assert (facts["sets"]["magic"]["train"], facts["sets"]["magic"]["test"]) == (400, 200)
    (run,) = Records.load(tmp_path / "out" / "study.jsonl").runs
    assert (run.quick, run.rows) == (True, 400)
    assert "both can do better" in unwrapped((tmp_path / "out" / "study.md").read_text())
    assert main([*argv, "--rows", "400", "--methods", "random"]) == 2
    assert "at most 400 rows and quick methods, not with at most 400 rows: choose" in capsys.readouterr().err


def test_quick_methods_are_the_same_with_less_work():
    assert list(QUICK_METHODS) == list(METHODS)
    changed = {name for name, method in QUICK_METHODS.items() if method != METHODS[name]}
    assert changed == {"auto", "auto-libsvm", "cvm", "cvm-per-machine"}
    for name in changed:
        ours, usual = QUICK_METHODS[name], METHODS[name]
        assert (ours.name, ours.label, ours.layout, ours.seeded) == (
            usual.name, usual.label, usual.layout, usual.seeded,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--methods", "magic-wand"], "unknown method 'magic-wand'; the study has full"),
        (["--report"], "there are no records in"),
        ([], "none of the paper's data sets"),
        (["--sizes", "1,x"], "not a list of whole numbers"),
        (["--sets", "magic", "--ratios", "2"], "between 0 and 1"),
        (["--sets", "magic"], "there is no data set magic"),
        (["--sets", "magic", "--limit", "0"], "more than 0, not 0"),
        (["--sets", "magic", "--limit", "nan"], "more than 0, not nan"),
        (["--sets", "magic", "--limit=-1", "--quick"], "more than 0, not -1"),
        (["--sets", "magic", "--seeds=-1"], "from 0 to 2**32 - 1, not -1"),
        (["--sets", "magic", "--quick", "--rows", "0"], "rows must be at least 2"),
    ],
)
def test_bad_arguments(tmp_path, capsys, argv, sentence):
    assert main(["study", "--data", str(tmp_path), "--out", str(tmp_path / "out"), *argv]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert out == ""
    assert "Traceback" not in err


def test_an_empty_report_is_an_error(tmp_path, capsys):
    with Journal(tmp_path / "study.jsonl") as journal:
        journal.append(Cell("magic", "dlib", 0, 10, "skipped"))
    assert main(["study", "--out", str(tmp_path), "--report"]) == 2
    assert "no finished model" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------------
# What is committed
# ---------------------------------------------------------------------------------------------------------


def test_the_committed_page_is_that_of_the_committed_records():
    """``python benchmarks/study_report.py`` brings it up to date."""
    path = ROOT / "benchmarks" / "results" / "study.jsonl"
    committed = Records.load(path)
    assert len(committed.done()) > 50
    text = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    folder = "../benchmarks/results/figures"
    script = runpy.run_path(str(ROOT / "benchmarks" / "study_report.py"))
    assert text == page(committed, figures=folder, docs=True, command=script["COMMAND"], remark=script["REMARK"])
    assert path.stat().st_size + sum(p.stat().st_size for p in (ROOT / "docs" / folder).iterdir()) < 5_000_000
