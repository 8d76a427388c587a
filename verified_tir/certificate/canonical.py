"""JSON with one spelling, and hashes of it.

A hash is SHA-256 in hexadecimal, of UTF-8 text.  That of a value is of its JSON with sorted keys and no spaces (in the
spirit of RFC 8785; there are no floats, so numbers need no rules).  A file holds the same value with one line for each
item, in the order of writing; :func:`read` accepts no other spelling, so that no byte of a file goes unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

DEPTH: Final = 200
"""How deep lists and objects are nested at most; whoever walks through a value may do so by recursion."""
_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.?)*"?|[\[\]{}]', re.DOTALL)
"""A bracket, or a string; one that does not end ends with the text, so that nothing is looked at twice."""


class BadJson(ValueError):
    """A text that is no JSON in the one spelling."""


def text_hash(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def value_hash(value: Any) -> str:
    """SHA-256 of a JSON value, whatever the order of its keys."""
    return text_hash(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def write(value: Any) -> str:
    """The value as the text of a file."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read(text: str) -> Any:
    """The value that a file holds.

    :raises BadJson: if it is no JSON, or spelled in another way than :func:`write` does.
    """
    if _depth(text) > DEPTH:
        raise BadJson("it is nested too deeply")
    try:
        value = json.loads(text, parse_float=_no_number, parse_constant=_no_number)
    except RecursionError:
        raise BadJson("it is nested too deeply") from None
    except ValueError as problem:
        raise BadJson(f"it is no JSON: {problem}") from None
    if write(value) != text:
        raise BadJson("its spelling is not that of vtir (spaces, keys given twice, escapes)")
    return value


def _depth(text: str) -> int:
    """How deep brackets are nested that stand outside of strings."""
    depth = deepest = 0
    for m in _BRACKET.finditer(text):
        depth += 1 if m[0] in "[{" else -1 if m[0] in "]}" else 0
        deepest = max(deepest, depth)
    return deepest


def _no_number(text: str) -> Any:
    raise BadJson(f"the number {text} has no place here")
