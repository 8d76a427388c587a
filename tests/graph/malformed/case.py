"""Cases, and how they are made of valid models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from tests.graph.malformed import bases
from tests.graph.whole_models.transformer import SMALL, gpt


@dataclass(frozen=True)
class Case:
    """A malformed model.

    ``write`` puts it into a folder as ``m.onnx``; ``node`` is what a message must name if the model is refused.  What
    is wrong with a model that is ``unseen`` stands in a graph that never runs: it may give what the valid one does.
    """

    name: str
    write: Callable[[Path], None]
    node: str = ""
    unseen: str = ""
    """The valid model's name."""


Change: TypeAlias = Callable[[Any], "str | None"]


BASES: dict[str, Callable[[], Any]] = {
    "operators": bases.operators, "control": bases.control, "functions": bases.functions, "gpt": lambda: gpt(SMALL),
}  # fmt: skip


@cache
def base_bytes(name: str) -> bytes:
    return bytes(BASES[name]().SerializeToString())


def model_of(base: str) -> Any:
    """The valid model."""
    from onnx import ModelProto

    found = ModelProto()
    found.ParseFromString(base_bytes(base))
    return found


def changed(name: str, base: str, change: Callable[[Any], Any], node: str = "", *, unseen: bool = False) -> Case:
    """A case by a function that changes the model."""

    def write(folder: Path) -> None:
        model = model_of(base)
        change(model)
        (folder / "m.onnx").write_bytes(model.SerializeToString())

    return Case(f"{name} ({base})", write, node, base if unseen else "")


def of_bytes(name: str, data: bytes) -> Case:
    return Case(name, lambda folder: put(folder / "m.onnx", data))


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def nodes_of(base: str) -> list[Any]:
    """The nodes of a valid model."""
    return list(model_of(base).graph.node)


def put_name(values: Any, k: int, new: str) -> None:
    """Another name at a place."""
    values[k] = new
