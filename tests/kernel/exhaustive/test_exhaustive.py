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

from tests.kernel.exhaustive.campaign import FAMILIES, Campaign, OtherKernel, as_record, explored, main, shares
from tests.kernel.exhaustive.family import Family, Report, explore
from tests.mutation.trusted import kernel_digest

PROGRAMS = int(os.environ.get("VTIR_EXHAUSTIVE", "1000"))
SHARES = shares(PROGRAMS)


@pytest.mark.sample(4)
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


@pytest.mark.nightly
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
    assert len((tmp_path / "log").read_text().splitlines()) == 4
    for campaign in (again, whole):
        campaign.keep()
    assert (tmp_path / "log").read_text() == (tmp_path / "other").read_text()
    assert len((tmp_path / "log").read_text().splitlines()) == 3
    kept = Campaign(wanted, tmp_path / "log")
    assert (kept.done, kept.counts, kept.rules) == (again.done, again.counts, again.rules)


def test_a_campaign_is_about_one_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    Campaign({"pair": 1}, log)
    assert Campaign({"pair": 1}, log).summary() == 0
    with pytest.raises(OtherKernel):
        Campaign({"pair": 1}, log, kernel="0123")
    log.write_text('{"kernel": "0123"}\n')
    monkeypatch.setattr("sys.argv", ["campaign", "--log", str(log)])
    assert main() == 2 and "is about another kernel" in capsys.readouterr().err


def test_the_digest_of_the_kernel_is_that_of_its_code(tmp_path: Path) -> None:
    file = tmp_path / "verified_tir" / "kernel" / "theorem.py"
    file.parent.mkdir(parents=True)
    digests = []
    for text in ("x = 1", '"""What it is."""\n\nx = 1  # why', "x = 2"):
        file.write_text(text)
        digests.append(kernel_digest(tmp_path))
    assert digests[0] == digests[1] != digests[2]


def test_what_a_campaign_finds_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Campaign({"pair": 1}, tmp_path / "log")
    record = {"family": "pair", "from": 0, "to": 1, **as_record(Report("pair", 1, unsound=["#0 wrong"]))}
    with (tmp_path / "log").open("a") as log:
        log.write(json.dumps(record) + "\n")
    assert Campaign({"pair": 1}, tmp_path / "log").summary() == 1
    assert "pair #0 wrong" in capsys.readouterr().out
