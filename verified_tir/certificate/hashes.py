"""Which hash covers what: a tree, so that a change is found where it was made.

    question ← obligation ← step ← trace ┐
                    programs, relation, axioms, … ┴ hashes ← root ← manifest

An obligation's hash covers all that it says and the hash of its question's text; a step's the call and its obligations'
hashes; ``hashes`` has one for each part of the certificate, and the root is the hash of that table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from verified_tir.certificate.canonical import value_hash

PARTS: Final = (
    "schema", "tool", "schedule", "before", "after", "theorem", "relation", "floats", "axioms", "trace", "regenerable",
)  # fmt: skip
"""The parts of a certificate that have a hash."""


def obligation_hash(o: Mapping[str, Any]) -> str:
    """Of all that an obligation says, the hash of its question's text included."""
    return value_hash({k: v for k, v in o.items() if k != "hash"})


def step_hash(step: Mapping[str, Any]) -> str:
    """Of all that a step says; obligations enter by their hashes."""
    rules = [r | {"obligations": [o["hash"] for o in r["obligations"]]} for r in step["rules"]]
    return value_hash({k: v for k, v in step.items() if k != "hash"} | {"rules": rules})


def part_hash(parts: Mapping[str, Any], part: str) -> str:
    """Of one part of a certificate; the trace enters by the hashes of its steps."""
    return value_hash([s["hash"] for s in parts[part]] if part == "trace" else parts[part])


def sealed(parts: Mapping[str, Any], names: Sequence[str] = PARTS) -> dict[str, Any]:
    """The parts of a certificate, or of a plan, with the hashes over them."""
    hashes = {part: part_hash(parts, part) for part in names}
    return {**{part: parts[part] for part in names}, "hashes": hashes, "root": value_hash(hashes)}


def broken_seals(c: Mapping[str, Any], names: Sequence[str] = PARTS) -> Iterator[tuple[str, str]]:
    """Parts whose hashes are others."""
    if not isinstance(c["hashes"], dict) or c["hashes"].keys() != set(names):
        yield "hashes", f"there is not one for each of {', '.join(names)}"
        return
    for part in names:
        if c["hashes"][part] != part_hash(c, part):
            yield part, "its hash is not that of this part: it was changed"
    if c["root"] != value_hash(c["hashes"]):
        yield "root", "this is not the hash of the hashes: it was changed"
