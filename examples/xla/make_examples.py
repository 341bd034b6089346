#!/usr/bin/env python3
"""Writes the programs of this folder: training steps of small models, as JAX and XLA print them.

For each step:
    NAME.mlir             StableHLO, what JAX hands to XLA:  jax.jit(step).lower(...).as_text()
    NAME.hlo              HLO before XLA's optimisations:    lowered.compiler_ir("hlo").as_hlo_text()
    NAME.optimized.hlo    HLO as XLA compiled it for a CPU:  lowered.compile().as_text(); those of LONG
                          without metadata
    NAME.values.json      what JAX computed on a CPU in fp32 from the inputs below: samples of every result

Inputs follow a formula that the reader of the values repeats (see `numbers`). Needs JAX (pip install jax; made
with 0.10.2); nothing else here does.

    python3 make_examples.py [FOLDER]
"""
import json
import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

SAMPLES = 24


def numbers(argument, shape, dtype, kind):
    """Element i of argument a: u = ((7919 i + 104729 a) mod 251 - 125) / 125, an index u' mod its bound, ..."""
    count = int(np.prod(shape, dtype=np.int64))
    whole = (7919 * np.arange(count, dtype=np.int64) + 104729 * argument) % 251
    if kind.startswith("index"):
        values = whole % int(kind.split()[1])
    else:
        scale, offset = (float(word) for word in kind.split()[1:])
        values = (whole - 125) / 125 * scale + offset
    return values.reshape(shape).astype(dtype)


def uniform(shape, scale=1.0, offset=0.0, dtype=np.float32):
    return (shape, dtype, f"uniform {scale!r} {offset!r}")


def index(shape, bound):
    return (shape, np.int32, f"index {bound}")


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -jnp.mean(picked)


def sgd(parameters, gradients, rate=0.1):
    return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients)


# ---- A perceptron with two hidden layers: ReLU, cross-entropy, SGD ----

def mlp_loss(parameters, x, labels):
    (w1, b1), (w2, b2), (w3, b3) = parameters
    h = jax.nn.relu(x @ w1 + b1)
    h = jax.nn.relu(h @ w2 + b2)
    return cross_entropy(h @ w3 + b3, labels)


def mlp_step(parameters, x, labels):
    loss, gradients = jax.value_and_grad(mlp_loss)(parameters, x, labels)
    return sgd(parameters, gradients), loss


MLP = ([(uniform((24, 48), 0.25), uniform((48,), 0.1)), (uniform((48, 32), 0.25), uniform((32,), 0.1)),
        (uniform((32, 10), 0.25), uniform((10,), 0.1))], uniform((16, 24)), index((16,), 10))


# ---- A convolutional network: strides, padding, max and average pooling, SGD with momentum ----

def conv(x, w, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv_loss(parameters, x, labels):
    w1, b1, w2, b2, w3, b3 = parameters
    h = jax.nn.relu(conv(x, w1) + b1)
    h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    h = jax.nn.relu(conv(h, w2, stride=2) + b2)
    h = lax.reduce_window(h, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID") / 4
    return cross_entropy(h.reshape(h.shape[0], -1) @ w3 + b3, labels)


def conv_step(parameters, momenta, x, labels):
    loss, gradients = jax.value_and_grad(conv_loss)(parameters, x, labels)
    momenta = jax.tree.map(lambda m, g: 0.9 * m + g, momenta, gradients)
    return sgd(parameters, momenta, 0.05), momenta, loss


CONV_PARAMETERS = [uniform((3, 3, 3, 8), 0.4), uniform((8,), 0.1), uniform((3, 3, 8, 16), 0.2), uniform((16,), 0.1),
                   uniform((3 * 3 * 16, 10), 0.2), uniform((10,), 0.1)]
CONV = (CONV_PARAMETERS, CONV_PARAMETERS, uniform((4, 16, 16, 3)), index((4,), 10))


# ---- An LSTM over a sequence by lax.scan ----

def lstm_loss(parameters, x, target):
    w, u, b, out = parameters

    def cell(state, row):
        h, c = state
        i, f, g, o = jnp.split(row @ w + h @ u + b, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[1], u.shape[0]), x.dtype)
    _, hs = lax.scan(cell, (zeros, zeros), x)
    return jnp.mean((hs @ out - target) ** 2)


def lstm_step(parameters, x, target):
    loss, gradients = jax.value_and_grad(lstm_loss)(parameters, x, target)
    return sgd(parameters, gradients), loss


LSTM = ([uniform((12, 64), 0.4), uniform((16, 64), 0.4), uniform((64,), 0.1), uniform((16, 8), 0.4)],
        uniform((6, 8, 12)), uniform((6, 8, 8)))


# ---- One block of a GPT: embedding, layer norm, causal attention, GELU, cross-entropy, Adam ----

HEADS = 2


def layer_norm(x, gain, shift):
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * gain + shift


def attention(x, w_qkv, w_out):
    batch, length, width = x.shape
    q, k, v = (t.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)
               for t in jnp.split(x @ w_qkv, 3, axis=-1))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(width // HEADS)
    mask = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", weights, v)
    return mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ w_out


def gpt_loss(p, tokens, targets):
    x = p["tokens"][tokens] + p["positions"]
    x = x + attention(layer_norm(x, p["gain1"], p["shift1"]), p["w_qkv"], p["w_out"])
    h = jax.nn.gelu(layer_norm(x, p["gain2"], p["shift2"]) @ p["w_up"] + p["b_up"])
    x = x + h @ p["w_down"] + p["b_down"]
    logits = layer_norm(x, p["gain3"], p["shift3"]) @ p["tokens"].T
    return cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def gpt_step(p, m, v, step, tokens, targets):
    loss, g = jax.value_and_grad(gpt_loss)(p, tokens, targets)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
    rate = 1e-2 * jnp.sqrt(1 - 0.99 ** step) / (1 - 0.9 ** step)
    p = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), p, m, v)
    return p, m, v, loss


