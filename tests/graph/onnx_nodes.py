"""Every case of the ``onnx`` package's own tests of operators, through our importer and executor.

    python -m tests.graph.onnx_nodes
    python -m tests.graph.onnx_nodes --only pool

A case *passes* if its results have the expected types, shapes and values, it is *refused* if the importer or the
compiler says with a :class:`GraphError` that it cannot do this, and anything else is *wrong*.  Operands that the
importer wants as constants (axes, shapes) become constants, with the values of the case.  Cases with operators that
``graph/onnx/convert.py`` does not know are left out.  Results of 16 bits may be off by two units in the last place, as
in the package's own runner: the expected ones are computed with more bits in between.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from verified_tir.graph import GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx
from verified_tir.graph.onnx.convert import CONVERSIONS

FOLDED = {"Constant", "ConstantOfShape", "If", "Loop", "Scan", "Shape", "Size"}
"""Operators that never reach a conversion: their operands are constants, or other nodes take their place."""

ULPS = {"float16": 2.0**-9, "bfloat16": 2.0**-6}


@cache
def cases(*modules: str, everything: bool = False) -> dict[str, Any]:
    """The cases by name whose operators are known here: those of some of the package's modules, or all.

    :param everything: those of other operators, too.
    """
    from onnx.backend.test.case import node

    for m in modules or sorted(m.name for m in iter_modules(node.__path__)):
        import_module(f"{node.__name__}.{m}")
    found = {}
    for case in node._NodeTestCases:
        used = {n.op_type for n in case.model.graph.node}
        if everything or used <= CONVERSIONS.keys() | FOLDED:
            found[case.name] = case
    return found


def judge(case: Any) -> tuple[str, str]:
    """``pass``, ``refused`` or ``wrong``, and why."""
    for inputs, expected in case.data_sets:
        try:
            if any(isinstance(a, list) for a in inputs):  # a sequence, of which the model must be refused
                from_onnx(case.model)
                return "wrong", "a sequence is taken for a tensor"
            got = computed(case.model, [as_array(a) for a in inputs])
        except GraphError as refused:
            return "refused", str(refused)
        except Exception as problem:
            return "wrong", repr(problem)
        for a, want in zip(got, map(as_array, expected), strict=True):
            if a.dtype != want.dtype or a.shape != want.shape:
                return "wrong", f"{a.dtype}{list(a.shape)} instead of {want.dtype}{list(want.shape)}"
            rtol = max(case.rtol, ULPS.get(str(a.dtype), 0.0))
            if not np.allclose(a, want, rtol=rtol, atol=case.atol, equal_nan=True):
                return "wrong", f"{a.reshape(-1)[:5]} instead of {want.reshape(-1)[:5]}"
    return "pass", ""


def as_array(given: Any) -> Any:
    return numpy_helper.to_array(given) if isinstance(given, onnx.TensorProto) else np.asarray(given)


def computed(model: Any, arrays: list[Any]) -> list[Any]:
    """The results on these inputs; inputs become constants where the importer says that they must be."""
    while True:
        try:
            shapes = {i.name: a.shape for i, a in zip(model.graph.input, arrays, strict=True)}
            return build(from_onnx(model, shapes)).run(arrays)
        except GraphError as refused:
            if "must be a constant" not in str(refused):
                raise
            less = with_constants(model, arrays)
            if less is None:
                raise
            model, arrays = less


def with_constants(model: Any, arrays: list[Any]) -> tuple[Any, list[Any]] | None:
    """The model with all its inputs but the first ones of nodes as constants; ``None`` if there are no others."""
    place = {"If": 1, "Loop": 2}  # what decides which nodes run comes first
    first = {n.input[k] for n in model.graph.node for k in [place.get(n.op_type, 0)] if k < len(n.input)}
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept = [(i, a) for i, a in zip(model.graph.input, arrays, strict=True) if i.name in first]
    if len(kept) == len(arrays):
        return None
    for i, a in zip(model.graph.input, arrays, strict=True):
        if i.name not in first:
            copy.graph.initializer.append(numpy_helper.from_array(a, i.name))
    del copy.graph.input[:]
    copy.graph.input.extend(i for i, _ in kept)
    return copy, [a for _, a in kept]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--all", action="store_true", help="operators that are not known, too")
    arguments = parser.parse_args()
    only = arguments.only
    counts: Counter[str] = Counter()
    reasons: dict[str, list[str]] = defaultdict(list)
    for name, case in cases(everything=arguments.all).items():
        if only not in name:
            continue
        verdict, why = judge(case)
        counts[verdict] += 1
        if verdict == "wrong":
            print(f"WRONG {name}: {why}", flush=True)
        elif verdict == "refused":
            reasons[re.sub(r"\d+", "N", re.sub(r"^node .*?\): ", "", why))].append(name)
    for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):4d} refused: {why}\n       {', '.join(names[:3])}{', …' if len(names) > 3 else ''}")
    print(dict(counts))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
