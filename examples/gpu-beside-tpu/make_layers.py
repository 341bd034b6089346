#!/usr/bin/env python3
"""Writes training steps of single layers in bf16, forward and backward, as StableHLO text that JAX prints.

    python3 make_layers.py [FOLDER]      NAME-BATCH.mlir for every layer and batch size; needs JAX
"""
import pathlib
import sys

import jax
import jax.numpy as jnp
from jax import lax


def gradients(layer):
    """y and the gradients of parameters and input for a given gradient of y."""
    def step(parameters, x, dy):
        y, back = jax.vjp(layer, parameters, x)
        return y, back(dy)
    return step


def dense(w, x):
    return x @ w


def convolution(w, x):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def lstm(parameters, x):
    w, u, b = parameters
    products = x @ w + b

    def cell(state, product):
        h, c = state
        i, f, g, o = jnp.split(product + h @ u, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[1], u.shape[0]), x.dtype)
    return lax.scan(cell, (zeros, zeros), products)[1]


def attention(_, qkv):
    q, k, v = qkv
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)


def tensor(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


STEPS, UNITS = 16, 1024
LAYERS = {
    "dense": (dense, [8, 64, 512, 4096], lambda n: (tensor(4096, 4096), tensor(n, 4096), tensor(n, 4096))),
    "convolution": (convolution, [1, 8, 32],
                    lambda n: (tensor(3, 3, 128, 256), tensor(n, 28, 28, 128), tensor(n, 28, 28, 256))),
    "lstm": (lstm, [8, 64, 512],
             lambda n: ((tensor(UNITS, 4 * UNITS), tensor(UNITS, 4 * UNITS), tensor(4 * UNITS)),
                        tensor(STEPS, n, UNITS), tensor(STEPS, n, UNITS))),
    "attention": (attention, [1, 8],
                  lambda n: ((), (tensor(n, 8, 512, 128),) * 3, tensor(n, 8, 512, 128))),
}


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, (layer, batches, arguments) in LAYERS.items():
        for batch in batches:
            text = jax.jit(gradients(layer)).lower(*arguments(batch)).as_text()
            (folder / f"{name}-{batch}.mlir").write_text(text)


if __name__ == "__main__":
    main()
