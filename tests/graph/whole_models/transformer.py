"""Transformers as exporters write them: of many small operators (opset 17), and of those of opset 23."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.graph.whole_models.writer import Writer


@dataclass(frozen=True)
class Size:
    """``blocks`` blocks of ``heads`` heads with ``depth`` elements each, over ``length`` places, of ``words`` words."""

    blocks: int = 1
    heads: int = 2
    depth: int = 8
    length: int = 12
    words: int = 40
    batch: int = 1

    @property
    def width(self) -> int:
        return self.heads * self.depth


SMALL = Size()
LARGE = Size(blocks=4, heads=4, depth=32, length=64, words=1000)


def encoder(size: Size, opset: int = 17) -> Any:
    """Blocks with normalisation first, full attention under a mask of the operand, and an exact Gelu."""
    w = Writer(opset)
    x = w.input("x", np.float32, [size.batch, size.length, size.width])
    given = w.input("mask", np.int64, [size.batch, size.length])
    wide = w.op("Unsqueeze", w.op("Unsqueeze", given, w.integers(1)), w.integers(2))
    hidden = w.op("Sub", w.number(1.0), w.op("Cast", wide, to=1))
    mask = w.op("Mul", hidden, w.number(float(np.finfo(np.float32).min)))
    for k in range(size.blocks):
        w.scope = f"/layer.{k}/"
        attended = _attention(w, _layer_norm(w, x, size, "norm1"), size, lambda scores: w.op("Add", scores, mask))
        x = w.op("Add", x, attended)
        x = w.op("Add", x, _mlp(w, _layer_norm(w, x, size, "norm2"), size, _gelu_erf))
    w.scope = "/"
    return w.model([size.batch, size.length, size.width], y=_layer_norm(w, x, size, "norm"))


def gpt(size: Size, opset: int = 17) -> Any:
    """A language model with learned positions and a causal mask that is cut out of a table; logits of each place."""
    w = Writer(opset)
    tokens = w.input("tokens", np.int64, [size.batch, size.length])
    table = w.constant((0.3 * w.rng.standard_normal((size.words, size.width))).astype(np.float32), "wte")
    places = w.constant((0.1 * w.rng.standard_normal((2 * size.length, size.width))).astype(np.float32), "wpe")
    length = w.op("Gather", w.op("Shape", tokens), w.constant(np.int64(1)), axis=0)
    numbers = w.op("Range", w.constant(np.int64(0)), length, w.constant(np.int64(1)))
    x = w.op("Gather", table, tokens)
    x = w.op("Add", x, w.op("Gather", places, w.op("Unsqueeze", numbers, w.integers(0))))
    most = 2 * size.length
    triangle = w.constant(np.tril(np.ones((1, 1, most, most), bool)), "bias")
    least = w.number(float(np.finfo(np.float32).min))

    def causal(scores: str) -> str:
        end = w.op("Unsqueeze", length, w.integers(0))
        rows = w.op("Slice", triangle, w.integers(0), end, w.integers(2), w.integers(1))
        kept = w.op("Slice", rows, w.integers(0), end, w.integers(3), w.integers(1))
        return str(w.op("Where", kept, scores, least))

    for k in range(size.blocks):
        w.scope = f"/h.{k}/"
        x = w.op("Add", x, _attention(w, _decomposed_norm(w, x, size, "ln_1"), size, causal))
        x = w.op("Add", x, _mlp(w, _decomposed_norm(w, x, size, "ln_2"), size, _gelu_tanh))
    w.scope = "/"
    x = _decomposed_norm(w, x, size, "ln_f")
    return w.model(
        [size.batch, size.length, size.words], logits=w.op("MatMul", x, w.op("Transpose", table, perm=[1, 0]))
    )


def llama(size: Size, groups: int = 1) -> Any:
    """A language model of opset 23: RMSNormalization, RotaryEmbedding, Attention with ``groups`` heads of keys, a gated
    MLP."""
    w = Writer(23)
    tokens = w.input("tokens", np.int64, [size.batch, size.length])
    table = w.constant((0.3 * w.rng.standard_normal((size.words, size.width))).astype(np.float32), "embed_tokens")
    angle = np.arange(2 * size.length)[:, None] / 10000 ** (np.arange(size.depth // 2) / (size.depth // 2))
    cos, sin = (w.constant(f(angle).astype(np.float32), n) for f, n in ((np.cos, "cos"), (np.sin, "sin")))
    numbers = w.constant(np.tile(np.arange(size.length, dtype=np.int64), (size.batch, 1)), "position_ids")
    x = w.op("Gather", table, tokens)
    for k in range(size.blocks):
        w.scope = f"/layers.{k}/"
        normal = w.op("RMSNormalization", x, w.weight("input_norm", size.width, around=1.0), axis=-1, epsilon=1e-6)
        q = w.op("MatMul", normal, w.weight("q_proj", size.width, size.width))
        key, v = (w.op("MatMul", normal, w.weight(n, size.width, groups * size.depth)) for n in ("k_proj", "v_proj"))
        q = w.op("RotaryEmbedding", q, cos, sin, numbers, num_heads=size.heads)
        key = w.op("RotaryEmbedding", key, cos, sin, numbers, num_heads=groups)
        found = w.op("Attention", q, key, v, is_causal=1, q_num_heads=size.heads, kv_num_heads=groups)
        x = w.op("Add", x, w.op("MatMul", found, w.weight("o_proj", size.width, size.width)))
        normal = w.op("RMSNormalization", x, w.weight("post_norm", size.width, around=1.0), axis=-1, epsilon=1e-6)
        gate = w.op("MatMul", normal, w.weight("gate_proj", size.width, 3 * size.width))
        up = w.op("MatMul", normal, w.weight("up_proj", size.width, 3 * size.width))
        gated = w.op("Mul", w.op("Mul", gate, w.op("Sigmoid", gate)), up)
        x = w.op("Add", x, w.op("MatMul", gated, w.weight("down_proj", 3 * size.width, size.width)))
    w.scope = "/"
    x = w.op("RMSNormalization", x, w.weight("norm", size.width, around=1.0), axis=-1, epsilon=1e-6)
    return w.model(
        [size.batch, size.length, size.words], logits=w.op("MatMul", x, w.weight("lm_head", size.width, size.words))
    )


# -- parts -------------------------------------------------------------------------------------------------------------


def _attention(w: Writer, x: str, size: Size, masked: Any) -> str:
    """Queries, keys and values of one product, as many heads, and the product with the weights of the result."""
    whole = w.op(
        "Add", w.op("MatMul", x, w.weight("qkv", size.width, 3 * size.width)), w.weight("qkv_b", 3 * size.width)
    )
    shape = w.op("Shape", x)
    outer = [w.op("Unsqueeze", w.op("Gather", shape, w.constant(np.int64(k)), axis=0), w.integers(0)) for k in (0, 1)]
    heads = w.op("Concat", *outer, w.integers(size.heads), w.integers(size.depth), axis=0)
    parts = w.op("Split", whole, w.integers(*[size.width] * 3), results=3, axis=2)
    turned = zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
    q, k, v = (w.op("Transpose", w.op("Reshape", p, heads), perm=axes) for p, axes in turned)
    scores = w.op("Div", w.op("MatMul", q, k), w.number(math.sqrt(size.depth)))
    found = w.op("MatMul", w.op("Softmax", masked(scores), axis=-1), v)
    flat = w.op("Concat", *outer, w.integers(size.width), axis=0)
    together = w.op("Reshape", w.op("Transpose", found, perm=[0, 2, 1, 3]), flat)
    return str(
        w.op("Add", w.op("MatMul", together, w.weight("out", size.width, size.width)), w.weight("out_b", size.width))
    )


def _mlp(w: Writer, x: str, size: Size, gelu: Any) -> str:
    up = w.op("Add", w.op("MatMul", x, w.weight("fc", size.width, 4 * size.width)), w.weight("fc_b", 4 * size.width))
    down = w.op("MatMul", gelu(w, up), w.weight("proj", 4 * size.width, size.width))
    return str(w.op("Add", down, w.weight("proj_b", size.width)))


def _gelu_erf(w: Writer, x: str) -> str:
    half = w.op("Add", w.op("Erf", w.op("Div", x, w.number(math.sqrt(2)))), w.number(1.0))
    return str(w.op("Mul", w.op("Mul", x, half), w.number(0.5)))


def _gelu_tanh(w: Writer, x: str) -> str:
    cubic = w.op("Mul", w.op("Pow", x, w.number(3.0)), w.number(0.044715))
    inner = w.op("Mul", w.op("Add", x, cubic), w.number(math.sqrt(2 / math.pi)))
    half = w.op("Add", w.op("Tanh", inner), w.number(1.0))
    return str(w.op("Mul", w.op("Mul", x, w.number(0.5)), half))


def _layer_norm(w: Writer, x: str, size: Size, name: str) -> str:
    scale, bias = w.weight(f"{name}.weight", size.width, around=1.0), w.weight(f"{name}.bias", size.width)
    return str(w.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5))


def _decomposed_norm(w: Writer, x: str, size: Size, name: str) -> str:
    """As exporters write it for opsets before 17."""
    scale, bias = w.weight(f"{name}.weight", size.width, around=1.0), w.weight(f"{name}.bias", size.width)
    centred = w.op("Sub", x, w.op("ReduceMean", x, axes=[-1]))
    variance = w.op("ReduceMean", w.op("Pow", centred, w.number(2.0)), axes=[-1])
    normal = w.op("Div", centred, w.op("Sqrt", w.op("Add", variance, w.number(1e-5))))
    return str(w.op("Add", w.op("Mul", normal, scale), bias))
