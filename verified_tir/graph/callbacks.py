"""Rules for layouts that are registered for an operator or a PrimFunc: asked instead of the analysis of the program.

A rule gets the node, which operand or result has a layout (operands come first), and the layout; it gives layouts for
all of them, or ``None`` where the layout does not pass.  With ``schedule`` it also says how the program is to be
changed once its buffers have moved.  Nothing of this is believed: the buffers are moved, and the steps of the schedule
made, by the kernel's rules, and what is not right is refused like any other step.

A PrimFunc that calls a function from outside cannot be moved: nobody knows what that function does.  For such a one,
and for no other, a rule may give the program for the moved tensors on the user's word (Relay's ``FTVMConvertLayout``):
the plan lists it among its assumptions, and :func:`verified_tir.graph.believed.check_believed` compares results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Node
from verified_tir.graph.layouts import Layout
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.effects import opaque_calls
from verified_tir.schedule import registrations
from verified_tir.schedule.schedule import Schedule

Proposal: TypeAlias = "tuple[Sequence[Layout], Sequence[Layout]] | None"
LayoutRule: TypeAlias = Callable[[Node, int, Layout], Proposal]
Word: TypeAlias = Callable[[Node, Sequence[Layout], Sequence[Layout]], PrimFunc]
"""The program of a node whose operands and results have these layouts, which nobody proves."""


@final
@dataclass(frozen=True, slots=True)
class Registered:
    """A rule under the name of an operator or PrimFunc."""

    name: str
    layouts: LayoutRule
    schedule: Callable[[Schedule], object] | None = None
    word: Word | None = None


_RULES: dict[str, Registered] = {}


def register_layouts(
    name: str, rule: LayoutRule, schedule: Callable[[Schedule], object] | None = None, *, word: Word | None = None
) -> None:
    """Let a rule say how layouts pass through the nodes of an operator (``nn.conv2d``), or calls of a PrimFunc.

    A later rule of the same name takes the place of an earlier one.  In a file that ``vtir`` executes it is known until
    the file's end.

    :param schedule: steps that are made on the moved program.
    :param word: for PrimFuncs that call functions from outside: the program on the moved tensors, which is believed.
    """
    registrations.register(_RULES, name, Registered(name, rule, schedule, word))


def unregister_layouts(name: str) -> None:
    """Forget a rule; nothing happens if there is none."""
    registrations.unregister(_RULES, name)


@contextmanager
def layout_rule(
    name: str, rule: LayoutRule, schedule: Callable[[Schedule], object] | None = None, *, word: Word | None = None
) -> Iterator[None]:
    """A rule for as long as the context lasts."""
    before = _RULES.get(name)
    register_layouts(name, rule, schedule, word=word)
    try:
        yield
    finally:
        unregister_layouts(name)
        if before is not None:
            registrations.register(_RULES, name, before)


def given_on_word(node: Node, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> PrimFunc | None:
    """The program that a rule gives for a node in these layouts; ``None`` where there is none to believe.

    :raises GraphError: if the node's program can be moved and proved, or the rule gives no program, or fails.
    """
    rule = registered(node)
    if rule is None or rule.word is None or not any(m is not None for m in (*inputs, *outputs)):
        return None
    if node.func is None or not opaque_calls(node.func.body):
        raise GraphError(
            f"{node}: its program calls nothing from outside, so what it is in other layouts is proved, and no word "
            "is taken for it; leave word= out, or say steps by schedule="
        )
    try:
        found = rule.word(node, inputs, outputs)
    except Exception as problem:
        raise GraphError(f"{node}: the word that is registered for {rule.name} fails: {problem}") from problem
    if not isinstance(found, PrimFunc):
        raise GraphError(f"{node}: the word that is registered for {rule.name} gives no PrimFunc, but {found!r}")
    return found


def registered(node: Node) -> Registered | None:
    """The rule for a node: that of its operator, or of the name of its PrimFunc."""
    return _RULES.get(node.func.name if node.func is not None else node.op)
