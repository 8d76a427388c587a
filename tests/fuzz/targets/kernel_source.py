"""A case of the kernel's target as a pytest file."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tests.fuzz.targets.kernel_rules import examine
from tests.rules.cases import RuleCase
from tests.rules.family import After, plain_solver, rule_for
from tests.rules.literals import rule_text
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.ir.script import script
from verified_tir.kernel.obligation import NoMatch
from verified_tir.testing.scheduling import Taken

HEAD = '''"""{said}"""

import numpy as np

from verified_tir import HoistConditional, HoistLetBinding, IndexMap, Schedule, TensorIntrin
from verified_tir.script import tir as T
from verified_tir.testing import {assertions}

PROGRAM = """\\
{program}
"""


def {name}() -> None:
'''


@final
@dataclass(frozen=True, slots=True)
class Demands:
    """What must hold when all steps are taken.

    :ivar arguments: on which the program after must refine the program before; nothing is run if there are none.
    :ivar text: whether the program's text must read back.
    """

    arguments: Mapping[str, Any] | None
    machine_code: bool
    certificate: bool
    text: bool


def test_of(
    name: str,
    said: str,
    program: str,
    taken: Sequence[Taken],
    demands: Demands,
) -> str:
    """The source of a test: the program, its steps, what must hold.

    Steps that were refused, and are not to blame, are left out: they change nothing.
    """
    steps = [t for k, t in enumerate(taken) if t.refusal is None or k == len(taken) - 1]
    lines = ["    with refusals_are_right():", "        s = Schedule(PROGRAM)"]
    for t in steps:
        lines += ["    with refusals_are_right(s):", *(f"        {line}" for line in t.step.text.split("\n"))]
    used = ["refusals_are_right"]
    arguments = demands.arguments
    if arguments is not None:
        used.append("assert_refines")
        values = [_wrapped(f'"{key}": {literal(value)},') for key, value in arguments.items()]
        more = "" if demands.machine_code else ", machine_code=False"
        lines += ["    arguments = {", *values, "    }", f"    assert_refines(s, arguments{more})"]
    if demands.text:
        used.append("assert_round_trip")
        lines.append("    assert_round_trip(s.func)")
    if demands.certificate:
        used.append("assert_certificate_rechecks")
        lines.append("    assert_certificate_rechecks(s)")
    source = "\n".join([*lines, ""])
    head = HEAD.format(
        said=_comment(said),
        assertions=", ".join(sorted(used)),
        program=program.strip().replace("\\", "\\\\"),
        name=name,
    )
    return _imported(head, source) + source


RULES = '''"""{said}"""

from tests.rules.assertions import assert_rules_refine

PROGRAM_AND_RULES = {literal}


def {name}() -> None:
    """
{program}
    """
    assert_rules_refine(PROGRAM_AND_RULES)
'''


FAMILY = '''"""{said}"""

from tests.rules.assertions import assert_family_refines


def {name}() -> None:
    assert_family_refines("{family}", {index})
'''


def test_of_rules(name: str, case: RuleCase) -> str:
    """The source of a test for the chain of a case that is to blame: the first, if none is."""
    said, blamed = "what a rule accepts keeps the results", case.chains[0]
    for chain in case.chains:
        try:
            examine(replace(case, chains=(chain,)), Observed(), plain_solver())
        except Disagreement as found:
            said, blamed = str(found), chain
            break
        except Exception as crash:
            said, blamed = f"{type(crash).__name__}: {crash}", chain
            break
    program = "\n".join(f"    {line}" if line else "" for line in script(case.func).rstrip().split("\n"))
    first = rule_for(blamed[0], case.func)
    rules = tuple(r for r in (first, *blamed[1:]) if not isinstance(r, (After, NoMatch)) and not callable(r))
    try:
        if len(rules) < len(blamed):
            raise ValueError("a step is made for what the one before it creates")
        source = rule_text(case.func, rules)
    except ValueError:  # such a step, or a rule that rests on a theorem
        return FAMILY.format(said=_comment(said), family=case.family, index=case.index, name=name)
    literal = "\n".join(textwrap.wrap(source, 118, break_long_words=False, break_on_hyphens=False))
    return RULES.format(said=_comment(said), literal=literal, name=name, program=program.replace("\\", "\\\\"))


def _wrapped(entry: str) -> str:
    """An entry of a dictionary in lines of a bearable length."""
    lines = textwrap.wrap(entry, 104, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"        {lines[0]}", *(f"            {line}" for line in lines[1:])])


def _comment(said: str) -> str:
    """The finding in a line or two."""
    line = said.strip().split("\n")[0].replace("\\", "\\\\").replace('"""', "'''")
    return line if line.endswith(".") else f"{line}."


def _imported(head: str, source: str) -> str:
    """The head with what the source uses, and no more."""
    words = ("HoistConditional", "HoistLetBinding", "IndexMap", "Schedule", "TensorIntrin")
    used = [w for w in words if f"{w}(" in source or f"{w}." in source]
    head = head.replace(", ".join(words), ", ".join(used))
    if "np." not in source:
        head = head.replace("import numpy as np\n\n", "")
    if "T." not in source:
        head = head.replace("from verified_tir.script import tir as T\n", "")
    return head


def literal(value: Any) -> str:
    """An argument as Python source that gives its bits again."""
    if not isinstance(value, np.ndarray):
        return f"float({str(value)!r})" if isinstance(value, float) else repr(value)
    plain = value.dtype.name
    if plain == "bfloat16" or not _exact(value):
        unsigned = f"uint{8 * value.dtype.itemsize}"
        return f'np.array({value.view(unsigned).tolist()}, "{unsigned}").view({_type(plain)})'
    text = repr(value.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f'np.array({text}, "{plain}"){_reshaped(value)}'


def _type(name: str) -> str:
    return f'"{name}"' if name != "bfloat16" else '__import__("ml_dtypes").bfloat16'


def _reshaped(value: np.ndarray[Any, Any]) -> str:
    return f".reshape({value.shape})" if 0 in value.shape else ""


def _exact(value: np.ndarray[Any, Any]) -> bool:
    """Whether the decimals give the same bits; a NaN's are its own business."""
    again = np.array(value.tolist(), value.dtype).reshape(value.shape)
    return bool(np.array_equal(again, value, equal_nan=value.dtype.kind == "f"))
