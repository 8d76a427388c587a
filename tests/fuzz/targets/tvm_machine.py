"""TVM's machine code against the interpreter; and whose fault it is where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import tvm
import tvm.script

from tests.fuzz.targets.tvm_outcome import HEAD, TRIALS, Say, TvmOutcome, read_back
from tests.fuzz.targets.tvm_overflow import without_wrapping
from tests.parts.reference_runs import Arguments, gaps, moved, ran, random_arguments, same_bits
from verified_tir.codegen.order import ORDER_OPS
from verified_tir.interop.tvm import StepReport
from verified_tir.ir.dtype import BFLOAT16, FLOAT16
from verified_tir.ir.expr import Binary, Cast, Not
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.ir.visit import walk
from verified_tir.semantics.interpreter import Outcome

SMALL: Final = 64
"""Signed data beyond may overflow."""


def may_overflow(arguments: Mapping[str, Any]) -> bool:
    """Whether signed data may wrap.  TVM's code generator tells LLVM that it does not; our data wraps."""
    signed = [a for v in arguments.values() if (a := np.asarray(v)).dtype.kind == "i"]
    return any(
        a.size and (a.dtype.itemsize < 4 or int(np.abs(a.reshape(-1).astype(np.float64)).max()) > SMALL) for a in signed
    )


def compiled(text: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What TVM's machine code leaves in the arguments; ``None`` if TVM does not compile the program."""
    try:
        func = tvm.script.from_source(HEAD + text[text.index("@T.prim_func") :]).with_attr("global_symbol", "f")
        code = tvm.compile(tvm.IRModule({"f": func}), target="llvm")
    except Exception:
        return None
    tensors = {name: tvm.runtime.tensor(np.array(value)) for name, value in arguments.items()}
    try:
        code["f"](*tensors.values())
    except ValueError:  # strides that are declared: TVM's entry wants others than those of a compact array
        return None
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def run_machine(
    outcome: TvmOutcome, code: Any, before: PrimFunc, passes: Sequence[StepReport], seed: int, say: Say
) -> None:
    """Machine code against the interpreter; of a build with a wrong pass only that it ends."""
    doubtful = any(r.status == "different" for r in passes)
    careful = without_wrapping(before)
    for number in range(2 * TRIALS):
        arguments = random_arguments(before, {}, seed, number)
        first = ran(careful, arguments) if not may_overflow(arguments) else None
        if first is None or first.outcome is None or may_overflow(first.outcome.arrays):
            continue
        say("tvm: running")
        tensors = [tvm.runtime.tensor(np.array(arguments[b.name])) for b in before.buffers]
        try:
            code["f"](*tensors)
        except Exception as ended:  # an assertion, say
            differs, have = True, f"{type(ended).__name__}: {ended}"
        else:
            differs, have = _differs(before, first.outcome, tensors)
        if differs and not doubtful:
            shown = f"{first.outcome.arrays} by the interpreter, {have} by TVM's machine code, with {arguments}"
            _blamed(outcome, before, passes, arguments, f"{shown}\n{script(before)}")
            return


def _differs(before: PrimFunc, first: Outcome, tensors: Sequence[Any]) -> tuple[bool, str]:
    """Whether the machine left other elements than the interpreter, and what it left."""
    have = {b.name: tensor.numpy() for b, tensor in zip(before.buffers, tensors, strict=True)}
    wrong = [bool((first.defined[n] & ~same_bits(first.arrays[n], a)).any()) for n, a in have.items()]
    return any(wrong), str(have)


def _blamed(
    outcome: TvmOutcome, before: PrimFunc, passes: Sequence[StepReport], arguments: Arguments, shown: str
) -> None:
    """Whose fault it is that machine code differs from the interpreter, on these arguments.

    That of a pass which the validator did not judge, if the interpreter says so of the programs before and after it;
    that of TVM's code generator, if what it was given asks whether a float is another one; that of LLVM, if there may
    be minima or maxima that it folds, or integers that it keeps where float16 has an infinity; or else ours.
    """
    forms = [before]
    for report in passes:
        one, two = read_back(report.before), read_back(report.after)
        if one is None or two is None or report.status == "not validated":
            continue
        forms.append(two)
        if report.status != "equal" and _breaks(one, two, arguments):
            outcome.bugs.append((report.step, shown))
            return
    if any(_mistakes_nan(f) or _orders_floats(f) or _narrows_integers(f) for f in forms):
        outcome.bugs.append(("machine code", shown))
    else:
        outcome.wrong.append(("machine-against-interpreter", "build", shown))


def _breaks(one: PrimFunc, two: PrimFunc, arguments: Arguments) -> bool:
    """Whether the interpreter says that the second program does not do what the first does, on these arguments."""
    names = [b.name for b in one.buffers]
    if len(names) != len(arguments) or len(two.buffers) != len(names):
        return False
    given = dict(zip(names, arguments.values(), strict=True))
    first = ran(one, given)
    if first.outcome is None:
        return False
    second = ran(two, moved(one, two, given, {}, {})[0])
    if second.outcome is None:
        return second.why != "cut"
    return any(True for _ in gaps(one, two, first.outcome, second.outcome, {}))


def _mistakes_nan(func: PrimFunc) -> bool:
    """Whether a program asks what TVM's machine code answers wrongly of NaN: is a float another one, which bfloat16 is
    it (docs/tvm-findings.md, section *Floats*)."""
    for n in walk(func.body):
        match n:
            case Binary(op="ne", a=a) if a.dtype.is_float:
                return True
            case Not(a=Binary(op="eq", a=a)) if a.dtype.is_float:  # simplified to the one above
                return True
            case Cast(type=t, value=x) if t.scalar is BFLOAT16 and x.dtype.is_float:
                return True
    return False


def _orders_floats(func: PrimFunc) -> bool:
    """Whether a program asks which of two floats is less: LLVM folds minima and maxima wrongly, and finds them in
    choices and loops of all kinds (docs/tvm-findings.md, section *Floats*)."""
    return any(isinstance(n, Binary) and n.op in ORDER_OPS and n.a.dtype.is_float for n in walk(func.body))


def _narrows_integers(func: PrimFunc) -> bool:
    """Whether a program makes floats of integers and has float16: LLVM forgets that float16 has a largest number
    (docs/tvm-findings.md, section *Floats*)."""
    casts = [n for n in walk(func.body) if isinstance(n, Cast)]
    made = any(n.type.is_float and not n.value.dtype.is_float for n in casts)
    return made and any(n.type.scalar is FLOAT16 for n in casts)


__all__ = ["compiled", "may_overflow", "run_machine"]
