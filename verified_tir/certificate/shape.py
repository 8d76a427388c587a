"""What a certificate looks like: its keys, and the types of its values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_HASH: Final = re.compile(r"[0-9a-f]{64}")
DIGEST: Final = "a hash"
ANY: Final = "anything"
OPTIONAL_PLACE: Final = "a place or null"
OPTIONAL_COUNT: Final = "a number or null"
OPTIONAL_NAME: Final = "a name or null"

_PLACE: Final[dict[str, Any]] = {"program": str, "path": [int], "statement": str}
_TYPE: Final[dict[str, Any]] = {"shape": [str], "dtype": str}
_PROGRAM: Final[dict[str, Any]] = {"hash": DIGEST, "program": [str], "text": [str]}
_THEOREM: Final[dict[str, Any]] = {
    "definite": bool, "licences": str, "given up": OPTIONAL_COUNT, "relation": str, "paddings": str,
    "reassociated": str,
}  # fmt: skip
_OBLIGATION: Final[dict[str, Any]] = {
    "name": str, "claim": str, "place": OPTIONAL_PLACE, "query": DIGEST, "expected": str, "hash": DIGEST,
}  # fmt: skip
_RULE: Final[dict[str, Any]] = {"rule": str, "value": str, "after": DIGEST, "obligations": [_OBLIGATION]}
_STEP: Final[dict[str, Any]] = {
    "primitive": str, "arguments": [ANY], "named": ANY, "line": int, "before": DIGEST, "after": DIGEST,
    "rules": [_RULE], "hash": DIGEST,
}  # fmt: skip
_LAYOUT: Final[dict[str, Any]] = {
    "map": str, "inverse": str, "after": _TYPE,
    "padding": [{"indices": [str], "where": str, "value": str, "promise": str}],
}  # fmt: skip
CERTIFICATE: Final[dict[str, Any]] = {
    "schema": int,
    "tool": {"name": str, "version": str, "z3": str},
    "schedule": {"function": str, "file": str, "line": int, "budget": int},
    "before": _PROGRAM | {"expanded": [str]},
    "after": _PROGRAM,
    "theorem": _THEOREM,
    "relation": [{"parameter": str, "before": _TYPE, "after": _TYPE, "layouts": [_LAYOUT], "maps": str}],
    "floats": {"mode": str, "reductions": [str]},
    "axioms": [str],
    "trace": [_STEP],
    "regenerable": {"yes": bool, "why not": [str]},
    "hashes": ANY,
    "root": DIGEST,
}


def misshapen(value: Any, wanted: Any = CERTIFICATE, place: str = "") -> Iterator[tuple[str, str]]:
    """Where a value is not what it should be: places and problems."""
    if wanted is ANY:
        return
    if wanted is OPTIONAL_PLACE:
        if value is not None:
            yield from misshapen(value, _PLACE, place)
    elif wanted is OPTIONAL_COUNT:
        if value is not None and type(value) is not int:
            yield place, "this is neither a number nor null"
    elif wanted is OPTIONAL_NAME:
        if value is not None and not isinstance(value, str):
            yield place, "this is neither a name nor null"
    elif wanted is DIGEST:
        if not isinstance(value, str) or not _HASH.fullmatch(value):
            yield place, "this is no SHA-256 hash"
    elif isinstance(wanted, list):
        if not isinstance(value, list):
            yield place, "this is not a list"
            return
        for k, item in enumerate(value):
            yield from misshapen(item, wanted[0], f"{place}[{k}]")
    elif isinstance(wanted, dict):
        if not isinstance(value, dict) or value.keys() != wanted.keys():
            yield place or "the certificate", f"the keys are not {', '.join(wanted)}"
            return
        for key, item in wanted.items():
            yield from misshapen(value[key], item, f"{place}.{key}" if place else key)
    elif type(value) is not wanted:  # True is not a number
        yield place, f"this is no {wanted.__name__}"
