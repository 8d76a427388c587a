"""What ``vtir check`` says: lines for people, one document for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from verified_tir import __version__
from verified_tir.certificate.integrity import FALSE, NOT_REPEATED, UNDECIDED, Claim, Finding
from verified_tir.certificate.questions import Checked, CheckedCertificate
from verified_tir.durations import duration
from verified_tir.logic.recheck import version
from verified_tir.report.visible import visible

if TYPE_CHECKING:
    from verified_tir.certificate.integrity import MadeAgain
    from verified_tir.certificate.plan_believed import Believed

SCHEMA: Final = 1
_NOT_PROVED: Final = {"false": FALSE, "undecided": UNDECIDED}


def as_text(
    checked: Checked, others: Sequence[Finding], again: Sequence[MadeAgain] | None, *, quiet: bool = False,
    believed: Sequence[Believed] = (),
) -> Iterator[str]:  # fmt: skip
    """The report as lines; ``quiet`` leaves out certificates in which all is well.

    What somebody else wrote cannot pass for a line of the report: control characters are shown and not obeyed, and
    where a text has several lines all but the first are indented further.
    """
    for line in _lines(checked, others, again, believed, quiet=quiet):
        yield from (visible(part) if k == 0 else f"      {visible(part)}" for k, part in enumerate(line.split("\n")))


def _lines(
    checked: Checked, others: Sequence[Finding], again: Sequence[MadeAgain] | None, believed: Sequence[Believed], *,
    quiet: bool,
) -> Iterator[str]:  # fmt: skip
    width = max((len(c.name) for c in checked.certificates), default=0)
    replayed = {r.name: r for r in again or ()}
    for c in checked.certificates:
        lines = list(_wrong(checked, c, [f for f in others if f.certificate == c.name], replayed.get(c.name)))
        if lines or not quiet:
            steps = 0 if c.content is None else len(c.content["trace"]) - 1
            word = lines[0].partition(":")[0] if lines else "ok"
            told = f"{steps:>3} {'step ' if steps == 1 else 'steps'} {len(c.claims):>5} obligations"
            yield f"{c.name:<{width}}  {told}  {word}"
        yield from (f"  {line}" for line in lines)
    yield from _plan_lines(checked, others, width, quiet=quiet)
    yield from (f"found: {f}" for f in checked.findings)
    yield from map(str, believed)
    beside = f", but for {_count(len(believed), 'claim')} believed" if believed else ""
    yield _summary(checked, others, again, beside)


def _plan_lines(checked: Checked, others: Sequence[Finding], width: int, *, quiet: bool) -> Iterator[str]:
    for plan in checked.plans:
        findings = [*plan.findings, *(f for f in others if f.certificate == plan.name)]
        if findings or not quiet:
            steps = 0 if plan.content is None else len(plan.content["steps"])
            told = f"{steps:>3} {'step ' if steps == 1 else 'steps'} {len(plan.certificates):>5} certificates"
            yield f"{plan.name:<{width}}  {told}  {'found' if findings else 'ok'}"
        for f in findings:
            yield f"  {_found(f)}"


def _wrong(
    checked: Checked, c: CheckedCertificate, others: Sequence[Finding], replayed: MadeAgain | None
) -> Iterator[str]:
    for f in (*c.findings, *others, *(replayed.findings if replayed is not None else ())):
        yield _found(f)
    found = {f.place for f in c.findings}
    for claim in c.claims:
        verdict = checked.verdict(claim.query)
        if verdict == "false" or (verdict == "undecided" and claim.place not in found):
            yield f"{verdict}: {claim.place}: {claim.claim} ({_said(checked, claim)}) [{_NOT_PROVED[verdict]}]"
    if c.name in checked.not_recomputed:
        yield f"not computed again: {checked.not_recomputed[c.name]} [{NOT_REPEATED}]"
    if replayed is not None and replayed.impossible:
        yield f"not replayed: {replayed.impossible} [{NOT_REPEATED}]"


def _found(f: Finding) -> str:
    return f"found: {f.place}: {f.problem} [{f.code}]" if f.place else f"found: {f.problem} [{f.code}]"


def _said(checked: Checked, claim: Claim) -> str:
    """What each solver said."""
    said = []
    for solver, answer in sorted(checked.answers.get(claim.query, {}).items()):
        why = f", {answer.reason}" if answer.reason else ""
        said.append(f"{solver}: {answer.verdict}{why}")
    return "; ".join(said) or "it was not asked"


def _summary(checked: Checked, others: Sequence[Finding], again: Sequence[MadeAgain] | None, beside: str = "") -> str:
    claims = list(checked.claims)
    solvers = " and ".join(f"{s} {version(s)}" for s in checked.solvers)
    parts = [_count(len(checked.certificates), "certificate"), _count(len(claims), "obligation")]
    parts = [_count(len(checked.plans), "plan"), *parts] if checked.plans else parts
    head = f"{', '.join(parts)} ({_count(len({c.query for c in claims}), 'question')})"
    found = len(checked.all_findings) + len(others) + sum(len(r.findings) for r in again or ())
    wrong = [_count(found, "finding")] if found else []
    for verdict in ("false", "undecided"):
        n = len(checked.not_proved(verdict))
        wrong += [f"{n} {verdict}"] if n else []
    wrong += [f"{len(checked.not_recomputed)} not computed again"] if checked.not_recomputed else []
    impossible = sum(bool(r.impossible) for r in again or ())
    wrong += [f"{impossible} not replayed"] if impossible else []
    done = [", computed again"] if checked.recomputed else [" (not computed again: questions only)"]
    done += [] if again is None else [", replayed"]
    said = ", ".join(wrong) or f"proved by {solvers}{''.join(done)}"
    return f"{head}: {said}{beside} in {duration(checked.seconds)}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def as_json(
    checked: Checked, others: Sequence[Finding], again: Sequence[MadeAgain] | None, code: int,
    believed: Sequence[Believed] = (),
) -> str:  # fmt: skip
    """The report as a JSON document; times in seconds."""
    replayed = {r.name: r for r in again or ()}
    return json.dumps(
        {
            "schema": SCHEMA,
            "version": __version__,
            "solvers": {s: version(s) for s in checked.solvers},
            "certificates": [_certificate(checked, c, others, replayed.get(c.name)) for c in checked.certificates],
            "plans": [
                {
                    "name": p.name,
                    "root": (p.content or {}).get("root"),
                    "certificates": p.certificates,
                    "findings": [
                        {"place": f.place, "problem": f.problem, "code": f.code}
                        for f in (*p.findings, *(f for f in others if f.certificate == p.name))
                    ],
                }
                for p in checked.plans
            ],
            "findings": [str(f) for f in checked.findings],
            "believed": [{"plan": b.plan, "name": b.name, "what": b.what} for b in believed],
            "computed_again": checked.recomputed,
            "questions": {
                digest: {
                    s: {"verdict": a.verdict, "seconds": round(a.seconds, 6), "how": a.how, "reason": a.reason}
                    for s, a in sorted(said.items())
                }
                for digest, said in sorted(checked.answers.items())
            },
            "seconds": round(checked.seconds, 6),
            "exit_code": code,
        },
        indent=2,
        ensure_ascii=False,
    )


def _certificate(
    checked: Checked, c: CheckedCertificate, others: Sequence[Finding], replayed: MadeAgain | None
) -> dict[str, Any]:
    content = c.content or {}
    findings = [*c.findings, *(f for f in others if f.certificate == c.name)]
    found: dict[str, Any] = {
        "name": c.name,
        "root": content.get("root"),
        "before": content.get("before", {}).get("hash"),
        "after": content.get("after", {}).get("hash"),
        "steps": max(0, len(content.get("trace", ())) - 1),
        "obligations": len(c.claims),
        "findings": [{"place": f.place, "problem": f.problem, "code": f.code} for f in findings],
    }
    for verdict in ("false", "undecided"):
        found[verdict] = [
            {"place": x.place, "name": x.name, "claim": x.claim, "question": x.query}
            for x in c.claims
            if checked.verdict(x.query) == verdict
        ]
    if checked.recomputed:
        found["not_computed_again"] = checked.not_recomputed.get(c.name, "")
    if replayed is not None:
        found["replayed"] = {
            "differences": [{"place": f.place, "problem": f.problem, "code": f.code} for f in replayed.findings],
            "impossible": replayed.impossible,
        }
    return found
