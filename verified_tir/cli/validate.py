"""``vtir validate``: two programs from anywhere, or a file of recorded pairs, compared by the independent validator.

Programs are read as TVMScript and never executed as Python.  Nothing of schedules, rules or the kernel takes part.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from verified_tir import __version__
from verified_tir.cli.lower import complain
from verified_tir.cli.programs import split_name
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import ScriptError, parse
from verified_tir.schedule.replay_inputs import symbols
from verified_tir.validate import Different, Equal, EqualOverReals, Report, Unknown, validate

SCHEMA = 1
SIZES = (0, 1, 2, 3, 7, 8, 17)
"""What every symbol is, in turns, where no size is given."""
SAME, DIFFERENT, MISTAKE, UNDECIDED = 0, 1, 2, 3
"""Exit codes, the worst one counts."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir validate``, as they are on the command line."""

    paths: tuple[str, ...]
    shape: tuple[str, ...] = ()
    only: str = ""
    most_operations: int = 5_000_000
    json: bool = False


class _Mistake(ValueError):
    """A file or option that cannot be used."""


@final
@dataclass(frozen=True, slots=True)
class Pair:
    """Two functions to compare, and what to call them."""

    name: str
    before: PrimFunc
    after: PrimFunc


def run(options: Options) -> int:
    """Validate, write to the standard output, and give the exit code."""
    try:
        sizes = _sizes(options.shape)
        match options.paths:
            case (before, after):
                pairs: Iterator[Pair | tuple[str, str]] = iter(_from_files(before, after))
            case (recorded,):
                pairs = _recorded(recorded, options.only)
            case _:
                raise _Mistake("give two files, before and after, or one .jsonl file of pairs")
        return _validate(pairs, sizes, options, table=len(options.paths) == 1)
    except _Mistake as mistake:
        return complain(str(mistake))


def _validate(
    pairs: Iterator[Pair | tuple[str, str]], sizes: Mapping[str, int], options: Options, *, table: bool
) -> int:
    results: list[dict[str, Any]] = []
    counts: Counter[tuple[str, str]] = Counter()
    code = SAME
    start = time.perf_counter()
    for pair in pairs:
        if isinstance(pair, Pair):
            name, reports = pair.name, _reports(pair, sizes, options.most_operations)
            verdict, line = _summary(reports)
        else:  # it could not be read
            name, reports, verdict, line = pair[0], [], "unreadable", f"unreadable: {pair[1]}"
        counts[name.partition(" ")[2] or name, verdict] += 1
        code = max(code, {"different": DIFFERENT, "unknown": UNDECIDED, "unreadable": UNDECIDED}.get(verdict, SAME),
                   key=(SAME, UNDECIDED, MISTAKE, DIFFERENT).index)  # fmt: skip
        findings = list(dict.fromkeys(f for r in reports for f in r.findings))
        if options.json:
            results.append(
                {
                    "name": name, "verdict": verdict, "text": line, "findings": findings,
                    "sizes": [dict(r.sizes) for r in reports], "seconds": sum(r.seconds for r in reports),
                }
            )  # fmt: skip
        else:
            print(f"{name}: {line}", flush=True)
            for f in findings:
                print(f"  found: {f}")
    if options.json:
        report = {"schema": SCHEMA, "version": __version__, "pairs": results, "exit_code": code}
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    elif table:
        _print_table(counts, time.perf_counter() - start)
    return code


def _reports(pair: Pair, sizes: Mapping[str, int], most: int) -> list[Report]:
    """One report, or one for each of several sizes if some are open."""
    found = {v.name for f in (pair.before, pair.after) for v in symbols(f) if v.dtype.is_int}
    open_ = sorted(found - set(sizes))
    given = {name: value for name, value in sizes.items() if name in found}
    if not open_:
        return [validate(pair.before, pair.after, sizes=given, most_operations=most)]
    reports = []
    for value in SIZES:
        chosen = {**given, **dict.fromkeys(open_, value)}
        reports.append(validate(pair.before, pair.after, sizes=chosen, most_operations=most))
        if isinstance(reports[-1].verdict, Different):
            break
    return reports


