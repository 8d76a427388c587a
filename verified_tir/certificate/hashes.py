"""Which hash covers what: a tree, so that a change is found where it was made.

    question ← obligation ← step ← trace ┐
                    programs, relation, axioms, … ┴ hashes ← root ← manifest

An obligation's hash covers all that it says and the hash of its question's text; a step's the call and its obligations'
hashes; ``hashes`` has one for each part of the certificate, and the root is the hash of that table.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def sealed(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a certificate with the hashes over them."""
    hashes = {part: part_hash(parts, part) for part in PARTS}
    return {**{part: parts[part] for part in PARTS}, "hashes": hashes, "root": value_hash(hashes)}
