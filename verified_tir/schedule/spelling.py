"""What somebody may have meant who spelt a primitive or a parameter otherwise."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any


def meant(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'split'?``, where one of the known words is much like it; nothing else."""
    close = get_close_matches(word, [k for k in known if not k.startswith("_")], n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


class WrongCall(TypeError):
    """A primitive was called with arguments that it does not take."""


@cache
def signature_of(method: Callable[..., Any]) -> inspect.Signature:
    """The signature of a primitive, which is asked for at each call."""
    return inspect.signature(method)


def check_call(method: Callable[..., Any], args: tuple[object, ...], named: dict[str, Any]) -> None:
    """Check that a method can be called so, the object left out.

    :raises WrongCall: if not; it says what the parameters are.
    """
    signature = signature_of(method)
    try:
        signature.bind(None, *args, **named)
    except TypeError as problem:
        _, *parameters = signature.parameters.values()
        names = [p.name for p in parameters]
        odd = next((n for n in named if n not in names), None)
        why = str(problem) if odd is None else f"there is no parameter {odd!r}{meant(odd, names)}"
        plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
        raise WrongCall(f"{method.__name__}{inspect.Signature(plain)}: {why}") from None
