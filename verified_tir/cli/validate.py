"""``vtir validate``: two programs from anywhere, or a file of recorded pairs, compared by the independent validator.

Programs are read as TVMScript and never executed as Python.  Nothing of schedules, rules or the kernel takes part.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from verified_tir import __version__
from verified_tir.activity import Level, announce
from verified_tir.child.executors import each, failure
from verified_tir.cli.discover import split_name
from verified_tir.cli.executors import executor_of
from verified_tir.cli.lower import complain
from verified_tir.cli.pair_table import table
from verified_tir.cli.reading import not_utf8, problem_with, text_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import ScriptError, parse
from verified_tir.report import error_codes
from verified_tir.report.error_codes import with_code
from verified_tir.validate.batch import judge_file, judge_record
from verified_tir.validate.functions import spelled_out
from verified_tir.validate.pairs import MOST_OPERATIONS, Budget, Judgement, Word, judge
from verified_tir.validate.recorded import BadRecord, Record, read_records
from verified_tir.validate.sizes import symbols
from verified_tir.validate.verdict import new_races, unplaced

SCHEMA = 3
SAME, DIFFERENT, MISTAKE, UNDECIDED = 0, 1, 2, 3
"""Exit codes, the worst one counts."""
CODES: Final[dict[Word, int]] = {
    "different": DIFFERENT, "equal in part": UNDECIDED, "vacuous": UNDECIDED, "races unknown": UNDECIDED,
    "unknown": UNDECIDED, "unsupported": UNDECIDED, "unreadable": UNDECIDED, "failed": UNDECIDED,
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir validate``, as they are on the command line.

    ``group`` chooses recorded pairs by their ``class``; ``limit`` is the most pairs, ``seconds`` the most time for one,
    0 for any; ``jobs`` the number of processes.
    """

    paths: tuple[str, ...]
    shape: tuple[str, ...] = ()
    only: str = ""
    most_operations: int = MOST_OPERATIONS
    json: bool = False
    group: str = "all"
    limit: int = 0
    seconds: float = 0.0
    jobs: int = 1


class _Mistake(ValueError):
    """A file or option that cannot be used."""


def run(options: Options) -> int:
    """Validate, write to the standard output, and give the exit code."""
    try:
        sizes = _sizes(options.shape)
        budget = Budget(options.most_operations, options.seconds)
        match options.paths:
            case (before, after):
                judged: Iterator[Judgement] = _from_files(before, after, sizes, budget)
            case (recorded,):
                judged = _from_records(_recorded(recorded, options), sizes, budget, options.jobs)
            case _:
                raise _Mistake("give two files, before and after, or one .jsonl file of pairs")
        return _say(judged, options, tabled=len(options.paths) == 1)
    except (_Mistake, BadRecord) as mistake:
        return complain(str(mistake))


def _say(judged: Iterator[Judgement], options: Options, *, tabled: bool) -> int:
    seen: list[Judgement] = []
    code = SAME
    for one in judged:
        seen.append(one)
        races, waiting = new_races(one.findings), unplaced(one.findings)
        worst = DIFFERENT if races else CODES.get(one.word) or (UNDECIDED if waiting else SAME)
        code = max(code, worst, key=(SAME, UNDECIDED, MISTAKE, DIFFERENT).index)
        if not options.json:
            print(with_code(f"{one.name}: {one.text}", _code(one)), flush=True)
            for found in one.findings:
                print(f"  {'new' if found in (*races, *waiting) else 'found'}: {found}")
    if options.json:
        report = {"schema": SCHEMA, "version": __version__, "pairs": [fields(j) for j in seen], "exit_code": code}
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    elif tabled:
        print("\n" + table(seen))
    return code


def _code(judged: Judgement) -> str:
    found = CODES.get(judged.word, SAME)
    return {DIFFERENT: error_codes.DIFFERENT, UNDECIDED: error_codes.UNDECIDED}.get(found, "")


def fields(judged: Judgement) -> dict[str, Any]:
    """A judgement as JSON."""
    return {
        "name": judged.name,
        "verdict": judged.word,
        "text": judged.text,
        "reason": judged.reason,
        "code": _code(judged),
        "findings": judged.findings,
        "new_races": list(new_races(judged.findings)),
        "unplaced": list(unplaced(judged.findings)),
        "sizes": [dict(r.sizes) for r in judged.reports],
        "operations": sum(r.operations for r in judged.reports),
        "seconds": round(judged.seconds, 4),
    }


