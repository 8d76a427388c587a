"""Rules for layouts that are registered for an operator or a PrimFunc: asked instead of the analysis of the program.

A rule gets the node, which operand or result has a layout (operands come first), and the layout; it gives layouts for
all of them, or ``None`` where the layout does not pass.  With ``schedule`` it also says how the program is to be
changed once its buffers have moved.  Nothing of this is believed: the buffers are moved, and the steps of the schedule
made, by the kernel's rules, and what is not right is refused like any other step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.graph.ir import Node
from verified_tir.graph.layouts import Layout
from verified_tir.schedule.schedule import Schedule

Proposal: TypeAlias = "tuple[Sequence[Layout], Sequence[Layout]] | None"
LayoutRule: TypeAlias = Callable[[Node, int, Layout], Proposal]


@final
@dataclass(frozen=True, slots=True)
class Registered:
    """A rule under the name of an operator or PrimFunc."""

    name: str
    layouts: LayoutRule
    schedule: Callable[[Schedule], object] | None = None


_RULES: dict[str, Registered] = {}


def register_layouts(name: str, rule: LayoutRule, schedule: Callable[[Schedule], object] | None = None) -> None:
    """Let a rule say how layouts pass through the nodes of an operator (``nn.conv2d``), or calls of a PrimFunc.

    A later rule of the same name takes the place of an earlier one.

    :param schedule: steps that are made on the moved program.
    """
    _RULES[name] = Registered(name, rule, schedule)


def unregister_layouts(name: str) -> None:
    """Forget a rule; nothing happens if there is none."""
    _RULES.pop(name, None)


@contextmanager
def layout_rule(name: str, rule: LayoutRule, schedule: Callable[[Schedule], object] | None = None) -> Iterator[None]:
    """A rule for as long as the context lasts."""
    before = _RULES.get(name)
    register_layouts(name, rule, schedule)
    try:
        yield
    finally:
        unregister_layouts(name)
        if before is not None:
            _RULES[name] = before


def registered(node: Node) -> Registered | None:
    """The rule for a node: that of its operator, or of the name of its PrimFunc."""
    return _RULES.get(node.func.name if node.func is not None else node.op)
