"""Models for commands: ONNX files, and graphs in the form of :mod:`verified_tir.graph.text`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from verified_tir.activity import Level, announce
from verified_tir.cli.reading import problem_with, text_of
from verified_tir.graph.errors import GraphError

if TYPE_CHECKING:
    from verified_tir.graph.annotate import Pad
    from verified_tir.graph.ir import Graph, Node
    from verified_tir.graph.options import Frozen

Progress = Callable[[int, int, str], None]
AUTOMATIC: Final = "auto"
"""As ``--layout``: what is fast on this machine."""
PADDED: Final = ("large", "always", "never")


def is_model(path: Path) -> bool:
    """Whether a file is a model, rather than one of functions: by its name, or since it holds ``@R.function``."""
    if path.suffix == ".onnx":
        return True
    try:
        text = text_of(path)
    except ValueError:
        return False
    return any(line.startswith("@R.function") for line in text.split("\n"))


def load_model(path: Path, shapes: Sequence[str] = (), weights: int | None = None) -> tuple[Graph, Any]:
    """The graph of a file, and the ``onnx.ModelProto`` that it was made of, if it was.

    :param shapes: ``name=1x3x224x224`` for an input, ``name=4`` for a symbolic dimension; others stay open.
    :param weights: weights are random, with this seed; as in the file if ``None``.
    :raises GraphError: if there is no such file, it is not a model, or a node has no counterpart. The message names it.
    """
    if problem := problem_with(path, None):
        raise GraphError(f"{path}: {problem}")
    from verified_tir.graph.ir import with_sizes

    sizes = _sizes(shapes)
    if path.suffix == ".onnx":
        from verified_tir.graph.onnx.load import from_onnx, read_onnx
        from verified_tir.graph.onnx.weights import randomised

        model = read_onnx(path)
        if weights is not None:
            model = randomised(model, weights)
        return from_onnx(model, sizes, path.stem), model
    graph = _text_graph(path, weights)
    for name, size in sizes.items():
        if not isinstance(size, int) or name not in {e.name for e in graph.symbols}:
            has = ", ".join(f"{e.name}=4" for e in graph.symbols) or "this one has none"
            raise GraphError(f"--shape {name}: a graph as text takes the sizes that it leaves open; {has}")
    return with_sizes(graph, {name: n for name, n in sizes.items() if isinstance(n, int)}), None


def _text_graph(path: Path, weights: int | None) -> Graph:
    from verified_tir.graph.random import random_constants
    from verified_tir.graph.text import load_graph
    from verified_tir.ir.node import IRError

    if not is_model(path):
        raise GraphError(f"{path} is not a model: neither an ONNX file (*.onnx) nor a text with @R.function")
    try:
        graph = load_graph(path)
    except (OSError, IRError, ValueError) as problem:
        raise GraphError(f"{path}: {problem}" if str(path) not in str(problem) else str(problem)) from None
    return graph if weights is None else random_constants(graph, weights)


def _sizes(texts: Sequence[str]) -> dict[str, int | tuple[int, ...]]:
    found: dict[str, int | tuple[int, ...]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        parts = value.strip().lower().split("x")
        if not equals or not all(p.isdigit() and int(p) > 0 for p in parts):
            raise GraphError(f"--shape {text}: write input=1x3x224x224, or the name of a dimension and its size")
        found[name.strip()] = int(parts[0]) if len(parts) == 1 else tuple(map(int, parts))
    return found


def frozen_by(texts: Sequence[str], graph: Graph, pad: str = "large") -> dict[Node, Frozen]:
    """The nodes that ``--layout conv2d=NCHW16c`` speaks of, with their layouts; ``auto`` speaks of those that this
    machine computes faster in another layout.

    :param pad: which dimensions are padded that are not multiples of their tile (``--pad``).
    :raises GraphError: for a text that names no operator or layout, or an operator that no node of the graph has.
    """
    from verified_tir.graph.annotate import Annotations
    from verified_tir.ir.node import IRError

    if pad not in PADDED:
        raise GraphError(f"--pad {pad}: choose from {', '.join(PADDED)}")
    frozen: dict[Node, Frozen] = {}
    for text in texts:
        name, equals, layout = (part.strip() for part in text.partition("="))
        automatic = text.strip() == AUTOMATIC
        if not automatic and not (equals and name and layout):
            raise GraphError(f"--layout {text}: write operator=layout, as in conv2d=NCHW16c, or {AUTOMATIC}")
        wanted = _automatic() if automatic else {name: layout}
        try:
            found = Annotations(wanted, pad=cast("Pad", pad)).frozen(graph)
        except (GraphError, IRError) as problem:
            raise GraphError(f"--layout {text}: {problem}") from None
        if not found and not automatic:
            has = ", ".join(sorted({n.op.removeprefix("nn.") for n in graph.nodes})) or "no nodes"
            raise GraphError(f"--layout {text}: no node of {graph.name} is a {name}; it has {has}")
        twice = [n for n in found if n in frozen]
        if twice:
            raise GraphError(f"--layout {text}: {twice[0]} was given a layout before")
        frozen.update(found)
    return frozen


def spelled(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts of ``--layout`` as they are shown: with what ``auto`` stands for on this machine."""
    here = ", ".join(f"{name}={layout}" for name, layout in _automatic().items())
    return tuple(f"{AUTOMATIC}: {here}" if text.strip() == AUTOMATIC else text for text in texts)


def _automatic() -> dict[str, str]:
    """What ``auto`` stands for on this machine."""
    from verified_tir.codegen.target import Target
    from verified_tir.graph.annotate import blocked_layouts

    return blocked_layouts(Target.host(1))


@contextmanager
def bar(what: str, *, quiet: bool) -> Iterator[Progress]:
    """A bar where a person looks: on the terminal of the errors, if there is one."""
    from rich.console import Console

    def tell(done: int, total: int, node: str) -> None:
        announce(Level.STEP, f"{what} {node} ({done} of {total})")

    announce(Level.FUNCTION, "")
    console = Console(stderr=True)
    if quiet or not console.file.isatty() or console.is_dumb_terminal:
        yield tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total, node: shown.update(task, completed=done, total=total, description=f"{what} {node}")
