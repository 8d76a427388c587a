"""Folders of certificates, tampered with: by somebody careless, and by somebody who computes all hashes anew.

Each kind of tampering changes a copy of a folder, by numbers, and says who must notice: ``check`` (integrity, an
answer that is not the expected one, or what is computed again from the rules); or, for the calls of primitives, which
are notes and prove nothing, ``regenerate``, which makes them again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, Final, final

from verified_tir.certificate.canonical import text_hash, value_hash, write
from verified_tir.certificate.check import check
from verified_tir.certificate.discharge import answers
from verified_tir.certificate.hashes import PARTS, obligation_hash, sealed, step_hash
from verified_tir.certificate.questions import Checked, check_questions
from verified_tir.certificate.regenerate import regenerate
from verified_tir.certificate.replay import made_again, noted_calls
from verified_tir.certificate.store import MANIFEST, OBLIGATIONS, BadStore, obligation_path, save
from verified_tir.certificate.write import Origin, Written
from verified_tir.derivation.codec import BadText, read_program
from verified_tir.ir.script import script
from verified_tir.logic.recheck import Answer
from verified_tir.logic.solver import Solver
from verified_tir.schedule.schedule import Schedule

NAME: Final = "campaign/case"
FALSE: Final = "(set-logic QF_LIA)\n(declare-fun x0 () Int)\n(assert (<= 0 x0))\n(check-sat)\n"
"""A question with the wrong answer."""
HARD: Final = (
    "(set-logic QF_NIA)\n(declare-fun x0 () Int)\n(declare-fun x1 () Int)\n(declare-fun x2 () Int)\n"
    "(assert (= 114 (+ (+ (* (* x0 x0) x0) (* (* x1 x1) x1)) (* (* x2 x2) x2))))\n(check-sat)\n"
)
"""A question that nobody has answered."""
FREE: Final = ("tool", "schedule")
"""Parts that prove nothing: names, lines, versions."""
NOTES: Final = ("primitive", "arguments", "named")
"""What is noted of a call; no proof rests on it."""


class Unnoticed(AssertionError):
    """A change of a certificate that nobody noticed, or an honest certificate that was refused.

    ``kind`` is ``certificate-refused`` or ``tampering-unnoticed``; ``where`` the kind of tampering.
    """

    def __init__(self, kind: str, where: str, message: str) -> None:
        super().__init__(f"{kind} ({where}): {message}")
        self.kind = kind
        self.where = where
        self.message = message


def store(folder: Path, schedule: Schedule) -> Path:
    """A folder with the certificate of a schedule."""
    written = Written()
    written.add(NAME, schedule, Origin("case", "campaign.py", 1))
    save(folder, written.certificates, written.queries)
    return folder


@final
class Agrees(Executor):
    """An executor that says ``unsat`` to every question; other work is done at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        if fn is not answers:
            done.set_result(fn(*args, **kwargs))
            return done
        _, work, _ = args
        done.set_result([(digest, Answer("unsat", 0.0)) for digest, _ in work])
        return done


# ------------------------------------------------------------------------------------------------------- tampering


