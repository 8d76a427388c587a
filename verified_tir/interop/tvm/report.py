"""What was found: one :class:`StepReport` for each change of each function, and how it is shown."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, final, get_args
from weakref import WeakValueDictionary

import numpy as np

from verified_tir.durations import duration
from verified_tir.validate import Correspondence, Different, Report
from verified_tir.validate.pairs import Word

Status: TypeAlias = Word | Literal["not validated", "composed", "unchanged", "bridged", "pending"]
OnDifferent: TypeAlias = Literal["raise", "warn", "collect"]
SCHEMA: Final = 2


@final
@dataclass(frozen=True, slots=True, weakref_slot=True)
class StepReport:
    """What the validator said of one change of one function.

    ``status`` is the verdict, or ``not validated`` (``text`` says why), ``composed`` (of passes that have reports of
    their own, and nothing changed between them), ``unchanged`` (but for names and attributes), ``bridged`` (a text
    could not be read; another report compares what was before it with what came after), ``pending`` (another
    process compares them).

    ``before`` and ``after`` are TVM's texts, ``reports`` what the validator reported at each size, ``maps`` how the
    parameters moved, ``depth`` how many passes stood around this one, ``seconds`` what all this took.
    """

    step: str
    function: str
    status: Status
    text: str
    before: str = ""
    after: str = ""
    reports: tuple[Report, ...] = ()
    seconds: float = 0.0
    depth: int = 0
    maps: Mapping[str, Correspondence] = field(default_factory=dict)

    @property
    def witness(self) -> Different | None:
        """The input that shows a difference, if there is one."""
        for report in self.reports:
            if isinstance(report.verdict, Different):
                return report.verdict
        return None

    @property
    def findings(self) -> tuple[str, ...]:
        """Races, of either program."""
        return tuple(dict.fromkeys(f for r in self.reports for f in r.findings))

    @property
    def new_races(self) -> tuple[str, ...]:
        """Races that the program has after the step and not before it: the loops may now run as nobody meant.

        Nothing is said of threads: until TVM has put barriers, none are there.
        """
        return tuple(dict.fromkeys(f for r in self.reports for f in r.new_races if "between threads" not in f))

    @property
    def wrong(self) -> bool:
        """Whether the step was wrong: it changed what the function computes, or made a race."""
        return self.status == "different" or bool(self.new_races)

    def explain(self) -> str:
        """The step, the element, both values, the arrays and both programs."""
        lines = [f"{self.step}, in {self.function}: {self.text}"]
        if (witness := self.witness) is not None:
            lines += ["", "with"]
            lines += [f"  {name} = {_shown(value)}" for name, value in witness.arguments.items()]
        for title, program in (("before", self.before), ("after", self.after)):
            if program:
                lines += ["", f"{title}:", program.rstrip()]
        return "\n".join(lines)


class DifferenceFound(Exception):
    """TVM changed what a program computes, or lets loops run as they must not.

    :ivar report: what the validator said.
    :ivar before: the program before the step, as TVM printed it.
    :ivar after: the program after it.
    """

    def __init__(self, report: StepReport | str) -> None:
        if isinstance(report, str):  # TVM's C++ carries an exception through a pass as a name and a text
            report = _raised.get(report) or StepReport("a step", "a function", "different", report)
        self.report = report
        self.before = report.before
        self.after = report.after
        super().__init__(report.explain())
        _raised[str(self)] = report


_raised: Final[WeakValueDictionary[str, StepReport]] = WeakValueDictionary()


class DifferenceWarning(UserWarning):
    """TVM changed what a program computes, or lets loops run as they must not, and the build went on."""


def check_choice(on_different: str) -> None:
    """Refuse a word that is no choice.

    :raises ValueError: if it is none.
    """
    if on_different not in get_args(OnDifferent):
        raise ValueError(f"on_different is one of {', '.join(get_args(OnDifferent))}, not {on_different!r}")


def tell(report: StepReport, on_different: OnDifferent, *, stacklevel: int = 3) -> None:
    """Raise or warn, if a step was wrong and that was asked for.

    :param stacklevel: for which of the callers the warning is.
    :raises DifferenceFound: if ``on_different`` is ``"raise"``.
    """
    if not report.wrong:
        return
    if on_different == "raise":
        raise DifferenceFound(report)
    if on_different == "warn":
        import warnings

        warnings.warn(report.explain(), DifferenceWarning, stacklevel=stacklevel)


# ------------------------------------------------------------------------------------------------------------- shown


def table(reports: Iterable[StepReport], *, every: bool = False, width: int | None = None) -> str:
    """The reports as a table, one line each, and a line that counts them.

    :param every: also those in which nothing changed.
    :param width: of the table, in characters; that of the terminal unless given.
    """
    text = io.StringIO()
    _render(tuple(reports), every, text, width)
    return text.getvalue().rstrip()


def show(reports: Iterable[StepReport], file: Any, *, every: bool = False) -> None:
    """Print the table, in colours if ``file`` is a terminal."""
    _render(tuple(reports), every, file, None)


_SHOWN: Final = 8
_UNDECIDED: Final = ("unknown", "unsupported", "races unknown", "failed")


def summary(reports: Iterable[StepReport]) -> str:
    """What was found, on one screen: counts, what is wrong, reasons of what was not decided, and what took longest."""
    every = tuple(reports)
    judged = [r for r in every if r.status not in ("unchanged", "composed", "not validated", "bridged")]
    functions = len({r.function for r in judged})
    lines = [f"{len(judged)} changes of {functions} functions judged: {counted(judged)}"]
    wrong = [r for r in judged if r.wrong]
    lines += [f"  {r.step}, in {r.function}: {r.text}" for r in wrong[:_SHOWN]]
    if len(wrong) > _SHOWN:
        lines.append(f"  and {len(wrong) - _SHOWN} others that are wrong")
    for status in _UNDECIDED:
        lines += _reasons(status, [r for r in judged if r.status == status and not r.wrong])
    lines += _reasons("not validated", [r for r in every if r.status == "not validated"])
    slow = sorted((r for r in judged if r.seconds >= 1), key=lambda r: -r.seconds)[:3]
    if slow:
        lines.append("longest: " + ", ".join(f"{r.step} of {r.function} {duration(r.seconds)}" for r in slow))
    lines.append(f"{duration(sum(r.seconds for r in every))} in all")
    return "\n".join(lines)


def _reasons(status: str, reports: Sequence[StepReport]) -> list[str]:
    """One line for each reason, the most frequent first, with a step that has it."""
    found: dict[str, list[StepReport]] = {}
    for r in reports:
        found.setdefault(r.text.removeprefix(f"{status}: ").removeprefix("unknown: "), []).append(r)
    most = sorted(found.items(), key=lambda item: -len(item[1]))
    lines = [f"  {len(them)} {status}: {_cut(reason)} ({them[0].step})" for reason, them in most[:_SHOWN]]
    rest = sum(len(them) for _, them in most[_SHOWN:])
    return [*lines, f"  {rest} {status} for other reasons"] if rest else lines


def _cut(text: str, most: int = 100) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _render(reports: Sequence[StepReport], every: bool, file: Any, width: int | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=file, width=width, highlight=False)
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("step", "function", "verdict"):
        grid.add_column(name, overflow="fold")
    grid.add_column("time", justify="right", no_wrap=True)
    for report in reports:
        if every or report.status != "unchanged":
            grid.add_row(
                Text("  " * report.depth + report.step),
                Text(report.function),
                Text(report.text, style=_STYLES["different"] if report.wrong else _STYLES.get(report.status, "")),
                Text(duration(report.seconds)),
            )
    if grid.row_count:
        console.print(grid)
    console.print(Text(counted(reports)))


_STYLES: Final = {
    "different": "bold red", "failed": "bold red", "unknown": "yellow", "races unknown": "yellow", "equal": "green",
}  # fmt: skip


def counted(reports: Iterable[StepReport]) -> str:
    """How many reports there are of each kind, in one line."""
    numbers: dict[str, int] = {}
    for report in reports:
        numbers[report.status] = numbers.get(report.status, 0) + 1
    return ", ".join(f"{n} {status}" for status, n in numbers.items()) or "nothing was seen"


def to_json(reports: Iterable[StepReport]) -> str:
    """The reports for programs: those that changed something have their texts, a difference has its arguments."""
    return json.dumps({"schema": SCHEMA, "steps": [_plain(r) for r in reports]}, indent=2)


def _plain(report: StepReport) -> dict[str, Any]:
    found: dict[str, Any] = {
        "step": report.step, "function": report.function, "status": report.status, "text": report.text,
        "depth": report.depth, "seconds": round(report.seconds, 6), "findings": list(report.findings),
        "new_races": list(report.new_races),
        "sizes": [dict(r.sizes) for r in report.reports],
        "before": report.before, "after": report.after,
    }  # fmt: skip
    if (witness := report.witness) is not None:
        found["witness"] = {
            "element": witness.element, "before": _number(witness.before), "after": _number(witness.after),
            "arguments": {name: _number(value) for name, value in witness.arguments.items()},
        }  # fmt: skip
    return found


def _number(value: Any) -> Any:
    """A value as JSON has it: NaN, infinities and negative zeros as texts, which every reader takes."""
    if isinstance(value, np.ndarray):
        plain = value if value.dtype.kind in "biuf" else value.astype(np.float64)  # bfloat16 is no kind of numpy's
        return [_number(v) for v in plain] if plain.ndim else _number(plain.item())
    if isinstance(value, np.generic):
        return _number(value.item() if value.dtype.kind in "biuf" else float(value))
    if isinstance(value, float) and (not np.isfinite(value) or (value == 0 and np.signbit(value))):
        return repr(value)
    return value


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, separator=", ", threshold=200, prefix="    ").replace("\n", "\n  ")
    return repr(value)
