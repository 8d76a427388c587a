"""Which targets there are, and whether they can run here.

Targets are imported when they are asked for: ``--list-targets`` shows one that misses an extra beside those that run.
``module:ATTRIBUTE`` names a target of your own.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import Any, Final, final

from verified_tir.extras import EXTRAS, install
from verified_tir.fuzz.target import Target

_OF_CHECKOUTS: Final = "tests.fuzz.targets"
"""Where the targets are that look for mistakes of this project's own code: in its tests, which are not installed."""

TARGETS: Final[dict[str, str]] = {
    n: f"{_OF_CHECKOUTS}.{n}:TARGET" for n in ("kernel", "codegen", "validator", "parser", "simplify", "onnx", "tvm")
}
"""Where each target is, by name, in the order in which they are listed."""


@final
class UnknownTarget(ValueError):
    """There is no target of this name."""


@final
class BrokenTarget(RuntimeError):
    """A target's module cannot be imported, or has no target: a mistake in it, not a missing extra."""


@final
class MissingModule(RuntimeError):
    """A target needs a module that is not here: one that is not installed, or the tests of a source checkout.

    :param modules: the modules that are missing.
    """

    def __init__(self, name: str, modules: Sequence[str]) -> None:
        extras = [EXTRAS[m] for m in modules if m in EXTRAS]
        remedy = install(*extras) if extras else f"python -m pip install {' '.join(modules)}"
        if any(m.startswith(_OF_CHECKOUTS) for m in modules):
            remedy = "run vtir in the folder of one"
            super().__init__(f"{name} needs a source checkout of verified_tir: {remedy}")
        else:
            super().__init__(f"{name} needs {' and '.join(modules)}, not installed here: {remedy}")
        self.modules = tuple(modules)


def load(name: str) -> Target[Any]:
    """The target of a name, ready to run.

    :param name: a key of ``TARGETS``, or ``module:ATTRIBUTE``.
    :raises UnknownTarget: for a name that is neither.
    :raises MissingModule: if an extra is missing, or the source checkout that it is in.
    :raises BrokenTarget: if its module cannot be imported for another reason.
    """
    place = TARGETS.get(name, name)
    module, colon, attribute = place.partition(":")
    if not (colon and module and attribute):
        raise UnknownTarget(f"there is no target {name}; there are {', '.join(TARGETS)}, and module:ATTRIBUTE")
    if importlib.util.find_spec("hypothesis") is None:
        raise MissingModule(name, ["hypothesis"])
    if module.startswith(_OF_CHECKOUTS) and not _installed(module):
        raise MissingModule(name, [module])
    try:
        found: Target[Any] = getattr(importlib.import_module(module), attribute)
    except ImportError as problem:
        missing = (problem.name or "").partition(".")[0]
        if missing in EXTRAS and importlib.util.find_spec(missing) is None:
            raise MissingModule(name, [missing]) from None
        if problem.name and (module == problem.name or module.startswith(problem.name + ".")):
            raise BrokenTarget(f"target {name}: there is no module {problem.name}") from None
        raise BrokenTarget(f"target {name}: {module} cannot be imported: {problem}") from problem
    except AttributeError:
        raise BrokenTarget(f"target {name}: {module} has no {attribute}") from None
    except Exception as problem:
        raise BrokenTarget(f"target {name}: {module} cannot be imported: {problem!r}") from problem
    if absent := [m for m in found.requires if not _installed(m)]:
        raise MissingModule(name, absent)
    return found


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # a parent package is missing
        return False