def careless_byte(folder: Path, numbers: Sequence[int]) -> str:
    """A byte of some file."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    path = files[numbers[0] % len(files)]
    data = bytearray(path.read_bytes())
    at = numbers[1] % len(data)
    data[at] ^= 1 << numbers[0] % 7
    path.write_bytes(bytes(data))
    return f"byte {at} of {path.name}"


def careless_value(folder: Path, numbers: Sequence[int]) -> str:
    """A value in the certificate, its hashes left alone."""
    content = _content(folder)
    said = _change(content, numbers, anew=False)
    (folder / f"{NAME}.json").write_text(write(content), encoding="utf-8")
    return said


def missing_question(folder: Path, numbers: Sequence[int]) -> str:
    """A question goes."""
    questions = sorted((folder / OBLIGATIONS).rglob("*.smt2"))
    if not questions:
        return ""
    path = questions[numbers[0] % len(questions)]
    path.unlink()
    return f"{path.name} removed"


def exchanged_questions(folder: Path, numbers: Sequence[int]) -> str:
    """The text of one question in the file of another."""
    questions = sorted((folder / OBLIGATIONS).rglob("*.smt2"))
    path = questions[numbers[0] % len(questions)] if questions else folder
    trivial = "(set-logic QF_LIA)\n(assert false)\n(check-sat)\n"
    if not questions or path.read_text(encoding="utf-8") == trivial:
        return ""
    path.write_text(trivial, encoding="utf-8")
    return f"{path.name} asks nothing"


def careless_part(folder: Path, numbers: Sequence[int]) -> str:
    """A value, with the hashes of steps and obligations computed anew, but not that of the part; or the reverse."""
    content = _content(folder)
    said = _change(content, numbers)
    if numbers[0] % 2:
        content = _with_inner_hashes(content)
    else:
        content = sealed({part: content[part] for part in PARTS})
    _put(folder, content, manifest=bool(numbers[1] % 2))
    return said if _inner(said) or numbers[0] % 2 else ""


def careless_manifest(folder: Path, numbers: Sequence[int]) -> str:
    """Another certificate, all its hashes right, and a manifest that does not know."""
    content = _content(folder)
    said = _change(content, numbers)
    _put(folder, sealed({part: v for part, v in _with_inner_hashes(content).items() if part in PARTS}), manifest=False)
    return said


def forged_value(folder: Path, numbers: Sequence[int]) -> str:
    """A value that is no note, and all hashes computed anew."""
    return _forged(folder, numbers, lambda place: not _is_note(place))


def forged_call(folder: Path, numbers: Sequence[int]) -> str:
    """A note of a call, and all hashes computed anew."""
    return _forged(folder, numbers, _is_note)


def _forged(folder: Path, numbers: Sequence[int], wanted: Callable[[_Place], bool]) -> str:
    content, honest = _content(folder), _content(folder)
    said = _change(content, numbers, free=FREE, wanted=wanted)
    if len(content["trace"]) < len(honest["trace"]) and _moves(content) == _moves(honest):
        return ""  # the certificate of a schedule without a step that changed nothing
    _put(folder, sealed({part: v for part, v in _with_inner_hashes(content).items() if part in PARTS}))
    _tidy(folder)
    return said


def _is_note(place: _Place) -> bool:
    """Of what was called, and whether it can be called again."""
    return place[0] == "regenerable" or (place[0] == "trace" and len(place) > 2 and place[2] in NOTES)


def _moves(content: dict[str, Any]) -> list[Any]:
    """The steps that lead to another program."""
    return [step for step in content["trace"] if step["before"] != step["after"]]


def forged_question(folder: Path, numbers: Sequence[int]) -> str:
    """An obligation with a question whose answer is another one."""
    return _with_question(folder, numbers, FALSE)


def hard_question(folder: Path, numbers: Sequence[int]) -> str:
    """An obligation with a question that is not decided."""
    return _with_question(folder, numbers, HARD)


def forged_verdict(folder: Path, numbers: Sequence[int]) -> str:
    """An obligation that does not even claim to be proved."""
    content = _content(folder)
    owed = _owed(content)
    if not owed:
        return ""
    owed[numbers[0] % len(owed)]["expected"] = ("sat", "unknown")[numbers[1] % 2]
    _put(folder, sealed({part: v for part, v in _with_inner_hashes(content).items() if part in PARTS}))
    return "an obligation that is not proved"


def forged_program(folder: Path, numbers: Sequence[int]) -> str:
    """Another program at one end, and everything that says which it is."""
    content = _content(folder)
    which = ("before", "after")[numbers[1] % 2]
    text = "\n".join(content[which]["program"])
    places = [m.start(1) for m in re.finditer(r"\(IntImm int32 ([0-9]+)\)", text)]
    if not places:
        return ""
    at = places[numbers[0] % len(places)]
    text = f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"
    try:
        func = read_program(text)
    except BadText:
        return ""
    lines = text.split("\n")
    content[which] |= {"hash": text_hash(text), "program": lines, "text": script(func).split("\n")}
    first, last = content["trace"][0], content["trace"][-1]
    if which == "before":
        first["before"] = content[which]["hash"]
    elif last["rules"]:
        last["after"] = last["rules"][-1]["after"] = content[which]["hash"]
    _put(folder, sealed({part: v for part, v in _with_inner_hashes(content).items() if part in PARTS}))
    return f"the program {which} has another number at {at}"


def forged_chain(folder: Path, numbers: Sequence[int]) -> str:
    """A step goes, or a step's program is another."""
    content = _content(folder)
    trace = content["trace"]
    k = numbers[0] % len(trace)
    if numbers[1] % 2 or trace[k]["before"] == trace[k]["after"]:
        trace[k]["before"] = "0" * 64
    else:
        del trace[k]
    _put(folder, sealed({part: v for part, v in _with_inner_hashes(content).items() if part in PARTS}))
    _tidy(folder)
    return f"step {k} of the trace"


