"""Steps that heddle_trace records with the PyTorch that is here: understood whole, with the operations that the textbook
says; and what cannot be recorded is refused in one line.

    PYTHONPATH=workloads/tracers python3 check_steps.py HEDDLE FOLDER
"""

import json
import os
import subprocess
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional

from heddle_trace import trace_step

warnings.simplefilter("ignore")
HEDDLE, FOLDER = sys.argv[1], sys.argv[2]
BATCH, LENGTH, WIDTH, HEADS, LAYERS, WORDS = 4, 64, 128, 4, 2, 512


class Attention(nn.Module):
    """Causal attention; `fused` by scaled_dot_product_attention, otherwise written out."""

    def __init__(self, fused):
        super().__init__()
        self.fused, self.projections, self.last = fused, nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in self.projections(x).chunk(3, -1))
        if self.fused:
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
            later = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=x.device).triu(1)
            mixed = functional.dropout(functional.softmax(scores.masked_fill(later, float("-inf")), -1), 0.1) @ v
        return self.last(mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))


class Gpt(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(nn.ModuleList([
            nn.LayerNorm(WIDTH), Attention(fused), nn.LayerNorm(WIDTH),
            nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))])
            for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(LENGTH, device=words.device))
        for before, attention, between, feed in self.blocks:
            x = x + attention(before(x))
            x = x + feed(between(x))
        return self.head(self.norm(x)).flatten(0, 1)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cells, self.head = kind(32, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.cells(x)[0][:, -1])


def labels(count):
    return torch.randint(0, 10, (count,))


def mlp():
    layers = [64, 256, 256, 10]
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    products = sum(2 * 32 * a * b * (3 if i else 2) for i, (a, b) in enumerate(zip(layers, layers[1:])))
    return model, (torch.randn(32, 64), labels(32)), {"matmul": products}


def cnn():
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    first, second = 2 * 32 * 32 * 32 * 16 * 3 * 9, 2 * 32 * 8 * 8 * 32 * 16 * 9
    return model, (torch.randn(32, 3, 32, 32), labels(32)), {
        "convolution": first + second, "convolution_weight_grad": first + second, "convolution_data_grad": second,
        "matmul": 3 * 2 * 32 * 32 * 10}


def gpt(fused):
    words = torch.randint(0, WORDS, (BATCH, LENGTH))
    products = 3 * 2 * BATCH * LENGTH * (LAYERS * 12 * WIDTH * WIDTH + WIDTH * WORDS)
    one = 2 * BATCH * LENGTH * LENGTH * WIDTH  # of the two products of a layer's attention
    # The fused op leaves out what is masked, half of it; its gradient has five products.
    work = {"matmul": products, "attention": LAYERS * one, "attention_grad": LAYERS * one * 5 / 2} if fused else {
        "matmul": products + 3 * LAYERS * 2 * one}
    return Gpt(fused), (words, words.flatten().roll(-1)), work


def lstm():
    # No gradient for the first state, nor for the inputs.
    steps, gates = 8, 4 * 64
    cells = 2 * 32 * gates * (2 * steps * (32 + 64) + (steps - 1) * 64)
    return Recurrent(nn.LSTM), (torch.randn(32, steps, 32), labels(32)), {"matmul": cells + 3 * 2 * 32 * 64 * 10}


def gru():
    steps, gates = 8, 3 * 64
    cells = 2 * 32 * gates * (2 * steps * (32 + 64) + (steps - 1) * 64)
    return Recurrent(nn.GRU), (torch.randn(32, steps, 32), labels(32)), {"matmul": cells + 3 * 2 * 32 * 64 * 10}


def heddle(*arguments):
    return json.loads(subprocess.run([HEDDLE, *arguments], check=True, capture_output=True, text=True).stdout)


