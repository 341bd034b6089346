"""Steps of PyTorch that are traced without values: understood whole, with the operations of the textbook."""

import json
import subprocess

import pytest

torch = pytest.importorskip("torch")
heddle_torch = pytest.importorskip("heddle.torch")
import heddle  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

BATCH, WIDTH = 32, 256


def inspect(path):
    found = subprocess.run([heddle.command_path(), "trace", "inspect", "--json", str(path)], check=True, capture_output=True, text=True)
    return json.loads(found.stdout)


def operations(step, kind):
    return sum(one["flops"] for one in step["kinds"] if one["name"] == kind)


def mlp():
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))


def products(passes=1):
    return passes * 2 * BATCH * (2 * WIDTH * WIDTH + 3 * WIDTH * 10)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_model_with_and_without_values(tmp_path, device):
    model = mlp().to(device)
    before = [p.clone() for p in model.parameters()] if device == "cpu" else []
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.zeros(BATCH, WIDTH, device=device), torch.zeros(BATCH, dtype=torch.long, device=device)
    heddle_torch.trace_step(model, batch, functional.cross_entropy, optimizer, tmp_path / "step.et")
    step = inspect(tmp_path / "step.et")
    assert not step["unknown"]
    assert operations(step, "matmul") == products()
    assert step["parameters"] == sum(p.numel() for p in model.parameters())
    assert {phase["name"] for phase in step["phases"]} == {"forward", "backward", "optimizer"}
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
    assert not optimizer.state


def test_the_recorded_step_is_the_same(tmp_path):
    model = mlp()
    batch = torch.zeros(BATCH, WIDTH), torch.zeros(BATCH, dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    heddle_torch.trace_step(model, batch, functional.cross_entropy, optimizer, tmp_path / "fake.et")
    heddle_torch.record_step(model, batch, functional.cross_entropy, optimizer, tmp_path / "real.et")
    fake, real = inspect(tmp_path / "fake.et"), inspect(tmp_path / "real.et")
    assert fake["kinds"] == real["kinds"]
    assert fake["phases"] == real["phases"]


def test_accumulation_scaler_autocast_and_checkpoints(tmp_path):
    with heddle_torch.fake():
        model = mlp().cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda")
        x, y = torch.zeros(BATCH, WIDTH, device="cuda"), torch.zeros(BATCH, dtype=torch.long, device="cuda")

        def step():
            for _ in range(2):
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    loss = functional.cross_entropy(checkpoint(model, x, use_reentrant=False), y)
                scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        heddle_torch.trace(step, tmp_path / "step.et")
    found = inspect(tmp_path / "step.et")
    # Checkpoints run the forward pass once more, up to what the backward pass needs last: the first layer at least.
    least, most = products(2) + 2 * 2 * BATCH * WIDTH * WIDTH, products(2) + 2 * 2 * BATCH * (WIDTH * WIDTH + WIDTH * 10)
    assert least <= operations(found, "matmul") <= most
    assert {phase["name"] for phase in found["phases"]} == {"forward", "backward", "optimizer"}


def test_modules_are_named_in_every_phase(tmp_path):
    with heddle_torch.fake():
        model = mlp()
        batch = torch.zeros(BATCH, WIDTH), torch.zeros(BATCH, dtype=torch.long)
        heddle_torch.trace_step(model, batch, functional.cross_entropy, None, tmp_path / "step.et")
    subprocess.run([heddle.command_path(), "trace", "export", str(tmp_path / "step.et"), str(tmp_path / "step.json")],
                   check=True, capture_output=True)
    ops = json.loads((tmp_path / "step.json").read_text())["ops"]
    named = {(op["phase"], op["attributes"]["module"]) for op in ops if op["kind"] == "matmul"}
    assert named == {("forward", "0"), ("forward", "2"), ("backward", "0"), ("backward", "2")}


def test_a_step_that_depends_on_values_is_refused(tmp_path):
    with heddle_torch.fake():
        x = torch.zeros(4, 4, requires_grad=True)

        def step():
            if (x > 0).any():
                x.sum().backward()
        with pytest.raises(ValueError, match="reads the value"):
            heddle_torch.trace(step, tmp_path / "step.et")


def test_collectives_of_a_process_group_that_is_not_there(tmp_path):
    fake_group = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    import torch.distributed as distributed
    distributed.init_process_group("fake", rank=0, world_size=8, store=fake_group.FakeStore())
    try:
        with heddle_torch.fake():
            model = nn.parallel.DistributedDataParallel(mlp())
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            batch = torch.zeros(BATCH, WIDTH), torch.zeros(BATCH, dtype=torch.long)
            heddle_torch.trace_step(model, batch, functional.cross_entropy, optimizer, tmp_path / "step.et", warm_up=2)
    finally:
        distributed.destroy_process_group()
    found = inspect(tmp_path / "step.et")
    shared = [kind for kind in found["kinds"] if kind["name"] == "collective"]
    gradients = 4 * sum(p.numel() for p in mlp().parameters())
    assert len(shared) == 1 and shared[0]["bytes"] in (gradients, 2 * gradients)
