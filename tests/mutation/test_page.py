"""The table of mutants in the documentation has a row for each mutant that there is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from verified_tir.mutation import equivalent
from verified_tir.mutation.listing import NoSuchMutant, catalogue, select
from verified_tir.mutation.mutant import Mutant, short_name
from verified_tir.mutation.page import FOLDER, KNOWN, PAGE, counts_on, ids_on, summary, write
from verified_tir.mutation.results import Result, Results
from verified_tir.mutation.sources import checkout, mutated_files

ROOT = checkout()
AGAIN = "run `vtir mutate {0} && vtir mutate {0} --write-docs`"


def automatic(file: str) -> list[Mutant]:
    return select(ROOT, [file])


@pytest.mark.parametrize("file", mutated_files(ROOT))
def test_every_mutant_has_a_row(file: str) -> None:
    page = ROOT / FOLDER / f"{short_name(file)}.md"
    mutants = [m.id for m in automatic(file)]
    assert page.exists() == bool(mutants), AGAIN.format(file)
    if mutants:
        assert ids_on(page) == mutants, AGAIN.format(file)


def test_every_fault_of_the_catalogue_has_a_row() -> None:
    assert ids_on(ROOT / FOLDER / "catalogue.md") == [m.id for m in catalogue(ROOT)], AGAIN.format("catalogue")


def test_the_totals_are_those_of_the_pages() -> None:
    assert summary(ROOT) in (ROOT / PAGE).read_text(encoding="utf-8"), "run `vtir mutate unit --write-docs`"


def test_tests_that_kill_exist() -> None:
    """Each named test is (a case of) a function in a file that is there."""
    named = {m for p in (ROOT / FOLDER).glob("*.md") for m in re.findall(r"\| `([\w/]+\.py)` `(\w+)", p.read_text())}
    assert named
    texts = {file: (ROOT / "tests" / file).read_text() for file, _ in named}
    assert [(file, name) for file, name in sorted(named) if f"def {name}" not in texts[file]] == []


def test_reasons_are_of_mutants_that_there_are() -> None:
    equivalent.check({m.id: m.words for m in select(ROOT)}, equivalent.arguments(ROOT))


def test_a_stale_reason_is_refused() -> None:
    name = "rules.bind:Bind.rewrite:drop-condition:1"
    reason = equivalent.Reason("`a` does not refuse", "It may not.")
    equivalent.check({name: reason.change}, {name: reason})
    with pytest.raises(equivalent.StaleReason, match="is no mutant"):
        equivalent.check({name: reason.change}, {"rules.bind:Gone:drop-condition:1": reason})
    with pytest.raises(equivalent.StaleReason, match="is another mutant now"):
        equivalent.check({name: "`b` does not refuse"}, {name: reason})


def test_a_reason_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "verified_tir" / "mutation").mkdir(parents=True)
    text = '[ids]\n"rules.bind:Bind.rewrite:drop-condition:1" = { change = "`a` does not refuse" }\n'
    (tmp_path / equivalent.FILE).write_text(text)
    with pytest.raises(equivalent.StaleReason, match="has no reason"):
        equivalent.reasons(tmp_path)


def test_names_that_mean_nothing_are_refused() -> None:
    with pytest.raises(NoSuchMutant, match="no rule or mutated file is called ordre; there are: arguments"):
        select(ROOT, ["ordre"])
    with pytest.raises(NoSuchMutant, match="no operator is called obligation; there are: obligations"):
        select(ROOT, ["reorder"], ["obligation"])
    with pytest.raises(NoSuchMutant, match="--list shows all"):
        select(ROOT, ["reorder"], only="rules.bind")
    some = select(ROOT, ["bind"], only="rewrite:drop-condition:1")
    assert [m.id for m in some] == [f"rules.bind:{name}.rewrite:drop-condition:1" for name in ("Bind", "Inline")]


def test_files_rules_and_folders_are_meant_by_name() -> None:
    ids = [m.id for m in select(ROOT, ["bind"])]
    assert ids and ids == [m.id for m in select(ROOT, ["verified_tir/kernel/rules/bind.py"])]
    assert ids == [m.id for m in select(ROOT, ["rules.bind"])]
    assert set(ids) < {m.id for m in select(ROOT, ["verified_tir/kernel/rules"])}


def test_rows(tmp_path: Path) -> None:
    """A row of each kind, whole."""
    (tmp_path / "docs").mkdir()
    (tmp_path / PAGE).write_text("head\n<!-- mutants -->old<!-- end of the mutants -->\ntail\n")
    a, b, c, d = (
        Mutant(f"rules.toy:f:drop-goal:{k}", "verified_tir/kernel/rules/toy.py", "f", "drop-goal", "weaker",
               f"`x | {k}` is taken for true", 1, 0, 1, "")
        for k in (1, 2, 3, 4)
    )  # fmt: skip
    results = {
        a.id: Result(a.id, "k-1", "killed", "tests/kernel/test_toy.py::test_f[x|y]", "", 0.25),
        b.id: Result(b.id, "k-2", "survived", "", "", 3.0, 4, 4),
    }
    assert write(tmp_path, [a, b, c, d], results, {c.id: "It is the same."}) == [
        "rules.toy.md", "results.jsonl", "mutation.md"
    ]  # fmt: skip
    rows = (tmp_path / FOLDER / "rules.toy.md").read_text().splitlines()[6:]
    assert rows == [
        r"| `f:drop-goal:1` | weaker | `x \| 1` is taken for true | `kernel/test_toy.py` `test_f[x\|y]` | 0.2 |",
        r"| `f:drop-goal:2` | weaker | `x \| 2` is taken for true | **survived** (4 of 4 tests) | 3.0 |",
        r"| `f:drop-goal:3` | weaker | `x \| 3` is taken for true | *equivalent*: It is the same. |  |",
        r"| `f:drop-goal:4` | weaker | `x \| 4` is taken for true | **not run** |  |",
    ]
    assert (tmp_path / KNOWN).read_text().splitlines() == [
        '{"id": "rules.toy:f:drop-goal:1", "key": "k-1", "status": "killed", '
        '"by": "tests/kernel/test_toy.py::test_f[x|y]", "seconds": 0.2}',
        '{"id": "rules.toy:f:drop-goal:2", "key": "k-2", "status": "survived", "seconds": 3.0, "ran": 4, "of": 4}',
    ]
    page = (tmp_path / PAGE).read_text()
    assert page.startswith("head\n<!-- mutants -->\n| file | mutants | killed | equivalent | survived | not run |\n")
    assert "| **all** | 4 | 1 | 1 | 1 | 1 |" in page
    assert page.endswith("<!-- end of the mutants -->\ntail\n")


def test_what_the_pages_were_made_of_is_where_a_new_checkout_goes_on(tmp_path: Path) -> None:
    """Results of its own count more; mutants that are gone go from the file when the pages are written again."""
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / PAGE).write_text("<!-- mutants --><!-- end of the mutants -->")
    a, b = (
        Mutant(f"rules.toy:f:drop-goal:{k}", "verified_tir/kernel/rules/toy.py", "f", "drop-goal", "weaker", "",
               1, 0, 1, "")
        for k in (1, 2)
    )  # fmt: skip
    first = {m.id: Result(m.id, "k", "survived", ran=1, of=1) for m in (a, b)}
    write(tmp_path, [a, b], first, {})
    assert Results(tmp_path / "own", tmp_path / KNOWN).by_id == first
    Results(tmp_path / "own").add(Result(a.id, "k", "killed", "tests/test_toy.py::test_f", "", 0.5))
    found = Results(tmp_path / "own", tmp_path / KNOWN).by_id
    assert {r.id: r.status for r in found.values()} == {a.id: "killed", b.id: "survived"}
    write(tmp_path, [a], found, {})
    assert list(Results(tmp_path / KNOWN).by_id) == [a.id]


def test_the_results_that_are_kept_are_those_on_the_pages() -> None:
    excused = equivalent.reasons(ROOT)
    kept = Results(ROOT / KNOWN).by_id
    counts = Counter(r.status for r in kept.values())
    pages = [counts_on(p) for p in (ROOT / FOLDER).glob("*.md")]
    assert not kept.keys() & excused.keys()
    assert counts == Counter({k: n for c in pages for k in c if (n := sum(p[k] for p in pages)) and k in counts})
    assert counts.total() == sum(n for c in pages for k, n in c.items() if k not in ("equivalent", "not run"))
