"""The report for people.

On a terminal long lines are wrapped with a hanging indent and verdicts are coloured (unless ``NO_COLOR`` is set).  In a
file or a pipe every line is whole and plain, so that ``grep`` finds what it looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, assert_never, final

from rich.text import Text

from verified_tir.durations import duration
from verified_tir.report.error_codes import NO_INPUT, NOT_REFUSED, VACUOUS, page_of
from verified_tir.report.model import (
    ErrorReport,
    FileReport,
    InputReport,
    ObligationReport,
    Outcome,
    RefusalReport,
    Report,
    ScheduleReport,
    StepReport,
)  # fmt: skip
from verified_tir.report.problems import ACCEPTED
from verified_tir.report.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

_VERDICT = {
    Outcome.PROVED: ("proved", "bold green"),
    Outcome.REFUSED_AS_EXPECTED: ("refused as expected", "bold green"),
    Outcome.REFUSED: ("REFUSED", "bold red"),
    Outcome.NOT_REFUSED: ("NOT REFUSED", "bold red"),
    Outcome.VACUOUS: ("VACUOUS", "bold red"),
    Outcome.NO_INPUT: ("NO INPUT FOUND", "bold red"),
    Outcome.ERROR: ("ERROR", "bold red"),
}

_DIFF = {"+": "green", "-": "red", "@": "cyan", " ": ""}

_EMPTY = Text()


class Detail(IntEnum):
    """How much is shown."""

    QUIET = 0
    """Only what went wrong."""
    STEPS = 1
    """Every step of every schedule."""
    OBLIGATIONS = 2
    """Every obligation of every step, refusals in full, tracebacks of unexpected exceptions."""


@final
class TextReport:
    """Writes a report while it is made: :meth:`file`, its :meth:`schedule` s, and at last :meth:`summary`."""

    def __init__(
        self, console: Console, detail: Detail = Detail.STEPS, *, show_program: bool = False, diffs: bool = False
    ) -> None:
        self._console = console
        self._wraps = console.file.isatty()  # colours alone (FORCE_COLOR) are no reason to break lines
        self._detail = detail
        self._show_program = show_program
        self._diffs = diffs
        self._shown_file = ""

    # -- parts ------------------------------------------------------------------------------------------------------

    def schedule(self, s: ScheduleReport) -> None:
        """One schedule function, below the heading of its file."""
        if self._detail is Detail.QUIET and s.outcome.as_expected:
            return
        self._heading(s.at.file)
        word, style = _VERDICT[s.outcome]
        line = Text.assemble("  ", (s.name, "bold"), "  ", (word, style))
        if s.outcome is Outcome.PROVED:
            line.append(f"  {_count(s.obligations, 'obligation')}, {duration(s.seconds)}", "dim")
        self._line(line)
        if self._detail is not Detail.QUIET:
            for step in s.steps:
                self._step(step, s.at.file)
        if s.outcome is Outcome.PROVED:
            for sentence in s.assumptions:
                self._line(Text.assemble(("assuming: ", "dim"), sentence), 4)
        if s.input is not None and s.outcome is Outcome.PROVED:
            self._input(s.input)
        if s.opinion is not None and s.outcome.as_expected:
            self._line(Text.assemble(("second opinion: ", "dim"), s.opinion.sentence), 4)
        if s.machine_code is not None and s.outcome.as_expected:
            self._line(Text.assemble(("machine code: ", "dim"), s.machine_code.sentence), 4)
        self._profile(s)
        for refusal in s.expected_refusals:
            self._short_refusal(refusal)
        if s.refusal is not None:
            if s.outcome is Outcome.REFUSED_AS_EXPECTED:
                self._short_refusal(s.refusal)
            else:
                self._refusal(s.refusal, s.unexpected)
        match s.outcome:
            case Outcome.NOT_REFUSED:
                self._line(Text.assemble(f"{ACCEPTED} ", self._code(NOT_REFUSED)), 4)
            case Outcome.ERROR:
                if s.error is not None:
                    self._error(s.error, 4)
            case Outcome.VACUOUS | Outcome.NO_INPUT:
                if s.input is not None:
                    self._no_input(s.input)
            case Outcome.PROVED | Outcome.REFUSED | Outcome.REFUSED_AS_EXPECTED:
                pass
            case _:
                assert_never(s.outcome)
        if self._show_program and s.program:
            self._block(s.program, 4)
        self._line(_EMPTY)

    def file(self, f: FileReport) -> None:
        """What there is to say about a file besides its schedules."""
        if f.error is not None:
            self._error(f.error, 0)
            self._line(_EMPTY)
        elif f.warning:
            self._line(Text.assemble(f"{f.file}: ", ("warning", "bold yellow"), f": {f.warning}"))
            self._line(_EMPTY)

    def summary(self, r: Report) -> None:
        """The last line."""
        if r.nothing:
            self._line(Text.assemble(("error", "bold red"), f": {r.nothing}"))
            return
        style = "bold green" if r.exit_code == 0 else "bold red"
        parts = list(_counts(r))
        proved = sum(s.obligations for s in r.schedules)
        head = f"{_count(len(r.schedules), 'schedule')} in {_count(len(r.files), 'file')}"
        tail = f"{_count(proved, 'obligation')} proved in {duration(r.seconds)}"
        if r.interrupted:
            parts.append("interrupted")
        self._line(Text.assemble(f"{head}: ", (", ".join(parts) or "none", style), f"; {tail}"))

    # -- pieces -----------------------------------------------------------------------------------------------------

    def _profile(self, s: ScheduleReport) -> None:
        """Where the time went: parts that took a hundredth of it or more."""
        total = sum(seconds for _, seconds in s.profile)
        for part, seconds in s.profile:
            if seconds >= total / 100:
                self._line(Text.assemble((f"{seconds / total:5.0%}  {duration(seconds):>7}  ", "dim"), part), 4)

    def _input(self, found: InputReport) -> None:
        """An input as a note: of interest where it was not run past all assumptions."""
        if found.found == "not run" or self._detail is Detail.OBLIGATIONS:
            self._line(Text.assemble(("input: ", "dim"), found.sentence), 4)

    def _no_input(self, found: InputReport) -> None:
        """That every step was proved means nothing here, and what to do."""
        vacuous = found.found == "vacuous"
        code = self._code(VACUOUS if vacuous else NO_INPUT)
        self._line(Text.assemble(f"every step was proved, but {found.sentence} ", code), 4)
        if vacuous:
            advice = "assumptions that contradict each other prove everything: change or remove one of them"
        else:
            advice = "the assumptions may contradict each other: check them, or assume less"
        self._line(Text(advice), 4)

    def _heading(self, file: str) -> None:
        if file != self._shown_file:
            self._shown_file = file
            self._line(Text(file, "bold"))
            self._line(_EMPTY)

    def _step(self, s: StepReport, file: str) -> None:
        proved = f"{len(s.obligations):>5} proved {duration(s.seconds):>8}  "
        self._line(Text.assemble("  ", (proved, "green"), str(s)), hang=len(proved) + 2)
        if self._diffs:
            self._difference(s, file)
        if self._detail is Detail.OBLIGATIONS:
            for o in s.obligations:
                self._obligation(o, 9)
                for lemma in o.lemmas:
                    self._obligation(lemma, 11)

    def _difference(self, s: StepReport, file: str) -> None:
        """Where a step was called, and what it changed in the program."""
        if s.line:
            self._line(Text(f"{file}:{s.line}", "bold"), 9)
            if not s.diff:
                self._line(Text("the program's text is as it was", "dim"), 9)
        for line in s.diff:
            self._line(Text(str(line), _DIFF[line.kind]), 9, hang=5)

    def _obligation(self, o: ObligationReport, indent: int) -> None:
        name = "" if o.name == o.claim else f"{o.name}: "  # a lemma's name is its claim
        head = f"{o.verdict} {duration(o.seconds):>8}  {o.how:<8}"
        line = Text.assemble((head, "green" if o.verdict == "proved" else "red"), (name, "bold"), o.claim)
        self._line(line, indent, hang=len(head))

    def _short_refusal(self, r: RefusalReport) -> None:
        at = "" if r.raised is None else f"{r.raised}: "
        line = Text.assemble("    ", (at, "bold"), ("refused as expected: ", "green"), r.step, " ", self._code(r.code))
        self._line(line, hang=6)
        if self._detail is Detail.OBLIGATIONS:
            self._block(r.text, 6)
            return
        label = {"refuted": "this is false", "undecided": "not decided", "not-applicable": "not applicable"}[r.kind]
        self._line(Text(f"{label}: {r.claim}"), 6)
        if r.counterexample:
            self._line(Text(f"counterexample: {r.values}"), 6)
        if r.replay is not None:
            self._line(Text(str(r.replay)), 6)

    def _refusal(self, r: RefusalReport, unexpected: str) -> None:
        self._line(_EMPTY)
        if r.raised is not None:
            self._line(Text.assemble((f"{r.raised}: ", "bold"), r.raised.source), 4)
            self._line(_EMPTY)
        self._block(r.text, 4)
        if unexpected:
            self._line(Text(unexpected), 4)

    def _error(self, e: ErrorReport, indent: int) -> None:
        first, _, rest = e.sentence.partition("\n")
        at = str(e.at) if e.at.line else e.at.file
        line = Text.assemble((f"{at}: ", "bold"), ("error", "bold red"), f": {first} ", self._code(e.code))
        self._line(line, indent, hang=2)
        if rest:
            self._block(rest, indent + 2)
        if e.at.source.strip():
            shown = e.at.source.rstrip()
            skipped = len(shown) - len(shown.lstrip())
            self._line(Text(shown.lstrip()), indent + 4)
            if e.at.column is not None and e.at.column > skipped:
                self._line(Text("^", "bold red"), indent + 4 + e.at.column - 1 - skipped)
        if self._detail is Detail.OBLIGATIONS and e.traceback:
            self._block(e.traceback.rstrip(), indent + 2)

    def _code(self, code: str) -> Text:
        """A code behind a message; on a terminal, a link to its page where it is known where that is."""
        link = page_of(code) if self._wraps else None
        return Text(f"[{code}]", "dim" if link is None else f"dim link {link}")

    def _block(self, text: str, indent: int) -> None:
        """Several lines, each keeping its own indentation; the marked one stands out."""
        for line in text.splitlines():
            shown = Text(line)
            if behind := re.search(r" \[(VT\d{4})\]$", line):
                shown = Text.assemble(line[: behind.start() + 1], self._code(behind[1]))
            if "# <-- " in line:
                shown.stylize("bold red")
            elif line.startswith(("replayed:", "counterexample:")):
                shown.stylize("bold")
            self._line(shown, indent)

    def _line(self, text: Text, indent: int = 0, hang: int = 0) -> None:
        """Print a line; on a terminal it is wrapped, the rest indented by ``hang`` (or 2) characters more."""
        console = self._console
        if visible(text.plain) != text.plain:  # a file's name can contain anything
            text = Text(visible(text.plain), text.style)
        if not text.plain.strip():
            console.print()
            return
        pad = Text(" " * indent)
        if not self._wraps or indent + text.cell_len <= console.width:
            console.print(pad + text, soft_wrap=True)
            return
        hang = hang or len(text.plain) - len(text.plain.lstrip()) + 2
        room = max(console.width - indent - hang, 20)
        for k, part in enumerate(text[hang:].wrap(console, room)):
            part.rstrip()
            console.print(pad + (text[:hang] if k == 0 else Text(" " * hang)) + part, soft_wrap=True)


def _counts(r: Report) -> Iterator[str]:
    for outcome, (word, _) in _VERDICT.items():
        n = r.count(outcome)
        if n:
            yield f"{n} {_plural(n, 'error') if outcome is Outcome.ERROR else word.lower()}"
    if r.bad_files:
        yield f"{_count(r.bad_files, 'bad file')}"


def _count(n: int, word: str) -> str:
    return f"{n} {_plural(n, word)}"


def _plural(n: int, word: str) -> str:
    return word if n == 1 else f"{word}s"