def _summary(reports: list[Report]) -> tuple[str, str]:
    """The worst verdict and one line about all."""
    rank = {Different: 3, Unknown: 2, EqualOverReals: 1, Equal: 0}
    worst = max(reports, key=lambda r: rank[type(r.verdict)])
    line = str(worst.verdict)
    if worst.sizes and isinstance(worst.verdict, (Different, Unknown)):
        line += f" (at {', '.join(f'{n} = {v}' for n, v in worst.sizes.items())})"
    elif len(reports) > 1:
        line += f" at sizes {', '.join(str(max(r.sizes.values())) for r in reports)}, which says nothing about others"
    match worst.verdict:
        case Equal(vacuous=True):
            return "vacuous", line
        case Equal():
            return "equal", line
        case EqualOverReals():
            return "equal over the reals", line
        case Different():
            return "different", line
        case Unknown():
            return "unknown", line


def _print_table(counts: Counter[tuple[str, str]], seconds: float) -> None:
    verdicts = [v for v in ("equal", "equal over the reals", "vacuous", "different", "unknown", "unreadable")
                if any(k[1] == v for k in counts)]  # fmt: skip
    kinds = sorted({k for k, _ in counts})
    wide = max([len(k) for k in kinds] + [5])
    print(f"\n{'':{wide}}  " + "  ".join(verdicts))
    for kind in [*kinds, "total"]:
        row = [sum(n for (k, w), n in counts.items() if w == v and kind in (k, "total")) for v in verdicts]
        print(f"{kind:{wide}}  " + "  ".join(f"{n or '':>{len(v)}}" for n, v in zip(row, verdicts, strict=True)))
    print(f"\n{sum(counts.values())} pairs in {seconds:.1f} s")


# -- reading ----------------------------------------------------------------------------------------------------------


def _sizes(texts: tuple[str, ...]) -> dict[str, int]:
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            found[name.strip()] = int(value)
        except ValueError:
            raise _Mistake(f"--shape {text}: write name=value with an integer") from None
    return found


def _functions(where: str) -> dict[str, PrimFunc]:
    path, name = split_name(where)
    try:
        found = parse(path.read_text(encoding="utf-8"), filename=str(path))
    except OSError as problem:
        raise _Mistake(f"{path}: {problem.strerror or problem}") from None
    except (ScriptError, UnicodeDecodeError) as problem:
        raise _Mistake(str(problem)) from None
    functions = {found.name: found} if isinstance(found, PrimFunc) else dict(found.functions)
    if not functions:
        raise _Mistake(f"{path}: there is no program in this file")
    if name and name not in functions:
        raise _Mistake(f"{path}: there is no function {name}; there are {', '.join(functions)}")
    return {name: functions[name]} if name else functions


def _from_files(before: str, after: str) -> list[Pair]:
    """Functions of one name are compared; single functions whatever their names."""
    old, new = _functions(before), _functions(after)
    if len(old) == len(new) == 1:
        return [Pair(next(iter(old)), next(iter(old.values())), next(iter(new.values())))]
    missing = [n for n in old if n not in new]
    if missing:
        raise _Mistake(f"{after}: there is no function {missing[0]}, which {before} has; name one with FILE:FUNCTION")
    return [Pair(n, f, new[n]) for n, f in old.items()]


def _recorded(where: str, only: str) -> Iterator[Pair | tuple[str, str]]:
    """The pairs of a ``.jsonl`` file (``.gz`` too) that have both programs; a name is ``id kind``."""
    path = Path(where)
    if path.suffix not in (".jsonl", ".gz"):
        raise _Mistake(f"{path}: one file alone must be a .jsonl of recorded pairs; give two files, before and after")
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                yield from _record(f"{path}:{number}", line, only)
    except OSError as problem:
        raise _Mistake(f"{path}: {problem.strerror or problem}") from None


def _record(place: str, line: str, only: str) -> Iterator[Pair | tuple[str, str]]:
    if not line.strip():
        return
    try:
        record = json.loads(line)
        name = f"{record.get('id', place)} {record.get('kind', '')}".strip()
        texts = record["before"], record["after"]
    except (ValueError, KeyError, AttributeError) as problem:
        raise _Mistake(f"{place}: no record with before and after ({type(problem).__name__})") from None
    if only not in name or None in texts:
        return
    try:
        old, new = (parse(t, filename=name) for t in texts)
    except ScriptError as problem:
        yield name, str(problem).split("\n", maxsplit=1)[0]
        return
    both = [{f.name: f} if isinstance(f, PrimFunc) else dict(f.functions) for f in (old, new)]
    if any(len(b) != 1 for b in both):
        yield name, "it is a module of several functions"
        return
    before, after = (next(iter(b.values())) for b in both)
    yield Pair(name, before, after)