Tampering = Callable[[Path, Sequence[int]], str]

BY_CHECK: Final[dict[str, Tampering]] = {
    "a byte": careless_byte, "a value": careless_value, "a question is missing": missing_question,
    "questions exchanged": exchanged_questions, "some hashes anew": careless_part, "not in the manifest":
    careless_manifest, "a verdict": forged_verdict, "the chain": forged_chain,
}  # fmt: skip
"""What a check of integrity alone notices."""
BY_ANSWER: Final[dict[str, tuple[Tampering, int]]] = {
    "a false question": (forged_question, 1), "a hard question": (hard_question, 3),
}  # fmt: skip
"""What the solvers' answers show, with the exit code."""
BY_RULES: Final[dict[str, Tampering]] = {"a value forged": forged_value, "a program forged": forged_program}
"""What is noticed when everything is computed again from the rules."""
BY_REPLAY: Final[dict[str, Tampering]] = {"a call forged": forged_call}
"""What a replay notices, if the check did not."""
TAMPERINGS: Final = (*BY_CHECK, *BY_ANSWER, *BY_RULES, *BY_REPLAY)


# ----------------------------------------------------------------------------------------------------------- asking


def assert_accepted_as_written(folder: Path, budget: int) -> int:
    """An honest folder passes; the exit code: 0, or 3 where the budget did not last.

    :raises Unnoticed: if it does not pass.
    """
    done = check(folder, budget=budget)
    if done.exit_code not in (0, 3):
        found = [str(f) for f in done.all_findings] + [str(c) for c in done.not_proved("false")]
        raise Unnoticed("certificate-refused", "check", "; ".join(found[:4]))
    for again in regenerate(folder):
        if again.findings:
            raise Unnoticed("certificate-refused", "regenerate", "; ".join(map(str, again.findings[:4])))
    return done.exit_code


def assert_noticed(folder: Path, kind: str, numbers: Sequence[int], budget: int) -> bool:
    """Tamper with a folder; whether there was anything to change.

    :raises Unnoticed: if nobody notices.
    """
    if kind in BY_CHECK:
        said = BY_CHECK[kind](folder, numbers)
        if said and not _integrity(folder):
            raise Unnoticed("tampering-unnoticed", kind, said)
    elif kind in BY_ANSWER:
        tamper, code = BY_ANSWER[kind]
        said = tamper(folder, numbers)
        done = _answered(folder, budget) if said else None
        if done is not None and done.exit_code != code:
            raise Unnoticed("tampering-unnoticed", kind, f"{said}: the exit code is {done.exit_code}, not {code}")
        if done is not None and done.all_findings:  # it is well-formed: the answers alone tell
            raise Unnoticed("tampering-unnoticed", kind, f"{said}: it was not asked; {done.all_findings[0]}")
    else:
        said = (BY_RULES | BY_REPLAY)[kind](folder, numbers)
        seen = not said or _integrity(folder) or check(folder, executor=Agrees()).exit_code != 0
        if not seen and (kind in BY_RULES or not (_not_regenerated(folder) or _gives_the_same(folder))):
            raise Unnoticed("tampering-unnoticed", kind, said)
    return bool(said)


def _not_regenerated(folder: Path) -> bool:
    return any(r.findings or r.impossible for r in regenerate(folder))


def _gives_the_same(folder: Path) -> bool:
    """Whether the calls that are noted lead to each program and each question that the folder has: then another call
    does the same (a layout without padding has no use for a value), and the certificate is true."""
    content = _content(folder)
    text, solver = "\n".join(content["before"]["text"]), Solver(content["schedule"]["budget"])
    again = made_again(text, noted_calls(content["trace"]), solver)
    written = _content(store(folder.with_name(f"{folder.name}-again"), again))
    if any(written[part] != content[part] for part in ("before", "after", "theorem", "relation", "floats", "axioms")):
        return False
    return [_without_line(step) for step in written["trace"]] == [_without_line(step) for step in content["trace"]]


def _without_line(step: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in step.items() if name not in ("line", "hash")}


def _integrity(folder: Path) -> bool:
    """Whether a check without solvers and kernel finds something."""
    try:
        return bool(check_questions(folder, executor=Agrees()).all_findings)
    except BadStore:
        return True


