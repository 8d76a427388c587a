"""What a campaign remembers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verified_tir.fuzz.cases import Round
from verified_tir.fuzz.failure import Key
from verified_tir.fuzz.findings import Finding
from verified_tir.fuzz.reports import Counted
from verified_tir.fuzz.state import BadState, Run, State, StateInUse, Tally

COUNTED = Counted(Round("toy", 1, 0, 50), 10, 10, 2.0, {"programs": 9}, {("rule", "Swap"): 3})


def begun(folder: Path) -> State:
    """A state with a run in which ten cases were checked."""
    state = State(folder)
    state.begin(Run(5, {"seed": 5}), goes_on=False)
    add(state, 4.0)
    return state


def add(state: State, elapsed: float) -> None:
    assert state.last is not None
    state.last.place("toy").open[0] = 10
    state.tally("toy").add(COUNTED)
    tally = Tally()
    tally.add(COUNTED)
    state.counted("toy", tally, elapsed)


def test_everything_is_there_again(tmp_path: Path) -> None:
    state = begun(tmp_path)
    finding = Finding(Key("toy", "k", "w"), "m", "t", b"\0\xff", 5, 0, 3, "now", file="f.py", shrunk=True)
    state.found(finding)
    add(state, 6.0)
    state.end(7.0, ended=False)
    state.close()
    for _ in range(2):  # also after it was summed
        again = State(tmp_path)
        assert (again.runs, again.seconds) == (1, 7.0)
        assert again.tally("toy") == state.tally("toy") and again.tally("toy").cases == 20
        assert again.findings == {finding.key: finding}
        assert again.last is not None and not again.last.ended and again.last.seed == 5 and again.last.elapsed == 7.0
        assert again.last.place("toy").open == {0: 10}
        again.close()


def test_a_line_that_was_cut_short_is_ignored(tmp_path: Path) -> None:
    state = begun(tmp_path)
    state.close()
    whole = state.path.read_text()
    state.path.write_text(whole + '{"record": "counted", "target": "toy", "ca')
    again = State(tmp_path)
    assert again.tally("toy").cases == 10
    again.close()


def test_what_is_no_state_is_refused(tmp_path: Path) -> None:
    state = begun(tmp_path)
    state.close()
    lines = state.path.read_text().splitlines()
    for bad in ("nonsense\n", json.dumps({"schema": 99}) + "\n", "\n".join([lines[0], "{", *lines[1:]])):
        state.path.write_text(bad)
        with pytest.raises(BadState, match="--fresh"):
            State(tmp_path)
        State(tmp_path, fresh=True).close()


def test_two_campaigns_do_not_share_a_state(tmp_path: Path) -> None:
    state = State(tmp_path)
    with pytest.raises(StateInUse, match="--state"):
        State(tmp_path)
    state.close()
    State(tmp_path).close()