WIDTH, LENGTH, WORDS = 32, 16, 40
GPT_SHAPES = {"tokens": (WORDS, WIDTH), "positions": (LENGTH, WIDTH), "w_qkv": (WIDTH, 3 * WIDTH),
              "w_out": (WIDTH, WIDTH), "w_up": (WIDTH, 4 * WIDTH), "b_up": (4 * WIDTH,),
              "w_down": (4 * WIDTH, WIDTH), "b_down": (WIDTH,),
              **{name + str(i): (WIDTH,) for i in (1, 2, 3) for name in ("gain", "shift")}}
GPT = ({name: uniform(shape, 0.3, 1.0 if name.startswith("gain") else 0.0) for name, shape in GPT_SHAPES.items()},
       {name: uniform(shape, 0.01) for name, shape in GPT_SHAPES.items()},
       {name: uniform(shape, 0.0005, 0.001) for name, shape in GPT_SHAPES.items()},
       uniform((), 0.0, 10.0), index((2, LENGTH), WORDS), index((2, LENGTH), WORDS))


# ---- A residual block of a ResNet: batch norm, a projected shortcut, max pooling, global mean ----

def batch_norm(x, gain, shift, running):
    mean = jnp.mean(x, (0, 1, 2))
    variance = jnp.mean((x - mean) ** 2, (0, 1, 2))
    new = (0.9 * running[0] + 0.1 * mean, 0.9 * running[1] + 0.1 * variance)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * gain + shift, new


def resnet_loss(p, running, x, labels):
    h, r0 = batch_norm(conv(x, p["stem"], 2), p["gain0"], p["shift0"], running[0])
    h = lax.reduce_window(jax.nn.relu(h), -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    y, r1 = batch_norm(conv(h, p["w1"], 2), p["gain1"], p["shift1"], running[1])
    y, r2 = batch_norm(conv(jax.nn.relu(y), p["w2"]), p["gain2"], p["shift2"], running[2])
    h = jax.nn.relu(y + conv(h, p["shortcut"], 2))
    return cross_entropy(jnp.mean(h, (1, 2)) @ p["out"], labels), [r0, r1, r2]


def resnet_step(p, running, x, labels):
    (loss, running), gradients = jax.value_and_grad(resnet_loss, has_aux=True)(p, running, x, labels)
    return sgd(p, gradients, 0.05), running, loss


RESNET_SHAPES = {"stem": (7, 7, 3, 8), "w1": (3, 3, 8, 16), "w2": (3, 3, 16, 16), "shortcut": (1, 1, 8, 16),
                 "out": (16, 10), **{name + str(i): (8 if i == 0 else 16,) for i in (0, 1, 2)
                                     for name in ("gain", "shift")}}
RESNET = ({name: uniform(shape, 0.3, 1.0 if name.startswith("gain") else 0.0)
           for name, shape in RESNET_SHAPES.items()},
          [(uniform((n,), 0.1), uniform((n,), 0.1, 1.0)) for n in (8, 16, 16)],
          uniform((4, 24, 24, 3)), index((4,), 10))


# ---- A block of a Llama: RMS norm, rotary positions, grouped heads, SwiGLU ----

KV_HEADS, Q_HEADS, HEAD = 2, 4, 8


def rms_norm(x, gain):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * gain


def rotated(x):  # [batch, length, heads, HEAD]
    angle = jnp.arange(x.shape[1])[:, None] / 10000 ** (jnp.arange(0, HEAD, 2) / HEAD)
    cosine, sine = jnp.cos(angle)[:, None, :], jnp.sin(angle)[:, None, :]
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cosine - b * sine, b * cosine + a * sine], axis=-1)


