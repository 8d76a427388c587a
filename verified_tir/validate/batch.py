"""Judging recorded pairs, one or a file of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import ScriptError
from verified_tir.validate.interface import Correspondence
from verified_tir.validate.memory import Refused
from verified_tir.validate.pairs import WORDS, Budget, Judgement, TimeIsUp, Word, bounded, judge, unsupported
from verified_tir.validate.recorded import Record, correspondences, functions


def judge_file(records: Iterable[Record], given: Mapping[str, int], budget: Budget) -> Iterator[Judgement]:
    """Judgements of recorded pairs that have both programs, in their order.

    :param given: sizes of symbols, by name; the others take several.
    """
    wanted = [record for record in records if record.after is not None]
    for record in wanted:
        yield judge_record(record, given, budget)


def judge_record(record: Record, given: Mapping[str, int], budget: Budget) -> Judgement:
    """Judge a recorded pair; what goes wrong is said, never raised."""
    start = time.process_time()
    found: list[Judgement] = []
    try:
        with bounded(budget.seconds):
            for name, before, after in functions(record):

                def maps(
                    sizes: Mapping[str, int], before: PrimFunc = before, after: PrimFunc = after
                ) -> Mapping[str, Correspondence]:
                    return correspondences(record, before, after, sizes)

                found.append(judge(name, before, after, given, budget, maps))
    except ScriptError as problem:
        line = str(problem).split("\n", maxsplit=1)[0]
        found.append(_undecided(record, line.rpartition("error: ")[2], "unreadable"))
    except (Refused, IRError) as problem:
        found.append(_undecided(record, str(problem), "unknown"))
    except TimeIsUp:
        found.append(_undecided(record, f"it takes more than {budget.seconds:g} seconds", "unknown"))
    except Exception as problem:  # one pair must not end the others; it is counted apart, as a bug of the validator
        found.append(_undecided(record, f"{type(problem).__name__}: {problem}", "failed"))
    worst = max(found, key=lambda j: WORDS.index(j.word))
    reports = tuple(r for j in found for r in j.reports)
    seconds = time.process_time() - start
    return Judgement(record.name, worst.word, worst.text, worst.reason, reports, seconds, record)


def _undecided(record: Record, reason: str, word: Word) -> Judgement:
    word = "unsupported" if unsupported(reason) else word
    return Judgement(record.name, word, f"{word}: {reason}", reason)
