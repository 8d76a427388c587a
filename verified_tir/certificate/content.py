"""The content of a certificate, from a derivation and what is noted beside it.

    schema          version of the format
    tool            name and version of the program, version of Z3
    schedule        function, file (its name below the working folder), line, budget of a query
    before, after   the programs as s-expressions, with hashes; beside them the text for people.  ``expanded`` is the
                    program before with its blocks expanded, where that is another one
    theorem         what it begins with (definite arguments, licences), and what it says, as s-expressions
    relation        for each parameter its layouts, one after another: map, inverse as witness, padding; in words, and
                    as one s-expression (``maps``), which is what a check of a plan goes by
    floats          "bits", or "reassociated" and the reductions whose order the user allowed to change
    axioms          what the theorem rests on, in sentences
    trace           the steps: the call, the line, programs before and after (hashes), the rules of the kernel as
                    s-expressions, each with the program it leads to and its obligations and lemmas
    regenerable     whether the calls, made again, led to the same; if not, why
    hashes, root    of all these parts, and of the hashes

An obligation is its name, its claim, the statement it is about, the verdict that is expected (``unsat``), and the hash
of its question, which stands in a file of its own (``verified_tir.certificate.store``).

Who writes a certificate and who checks one compute it here, in the same way (``docs/certificate-format.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from verified_tir.certificate.canonical import text_hash
from verified_tir.certificate.hashes import obligation_hash, sealed, step_hash
from verified_tir.certificate.store import SCHEMA
from verified_tir.derivation.codec import Scope, Writer, write_program
from verified_tir.derivation.statement import exact_statement, statement
from verified_tir.derivation.theorems import Applied, Derived, Owed
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script, script_lines
from verified_tir.logic.standalone import standalone

BEGINNING: Final = ("program", "licences")
"""What stands in the first step before the rules: what the program owes, and what its licences do."""

ENDING: Final = "race freedom"
"""What stands in the last step after the rules, if the last program has marked loops."""


@final
@dataclass(frozen=True, slots=True)
class Noted:
    """What a certificate holds beside the derivation, and what proves nothing.

    :ivar tool: see above, as ``schedule`` and ``regenerable``.
    :ivar steps: the calls: primitive, arguments, named arguments, line, and how many rules they took; first that of the
        program itself, which took none.
    """

    tool: dict[str, Any]
    schedule: dict[str, Any]
    steps: Sequence[tuple[dict[str, Any], int]]
    regenerable: dict[str, Any]


def content(derived: Derived, noted: Noted) -> tuple[dict[str, Any], dict[str, str]]:
    """The certificate, and the texts of its questions by hash.

    :raises BadText: if a part of it has no spelling.
    """
    texts = _Texts()
    theorem = derived.theorem
    start = derived.start
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": noted.tool,
        "schedule": noted.schedule,
        "before": {
            **_program(derived.written), "expanded": [] if start is derived.written else _lines(start),
        },
        "after": _program(theorem.after),
        "theorem": {
            "definite": theorem.definite,
            "licences": Writer(Scope.of(start)).write(derived.licences),
            "given up": derived.given_up,
            **exact_statement(theorem),
        },
        **statement(theorem),
        "trace": list(_steps(derived, start, noted, texts)),
        "regenerable": noted.regenerable,
    }  # fmt: skip
    return sealed(found), texts.queries


def _program(func: PrimFunc) -> dict[str, Any]:
    lines = _lines(func)
    return {"hash": text_hash("\n".join(lines)), "program": lines, "text": script(func).split("\n")}


def _lines(func: PrimFunc) -> list[str]:
    return write_program(func).split("\n")


def _steps(derived: Derived, start: PrimFunc, noted: Noted, texts: _Texts) -> Iterator[dict[str, Any]]:
    pending = list(reversed(derived.rules))
    before = derived.written
    for k, (call, count) in enumerate(noted.steps):
        rules: list[dict[str, Any]] = []
        now = before
        if k == 0:
            now = start
            rules.append(_rule(BEGINNING[0], "", derived.meaning, before, now, texts))
            if derived.licences:
                rules.append(_rule(BEGINNING[1], "", derived.licence, now, now, texts))
        for applied in [pending.pop() for _ in range(count)]:
            rules.append(_rule(_rule_name(applied), applied.text, applied.owed, now, applied.after, texts))
            now = applied.after
        if k == len(noted.steps) - 1 and derived.race_free:
            rules.append(_rule(ENDING, "", derived.race_free, now, now, texts))
        step = call | {"before": texts.program(before), "after": texts.program(now), "rules": rules}
        yield step | {"hash": step_hash(step)}
        before = now


def _rule_name(applied: Applied) -> str:
    """``order.Partition``: the stem of the rule's module, and its class."""
    kind = type(applied.rule)
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"


def _rule(
    name: str, text: str, owed: Sequence[Owed], before: PrimFunc, after: PrimFunc, texts: _Texts
) -> dict[str, Any]:
    return {
        "rule": name,
        "value": text,
        "after": texts.program(after),
        "obligations": [_obligation(o, before, after, texts) for o in owed],
    }


def _obligation(o: Owed, before: PrimFunc, after: PrimFunc, texts: _Texts) -> dict[str, Any]:
    place = None
    if o.where is not None:
        which, path = o.where
        statement = texts.statement(before if which == "before" else after, path)
        place = {"program": which, "path": list(path), "statement": statement}
    found = {"name": o.name, "claim": o.claim, "place": place, "query": texts.query(o), "expected": "unsat"}
    return found | {"hash": obligation_hash(found)}


@final
class _Texts:
    """Programs and questions as text; each program is written once."""

    def __init__(self) -> None:
        self.queries: dict[str, str] = {}
        self._hashes: dict[PrimFunc, str] = {}
        self._lines: dict[PrimFunc, tuple[list[str], dict[tuple[int, ...], int]]] = {}

    def program(self, func: PrimFunc) -> str:
        """The hash of a program."""
        if func not in self._hashes:
            self._hashes[func] = text_hash(write_program(func))
        return self._hashes[func]

    def statement(self, func: PrimFunc, path: tuple[int, ...]) -> str:
        """The first line of a statement as people read it, empty where it has none."""
        if func not in self._lines:
            self._lines[func] = script_lines(func)
        lines, places = self._lines[func]
        return lines[places[path]].strip() if path in places else ""

    def query(self, o: Owed) -> str:
        """The hash of an obligation's question."""
        text = standalone(o.given, o.goal)
        digest = text_hash(text)
        self.queries[digest] = text
        return digest
