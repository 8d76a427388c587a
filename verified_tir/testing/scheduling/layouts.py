"""Calls of the primitives about layouts, padding and what is known of a buffer."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.find import reads_of
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.inventory import Inventory, call, listed, quoted
from verified_tir.testing.scheduling.loops import licence
from verified_tir.testing.scheduling.step import writes

INDICES = "ijklmnpq"


def extents(buffer: Buffer) -> list[int]:
    """The extents of a buffer; 4 where one is no constant."""
    return [e.value if isinstance(e, IntImm) else 4 for e in buffer.shape]


def index_map(pick: Choices, buffer: Buffer | None) -> tuple[str, int]:
    """``lambda i, j: [i, j // 4, j % 4]`` for a buffer's rank, and how many indices it gives; wrong now and then."""
    sizes = extents(buffer) if buffer is not None else [4]
    names = [INDICES[k % len(INDICES)] for k in range(len(sizes))]
    outputs = list(names)
    if not names:
        return "lambda: []", 0
    d = len(names) - 1 if not pick.chance(3) else pick.number(len(names))
    f = pick.one((4, 2, 3, 5, 8, 1))
    v, size = names[d], sizes[d]
    match pick.number(12):
        case 0 | 1 | 2:
            outputs[d : d + 1] = [f"{v} // {f}", f"{v} % {f}"]
        case 3 | 4:
            outputs = pick.several(names, len(names), len(names))
        case 5:
            outputs[d] = f"{v} + {pick.number(3) + 1}"
        case 6:
            outputs[d] = f"{size - 1} - {v}"
        case 7:
            outputs[d : d + 1] = [f"({v} + {f - 1}) // {f}", f"({v} + {f - 1}) % {f}"]
        case 8:
            outputs = [*outputs[:d], *outputs[d + 1 :], f"{v} // {f}", f"{v} % {f}"]
        case 9:
            outputs[d] = f"{v} * {f}"
        case 10:
            outputs = [" + ".join(f"{n} * {_stride(sizes, k)}" for k, n in enumerate(names))]
        case _:
            wrong = ([f"{v} // {f}"], [f"{v} % {f}"], names[1:], [*names, "0"], [f"{n} + {v}" for n in names])
            outputs = list(pick.one(wrong))
    return f"lambda {', '.join(names)}: {listed(outputs)}", len(outputs)


def _stride(sizes: list[int], k: int) -> int:
    stride = 1
    for e in sizes[k + 1 :]:
        stride *= e
    return stride


def padding_map(pick: Choices, buffer: Buffer | None) -> str:
    """A map that cuts one dimension into parts of which the last one has padding, unless the extent is 0 or 1."""
    sizes = extents(buffer) if buffer is not None else [4]
    names = [INDICES[k % len(INDICES)] for k in range(len(sizes))]
    if not names:
        return "lambda: [0]"
    d = len(names) - 1 if not pick.chance(3) else pick.number(len(names))
    f = pick.one([f for f in (4, 2, 3, 5, 8) if sizes[d] % f] or [sizes[d] + 1])
    outputs = [*names[:d], f"{names[d]} // {f}", f"{names[d]} % {f}", *names[d + 1 :]]
    return f"lambda {', '.join(names)}: {listed(outputs)}"


def pad_value(pick: Choices, buffer: Buffer | None, rank: int) -> str:
    """What the padding holds: nothing said, what nobody may touch, a constant, a function of indices or buffer."""
    dtype = buffer.dtype.scalar if buffer is not None else None
    floats = dtype is not None and dtype.is_float
    names = ", ".join(INDICES[:rank])
    options = ["", "0.0" if floats else "0", "0.0" if floats else "0", "T.undef()", "None", "1.0" if floats else "1"]
    options += ["-0.0", 'float("-inf")', 'float("nan")'] if floats else ["-1", "127"]
    if rank:
        options += [f"lambda {names}: {INDICES[0]}"] if not floats else [f"lambda {names}: 2.0"]
        options += [f"lambda {names}, buf: buf[{', '.join(['0'] * rank)}]"]
    found = pick.one(options)
    return found


def transform(inventory: Inventory, pick: Choices, among: list[Buffer]) -> str:
    """A call of ``transform_layout`` on one of some buffers."""
    text, buffer = inventory.buffer(pick, among)
    mapped, rank = index_map(pick, buffer)
    pad = pad_value(pick, buffer, rank)
    if pick.chance(16) and inventory.blocks:
        kind = pick.one(("read", "write"))
        return call("transform_layout", inventory.block(pick)[0], f'("{kind}", 0)', mapped, pad)
    return call("transform_layout", text, mapped, f"pad_value={pad}" if pad else "")


@writes("transform_layout")
def transform_layout(inventory: Inventory, pick: Choices) -> str:
    return transform(inventory, pick, inventory.buffers)


@writes("sequential_buffer_access")
def sequential_buffer_access(inventory: Inventory, pick: Choices) -> str:
    text, _ = inventory.buffer(pick)
    where = inventory.place(pick) if pick.chance(3) else ""
    return call("sequential_buffer_access", text, where, reassociate=licence(inventory, pick))


@writes("sink_allocation")
def sink_allocation(inventory: Inventory, pick: Choices) -> str:
    return call(
        "sink_allocation",
        inventory.buffer(pick, inventory.local)[0] if not pick.chance(20) else inventory.buffer(pick)[0],
    )


@writes("assume_padding")
def assume_padding(inventory: Inventory, pick: Choices) -> str:
    return call("assume_padding", inventory.buffer(pick, _padded(inventory) if not pick.chance(8) else None)[0])


@writes("write_padding")
def write_padding(inventory: Inventory, pick: Choices) -> str:
    padded = _padded(inventory)
    text = inventory.buffer(
        pick, [b for b in padded if b in inventory.written] or padded if not pick.chance(8) else None
    )[0]
    return call("write_padding", text, pick.one(("0", "0.0", "1")) if pick.chance(3) else "")


@writes("restate")
def restate(inventory: Inventory, pick: Choices) -> str:
    """What is stored, in other words: mostly the same value, now and then another one; or what is not there."""
    known = [(x, text) for x in inventory.stores_in(None) if (text := said(inventory, x))] if not pick.chance(8) else []
    if not known:
        text, buffer = inventory.buffer(pick)
        names = ", ".join(INDICES[: len(buffer.shape)]) if buffer is not None else "i"
        element = f"s.buffer({text})[{names or '0'}]" if not text.startswith("s.") else f"{text}[{names or '0'}]"
        return call("restate", text, f"lambda {names}: {element}")
    store, value = pick.one(known)
    one, zero = (f"T.{store.buffer.dtype}({n})" for n in (1, 0))
    indices = list(INDICES[: len(store.indices)])
    forms = [f"T.max({value}, {value})", f"({value}) * {one}", f"({value}) + {zero}", f"({value}) + {one}"]
    if indices:
        forms.insert(2, f"T.if_then_else({indices[0]} < 0, {zero}, {value})")
    given = [f"{b.name}=s.buffer({inventory.named(b)})" for b in dict.fromkeys(r.buffer for r in reads_of(store.value))]
    return call("restate", inventory.named(store.buffer), f"lambda {', '.join(indices + given)}: {pick.one(forms)}")


def said(inventory: Inventory, store: Store) -> str:
    """The value of a store as Python has it, of the indices; empty if it is not the only one, or cannot be said so."""
    from verified_tir.ir.script import script
    from verified_tir.script import tir

    own = [x for x in inventory.stores_in(None) if x.buffer is store.buffer]
    if len(own) != 1 or store.buffer.dtype.is_bool or store.buffer.dtype.lanes != 1:
        return ""
    where: dict[Var, Expr] = {e: Var.fresh(n, e.dtype) for n, e in zip(INDICES, store.indices, strict=False)
                              if isinstance(e, Var)}  # fmt: skip
    buffers = {r.buffer for r in reads_of(store.value)}
    unknown = set(free_vars(store.value)) - where.keys() - {b.data for b in buffers}
    named = all(inventory.named(b) == quoted(b.name) for b in (store.buffer, *buffers))
    if len(where) != len(store.indices) or unknown or not named:
        return ""
    meant = substitute(store.value, where)
    text = script(meant)
    words = {"T": tir, **{b.name: b for b in buffers}, **{v.name: v for v in where.values() if isinstance(v, Var)}}
    try:  # some words have a meaning in programs alone, some operators another one in Python
        return text if eval(text, words) is meant else ""
    except Exception:
        return ""


def _padded(inventory: Inventory) -> list[Buffer]:
    """Parameters whose layout has changed; all buffers, if none has."""
    moved = {m.after.name for m in inventory.schedule.theorem.relation}
    return [b for b in inventory.func.buffers if b.name in moved] or inventory.buffers


def predicate(inventory: Inventory, pick: Choices, buffer: Buffer | None) -> str:
    """A function of a buffer's indices that says which elements are meant."""
    sizes = extents(buffer) if buffer is not None else [4]
    names = [INDICES[k] for k in range(len(sizes))]
    if not names:
        return "True"
    d = pick.number(len(names))
    v, size = names[d], sizes[d]
    options = [f"{v} >= {max(size - 1, 0)}", "True", f"{v} == 0", f"{v} < {size // 2}", f"{v} % 2 == 0"]
    if len(names) > 1:
        options += [f"T.And({names[0]} == {sizes[0] - 1}, {names[1]} >= {sizes[1] // 2})"]
    chosen = pick.one(options)
    return chosen if chosen == "True" else f"lambda {', '.join(names)}: {chosen}"


@writes("add_buffer_constraint")
def add_buffer_constraint(inventory: Inventory, pick: Choices) -> str:
    text, buffer = inventory.buffer(pick)
    floats = buffer is not None and buffer.dtype.is_float
    values = ("0.0", "1.0", "T.undef()", "-0.0") if floats else ("0", "1", "T.undef()")
    before, axiom = where_assumed(inventory, pick)
    return call("add_buffer_constraint", text, predicate(inventory, pick, buffer), pick.one(values), before=before,
                axiom=axiom)  # fmt: skip


@writes("assume")
def assume(inventory: Inventory, pick: Choices) -> str:
    before, axiom = where_assumed(inventory, pick)
    if inventory.symbols and pick.chance(3):
        name = f"s.symbol({quoted(pick.one(inventory.symbols))})"
        claims = [f"{name} >= 1", f"{name} <= 8", f"{name} % 2 == 0", f"{name} >= 0", f"{name} == 0"]
        return call("assume", pick.one(claims), before=before, axiom=axiom)
    text, buffer = inventory.buffer(pick, list(inventory.func.buffers) if not pick.chance(5) else None)
    names = ", ".join(INDICES[: len(buffer.shape)]) if buffer is not None else "i"
    element = f"s.buffer({text})[{names or '0'}]" if not text.startswith("s.") else f"{text}[{names or '0'}]"
    floats = buffer is not None and buffer.dtype.is_float
    claims = [f"{element} >= 0", f"{element} == 0", f"{element} < 4", f"{element} == 1", f"{element} > -4"]
    if floats:
        claims = [f"{element} >= 0.0", f"{element} == 0.0", f"{element} < 100.0", f"T.isfinite({element})",
                  f"{element} == {element}"]  # fmt: skip
    return call("assume", f"lambda {names}: {pick.one(claims)}", text, before=before, axiom=axiom)


def where_assumed(inventory: Inventory, pick: Choices) -> tuple[str, str]:
    """``before=`` and ``axiom=``, mostly an axiom: little else is true of arguments."""
    if pick.chance(3):
        return inventory.place(pick), ""
    return "", "" if pick.chance(3) else "True"
