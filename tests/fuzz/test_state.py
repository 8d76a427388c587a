"""What a campaign remembers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from verified_tir.fuzz.failure import Key
from verified_tir.fuzz.findings import Finding
from verified_tir.fuzz.reports import Tally
from verified_tir.fuzz.state import BadState, Run, State, StateInUse

COUNTED = Tally(10, 2.0, 1, Counter(programs=9), Counter({("rule", "Swap"): 3}))


def begun(folder: Path) -> State:
    """A state with a run in which ten cases were checked."""
    state = State(folder)
    state.begin(Run(5, {"seed": 5}), goes_on=False)
    add(state, 4.0)
    return state


def add(state: State, elapsed: float, *, ended: bool = False) -> None:
    assert state.last is not None
    state.last.place("toy").reached(0, 10)
    state.count("toy", COUNTED)
    state.keep(elapsed, ended=ended)


def test_everything_is_there_again(tmp_path: Path) -> None:
    state = begun(tmp_path)
    finding = Finding(Key("toy", "k", "w"), "m", "t", b"\0\xff", 5, 0, 3, "now", file="f.py", shrunk=True)
    state.found(finding)
    add(state, 7.0)
    state.close()
    for _ in range(2):
        again = State(tmp_path)
        assert (again.runs, again.seconds) == (1, 7.0)
        assert again.tally("toy") == state.tally("toy") and again.tally_now("toy") == Tally()
        assert again.tally("toy") == Tally(20, 4.0, 2, Counter(programs=18), Counter({("rule", "Swap"): 6}))
        assert again.findings == {finding.key: finding}
        assert again.last is not None and not again.last.ended and again.last.seed == 5 and again.last.elapsed == 7.0
        assert again.last.place("toy").open == {0: 10}
        again.close()


def test_a_run_that_goes_on_is_no_new_one(tmp_path: Path) -> None:
    begun(tmp_path).close()
    state = State(tmp_path)
    assert state.last is not None
    state.begin(state.last, goes_on=True)
    add(state, 10.0, ended=True)
    state.close()
    again = State(tmp_path)
    assert (again.runs, again.seconds, again.last and again.last.ended) == (1, 10.0, True)
    again.begin(Run(6, {}), goes_on=False)
    add(again, 3.0)
    assert (again.runs, again.seconds) == (2, 13.0)
    again.close()


def test_a_process_that_is_killed_while_it_writes_leaves_what_was_written_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = begun(tmp_path)

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        add(state, 9.0)
    monkeypatch.undo()
    state.close()
    again = State(tmp_path)
    assert again.seconds == 4.0 and again.tally("toy").cases == 10
    again.close()


def test_what_is_no_state_is_refused(tmp_path: Path) -> None:
    state = begun(tmp_path)
    state.close()
    record = json.loads(state.path.read_text())
    for bad in ("nonsense", "[]", "{}", *(json.dumps({**record, **wrong}) for wrong in ({"schema": 99}, {"last": 1}))):
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
