"""Which candidates of a strategy are tried: Optuna proposes, by what came of those before.

Trials are kept in Optuna's storage, an SQLite file if one is named, from which a search goes on.  Each has the
decisions of its candidate, and the reason where it was refused (such a trial is pruned).  Candidates are measured by a
function that may work in other processes; when a strategy asks for a decision that was not expected, it is taken here,
and the candidate is measured again.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import optuna
from optuna.trial import Trial, TrialState

from verified_tir.tune.bench import Result
from verified_tir.tune.space import Choice, Decision, factors, places

Decided = list[tuple[Choice, Decision]]
Measure = Callable[[Sequence[Decided]], Iterator[Result]]
"""What comes of some candidates, in their order."""

_PRUNED, _COMPLETE, _FAILED = TrialState.PRUNED, TrialState.COMPLETE, TrialState.FAIL


class NoTrials(ValueError):
    """A file that holds no trials."""


@final
@dataclass(slots=True)
class Counts:
    """What came of the trials, those of earlier runs included."""

    measured: int = 0
    repeated: int = 0
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    differs: list[str] = field(default_factory=list)
    queries: int = 0
    shared: int = 0

    @property
    def tried(self) -> int:
        return self.measured + self.repeated + self.refused.total() + len(self.differs)


@final
@dataclass(slots=True)
class Search:
    """A search among the candidates of a strategy.

    :param study: what is searched, as a name: a file of trials may hold several.
    :param default: what the strategy asks for and decides by itself.
    """

    study: str
    default: Sequence[Choice]
    seed: int
    store: Path | None = None
    counts: Counts = field(default_factory=Counts)
    _study: Any = None
    _asked: dict[str, Choice] = field(default_factory=dict)
    _values: dict[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        where = None if self.store is None else f"sqlite:///{self.store.absolute()}"
        try:
            storage = None if where is None else optuna.storages.RDBStorage(where)
            self._study = optuna.create_study(storage=storage, study_name=self.study, load_if_exists=True)
        except Exception as problem:  # of SQLAlchemy, of the file system
            said = str(problem).splitlines()[0]
            raise NoTrials(f"{self.store} holds no trials, and none can be kept there: {said}") from None
        earlier = self._study.trials
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._study.sampler = optuna.samplers.TPESampler(seed=self.seed + len(earlier), constant_liar=True)
        for trial in earlier:
            if trial.state == TrialState.RUNNING:  # that run was interrupted
                self._study.tell(trial.number, state=_FAILED)
            elif trial.state in (_COMPLETE, _PRUNED):
                self._count(trial.user_attrs["result"], trial.value)
        if not earlier:
            self._study.enqueue_trial(self._parameters([c.default for c in self.default]))

    @property
    def finished(self) -> int:
        """The trials that came to an end, in this run and before."""
        return self.counts.tried

    @property
    def value(self) -> float | None:
        """The smallest value, relative to the default's."""
        return min((v for v in self._values.values() if v is not None), default=None)

    def step(self, several: int, measure: Measure) -> list[Result]:
        """Try so many candidates at a time."""
        trials: list[Trial] = [self._study.ask() for _ in range(several)]
        open_: dict[int, Decided] = {k: self._decide(t, []) for k, t in enumerate(trials)}
        done: list[Result] = []
        while open_:
            for k, decided in list(open_.items()):
                if (known := self._known(decided)) is not None:
                    self._tell(trials[k], known, Result("measured"), self._values[_key(known)], repeated=True)
                    del open_[k]
            work, open_ = open_, {}
            for (k, decided), result in zip(work.items(), measure([*work.values()]), strict=True):
                if result.kind == "open":
                    before = decided[: result.number]
                    self._asked[_key(before)] = result.choices[0]
                    open_[k] = self._decide(trials[k], before)
                    continue
                self._tell(trials[k], decided[: len(result.choices)], result, result.value)
                done.append(result)
        return done

    def best(self, count: int) -> list[list[Decision]]:
        """The decisions of the candidates with the smallest values, the smallest first."""
        measured = [t for t in self._study.trials if t.state == _COMPLETE]
        found: dict[str, list[Decision]] = {}
        for trial in sorted(measured, key=lambda t: (t.value, t.number)):
            decisions = trial.user_attrs["result"]["decisions"]
            found.setdefault(json.dumps(decisions), [_decision(d) for d in decisions])
        return [*found.values()][:count]

    def abandon(self) -> None:
        """Note that what is being tried does not come to an end."""
        for trial in self._study.trials:
            if trial.state == TrialState.RUNNING:
                self._study.tell(trial.number, state=_FAILED)

    # -- decisions ----------------------------------------------------------------------------------------------------

    def _decide(self, trial: Trial, decided: Decided) -> Decided:
        """Decide all that is known to be asked."""
        while (choice := self._next(decided)) is not None:
            decided = [*decided, (choice, _suggested(trial, len(decided), choice))]
        return decided

    def _next(self, decided: Decided) -> Choice | None:
        """What is asked next: as it was after the same decisions, or else as in the default."""
        number = len(decided)
        return self._asked.get(_key(decided)) or (self.default[number] if number < len(self.default) else None)

    def _known(self, decided: Decided) -> Decided | None:
        """The decisions, as far as an earlier candidate asked for the same ones before it came to its end."""
        return next((decided[:n] for n in range(1, len(decided) + 1) if _key(decided[:n]) in self._values), None)

    def _parameters(self, decisions: Sequence[Decision]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for number, (choice, decision) in enumerate(zip(self.default, decisions, strict=True)):
            names = _names(number, choice)
            values: Sequence[Any] = places(choice, decision) if isinstance(decision, tuple) else [decision]
            found |= dict(zip(names, values, strict=True))
        return found

    # -- results ------------------------------------------------------------------------------------------------------

    def _tell(
        self, trial: Trial, decided: Decided, result: Result, value: float | None, *, repeated: bool = False
    ) -> None:
        attrs = {
            "decisions": [d for _, d in decided], "kind": result.kind, "reason": result.reason, "code": result.code,
            "queries": result.queries, "shared": result.shared, "repeated": repeated, "seconds": result.seconds,
        }  # fmt: skip
        trial.set_user_attr("result", attrs)
        measured = result.kind == "measured" and value is not None
        if measured:
            self._study.tell(trial, value)
        else:
            self._study.tell(trial, state=_PRUNED)
        self._count(attrs, value if measured else None)

    def _count(self, attrs: dict[str, Any], value: float | None) -> None:
        counts = self.counts
        self._values.setdefault(json.dumps(attrs.get("decisions", [])), value)
        counts.queries += attrs.get("queries", 0)
        counts.shared += attrs.get("shared", 0)
        if attrs.get("repeated"):
            counts.repeated += 1
        elif attrs.get("kind") == "refused":
            counts.refused[attrs["code"], attrs["reason"]] += 1
        elif attrs.get("kind") == "differs":
            counts.differs.append(attrs["reason"])
        else:
            counts.measured += 1


def _key(decided: Decided) -> str:
    return json.dumps([d for _, d in decided])


def _decision(value: Any) -> Decision:
    return tuple(value) if isinstance(value, (list, tuple)) else int(value)


def _names(number: int, choice: Choice) -> list[str]:
    """The parameters of Optuna that make up a decision.  One name always has the same distribution."""
    if choice.kind == "perfect_tile":
        return [f"{number} factor {k}" for k in range(choice.among[1] - 1, 0, -1)]
    return [f"{number} {choice.kind} of {list(choice.among)}"]


def _suggested(trial: Trial, number: int, choice: Choice) -> Decision:
    names = _names(number, choice)
    if choice.kind == "perfect_tile":
        return factors(choice, [trial.suggest_float(name, 0.0, 1.0) for name in names])
    if choice.kind == "compute_location":
        return int(trial.suggest_categorical(names[0], list(choice.among)))
    if list(choice.among) == sorted(choice.among):  # an order that the sampler can use
        return trial.suggest_int(names[0], 0, len(choice.among) - 1)
    return int(trial.suggest_categorical(names[0], list(range(len(choice.among)))))
