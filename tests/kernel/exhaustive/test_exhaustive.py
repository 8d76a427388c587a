"""All programs of small grammars, all applications of the rules: accepted means the interpreter agrees.

Every family of programs is enumerated whole if it is small, and sampled evenly if not.  Here there are a thousand,
or as many as ``VTIR_EXHAUSTIVE`` says; ``campaign`` (``make exhaustive``) takes a million.  The counts are printed
(``pytest -s`` shows them).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.kernel.exhaustive.campaign import FAMILIES, Campaign, as_record, explored, shares
from tests.kernel.exhaustive.family import Family, Report, explore

PROGRAMS = int(os.environ.get("VTIR_EXHAUSTIVE", "1000"))
SHARES = shares(PROGRAMS)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_accepted_means_that_the_interpreter_agrees(family: Family) -> None:
    report = explore(family, SHARES[family.name])
    print("\n" + report.line(), dict(report.accepted_rules))
    assert not report.unsound, "\n\n".join(report.unsound)
    assert not report.crashes, "\n".join(report.crashes[:10])
    assert report.programs > 0 and report.accepted > 0, "a grammar that exercises nothing"
    assert report.meaningless <= report.programs // 3 + 1, "too many programs have no meaning on any input"


def test_every_family_has_its_name() -> None:
    assert len({f.name for f in FAMILIES}) == len(FAMILIES)
    assert sum(SHARES.values()) <= PROGRAMS


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_every_program_has_its_turn(family: Family) -> None:
    turns = range(family.size) if family.size < 10_000 else range(5_000)
    assert len({family.index(turn) for turn in turns}) == len(turns)


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    wanted = dict.fromkeys((f.name for f in FAMILIES), 0) | {"pair": 150, "narrow loops": 20}
    first = Campaign(wanted, tmp_path / "log")
    first.add(explored(*first.next_part("pair")))
    again = Campaign(wanted, tmp_path / "log")
    assert again.done == {"pair": 100} and again.counts == first.counts
    again.run(60, jobs=2)
    assert again.done == {"pair": 150, "narrow loops": 20}
    assert again.summary() == 0
    whole = Campaign(wanted, tmp_path / "other")
    whole.run(60)
    assert {c: n for c, n in whole.counts.items() if n} == {c: n for c, n in again.counts.items() if n}
    assert len((tmp_path / "log").read_text().splitlines()) == 3


def test_what_a_campaign_finds_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = {"family": "pair", "from": 0, "to": 1, **as_record(Report("pair", 1, unsound=["#0 wrong"]))}
    (tmp_path / "log").write_text(json.dumps(record) + "\n")
    assert Campaign({"pair": 1}, tmp_path / "log").summary() == 1
    assert "pair #0 wrong" in capsys.readouterr().out
