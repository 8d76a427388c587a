"""Discharging questions: every lemma that a proof may rest on is kept with it."""

from __future__ import annotations

from typing import Any

from verified_tir import parse_func
from verified_tir.kernel.begin import begin
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Question, discharge
from verified_tir.logic import formula as f
from verified_tir.logic.verdict import Discharged, Obligation, Proved, Unknown

PROGRAM = '@T.prim_func\ndef p(A: T.Buffer((4,), "int32")):\n    A[0] = 0\n'


class Prover:
    """Finds out something at the first question, and remembers it for the others."""

    def __init__(self) -> None:
        self.lemmas: list[Discharged] = []

    def prove(self, context: object, given: tuple[f.Term, ...], goal: f.Term) -> Any:
        if not self.lemmas:
            self.lemmas.append(Discharged(Obligation("one", "one", (), f.TRUE), Proved()))
            return Unknown("too hard"), given
        if goal is f.TRUE:
            self.lemmas.append(Discharged(Obligation("two", "two", (), f.TRUE), Proved()))
        return Proved(), given


def question(name: str, goal: f.Term, *otherwise: Question) -> Question:
    return Question(name, name, begin(parse_func(PROGRAM), Entry()), (), goal, otherwise=otherwise)


def test_lemmas_of_a_failed_attempt_go_with_what_is_proved_instead() -> None:
    asked = question("first", f.FALSE, question("second", f.FALSE), question("third", f.TRUE))
    proved, failed = discharge(Prover(), [asked])  # type: ignore[arg-type]
    assert failed is None
    found = {d.obligation.name: [lemma.obligation.name for lemma in d.lemmas] for d in proved}
    assert found == {"second": ["one"], "third": ["two"]}


def test_lemmas_of_an_earlier_question_do_not() -> None:
    prover = Prover()
    discharge(prover, [question("first", f.FALSE)])  # type: ignore[arg-type]
    proved, _ = discharge(prover, [question("second", f.TRUE)])  # type: ignore[arg-type]
    assert [lemma.obligation.name for lemma in proved[0].lemmas] == ["two"]