def check(name, made, optimizer, narrow=False):
    model, batch, work = made
    path = os.path.join(FOLDER, name + ".et.gz")
    chosen = optimizer(model.parameters()) if optimizer else None
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
        trace_step(model, batch, functional.cross_entropy, chosen, path)
    step = heddle("trace", "inspect", "--json", path)
    assert not step["unknown"], (name, step["unknown"])
    found = {kind["name"]: kind["flops"] for kind in step["kinds"]}
    for kind, flops in work.items():
        assert found.get(kind) == flops, (name, kind, found.get(kind), flops)
    phases = {phase["name"] for phase in step["phases"]}
    assert phases == {"forward", "backward"} | ({"optimizer"} if optimizer else set()), (name, phases)
    if optimizer:  # what the update changes and the model reads
        parameters = sum(p.numel() for p in model.parameters())
        assert step["parameters"] == parameters, (name, step["parameters"], parameters)
    print(name, "understood,", len(step["kinds"]), "kinds of ops", flush=True)


def refused(what, *arguments, **named):
    """One ValueError of one line that has these words."""
    try:
        trace_step(*arguments, path=os.path.join(FOLDER, "refused.et"), **named)
    except ValueError as error:
        assert what in str(error) and "\n" not in str(error), error
        return
    raise AssertionError("not refused: " + what)


def main():
    torch.manual_seed(1)
    adamw, adam = torch.optim.AdamW, torch.optim.Adam
    sgd = lambda parameters: torch.optim.SGD(parameters, lr=0.1)
    momentum = lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    has_fused_attention = hasattr(functional, "scaled_dot_product_attention")
    for narrow in (False, True):
        kind = "-bf16" if narrow else ""
        check("mlp" + kind, mlp(), adamw, narrow)
        check("cnn" + kind, cnn(), adam, narrow)
        check("gpt-by-hand" + kind, gpt(False), adamw, narrow)
        if has_fused_attention:
            check("gpt" + kind, gpt(True), adamw, narrow)
        check("lstm" + kind, lstm(), sgd, narrow)
        check("gru" + kind, gru(), momentum, narrow)
    check("mlp-momentum", mlp(), momentum)
    check("mlp-lists", mlp(), lambda parameters: adam(parameters, foreach=True))
    check("mlp-no-optimizer", mlp(), None)
    if hasattr(torch, "compile"):
        # Recorded as it is written, whether or not there is a compiler.
        model, batch, work = mlp()
        check("mlp-compiled", (torch.compile(model, backend="eager"), batch, work), sgd)

    model, batch, _ = mlp()
    loss = functional.cross_entropy
    refused("shape [32]", model, batch, lambda y, t: loss(y, t, reduction="none"), None)
    refused("a tensor of one element", model, batch, lambda y, t: 1.5, None)
    refused("gradient", model, batch, lambda y, t: y.detach().sum(), None)
    refused("(inputs, targets)", model, batch[0], loss, None)
    refused("LBFGS", model, batch, loss, torch.optim.LBFGS(model.parameters()))
    # A device without memory of its own stands for a second one here.
    refused("meta", nn.Sequential(nn.Linear(64, 16), nn.Linear(16, 10, device="meta")), batch, loss, None)

    if torch.distributed.is_available() and getattr(torch.distributed, "is_gloo_available", lambda: True)():
        store = torch.distributed.FileStore(os.path.join(FOLDER, "store"), 1)
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        model, batch, _ = mlp()
        path = os.path.join(FOLDER, "parallel.et")
        trace_step(nn.parallel.DistributedDataParallel(model), batch, loss, sgd(model.parameters()), path)
        step = heddle("trace", "inspect", "--json", path)
        assert not step["unknown"], step["unknown"]
        shared = [kind for kind in step["kinds"] if kind["name"] == "collective"]
        gradients = 4 * sum(p.numel() for p in model.parameters())
        assert len(shared) == 1 and shared[0]["count"] == 1 and shared[0]["bytes"] in (gradients, 2 * gradients), shared
        torch.distributed.destroy_process_group()
        print("parallel understood, an all-reduce of", gradients, "bytes")


main()
