"""What ids of mutants mean, and how the page shows what became of it.  No mutant's text or number is fixed here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.mutation.equivalent import EQUIVALENT
from tests.mutation.listing import NoSuchMutant, select
from tests.mutation.mutant import Mutant
from tests.mutation.page import BEGIN, END, PAGE, write
from tests.mutation.results import Result, Results, change_of
from tests.mutation.sources import Source, checkout, mutated_files
from tests.nightly import sample

ROOT = checkout()


def test_every_trusted_file_is_mutated() -> None:
    files = mutated_files(ROOT)
    assert files[0].startswith("verified_tir/kernel/rules/")
    assert {"verified_tir/logic/solver.py", "verified_tir/ir/expr.py", "verified_tir/semantics/encode.py"} < {*files}
    assert not [f for f in files if f.startswith(("verified_tir/schedule/", "verified_tir/report/"))]


@pytest.mark.nightly
def test_mutants_are_told_apart_by_their_ids() -> None:
    files = sample(mutated_files(ROOT), 20, 1)
    assert [name for name, n in Counter(m.id for m in select(ROOT, files, stricter=True)).items() if n > 1] == []


@pytest.mark.nightly
def test_equivalent_mutants_exist_and_are_few() -> None:
    ids = {m.id for m in select(ROOT, stricter=True)}
    assert sorted(EQUIVALENT.keys() - ids) == []
    assert len(EQUIVALENT) < 0.02 * len(ids)


def test_names_that_mean_nothing_are_refused() -> None:
    with pytest.raises(NoSuchMutant, match="no rule or mutated file is called ordre; there are: rules"):
        select(ROOT, ["ordre"])
    with pytest.raises(NoSuchMutant, match="no operator is called obligation; there are: obligations"):
        select(ROOT, ["rules"], ["obligation"])
    with pytest.raises(NoSuchMutant, match="--list shows all"):
        select(ROOT, ["theorem"], only="rules.bind")


@pytest.mark.nightly
def test_files_rules_and_folders_are_meant_by_name() -> None:
    file = next(f for f in mutated_files(ROOT) if select(ROOT, [f]))
    name = Path(file).stem
    ids = [m.id for m in select(ROOT, [file])]
    assert ids and ids == [m.id for m in select(ROOT, [f"rules.{name}"])]
    assert set(ids) <= {m.id for m in select(ROOT, [name])}
    assert set(ids) < {m.id for m in select(ROOT, ["verified_tir/kernel/rules"])}
    assert [m.id for m in select(ROOT, [file], only=ids[0])] == [ids[0]]


def test_the_page(tmp_path: Path) -> None:
    """A row of each kind, whole."""
    (tmp_path / "docs").mkdir()
    (tmp_path / PAGE).write_text(f"head\n{BEGIN}old{END}\ntail\n")
    a, b, c, d = (
        Mutant(f"rules.toy:f:drop-goal:{k}", "verified_tir/kernel/rules/toy.py", "f", "drop-goal", "weaker",
               f"`x | {k}` is taken for true", 1, 0, 1, "")
        for k in (1, 2, 3, 4)
    )  # fmt: skip
    results = {
        a.id: Result(a.id, "k-1", "killed", "tests/kernel/test_toy.py::test_f[x|y]", "", 0.25),
        b.id: Result(b.id, "k-2", "survived", "", "", 3.0, 4, 4),
        c.id: Result(c.id, "k-3", "unreached"),
    }
    assert write(tmp_path, [a, b, c, d], results)
    assert (tmp_path / PAGE).read_text().splitlines() == [
        "head",
        BEGIN,
        "| file | mutants | killed | survived | unreached | not run |",
        "|---|---|---|---|---|---|",
        "| `rules.toy` | 4 | 1 | 1 | 1 | 1 |",
        "| **all** | 4 | 1 | 1 | 1 | 1 |",
        "",
        "| survivor | effect | what is changed | tests | why it changes nothing |",
        "|---|---|---|---|---|",
        r"| `rules.toy:f:drop-goal:2` | weaker | `x \| 2` is taken for true | 4 of 4 |  |",
        r"| `rules.toy:f:drop-goal:3` | weaker | `x \| 3` is taken for true | none |  |",
        END,
        "tail",
    ]
    assert not write(tmp_path, [a, b, c, d], results)


SOURCE = """
def fits(low, high):
    if low > high:
        return NoMatch()
    return f.le(low, high)


def other(x):
    return f.le(x, x)
"""


def test_a_result_is_of_one_change_of_one_text(tmp_path: Path) -> None:
    """Another function may change; when the mutant's own does, or another mutant gets its number, it counts no more."""
    from tests.mutation.operators import mutants

    def of(text: str) -> dict[str, str]:
        source = Source("verified_tir/kernel/rules/toy.py", text.encode())
        return {m.id: change_of(m, source) for m in mutants(source)}

    before, elsewhere = of(SOURCE), of(SOURCE.replace("f.le(x, x)", "f.lt(x, f.one)"))
    own, same = of(SOURCE.replace("low > high", "low >= high")), "rules.toy:fits:drop-goal:1"
    assert before[same] == elsewhere[same] != own[same]
    assert len(set(before.values())) == len(before)
    results = Results(tmp_path / "results.jsonl")
    results.add(Result(same, before[same], "survived", ran=1, of=1))
    results.add(Result(same, before[same], "killed", "tests/test_toy.py::test_f", "", 0.5))
    assert [r.status for r in Results(results.path).by_id.values()] == ["killed"]
