"""What can be checked of a certificate without solver, kernel and tactics.

* every hash is that of what it covers, down to the bytes of the questions;
* both programs are s-expressions in the canonical spelling, and the texts beside them are theirs;
* the programs of the trace are a chain from the one to the other, through every rule;
* the questions that the steps name are there, and are single questions;
* the layouts of the relation lead from the parameters of the first program to those of the last.

What is found has a place, so that a person can look at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from verified_tir.certificate.canonical import BadJson, read, text_hash, value_hash
from verified_tir.certificate.hashes import broken_seals, obligation_hash, step_hash
from verified_tir.certificate.shape import misshapen
from verified_tir.certificate.store import (
    CONSTANTS,
    MANIFEST,
    OBLIGATIONS,
    SCHEMA,
    constant_path,
    file_text,
    obligation_path,
    other_schema,
)
from verified_tir.child.executors import failure
from verified_tir.derivation.codec import BadText, read_program
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse_func, script
from verified_tir.logic.fragment import assert_in_fragment
from verified_tir.logic.standalone import NotAQuery

CHANGED: Final = "VT0804"
DERIVED_OTHERWISE: Final = "VT0805"
REPLAYED_OTHERWISE: Final = "VT0806"
OTHER_PROGRAM: Final = "VT0807"
PLAN_DOES_NOT_FOLLOW: Final = "VT0808"
FALSE: Final = "VT0809"
UNDECIDED: Final = "VT0810"
NOT_REPEATED: Final = "VT0811"
"""What can be found, as codes that ``vtir help`` explains."""


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be: in which certificate (or file), where in it, and what."""

    certificate: str
    place: str
    problem: str
    code: str = CHANGED

    def __str__(self) -> str:
        where = f"{self.certificate}: {self.place}" if self.place else self.certificate
        return f"{where}: {self.problem} [{self.code}]"


@final
@dataclass(frozen=True, slots=True)
class MadeAgain:
    """What came of one certificate, computed or replayed: what is wrong, and why that could not be done (empty if it
    could)."""

    name: str
    findings: tuple[Finding, ...] = ()
    impossible: str = ""


def not_made(problem: Exception, name: str, _: Mapping[str, Any]) -> MadeAgain:
    """What came of a certificate when the process that worked on it ended, or its work raised something."""
    return MadeAgain(name, impossible=failure(problem))


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """One obligation of a certificate, with the hash of its question."""

    certificate: str
    place: str
    name: str
    claim: str
    query: str


def load(folder: Path, name: str, root: str) -> tuple[dict[str, Any] | None, list[Finding]]:
    """A certificate and what is wrong with it; ``None`` if it cannot be made sense of.

    :param root: its root hash, as the manifest has it.
    """
    found, unread = read_document(folder, name, SCHEMA)
    if unread is not None:
        return None, [unread]
    wrong = [Finding(name, place, problem) for place, problem in misshapen(found)]
    if wrong:
        return None, wrong
    problems = [Finding(name, place, problem) for place, problem in _problems(found)]
    if found["root"] != root:
        problems.append(Finding(name, "root", f"{MANIFEST} has another root hash for this certificate"))
    return found, problems


def read_document(folder: Path, name: str, schema: int) -> tuple[Any, Finding | None]:
    """What a file says that the manifest lists, or why it says nothing.

    :param schema: the version of the format; another one is not read.
    """
    path = folder / f"{name}.json"
    try:
        found = read(file_text(path))
    except FileNotFoundError:
        return None, Finding(name, "", f"the manifest lists it, but {path.name} is not there")
    except (OSError, UnicodeDecodeError, BadJson) as problem:
        return None, Finding(name, "", str(problem))
    if isinstance(found, dict) and found.get("schema") != schema:
        return None, Finding(name, "schema", f"it is {other_schema(found.get('schema'), schema)}")
    return found, None


def claims_of(name: str, certificate: Mapping[str, Any]) -> Iterator[Claim]:
    """Every obligation of a certificate, in the order of the trace."""
    for place, o in _obligations(certificate):
        yield Claim(name, place, o["name"], o["claim"], o["query"])


def question(folder: Path, digest: str) -> tuple[str, str]:
    """The text of a question, and what is wrong with it (empty if nothing is)."""
    path = obligation_path(digest)
    try:
        text = file_text(folder / path)
    except FileNotFoundError:
        return "", f"{path} is not there"
    except (OSError, UnicodeDecodeError) as problem:
        return "", f"{path}: {problem}"
    if text_hash(text) != digest:
        return "", f"{path} was changed: its name is not the hash of its text"
    try:
        assert_in_fragment(text)
    except NotAQuery as problem:
        return "", f"{path} is not a question of vtir: {problem}"
    return text, ""


