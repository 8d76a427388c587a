"""Calls of the primitives about copies, computing elsewhere, inlining and reductions."""

from __future__ import annotations

from verified_tir.ir.expr import Load
from verified_tir.ir.paths import Path
from verified_tir.ir.visit import walk
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.fitting import initialised, products, reduced, updates
from verified_tir.testing.scheduling.loops import licence
from verified_tir.testing.scheduling.scene import NOBODY, Loop, Scene, call, listed, quoted, statement_at
from verified_tir.testing.scheduling.step import writes

SCOPES = ("local", "shared", "global", "local")


def loop_around(scene: Scene, pick: Choices, path: Path | None) -> str:
    """A loop around a place, now and then another."""
    return scene.some_loop(pick, [] if path is None else scene.around(path))


def loop_elsewhere(scene: Scene, pick: Choices, path: Path | None) -> str:
    """A loop that is not around a place, nor inside of it: one where it might be computed."""
    around = [] if path is None else scene.around(path)
    outermost = around[0].path if around else path
    found = [x for x in scene.loops if outermost is None or x.path[: len(outermost)] != outermost]
    return scene.some_loop(pick, found)


def _read_in(scene: Scene, path: Path) -> list[str]:
    return [quoted(b.name) for b in dict.fromkeys(n.buffer for n in walk(statement_at(scene, path))
                                                  if isinstance(n, Load))]  # fmt: skip


def _written_in(scene: Scene, path: Path) -> list[str]:
    return [quoted(b.name) for b in dict.fromkeys(s.buffer for s in scene.stores_in(path))]


@writes("cache_read")
def cache_read(scene: Scene, pick: Choices) -> str:
    scope = quoted(pick.one(SCOPES))
    block, path = scene.block(pick)
    if path is None or pick.chance(3):
        loop = scene.loop(pick) if pick.chance(4) else ""
        return call("cache_read", scene.buffer(pick)[0], scope, loop)
    which = pick.one([*_read_in(scene, path), "0", "1", NOBODY])
    loop = loop_around(scene, pick, path) if pick.chance(2) else ""
    consumers = listed([scene.block(pick)[0]]) if pick.chance(8) else ""
    return call("cache_read", block, which, scope, loop, consumer_blocks=consumers)


@writes("cache_write")
def cache_write(scene: Scene, pick: Choices) -> str:
    scope = quoted(pick.one(SCOPES))
    block, path = scene.block(pick)
    if path is None or pick.chance(3):
        loop = scene.loop(pick) if pick.chance(4) else ""
        return call("cache_write", scene.buffer(pick, scene.written)[0], scope, loop)
    which = pick.one([*_written_in(scene, path), "0", NOBODY])
    return call("cache_write", block, which, scope, loop_around(scene, pick, path) if pick.chance(2) else "")


@writes("set_scope")
def set_scope(scene: Scene, pick: Choices) -> str:
    scope = quoted(pick.one(("shared", "local", "global", "warp")))
    if scene.blocks and pick.chance(3):
        return call("set_scope", scene.block(pick)[0], "0", scope)
    return call("set_scope", scene.buffer(pick, scene.local or None)[0], scope)


def _producers(scene: Scene) -> list[tuple[str, Path]]:
    """Blocks that store to a local buffer; all blocks, if none does."""
    local = set(scene.local)
    found = [(n, p) for n, p in scene.blocks if any(s.buffer in local for s in scene.stores_in(p))]
    return found or scene.blocks


def _consumers(scene: Scene) -> list[tuple[str, Path]]:
    """Blocks that read a local buffer and store to another one; all blocks, if none does."""
    local = {b.name for b in scene.local}
    found = [(n, p) for n, p in scene.blocks
             if {quoted(b) for b in local} & set(_read_in(scene, p)) - set(_written_in(scene, p))]  # fmt: skip
    return found or scene.blocks


@writes("compute_at")
def compute_at(scene: Scene, pick: Choices) -> str:
    block, path = scene.block(pick, _producers(scene))
    if path is None or pick.chance(12):
        return call("compute_at", scene.loop(pick), scene.loop(pick))
    return call("compute_at", block, loop_elsewhere(scene, pick, path))


@writes("reverse_compute_at")
def reverse_compute_at(scene: Scene, pick: Choices) -> str:
    block, path = scene.block(pick, _consumers(scene))
    if path is None or pick.chance(12):
        return call("reverse_compute_at", scene.loop(pick), scene.loop(pick))
    return call("reverse_compute_at", block, loop_elsewhere(scene, pick, path))


@writes("compute_inline")
def compute_inline(scene: Scene, pick: Choices) -> str:
    return call("compute_inline", scene.block(pick, _producers(scene))[0])


@writes("reverse_compute_inline")
def reverse_compute_inline(scene: Scene, pick: Choices) -> str:
    return call("reverse_compute_inline", scene.block(pick, _consumers(scene))[0])


@writes("bind_expr")
def bind_expr(scene: Scene, pick: Choices) -> str:
    block, path = scene.block(pick)
    found = [] if path is None else scene.expressions(path)
    expression = pick.one(found) if found and not pick.chance(30) else "no[thing]"
    scope = quoted(pick.one(SCOPES)) if pick.chance(2) else ""
    return call("bind_expr", block, quoted(expression), quoted(scene.fresh("x")), scope)


@writes("inline_let")
def inline_let(scene: Scene, pick: Choices) -> str:
    return call("inline_let", quoted(pick.one(scene.lets)) if scene.lets and not pick.chance(30) else NOBODY)


@writes("split_write")
def split_write(scene: Scene, pick: Choices) -> str:
    return call("split_write", scene.block(pick)[0])


@writes("merge_writes")
def merge_writes(scene: Scene, pick: Choices) -> str:
    blocks = {quoted(n) for n, _ in scene.blocks}
    pairs = [pair for pair in scene.neighbours if blocks >= set(pair)]
    first, second = pick.one(pairs) if pairs and not pick.chance(6) else (scene.block(pick)[0], scene.block(pick)[0])
    return call("merge_writes", first, second)


# -- reductions --------------------------------------------------------------------------------------------------------


def _reduced(scene: Scene) -> list[Loop]:
    """Loops that do not occur among the indices of a store inside of them."""
    found = []
    for loop in scene.loops:
        stores = scene.stores_in(loop.path)
        if any(loop.stmt.var not in {n for i in s.indices for n in walk(i)} for s in stores):
            found.append(loop)
    return found


@writes("rfactor")
def rfactor(scene: Scene, pick: Choices) -> str:
    axis = pick.one(("", "", "-1", "1", "7"))
    loops = reduced(scene) or _reduced(scene)
    floats = [s.buffer for s in updates(scene) if s.buffer.dtype.is_float]
    word = quoted(pick.one(floats).name) if floats and pick.chance(2) else licence(scene, pick)
    return call("rfactor", scene.some_loop(pick, loops), axis, reassociate=word)


@writes("decompose_reduction")
def decompose_reduction(scene: Scene, pick: Choices) -> str:
    block, path = scene.block(pick, initialised(scene) or None)
    return call("decompose_reduction", block, loop_around(scene, pick, path))


@writes("pad_einsum")
def pad_einsum(scene: Scene, pick: Choices) -> str:
    block, path = scene.block(pick, products(scene) or None)
    count = len(scene.around(path)) if path is not None else 3
    count = count if not pick.chance(12) else count + 1
    return call("pad_einsum", block, listed(0 if pick.chance(40) else pick.one((4, 2, 1, 3, 1)) for _ in range(count)))
