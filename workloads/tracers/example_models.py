"""Writes the traces of examples/recorded: small models, one training step each.

    PYTHONPATH=workloads/tracers python3 workloads/tracers/example_models.py examples/recorded
"""

import os
import sys

import torch
from torch import nn
from torch.nn import functional

from heddle_trace import trace_step


class Block(nn.Module):
    """A layer of a GPT: attention and a feed-forward part, normalised before."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_feed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.attention(self.before_attention(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.before_feed(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary=512, width=128, heads=4, layers=3, length=64):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        return self.head(self.last(self.blocks(x))).flatten(0, 1)


class Lstm(nn.Module):
    def __init__(self, inputs=32, width=64, classes=10):
        super().__init__()
        self.cells, self.head = nn.LSTM(inputs, width, batch_first=True), nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.cells(x)[0][:, -1])


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels),
                                  nn.ReLU(), nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(channels))

    def forward(self, x):
        return functional.relu(x + self.body(x))


def models():
    torch.manual_seed(1)
    labels = torch.randint(0, 10, (32,))
    mlp = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    yield "mlp", mlp, (torch.randn(32, 64), labels), torch.optim.SGD(mlp.parameters(), lr=0.1, momentum=0.9)
    cnn = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 8 * 8, 10))
    yield "cnn", cnn, (torch.randn(32, 3, 32, 32), labels), torch.optim.Adam(cnn.parameters())
    if hasattr(functional, "scaled_dot_product_attention"):  # PyTorch 2.0
        gpt = Gpt()
        words = torch.randint(0, 512, (4, 64))
        yield "gpt", gpt, (words, words.flatten().roll(-1)), torch.optim.AdamW(gpt.parameters())
    lstm = Lstm()
    yield "lstm", lstm, (torch.randn(32, 8, 32), labels), torch.optim.SGD(lstm.parameters(), lr=0.1)
    resnet = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), Residual(32),
                           Residual(32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    yield "resnet", resnet, (torch.randn(32, 3, 16, 16), labels), torch.optim.SGD(resnet.parameters(), lr=0.1)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    os.makedirs(folder, exist_ok=True)
    for name, model, batch, optimizer in models():
        path = os.path.join(folder, name + ".et.gz")
        value = trace_step(model, batch, functional.cross_entropy, optimizer, path)
        print(f"{path}: loss {value:.3f}, {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
