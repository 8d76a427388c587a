"""A folder of certificates: integrity, and every question asked anew.

Neither the kernel nor the tactics take part here, and no verdict that was found earlier.  So this answers: do these
questions, which somebody says are enough, all have the answer that somebody says they have?  That they *are* enough for
the rules is what ``verified_tir.certificate.recompute`` finds out; ``check`` asks both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from verified_tir.certificate.discharge import Work, answers
from verified_tir.certificate.integrity import Claim, Finding, claims_of, load, of_the_folder, question
from verified_tir.certificate.plans import CheckedPlan, load_plan
from verified_tir.certificate.store import constants_of, read_manifest
from verified_tir.child.executors import each, failure
from verified_tir.logic.recheck import BUDGET, Answer, SolverName

CHUNK: Final = 6
"""Questions that travel together."""

Progress = Callable[[int, int], None]
"""Is told how many answers there are, and how many there will be."""


@final
@dataclass(frozen=True, slots=True)
class CheckedCertificate:
    """One certificate: its content (``None`` if it cannot be read), its obligations, what is wrong with it."""

    name: str
    content: dict[str, Any] | None
    claims: tuple[Claim, ...]
    findings: tuple[Finding, ...]


@final
@dataclass(slots=True)
class Checked:
    """What a check found.

    :ivar certificates: in the order of the manifest, as far as they were asked for.
    :ivar findings: of the folder as a whole: files that belong to nothing, a changed manifest.
    :ivar plans: how certificates make up the plans of models, in the order of the manifest.
    :ivar answers: for each question (its hash) what each solver said.
    :ivar recomputed: whether every program and question was computed again.
    :ivar not_recomputed: why the kernel did not get to the end of a certificate, by name.
    """

    certificates: tuple[CheckedCertificate, ...]
    findings: tuple[Finding, ...]
    solvers: tuple[SolverName, ...]
    answers: dict[str, dict[SolverName, Answer]] = field(default_factory=dict)
    seconds: float = 0.0
    plans: tuple[CheckedPlan, ...] = ()
    recomputed: bool = False
    not_recomputed: dict[str, str] = field(default_factory=dict)

    @property
    def all_findings(self) -> list[Finding]:
        of_parts = [*(c.findings for c in self.certificates), *(p.findings for p in self.plans)]
        return [*self.findings, *(f for findings in of_parts for f in findings)]

    @property
    def claims(self) -> Iterator[Claim]:
        return (claim for c in self.certificates for claim in c.claims)

    def verdict(self, query: str) -> str:
        """``proved`` if every solver says so, ``false`` if one says the opposite, else ``undecided``."""
        said = [a.verdict for a in self.answers.get(query, {}).values()]
        if "sat" in said:
            return "false"
        return "proved" if len(said) == len(self.solvers) and set(said) == {"unsat"} else "undecided"

    def not_proved(self, verdict: str) -> list[Claim]:
        """The claims that are ``false``, or ``undecided``."""
        return [c for c in self.claims if self.verdict(c.query) == verdict]

    @property
    def exit_code(self) -> int:
        """1: tampering, or a claim is false; 3: something was not decided; 0: all is well."""
        if self.all_findings or self.not_proved("false"):
            return 1
        return 3 if self.not_proved("undecided") or self.not_recomputed else 0


def check_questions(
    directory: Path | str,
    solvers: Sequence[SolverName] = ("z3",),
    executor: Executor | None = None,
    *,
    only: str = "",
    budget: int = BUDGET,
    progress: Progress | None = None,
) -> Checked:
    """Check the integrity of the certificates of a folder, and ask their questions.

    :param solvers: each has to agree with every certificate.
    :param executor: where the questions are asked; in this process if there is none.
    :param only: certificates whose names contain this text.
    :param budget: resource limit of one question, in units of Z3.
    :raises BadStore: if the folder holds no manifest.
    :raises ValueError: if no solver is given.
    """
    start = time.perf_counter()
    if not solvers:
        raise ValueError("a check needs at least one solver")
    folder = Path(directory)
    manifest = read_manifest(folder)
    loaded = {name: load(folder, name, root) for name, root in manifest["certificates"].items()}
    texts: dict[str, tuple[str, str]] = {}
    certificates: list[CheckedCertificate] = []
    for name, (content, problems) in loaded.items():
        claims = tuple(claims_of(name, content)) if content is not None else ()
        texts.update({c.query: question(folder, c.query) for c in claims if c.query not in texts})
        missing = [Finding(name, c.place, texts[c.query][1]) for c in claims if texts[c.query][1]]
        certificates.append(CheckedCertificate(name, content, claims, (*problems, *missing)))
    unread = any(content is None for content, _ in loaded.values())  # its questions may well be there
    roots = manifest["certificates"]
    plans = tuple(load_plan(folder, name, root, roots) for name, root in manifest.get("plans", {}).items())
    constants = None
    if all(p.content is not None for p in plans):
        constants = {digest for p in plans if p.content is not None for digest in constants_of(p.content)}
    found = of_the_folder(folder, manifest, None if unread else set(texts), constants)
    chosen = tuple(c for c in certificates if only.lower() in c.name.lower())
    asked = tuple(p for p in plans if only.lower() in p.name.lower())
    done = Checked(chosen, tuple(found), tuple(dict.fromkeys(solvers)), plans=asked)
    wanted = dict.fromkeys(c.query for c in done.claims)
    work = [(digest, texts[digest][0]) for digest in wanted if not texts[digest][1]]
    _ask(done, work, executor, budget, progress)
    done.seconds = time.perf_counter() - start
    return done


def _ask(
    done: Checked, work: list[tuple[str, str]], executor: Executor | None, budget: int, progress: Progress | None
) -> None:
    chunks = [tuple(work[k : k + CHUNK]) for k in range(0, len(work), CHUNK)]
    asked = [(solver, chunk, budget) for solver in done.solvers for chunk in chunks]
    finished = 0
    for (solver, *_), results in zip(asked, each(executor, answers, asked, _nothing), strict=True):
        for digest, answer in results:
            done.answers.setdefault(digest, {})[solver] = answer
        finished += len(results)
        if progress is not None:
            progress(finished, len(work) * len(done.solvers))


def _nothing(problem: Exception, _: SolverName, chunk: Work, __: int) -> list[tuple[str, Answer]]:
    """What is known of questions whose worker died."""
    return [(digest, Answer("unknown", 0.0, reason=failure(problem))) for digest, _ in chunk]
