"""From a schedule to its certificate.

    schema          version of the format
    tool            name and version of the program, version of Z3
    schedule        function, file (its name below the working folder), line, budget of a query
    before, after   the programs as text, line by line, with hashes
    relation        for each parameter its layouts, one after another: map, inverse as witness, padding
    floats          "bits", or "reassociated" and the reductions whose order the user allowed to change
    axioms          what the theorem rests on, in sentences
    trace           the steps: the call, the line, programs before and after (hashes), the rules of the kernel with
                    their obligations and lemmas
    regenerable     whether the calls, made again, led to the same; if not, why
    hashes, root    of all these parts, and of the hashes

An obligation is its name, its claim, the statement it is about, the verdict that is expected (``unsat``), and the hash
of its question, which stands in a file of its own (``verified_tir.certificate.store``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, final

from verified_tir import __version__
from verified_tir.certificate.canonical import text_hash
from verified_tir.certificate.hashes import obligation_hash, sealed, step_hash
from verified_tir.certificate.replay import ReplayFailed, made_again
from verified_tir.certificate.store import SCHEMA
from verified_tir.derivation.assumptions import reassociated
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Expr, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script, script_lines
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import Discharged, ParameterMap
from verified_tir.kernel.theorem import Refines
from verified_tir.logic.recheck import version
from verified_tir.logic.standalone import standalone
from verified_tir.logic.verdict import Obligation
from verified_tir.schedule.recording import Call
from verified_tir.schedule.schedule import Schedule, StepRecord


@final
@dataclass(frozen=True, slots=True)
class Origin:
    """Where a schedule comes from: its function, its file as written in the certificate, the line, the file's path."""

    function: str
    file: str = ""
    line: int = 0
    path: str = ""


@final
@dataclass(slots=True)
class Written:
    """Certificates in the making: by name, and the texts of their questions by hash."""

    certificates: dict[str, dict[str, Any]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, schedule: Schedule, origin: Origin) -> None:
        """Write one certificate.

        :param name: its path below the folder, without ``.json``.
        :raises ValueError: if there is one of this name.
        """
        if name in self.certificates:
            raise ValueError(f"there are two certificates called {name}")
        self.certificates[name], queries = certificate_of(schedule, origin)
        self.queries |= queries


def certificate_name(file: str, function: str) -> str:
    """``schedules/gemm.py`` and ``tiled`` as ``schedules/gemm/tiled``."""
    parts = [p for p in PurePosixPath(Path(file).with_suffix("").as_posix()).parts if p not in ("..", "/", ".")]
    return str(PurePosixPath(*parts, function.replace("#", "-")))


def shown_below(path: Path, folder: Path) -> str:
    """The file as a certificate names it: its path below the folder, or else its name alone."""
    full = path.resolve()
    return full.relative_to(folder).as_posix() if full.is_relative_to(folder) else full.name


@final
class _Texts:
    """Programs and questions as text; each program is written once."""

    def __init__(self) -> None:
        self.queries: dict[str, str] = {}
        self._programs: dict[PrimFunc, tuple[str, list[str], dict[tuple[int, ...], int]]] = {}

    def program(self, func: PrimFunc) -> str:
        """The hash of a program's text."""
        return self._written(func)[0]

    def statement(self, func: PrimFunc, path: tuple[int, ...]) -> str:
        """The first line of a statement, empty where it has none."""
        _, lines, places = self._written(func)
        return lines[places[path]].strip() if path in places else ""

    def query(self, o: Obligation) -> str:
        """The hash of an obligation's question."""
        text = standalone(o.given, o.goal)
        digest = text_hash(text)
        self.queries[digest] = text
        return digest

    def _written(self, func: PrimFunc) -> tuple[str, list[str], dict[tuple[int, ...], int]]:
        found = self._programs.get(func)
        if found is None:
            lines, places = script_lines(func)
            found = self._programs[func] = text_hash(script(func)), lines, places
        return found


def certificate_of(schedule: Schedule, origin: Origin) -> tuple[dict[str, Any], dict[str, str]]:
    """The certificate of a schedule, and the texts of its questions by hash.

    It is written of the schedule made again from its text and the notes of its calls.  So it can be regenerated, holds
    nothing of steps that were tried and refused, and calls everything as the text does.  The solver is the same, with
    the verdicts that it remembers: little is proved twice.  If that fails, the certificate is of the schedule as it is,
    and says why.
    """
    steps = schedule.steps
    lines = [0 if r.call is None else _line(r.call.lines, origin.path) for r in steps]
    problems = [
        f"{r.name}: {'its call was not recorded' if r.call is None else r.call.problem}"
        for r in steps[1:]
        if r.call is None or r.call.problem
    ]
    again = schedule
    if not problems:
        calls = [r.call for r in steps if r.call is not None]
        try:
            again = made_again(script(steps[0].before), calls, schedule.solver)
            if not all(structural_equal(a.after, b.after) for a, b in zip(again.steps, steps, strict=True)):
                problems.append("made again, the steps lead to other programs")
        except ReplayFailed as failed:
            problems.append(f"made again, {steps[failed.step].name} is refused: {failed}")
    return content_of(schedule if problems else again, origin, lines, problems)


