"""Triton's kernels on the virtual GPU."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import numpy
import pytest

import heddle

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="triton is not installed")
tl = pytest.importorskip("triton.language", reason="triton is not installed")


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def say(values_ptr):
    tl.device_print("number", tl.program_id(0))
    tl.store(values_ptr + tl.program_id(0), 1)


@triton.autotune(configs=[triton.Config({"BLOCK": 32}, num_warps=1), triton.Config({"BLOCK": 2048}, num_warps=4)], key=["n"])
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % 2048 == 0})
@triton.jit
def scale(x_ptr, out_ptr, n, factor, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * factor)
    else:
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * factor, mask=offsets < n)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        a = tl.load(a_ptr + rows[:, None] * k + (start + inner)[None, :])
        b = tl.load(b_ptr + (start + inner)[:, None] * n + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def copy_by_descriptor(source, target, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([row, column], source.load([row, column]))


@triton.jit
def copy_by_own_descriptor(source_ptr, target_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(source_ptr, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    target = tl.make_tensor_descriptor(target_ptr, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([row, column], source.load([row, column]))


@triton.jit
def add_tables(tables_ptr, n, BLOCK: tl.constexpr):
    x_ptr = tl.load(tables_ptr).to(tl.pointer_type(tl.float32))
    out_ptr = tl.load(tables_ptr + 1).to(tl.pointer_type(tl.float32))
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) + 1, mask=offsets < n)


@pytest.fixture(scope="module", params=["h100-sxm", "a100-sxm"])
def gpu(request):
    device = heddle.device(request.param)
    yield device
    device.close()


@pytest.fixture(scope="module")
def hopper():
    device = heddle.device("h100-sxm")
    yield device
    device.close()


def test_tensors_of_the_cpu(gpu):
    with gpu.triton():
        x, y = torch.rand(1000), torch.rand(1000, device="cuda")
        assert triton.runtime.driver.active.get_active_torch_device().type == "cpu"
        out = torch.empty_like(x)
        add[(triton.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
    assert torch.equal(out, x + y) and gpu.last.kernel == "add" and gpu.last.cycles > 1000


def test_arrays_of_numpy(gpu):
    x, y, out = numpy.random.rand(3, 512).astype(numpy.float32)
    with gpu.triton():
        add[(2,)](x, y, out, 512, BLOCK=256)
    numpy.testing.assert_array_equal(out, x + y)


def test_lines_are_those_of_this_file(gpu):
    x = torch.rand(4096)
    with gpu.triton():
        add[(16,)](x, x, torch.empty_like(x), 4096, BLOCK=256)
    rows = gpu.last.line_rows()
    assert all(row["file"].endswith("test_triton.py") for row in rows)
    assert {row["text"] for row in rows[:4]} & {"x = tl.load(x_ptr + offsets, mask=mask)", "tl.store(out_ptr + offsets, x + y, mask=mask)"}
    assert 0.98 < sum(row["share"] for row in rows) < 1.02


def test_autotune_chooses_by_simulated_time(hopper):
    x = torch.rand(1 << 16)
    out = torch.empty_like(x)
    with hopper.triton():
        scale[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), 3.0)
        times = {config.kwargs["BLOCK"]: time for config, time in scale.configs_timings.items()}
    first = {block: time[0] if isinstance(time, list) else time for block, time in times.items()}
    assert torch.equal(out, 3 * x) and scale.best_config.kwargs["BLOCK"] == min(first, key=first.get) == 2048
    assert 0 < first[2048] < first[32]


def test_do_bench_is_simulated_time_of_cold_caches(hopper):
    x = torch.rand(1 << 14)
    out = torch.empty_like(x)
    with hopper.triton():
        milliseconds = [triton.testing.do_bench(lambda: add[(64,)](x, x, out, x.numel(), BLOCK=256)) for _ in range(2)]
        assert triton.testing.do_bench(lambda: x + x) != triton.testing.do_bench(lambda: x + x)
        three = triton.testing.do_bench(lambda: add[(64,)](x, x, out, x.numel(), BLOCK=256), quantiles=[0.5, 0.2, 0.8])
    assert milliseconds[0] == milliseconds[1] and 0.001 < milliseconds[0] < 0.1 and three == [milliseconds[0]] * 3


def test_device_print(hopper, capfd):
    values = torch.zeros(2, dtype=torch.int32)
    with hopper.triton():
        say[(2,)](values, num_warps=1)
    said = capfd.readouterr().out
    assert values.tolist() == [1, 1] and "number: 0" in said and "number: 1" in said


def test_matmul(gpu):
    torch.manual_seed(0)
    a, b = torch.randn(128, 64, dtype=torch.float16), torch.randn(64, 128, dtype=torch.float16)
    c = torch.empty(128, 128, dtype=torch.float16)
    with gpu.triton():
        matmul[(2, 2)](a, b, c, 128, 128, 64, M=64, N=64, K=32)
    torch.testing.assert_close(c, a @ b, atol=1e-2, rtol=1e-2)
    assert gpu.last.utilisation["tensor"] > 0


@pytest.mark.skipif(importlib.util.find_spec("triton.tools.tensor_descriptor") is None, reason="this Triton has no tensor descriptors")
def test_descriptors_of_the_host_and_of_the_device(hopper):
    from triton.tools.tensor_descriptor import TensorDescriptor

    source = torch.rand(96, 64)
    target, other = torch.zeros_like(source), torch.zeros_like(source)
    with hopper.triton():
        copy_by_descriptor[(3, 2)](
            TensorDescriptor.from_tensor(source, [32, 32]), TensorDescriptor.from_tensor(target, [32, 32]), M=32, N=32
        )
        copy_by_own_descriptor[(3, 2)](source, other, 96, 64, M=32, N=32)
    assert torch.equal(source, target) and torch.equal(source, other)


def test_tables_of_addresses(hopper):
    x, out = torch.rand(100), torch.zeros(100)
    with hopper.triton():
        table = torch.tensor([x.data_ptr(), out.data_ptr()])
        before = table.clone()
        add_tables[(1,)](table, 100, BLOCK=128)
    assert torch.equal(out, x + 1) and torch.equal(table, before)


def test_the_context_leaves_nothing_behind(hopper):
    before = (triton.testing.do_bench, torch.cuda.get_device_capability, torch.Tensor.data_ptr, triton.runtime.driver._active)
    with pytest.raises(RuntimeError, match="stop"):
        with hopper.triton():
            assert torch.cuda.get_device_capability() == (9, 0)
            raise RuntimeError("stop")
    after = (triton.testing.do_bench, torch.cuda.get_device_capability, torch.Tensor.data_ptr, triton.runtime.driver._active)
    assert all(one is other for one, other in zip(before, after))


def test_check_of_a_kernel(hopper):
    x, y = torch.rand(2, 500)
    case = heddle.Case([x, y, torch.zeros(500), 500], grid=2, keywords={"BLOCK": 256}, expected={2: x + y})
    beyond = heddle.Case([x, y, torch.zeros(500), 512], grid=2, keywords={"BLOCK": 256})
    answer = json.loads(json.dumps(heddle.check(add, [case, beyond], hopper)))
    assert answer["cases"][0]["passed"] and answer["cases"][0]["launches"][0]["lines"]
    assert answer["cases"][1]["error"]["kind"] == "out of bounds"


def test_a_script_from_its_first_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""import sys, torch, triton, triton.language as tl
DEVICE = triton.runtime.driver.active.get_active_torch_device()
@triton.jit
def fill(p):
    tl.store(p + tl.program_id(0), 7)
x = torch.zeros(3, device=DEVICE, dtype=torch.int32)
fill[(3,)](x)
print(x.tolist(), sys.argv[1:], triton.runtime.driver.active.get_current_target().arch)
""")
    done = subprocess.run(
        [sys.executable, "-m", "heddle.triton", "--hardware", "h100-sxm", str(script), "word"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[7, 7, 7] ['word'] 90"


def test_the_example_says_what_helps(tmp_path):
    example = pathlib.Path(__file__).parents[2] / "examples" / "python" / "why_is_my_triton_matmul_slow.py"
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=True, cwd=tmp_path)
    times = [float(line.split(": ")[1].split(" us")[0]) for line in done.stdout.splitlines() if " TFLOP/s" in line]
    assert len(times) == 3 and times[0] > times[1] > 2 * times[2]
    assert "tl.dot" in done.stdout or "tl.load" in done.stdout


def test_inline_assembly_belongs_to_its_line(hopper):
    x = torch.rand(1024)
    with hopper.triton():
        add[(1,)](x, x, torch.empty_like(x), 1024, BLOCK=1024)
    written = {"offsets =", "mask =", "x =", "y =", "tl.store", "def add"}
    assert all(any(row["text"].startswith(one) for one in written) for row in hopper.last.line_rows())
