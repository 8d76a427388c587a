"""A folder of certificates, checked: integrity, every program and question computed again, every question asked anew.

What found a proof takes no part: neither schedule nor tactics, nor any verdict that was found earlier.  The kernel
does: it computes what each rule leads to and what it owes (``verified_tir.certificate.recompute``).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

from verified_tir.certificate.integrity import Finding
from verified_tir.certificate.questions import Checked, CheckedCertificate, Progress, check_questions
from verified_tir.certificate.recompute import recompute
from verified_tir.logic.recheck import BUDGET, SolverName


def check(
    directory: Path | str,
    solvers: Sequence[SolverName] = ("z3",),
    executor: Executor | None = None,
    *,
    only: str = "",
    budget: int = BUDGET,
    progress: Progress | None = None,
) -> Checked:
    """Check the certificates of a folder.

    :param solvers: each has to agree with every certificate.
    :param executor: where the work is done; in this process if there is none.
    :param only: certificates whose names contain this text.
    :param budget: resource limit of one question, in units of Z3.
    :param progress: is told of questions, and of certificates after that.
    :raises BadStore: if the folder holds no manifest.
    :raises ValueError: if no solver is given.
    """
    start = time.perf_counter()
    done = check_questions(directory, solvers, executor, only=only, budget=budget, progress=progress)
    readable = [(c.name, c.content) for c in done.certificates if c.content is not None]
    found = recompute(readable, executor, progress=progress)
    done.certificates = tuple(_with(c, found[c.name].findings if c.name in found else ()) for c in done.certificates)
    done.not_recomputed = {name: one.impossible for name, one in found.items() if one.impossible}
    done.recomputed = True
    done.seconds = time.perf_counter() - start
    return done


def _with(c: CheckedCertificate, findings: Sequence[Finding]) -> CheckedCertificate:
    """A certificate with more findings; of a place where something is wrong already nothing more is said."""
    known = {f.place for f in c.findings}
    return replace(c, findings=(*c.findings, *(f for f in findings if f.place not in known)))