def content_of(
    schedule: Schedule, origin: Origin, lines: Sequence[int], problems: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, str]]:
    """The certificate of a schedule as it is, and the texts of its questions by hash.

    :param lines: of each step, in the file that it came from.
    :param problems: why it cannot be regenerated.
    """
    texts = _Texts()
    theorem, steps = schedule.theorem, schedule.steps
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": {"name": "vtir", "version": __version__, "z3": version("z3")},
        "schedule": {
            "function": origin.function, "file": origin.file, "line": origin.line, "budget": schedule.solver.budget,
        },
        "before": _program(steps[0].before),
        "after": _program(theorem.after),
        "relation": _relation(theorem),
        "floats": {
            "mode": "reassociated" if theorem.reassociated else "bits", "reductions": reassociated(theorem),
        },
        "axioms": schedule.assumptions,
        "trace": [_step(record, line, texts) for record, line in zip(steps, lines, strict=True)],
        "regenerable": {"yes": not problems, "why not": list(problems)},
    }  # fmt: skip
    return sealed(found), texts.queries


def _program(func: PrimFunc) -> dict[str, Any]:
    text = script(func)
    return {"hash": text_hash(text), "text": text.split("\n")}


def _step(record: StepRecord, line: int, texts: _Texts) -> dict[str, Any]:
    call = record.call or Call(record.name)
    found: dict[str, Any] = {
        "primitive": record.name,
        "arguments": call.arguments,
        "named": call.named,
        "line": line,
        "before": texts.program(record.before),
        "after": texts.program(record.after),
        "rules": list(_rules(record, texts)),
    }
    return found | {"hash": step_hash(found)}


def _line(lines: Iterable[tuple[str, int]], path: str) -> int:
    """The line of the schedule's own file from which a step was called, perhaps through helpers."""
    return next((line for file, line in lines if file == path), 0)


def _rules(record: StepRecord, texts: _Texts) -> Iterable[dict[str, Any]]:
    if not record.rules:  # the check of the program as it was written (a step that changes nothing owes nothing)
        owed = [x for d in record.obligations for x in _discharged(d, record.before, record.after, texts)]
        yield {"rule": "program", "after": texts.program(record.after), "obligations": owed}
    before = record.before
    for step in record.rules:
        owed = [x for d in step.obligations for x in _discharged(d, before, step.after, texts)]
        yield {"rule": _rule_name(step.rule), "after": texts.program(step.after), "obligations": owed}
        before = step.after


def _rule_name(rule: object) -> str:
    """``order.Partition``: the stem of the rule's module, and its class."""
    return f"{type(rule).__module__.rpartition('.')[2]}.{type(rule).__name__}"


def _discharged(d: Discharged, before: PrimFunc, after: PrimFunc, texts: _Texts) -> Iterable[dict[str, Any]]:
    """The lemmas that an obligation needed, and then itself."""
    for lemma in d.lemmas:
        yield _obligation("lemma", lemma.obligation, None, texts)
    o = d.obligation
    func = before if o.where == "before" else after
    place = {"program": o.where, "path": list(o.place), "statement": texts.statement(func, o.place)}
    yield _obligation(o.name, o, place, texts)


def _obligation(name: str, o: Obligation, place: dict[str, Any] | None, texts: _Texts) -> dict[str, Any]:
    found = {"name": name, "claim": o.claim, "place": place, "query": texts.query(o), "expected": "unsat"}
    return found | {"hash": obligation_hash(found)}


# -- the relation ------------------------------------------------------------------------------------------------------


def _relation(theorem: Refines) -> list[dict[str, Any]]:
    found = []
    for buffer in theorem.before.buffers:
        layouts: list[dict[str, Any]] = []
        current = buffer
        for m in theorem.relation:
            if m.before is current:
                layouts.append(_layout(m))
                current = m.after
        found.append({"parameter": buffer.name, "before": _type(buffer), "after": _type(current), "layouts": layouts})
    return found


def _layout(m: ParameterMap) -> dict[str, Any]:
    return {
        "map": _function(m.inputs, m.outputs),
        "inverse": _function(m.inverse_inputs, m.inverse),
        "padding": [_padding(p) for p in m.paddings],
        "after": _type(m.after),
    }


def _padding(p: Padding) -> dict[str, Any]:
    if p.value is None:
        value, promise = "touched by nobody", "inaccessible"
    elif isinstance(p.value, Undef):
        value, promise = "anything", "free"
    else:
        value, promise = script(p.value), "owed" if p.owed else "given"
    where = script(p.predicate)
    return {"indices": [v.name for v in p.indices], "where": where, "value": value, "promise": promise}


def _function(inputs: tuple[Var, ...], outputs: tuple[Expr, ...]) -> str:
    return f"lambda {', '.join(v.name for v in inputs)}: [{', '.join(script(e) for e in outputs)}]"


def _type(buffer: Buffer) -> dict[str, Any]:
    return {"shape": [script(e) for e in buffer.shape], "dtype": str(buffer.dtype)}