def _answered(folder: Path, budget: int) -> Checked:
    """What the answers lead to.  Only the questions put in here are asked: all others are said to be proved."""
    added = {text_hash(FALSE), text_hash(HARD)}

    class Asks(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            solver, work, limit = args
            mine = [w for w in work if w[0] in added]
            done: Future[Any] = Future()
            rest = [(digest, Answer("unsat", 0.0)) for digest, _ in work if digest not in added]
            done.set_result([*(fn(solver, mine, limit) if mine else []), *rest])
            return done

    return check_questions(folder, executor=Asks(), budget=budget)


# ---------------------------------------------------------------------------------------------------------- content


def _content(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{NAME}.json").read_text(encoding="utf-8"))
    return found


def _owed(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [o for step in content["trace"] for rule in step["rules"] for o in rule["obligations"]]


def _with_inner_hashes(content: dict[str, Any]) -> dict[str, Any]:
    for o in _owed(content):
        o["hash"] = obligation_hash(o)
    for step in content["trace"]:
        step["hash"] = step_hash(step)
    return content


def _put(folder: Path, content: dict[str, Any], *, manifest: bool = True) -> None:
    (folder / f"{NAME}.json").write_text(write(content), encoding="utf-8")
    if manifest:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        listed["certificates"][NAME] = content["root"]
        del listed["root"]
        listed["root"] = value_hash(listed)
        (folder / MANIFEST).write_text(write(listed), encoding="utf-8")


def _tidy(folder: Path) -> None:
    """Remove the questions that are not asked any more."""
    needed = {o["query"] for o in _owed(_content(folder))}
    for path in folder.rglob("*.smt2"):
        if path.stem not in needed:
            path.unlink()


def _with_question(folder: Path, numbers: Sequence[int], text: str) -> str:
    content = _content(folder)
    owed = _owed(content)
    if not owed:
        return ""
    k = numbers[0] % len(owed)
    digest = owed[k]["query"] = text_hash(text)
    path = folder / obligation_path(digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    _put(folder, sealed({part: v for part, v in _with_inner_hashes(content).items() if part in PARTS}))
    _tidy(folder)
    return f"obligation {k} of {len(owed)} has another question"


_Place = tuple[str | int, ...]


def _leaves(value: Any, at: _Place = ()) -> Iterator[_Place]:
    """Places of values, and of lists with something in them."""
    match value:
        case dict():
            for key in sorted(value):
                yield from _leaves(value[key], (*at, key))
        case list():
            if value:
                yield at
            for k, v in enumerate(value):
                yield from _leaves(v, (*at, k))
        case _:
            yield at


def _change(
    content: dict[str, Any], numbers: Sequence[int], free: Sequence[str] = (), *, anew: bool = True,
    wanted: Callable[[_Place], bool] = lambda _: True,
) -> str:  # fmt: skip
    """Change one value; where, and how.

    :param free: parts that are left alone.
    :param wanted: which places are not.
    :param anew: whether hashes are to be computed anew, which undoes a change of one.
    """
    kept = {part: content[part] for part in PARTS if part not in free and part != "schema"}
    places = [p for p in _leaves(kept) if wanted(p) and not (anew and _proves_nothing(p))]
    groups: dict[str, list[_Place]] = {}
    for p in places:
        groups.setdefault(_kind_of(p), []).append(p)
    named = groups[sorted(groups)[numbers[0] % len(groups)]]
    place = named[numbers[1] % len(named)]
    at: Any = content
    for key in place[:-1]:
        at = at[key]
    old = at[place[-1]]
    at[place[-1]] = _another(old, numbers[1])
    return f"{'.'.join(map(str, place))}: {str(old)[:60]!r} is {str(at[place[-1]])[:60]!r}"


def _kind_of(place: _Place) -> str:
    return ".".join(str(p) for p in place if isinstance(p, str))


def _inner(said: str) -> bool:
    """Whether what was changed is under a hash of its own within a part."""
    return said.startswith(("trace.", "before.", "after."))


def _proves_nothing(place: _Place) -> bool:
    """Lines of steps; hashes that are computed anew."""
    return place[0] == "trace" and place[-1] in ("line", "hash")


def _another(value: Any, number: int) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1 + number % 3
        case float():
            return value + 1
        case None:
            return 0
        case str():
            if value[-1:].isdigit():
                return value[:-1] + str((int(value[-1]) + 1) % 10)
            return value + "a" if not value or number % 2 else value[:-1]
        case list():
            return (
                value[:-1] if number % 2 or len(value) < 2 or value[0] == value[1] else [value[1], value[0], *value[2:]]
            )
    return "something else"
