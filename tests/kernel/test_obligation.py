"""Discharging questions: every lemma that a proof may rest on is kept with it."""

from __future__ import annotations

from typing import Any

import pytest

from verified_tir import parse_func
from verified_tir.kernel.begin import begin
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Question, discharge
from verified_tir.logic import formula as f
from verified_tir.logic.verdict import Discharged, Obligation, Proved, Unknown

PROGRAM = '@T.prim_func\ndef p(A: T.Buffer((4,), "int32")):\n    A[0] = 0\n'


class Prover:
    """Finds out two things in the two attempts at the first question, and remembers them for the others."""

    hasty = False

    def __init__(self) -> None:
        self.lemmas: list[Discharged] = []

    def prove(
        self, context: object, given: tuple[f.Term, ...], goal: f.Term, *, small: object = (), quick: bool = False
    ) -> Any:
        if len(self.lemmas) < 2:
            name = "one" if quick else "two"
            self.lemmas.append(Discharged(Obligation(name, name, (), f.TRUE), Proved()))
            return Unknown("too hard"), given
        if goal is f.TRUE:
            self.lemmas.append(Discharged(Obligation("three", "three", (), f.TRUE), Proved()))
        return Proved(), given


class Asked(Prover):
    """Proves nothing, and keeps what was supposed at the entry each time that it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Entry] = []

    def prove(self, context: Any, given: tuple[f.Term, ...], *_: object, **__: object) -> Any:
        self.entries.append(context.entry)
        return Unknown("too hard"), given


def question(name: str, goal: f.Term, *otherwise: Question) -> Question:
    return Question(name, name, begin(parse_func(PROGRAM), Entry()), (), goal, otherwise=otherwise)


def test_lemmas_of_a_failed_attempt_go_with_what_is_proved_instead() -> None:
    asked = question("first", f.FALSE, question("second", f.FALSE), question("third", f.TRUE))
    proved, failed = discharge(Prover(), asked)  # type: ignore[arg-type]
    assert failed is None
    found = {d.obligation.name: [lemma.obligation.name for lemma in d.lemmas] for d in proved}
    assert found == {"second": ["one", "two"], "third": ["three"]}


def test_lemmas_of_an_earlier_question_do_not() -> None:
    prover = Prover()
    discharge(prover, question("first", f.FALSE))  # type: ignore[arg-type]
    proved, _ = discharge(prover, question("second", f.TRUE))  # type: ignore[arg-type]
    assert [lemma.obligation.name for lemma in proved[0].lemmas] == ["three"]


@pytest.mark.parametrize(
    ("entry", "again"),
    [
        (Entry(), Entry(thorough=True)),
        (Entry(inputs_defined=True), Entry(inputs_defined=True, thorough=True)),
        (Entry(definite=True), Entry(definite=True, inputs_defined=True, thorough=True)),
    ],
)
def test_the_second_attempt_supposes_no_less_and_nothing_new(entry: Entry, again: Entry) -> None:
    """Definite arguments are supposed where the theorem is about those; the question itself stays as it was."""
    prover, asked = Asked(), question("first", f.FALSE)
    asked.context.entry = entry
    assert discharge(prover, asked)[1] is not None  # type: ignore[arg-type]
    assert prover.entries == [entry, again]
    assert asked.context.entry == entry
