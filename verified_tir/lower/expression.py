"""Pipelines as text: ``RemoveAssume() >> UnrollLoop(max_extent=16) >> Simplify()``.

What ``repr`` of a pipeline prints is read back, and so are passes joined by ``>>`` or by commas; a pass without options
needs no brackets, and a pipeline may be given by its name.  The text is read with Python's grammar and never executed.
"""

from __future__ import annotations

import ast
from dataclasses import fields

from verified_tir.lower.passes import Pass, Pipeline
from verified_tir.lower.pipelines import PASSES, PIPELINES


class PipelineError(ValueError):
    """A text that is not a pipeline; the message says what there is instead."""


def parse_pipeline(text: str) -> Pipeline:
    """The pipeline that a text stands for.

    :raises PipelineError: for an unknown pass or option, or a text of another form.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as problem:
        raise PipelineError(f"{text!r} is not a pipeline: {problem.msg}") from None
    return Pipeline(*_passes(tree))


def _passes(tree: ast.expr) -> list[Pass]:
    match tree:
        case ast.BinOp(left=a, op=ast.RShift(), right=b):
            return [*_passes(a), *_passes(b)]
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return [p for e in elts for p in _passes(e)]
        case ast.Call(func=ast.Name(id="Pipeline"), args=args, keywords=[]):
            return [p for e in args for p in _passes(e)]
        case ast.Name(id=name) if name in PIPELINES:
            return list(PIPELINES[name])
        case ast.Name(id=name):
            return [_pass(name, [], [])]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return [_pass(name, args, keywords)]
    raise PipelineError(f"{ast.unparse(tree)} is not a pass; join passes by >>, as in RemoveAssume() >> Simplify()")


def _pass(name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Pass:
    made = PASSES.get(name)
    if made is None:
        raise PipelineError(
            f"there is no pass {name}; the passes are {', '.join(PASSES)}, the pipelines {', '.join(PIPELINES)}"
        )
    known = {f.name: f for f in fields(made)}
    if args:
        hint = f"; it takes {', '.join(known)}" if known else ""
        raise PipelineError(f"options of {name} are given by name{hint}")
    options: dict[str, object] = {}
    for k in keywords:
        if k.arg is None or k.arg not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise PipelineError(f"{name} has no option {k.arg or '**'}; {has}")
        try:
            value = ast.literal_eval(k.value)
        except ValueError:
            raise PipelineError(f"the option {k.arg} of {name} is not a constant: {ast.unparse(k.value)}") from None
        wanted = type(known[k.arg].default)
        if type(value) is not wanted:
            raise PipelineError(f"the option {k.arg} of {name} is of type {wanted.__name__}, not {value!r}")
        options[k.arg] = value
    try:
        return made(**options)
    except ValueError as problem:
        raise PipelineError(f"{name}: {problem}") from None
