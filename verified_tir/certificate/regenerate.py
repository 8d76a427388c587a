"""The calls that a certificate notes, made again.

A check derives the theorem again from the rules of the kernel; that is the proof.  Here the schedule is followed, too:
the text of the program before is parsed, every recorded call is made again, the kernel proves every obligation again,
and a certificate is written of that.  Whatever differs is reported: calls, rules, obligations by their hashes,
programs, the relation, the mode of floats, the axioms.

The schedule's Python file takes no part, nor does any of its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from verified_tir.certificate.differences import differences
from verified_tir.certificate.integrity import REPLAYED_OTHERWISE, Finding, MadeAgain, load, not_made
from verified_tir.certificate.questions import Progress
from verified_tir.certificate.replay import ReplayFailed, made_again, noted_calls
from verified_tir.certificate.store import read_manifest
from verified_tir.certificate.write import Origin, content_of
from verified_tir.child.executors import each
from verified_tir.logic.solver import Solver


def regenerate(
    directory: Path | str, executor: Executor | None = None, *, only: str = "", progress: Progress | None = None
) -> list[MadeAgain]:
    """Replay the certificates of a folder; those that cannot be read are left to ``check``.

    :raises BadStore: if the folder holds no manifest.
    """
    folder = Path(directory)
    work: list[tuple[str, dict[str, Any]]] = []
    for name, root in read_manifest(folder)["certificates"].items():
        content, _ = load(folder, name, root)
        if content is not None and only.lower() in name.lower():
            work.append((name, content))
    found: list[MadeAgain] = []
    for one in each(executor, replayed, work, not_made):
        found.append(one)
        if progress is not None:
            progress(len(found), len(work))
    return found


def replayed(name: str, certificate: Mapping[str, Any]) -> MadeAgain:
    """Replay one certificate and compare."""
    if not certificate["regenerable"]["yes"]:
        return MadeAgain(name, impossible="; ".join(certificate["regenerable"]["why not"]))
    trace = certificate["trace"]
    text = "\n".join(certificate["before"]["text"])
    calls = noted_calls(trace)
    budget = certificate["schedule"]["budget"]
    if budget < 1:
        return MadeAgain(
            name, (Finding(name, "schedule.budget", f"a budget is at least 1, not {budget}", REPLAYED_OTHERWISE),)
        )
    try:
        again = made_again(text, calls, Solver(budget))
    except ReplayFailed as failed:
        place = f"trace[{failed.step}] {trace[failed.step]['primitive']}"
        return MadeAgain(name, (Finding(name, place, f"the step cannot be taken again: {failed}", REPLAYED_OTHERWISE),))
    origin = Origin(**{key: certificate["schedule"][key] for key in ("function", "file", "line")})
    try:
        now, _ = content_of(again, origin, [step["line"] for step in trace])
    except ValueError as problem:
        return MadeAgain(name, (Finding(name, "trace", str(problem), REPLAYED_OTHERWISE),))
    return MadeAgain(
        name,
        tuple(Finding(name, place, problem, REPLAYED_OTHERWISE) for place, problem in differences(certificate, now)),
    )