def of_the_folder(
    folder: Path, manifest: Mapping[str, Any], needed: set[str] | None, constants: set[str] | None = None
) -> Iterator[Finding]:
    """A manifest that was changed, and files in the folder that belong to no certificate.

    :param needed: the questions of all certificates; ``None`` if some certificate cannot be read.
    :param constants: the constants of all plans, likewise.
    """
    if manifest.get("root") != value_hash({k: v for k, v in manifest.items() if k != "root"}):
        yield Finding(MANIFEST, "root", "this is not the hash of the manifest: it was changed")
    named = (*manifest["certificates"], *manifest.get("plans", {}))
    listed = {folder / f"{name}.json" for name in named} | {folder / MANIFEST}
    for path in sorted(folder.rglob("*.json")):
        if path not in listed:
            yield Finding(path.relative_to(folder).as_posix(), "", f"{MANIFEST} does not list this certificate")
    paths = (
        (OBLIGATIONS, obligation_path, needed, "no certificate has this question"),
        (CONSTANTS, constant_path, constants, "no plan has this constant"),
    )
    for below, path_of, digests, problem in paths:
        known = listed | {folder / path_of(digest) for digest in digests or ()}  # a file may be called obligations.py
        for path in () if digests is None else sorted((folder / below).rglob("*")):
            if path.is_file() and path not in known:
                yield Finding(path.relative_to(folder).as_posix(), "", problem)


def _problems(c: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _hashes(c)
    yield from _programs(c)
    yield from _chain(c["trace"], c["before"]["hash"], c["after"]["hash"])
    for place, o in _obligations(c):
        if o["expected"] != "unsat":
            yield place, f"the verdict {o['expected']!r} is not a proof; a certificate has proofs only"
    if (c["floats"]["mode"], bool(c["floats"]["reductions"])) not in (("bits", False), ("reassociated", True)):
        yield "floats", f"the mode {c['floats']['mode']!r} does not go with {len(c['floats']['reductions'])} reductions"
    if c["regenerable"]["yes"] == bool(c["regenerable"]["why not"]):
        yield "regenerable", "it is either so, or there are reasons why not"


def _obligations(c: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for k, step in enumerate(c["trace"]):
        for n, rule in enumerate(step["rules"]):
            for m, o in enumerate(rule["obligations"]):
                yield f"trace[{k}] {step['primitive']}: rules[{n}] {rule['rule']}: obligations[{m}] {o['name']}", o


def _hashes(c: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for place, o in _obligations(c):
        if obligation_hash(o) != o["hash"]:
            yield place, "its hash is not that of what it says: it was changed"
    for k, step in enumerate(c["trace"]):
        if step_hash(step) != step["hash"]:
            yield f"trace[{k}] {step['primitive']}", "its hash is not that of the step: it was changed"
    yield from broken_seals(c)


def _programs(c: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    read_as: dict[str, PrimFunc] = {}
    for which in ("before", "after"):
        program = "\n".join(c[which]["program"])
        if text_hash(program) != c[which]["hash"]:
            yield f"{which}.hash", "this is not the hash of the program: it was changed"
        try:
            read_as[which] = read_program(program)
        except BadText as refused:
            yield f"{which}.program", f"this is not a program: {refused}"
            continue
        problem = _other_text(read_as[which], "\n".join(c[which]["text"]))
        if problem:
            yield f"{which}.text", problem
    if len(read_as) == 2:
        yield from _relation(c["relation"], read_as["before"], read_as["after"])


def _other_text(func: PrimFunc, text: str) -> str:
    """What is wrong with the text that people read of a program; no proof rests on it."""
    try:
        if script(func) != text:
            return "the text is not that of the program"
        return "" if structural_equal(parse_func(text), func) else "the text is read as another program"
    except (IRError, RecursionError) as problem:
        return f"this is not a text of a program: {problem}"


def _relation(relation: list[dict[str, Any]], before: PrimFunc, after: PrimFunc) -> Iterator[tuple[str, str]]:
    first, last = before.buffers, after.buffers
    if not len(relation) == len(first) == len(last):
        yield "relation", f"it is about {len(relation)} parameters; the programs have {len(first)} and {len(last)}"
        return
    for k, (r, a, b) in enumerate(zip(relation, first, last, strict=True)):
        place = f"relation[{k}] {r['parameter']}"
        if r["parameter"] != a.name or r["before"] != _type(a):
            yield place, f"the parameter of the program before is {a.name}, {_shown(_type(a))}"
        if r["after"] != _type(b):
            yield place, f"the parameter of the program after is {b.name}, {_shown(_type(b))}"
        reached = r["layouts"][-1]["after"] if r["layouts"] else r["before"]
        if reached != r["after"]:
            yield place, f"its layouts end in {_shown(reached)}, not in {_shown(r['after'])}"


def _type(buffer: Buffer) -> dict[str, Any]:
    return {"shape": [script(e) for e in buffer.shape], "dtype": str(buffer.dtype)}


def _shown(type_: Mapping[str, Any]) -> str:
    return f"{type_['dtype']}[{', '.join(type_['shape'])}]"


def _chain(trace: list[dict[str, Any]], before: str, after: str) -> Iterator[tuple[str, str]]:
    if not trace or trace[0]["primitive"] != "program":
        yield "trace", "it does not begin with the check of the program itself"
    current = before
    for k, step in enumerate(trace):
        place = f"trace[{k}] {step['primitive']}"
        if k and step["primitive"] == "program":
            yield place, "the check of the program itself comes first, and once"
        if step["before"] != current:
            yield place, "it does not begin with the program that the step before it ended with"
        reached = step["rules"][-1]["after"] if step["rules"] else step["before"]
        if step["after"] != reached:
            yield place, "its last rule does not end with the program that the step ends with"
        current = step["after"]
    if current != after:
        yield "trace", "it does not end with the program after"
