"""How values are spelled: the atoms of canonical s-expressions, and a strict reader of tokens.

    (Head item …)   a form: a node or a record, its fields in order
    [item …]        a tuple
    "text"          a string as JSON spells it, in ASCII
    12, -3          an integer
    0x1.8p+1, inf   a float: hexadecimal and exact; nan, inf and -inf
    true, none      a bool; nothing
    int32, bool     a type of values, lanes included (float32x4)
    %3, @2          a variable, a buffer, by number

Nothing here knows what a form means.  What is read has bounds, so that a text that somebody wrote ends in a message.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from verified_tir.ir.dtype import DType
from verified_tir.ir.node import IRError

DEPTH: Final = 1000
"""How deep forms and tuples may be nested."""
LENGTH: Final = 50_000_000
"""Characters of one text."""
DIGITS: Final = 400
"""Characters of one number."""


class BadText(ValueError):
    """A text that is not a value in the canonical spelling; the message says what is wrong."""


@final
@dataclass(frozen=True, slots=True)
class Ref:
    """A variable (``%``) or a buffer (``@``) by its number."""

    kind: str
    number: int


@final
@dataclass(frozen=True, slots=True)
class Open:
    """The beginning of a form with this head, or of a tuple, which has none."""

    head: str | None


@final
@dataclass(frozen=True, slots=True)
class Close:
    """The end of a form, or of a tuple."""

    tuple: bool


Atom: TypeAlias = str | int | float | bool | DType | Ref | None
Token: TypeAlias = Atom | Open | Close

_TOKEN: Final = re.compile(
    r"""(?P<gap>[ \n]+)
    | \((?P<head>[A-Za-z]+)
    | (?P<bracket>[\[\])])
    | (?P<string>"(?:[^"\\\x00-\x1f\x7f-\U0010ffff]|\\["\\bfnrt]|\\u[0-9a-f]{4})*")
    | (?P<ref>[%@](?:0|[1-9][0-9]*))
    | (?P<float>-?0x[01]\.[0-9a-f]+p[+-][0-9]+|-?inf|nan)
    | (?P<int>-?[0-9]+)
    | (?P<word>[a-z][a-z0-9]*)""",
    re.VERBOSE,
)
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "none": None}


def tokens(text: str) -> Iterator[tuple[int, Token]]:
    """The tokens of a text, each with the position behind it; spaces and line feeds between them mean nothing.

    :raises BadText: at the first character that begins no token, or where a token is beyond bounds.
    """
    if len(text) > LENGTH:
        raise BadText(f"it has {len(text)} characters; at most {LENGTH} are read")
    position = depth = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise BadText(f"character {position}: {text[position : position + 20]!r} begins nothing")
        position = found.end()
        if found.lastgroup == "gap":
            continue
        token = _token(str(found.lastgroup), found[str(found.lastgroup)])
        depth += isinstance(token, Open) - isinstance(token, Close)
        if depth > DEPTH:
            raise BadText(f"it is nested more than {DEPTH} deep")
        yield position, token


def _token(group: str, text: str) -> Token:
    if group in ("int", "ref", "float") and len(text) > DIGITS:
        raise BadText(f"a number has {len(text)} digits; at most {DIGITS} are read")
    match group:
        case "head":
            return Open(text)
        case "bracket":
            return Open(None) if text == "[" else Close(text == "]")
        case "string":
            return str(json.loads(text))
        case "ref":
            return Ref(text[0], int(text[1:]))
        case "float":
            return _float(text)
        case "int":
            return int(text)
    if text in _WORDS:
        return _WORDS[text]
    try:
        return DType.parse(text)
    except (IRError, ValueError) as problem:
        raise BadText(f"{text!r} is neither a word nor a type: {problem}") from None


def _float(text: str) -> float:
    try:
        return float(text) if text in ("nan", "inf", "-inf") else float.fromhex(text)
    except (OverflowError, ValueError):
        raise BadText(f"{text} is not a float") from None


def atom(value: Atom) -> str:
    """The one spelling of an atom."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return "nan" if math.isnan(value) else "inf" if value == math.inf else _finite(value)
        case str():
            return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")
        case DType():
            return str(value)
        case Ref(kind=kind, number=number):
            return f"{kind}{number}"


def _finite(value: float) -> str:
    return "-inf" if value == -math.inf else value.hex()


__all__ = ["DEPTH", "Atom", "BadText", "Close", "Open", "Ref", "Token", "atom", "tokens"]