def llama_loss(p, tokens, targets):
    x = p["tokens"][tokens]
    batch, length, width = x.shape
    h = rms_norm(x, p["gain1"])
    q = rotated((h @ p["wq"]).reshape(batch, length, Q_HEADS, HEAD))
    k = rotated((h @ p["wk"]).reshape(batch, length, KV_HEADS, HEAD))
    v = (h @ p["wv"]).reshape(batch, length, KV_HEADS, HEAD)
    q = q.reshape(batch, length, KV_HEADS, Q_HEADS // KV_HEADS, HEAD)
    scores = jnp.einsum("bqgrd,bkgd->bgrqk", q, k) / np.sqrt(HEAD)
    mask = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    mixed = jnp.einsum("bgrqk,bkgd->bqgrd", weights, v).reshape(batch, length, Q_HEADS * HEAD)
    x = x + mixed @ p["wo"]
    h = rms_norm(x, p["gain2"])
    x = x + (jax.nn.silu(h @ p["w_gate"]) * (h @ p["w_up"])) @ p["w_down"]
    logits = rms_norm(x, p["gain3"]) @ p["out"]
    return cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def llama_step(p, tokens, targets):
    loss, gradients = jax.value_and_grad(llama_loss)(p, tokens, targets)
    return sgd(p, gradients), loss


LLAMA_SHAPES = {"tokens": (WORDS, WIDTH), "wq": (WIDTH, Q_HEADS * HEAD), "wk": (WIDTH, KV_HEADS * HEAD),
                "wv": (WIDTH, KV_HEADS * HEAD), "wo": (Q_HEADS * HEAD, WIDTH), "w_gate": (WIDTH, 48),
                "w_up": (WIDTH, 48), "w_down": (48, WIDTH), "out": (WIDTH, WORDS),
                **{f"gain{i}": (WIDTH,) for i in (1, 2, 3)}}
LLAMA = ({name: uniform(shape, 0.3, 1.0 if name.startswith("gain") else 0.0)
          for name, shape in LLAMA_SHAPES.items()}, index((2, LENGTH), WORDS), index((2, LENGTH), WORDS))


# ---- A mixture of experts: a router, the two best experts of each row, weighted ----

EXPERTS = 4


def moe_loss(p, x, target):
    share = jax.nn.softmax(x @ p["router"])
    best = jnp.zeros(share.shape, bool)
    for _ in range(2):  # the best of those that are left
        left = jnp.where(best, -1.0, share)
        best = best | (left == jnp.max(left, -1, keepdims=True))
    weight = jnp.where(best, share, 0.0)
    weight = weight / jnp.sum(weight, -1, keepdims=True)
    hidden = jax.nn.gelu(jnp.einsum("nd,edh->neh", x, p["up"]))
    y = jnp.einsum("neh,ehd,ne->nd", hidden, p["down"], weight)
    return jnp.mean((y - target) ** 2)


def moe_step(p, x, target):
    loss, gradients = jax.value_and_grad(moe_loss)(p, x, target)
    return sgd(p, gradients), loss


MOE = ({"router": uniform((WIDTH, EXPERTS), 0.3), "up": uniform((EXPERTS, WIDTH, 48), 0.3),
        "down": uniform((EXPERTS, 48, WIDTH), 0.3)}, uniform((24, WIDTH)), uniform((24, WIDTH)))


STEPS = {"mlp": (mlp_step, MLP), "conv": (conv_step, CONV), "lstm": (lstm_step, LSTM), "gpt_block": (gpt_step, GPT),
         "resnet_block": (resnet_step, RESNET), "llama_block": (llama_step, LLAMA), "moe": (moe_step, MOE)}
LONG = {"gpt_block", "resnet_block", "llama_block", "moe"}  # as long again with metadata


def is_recipe(node):
    return isinstance(node, tuple) and len(node) == 3 and isinstance(node[2], str)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    jax.config.update("jax_platforms", "cpu")
    for name, (step, recipes) in STEPS.items():
        leaves, structure = jax.tree.flatten(recipes, is_leaf=is_recipe)
        values = [numbers(i, *recipe) for i, recipe in enumerate(leaves)]
        arguments = jax.tree.unflatten(structure, values)
        lowered = jax.jit(step, keep_unused=True).lower(*arguments)
        compiled = lowered.compile()
        (folder / f"{name}.mlir").write_text(lowered.as_text())
        (folder / f"{name}.hlo").write_text(lowered.compiler_ir("hlo").as_hlo_text())
        optimized = compiled.as_text().replace(str(pathlib.Path(__file__).resolve()), pathlib.Path(__file__).name)
        if name in LONG:
            optimized = re.sub(r", metadata=\{[^}]*\}", "", optimized)
        (folder / f"{name}.optimized.hlo").write_text(optimized)
        with jax.default_matmul_precision("highest"):
            results = [np.asarray(result, np.float64).ravel() for result in jax.tree.leaves(step(*arguments))]
        described = [{"elements": result.size, "sum": float(result.sum()),
                      "sum_of_squares": float((result * result).sum()),
                      "every": max(1, result.size // SAMPLES),
                      "samples": [float(f"{value:.9g}") for value in result[::max(1, result.size // SAMPLES)]]}
                     for result in results]
        text = json.dumps({"inputs": [recipe[2] for recipe in leaves], "results": described})
        (folder / f"{name}.values.json").write_text(text.replace("}, ", "},\n") + "\n")


if __name__ == "__main__":
    main()