# -- reading ----------------------------------------------------------------------------------------------------------


def _sizes(texts: tuple[str, ...]) -> dict[str, int]:
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name.strip() in found:
            raise _Mistake(f"--shape {text}: {name.strip()} is given twice")
        try:
            found[name.strip()] = int(value)
        except ValueError:
            raise _Mistake(f"--shape {text}: write name=value with an integer") from None
    return found


def _functions(where: str) -> dict[str, PrimFunc]:
    path, name = split_name(where)
    try:
        text = text_of(path)
    except ValueError as problem:
        raise _Mistake(f"{path}: {problem}") from None
    try:
        found = parse(text, filename=str(path))
    except ScriptError as problem:
        raise _Mistake(str(problem)) from None
    functions = {found.name: found} if isinstance(found, PrimFunc) else spelled_out(dict(found.functions))
    if not functions:
        raise _Mistake(f"{path}: there is no program in this file")
    if name and name not in functions:
        has = f"there are {', '.join(functions)}"
        raise _Mistake(f"{path}: there is no function {name}; {has}")
    return {name: functions[name]} if name else functions


def _no_pair(options: Options) -> str:
    """Why no pair of a file was compared."""
    if options.only or options.group != "all":
        return f"no pair with both programs has {options.only!r} in its id or kind, and the class {options.group}"
    return "there is no pair in this file: each line is a JSON object with the texts before and after"


def _check_symbols(sizes: Mapping[str, int], functions: Sequence[PrimFunc]) -> None:
    """:raises _Mistake: for the size of a symbol that no function has."""
    known = list(dict.fromkeys(v for f in functions for v in symbols(f)))
    for name in sizes:
        if name not in known:
            has = f"there are {', '.join(known)}" if known else "the programs have none"
            raise _Mistake(f"--shape {name}: there is no symbol of this name; {has}")


def _from_files(before: str, after: str, sizes: Mapping[str, int], budget: Budget) -> Iterator[Judgement]:
    """Functions of one name are compared; single functions whatever their names."""
    announce(Level.FILE, f"{before} and {after}")
    old, new = _functions(before), _functions(after)
    _check_symbols(sizes, [*old.values(), *new.values()])
    if len(old) == len(new) == 1:
        yield judge(next(iter(old)), next(iter(old.values())), next(iter(new.values())), sizes, budget)
        return
    missing = [n for n in old if n not in new]
    if missing:
        raise _Mistake(f"{after}: there is no function {missing[0]}, which {before} has; name one with FILE:FUNCTION")
    for name, func in old.items():
        announce(Level.FUNCTION, name)
        yield judge(name, func, new[name], sizes, budget)


def _from_records(
    records: Iterator[Record], sizes: Mapping[str, int], budget: Budget, jobs: int
) -> Iterator[Judgement]:
    """Recorded pairs, compared by several processes if there are to be any."""
    with executor_of("processes", min(jobs, os.cpu_count() or 1)) as executor:
        if executor is None:
            yield from judge_file(records, sizes, budget)
        else:
            yield from each(executor, judge_record, [(r, sizes, budget) for r in records], _lost)


def _lost(problem: Exception, record: Record, *_: object) -> Judgement:
    """What is said of a pair whose process ended, twice."""
    why = failure(problem)
    return Judgement(record.name, "failed", f"failed: {why}", why, record=record)


def _recorded(where: str, options: Options) -> Iterator[Record]:
    """The chosen pairs of a ``.jsonl`` file (``.gz`` too) that have both programs."""
    path = Path(where)
    if path.suffix not in (".jsonl", ".gz"):
        raise _Mistake(f"{path}: one file alone must be a .jsonl of recorded pairs; give two files, before and after")
    if wrong := problem_with(path, None):
        raise _Mistake(f"{path}: {wrong}")
    announce(Level.FILE, where)
    count = 0
    try:
        for record in read_records(path):
            chosen = record.after is not None and options.only in record.name
            if chosen and options.group in ("all", record.group):
                count += 1
                if options.limit and count > options.limit:
                    return
                announce(Level.FUNCTION, record.name)
                yield record
    except OSError as problem:
        raise _Mistake(f"{path}: {problem.strerror or problem}") from None
    except UnicodeDecodeError as problem:
        raise _Mistake(f"{path}: {not_utf8(problem)}") from None
    except (EOFError, zlib.error) as problem:
        raise _Mistake(f"{path}: this is not a complete gzip file: {problem}") from None
    if not count:
        raise _Mistake(f"{path}: {_no_pair(options)}")
