"""``metadata = tvm.ir.load_json("…")``: what TVM's printer takes out of a text, mostly strings of several lines.

The object is a graph of nodes as JSON; its root maps the names of classes to lists.  Strings are read, other nodes are
refused where the text uses them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, final

from verified_tir.ir.node import IRError

STRINGS: Final = frozenset({"ffi.String", "ir.StringImm", "tirx.StringImm", "tir.StringImm"})
"""Classes of strings: the text itself, and a node that holds it."""


@final
@dataclass(frozen=True, slots=True)
class Metadata:
    """The objects of a text, by the name of their class."""

    kinds: tuple[tuple[str, tuple[str, ...]], ...]

    def values(self, kind: str) -> tuple[str, ...]:
        """The strings of a class.

        :raises IRError: if it is no class of strings, or the metadata has none of it.
        """
        found = dict(self.kinds)
        if kind not in found:
            raise IRError(f"the metadata has no strings of the class {kind}; only strings are read of it")
        return found[kind]


def load(text: str) -> Metadata:
    """The strings of the graph.

    :raises IRError: if the text is not such a graph.
    """
    try:
        graph = json.loads(text)
        nodes = graph["nodes"]
        entries = nodes[graph["root_index"]]["data"]
        found = []
        for key, values in zip(entries[::2], entries[1::2], strict=True):
            kind = _string(nodes, key)
            if kind in STRINGS:
                found.append((kind, tuple([_string(nodes, k) for k in nodes[values]["data"]])))
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        raise IRError("this is not the graph of objects that TVM writes as JSON") from None
    return Metadata(tuple(found))


def _string(nodes: list[dict[str, Any]], at: int) -> str:
    """The string at a position among the nodes."""
    node = nodes[at]
    found = node["data"] if node["type"] == "ffi.String" else _string(nodes, node["data"]["value"])
    if not isinstance(found, str):
        raise ValueError
    return found
