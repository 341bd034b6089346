"""Kernels of PTX and CUDA C++ on the virtual GPU, and heddle.check."""

import concurrent.futures
import json
import os
import pickle
import time

import numpy
import pytest

import heddle
from heddle import _kernel

INCREMENT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry increment(.param .u64 values, .param .u32 count)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<6>;
    .reg .pred %p;
    ld.param.u64 %rd1, [values];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra DONE;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 {%r3}, [%rd3];
    add.u32 %r3, %r3, 1;
    st.global.u32 [%rd3], %r3;
DONE:
    ret;
}
"""

SAXPY = """__global__ void saxpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""

REVERSE = """__global__ void reverse(float* y, const float* x) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    SYNC
    y[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def gpu():
    device = heddle.device("h100-sxm")
    yield device
    device.close()


@pytest.fixture(scope="module")
def cuda(gpu):
    if _kernel._nvcc() is None and _kernel._nvrtc() is None:
        pytest.skip("neither nvcc nor NVRTC is there")
    return gpu


def test_ptx_changes_an_array(gpu):
    kernel = gpu.kernel(INCREMENT, "increment")
    values = numpy.arange(100, dtype=numpy.int32)
    kernel[1, 128](values, 60)
    assert list(values[:60]) == list(range(1, 61)) and list(values[60:]) == list(range(60, 100))
    assert gpu.last.kernel == "increment" and gpu.last.cycles > 1000 and gpu.last.time_us > 0.5
    assert abs(sum(gpu.last.stalls.values()) - 1) < 1e-9
    assert gpu.last.occupancy["registers"] >= 8 and gpu.last.occupancy["blocks_per_sm"] == 16


def test_views_of_one_array_are_one_buffer(gpu):
    kernel = gpu.kernel(INCREMENT)
    values = numpy.zeros(64, dtype=numpy.int32)
    kernel[1, 32](values[32:], 8)
    assert values.sum() == 8 and values[32:40].sum() == 8


def test_values_alone_take_no_time(gpu):
    kernel = gpu.kernel(INCREMENT, "increment", time="none")
    values = numpy.zeros(32, dtype=numpy.int32)
    kernel[1, 32](values, 32)
    assert values.sum() == 32 and gpu.last.cycles is None and "values alone" in repr(gpu.last)
    gpu.kernel(INCREMENT)


def test_the_device_lives_after_an_access_out_of_bounds(gpu):
    kernel = gpu.kernel(INCREMENT)
    values = numpy.zeros(16, dtype=numpy.int32)
    with pytest.raises(heddle.KernelFailed, match="out of bounds") as raised:
        kernel[1, 32](values, 17)
    assert raised.value.status == 700
    kernel[1, 32](values, 16)
    assert list(values) == [1] * 16


@pytest.mark.parametrize("call, words", [
    (lambda kernel, values: kernel[1](values, 1), "a launch is"),
    (lambda kernel, values: kernel[1, 32](values), "takes 2 arguments, not 1"),
    (lambda kernel, values: kernel[0, 32](values, 1), "positive"),
    (lambda kernel, values: kernel[1, 32](values, 1 << 40), "does not fit 4 bytes"),
    (lambda kernel, values: kernel[1, 32](values, values), "takes 4 bytes"),
    (lambda kernel, values: kernel[1, 32]("text", 1), "is a str"),
])
def test_bad_launches_say_what_is_wrong(gpu, call, words):
    kernel = gpu.kernel(INCREMENT)
    with pytest.raises(heddle.BadInput, match=words):
        call(kernel, numpy.zeros(4, dtype=numpy.int32))


def test_a_kernel_that_is_not_there(gpu):
    with pytest.raises(heddle.BadInput, match="no kernel decrement"):
        gpu.kernel(INCREMENT, "decrement")
    with pytest.raises(heddle.KernelFailed, match="frobnicate"):
        gpu.kernel(INCREMENT.replace("add.u32", "frobnicate.u32"))
    with pytest.raises(heddle.BadInput, match="kernels need a GPU"):
        heddle.device("tpu-v5e").kernel(INCREMENT)


def test_cuda_has_lines_of_its_source(cuda):
    kernel = cuda.kernel(SAXPY, "saxpy")
    x, y = numpy.random.rand(2, 5000).astype(numpy.float32)
    expected = numpy.float32(2) * x + y
    kernel[20, 256](y, x, 2.0, 5000)
    numpy.testing.assert_allclose(y, expected, rtol=1e-6)
    rows = cuda.last.line_rows()
    assert rows[0]["text"] == "y[i] = a * x[i] + y[i];" and rows[0]["line"] == 4
    assert 0.98 < sum(row["share"] for row in rows) < 1.02


def test_nvrtc_and_nvcc_give_the_same_values(cuda, monkeypatch):
    if _kernel._nvrtc() is None:
        pytest.skip("NVRTC is not there")
    monkeypatch.setattr(_kernel, "_nvcc", lambda: None)
    y, x = numpy.zeros(256, dtype=numpy.float32), numpy.arange(256, dtype=numpy.float32)
    cuda.kernel(SAXPY, "saxpy")[1, 256](y, x, 3.0, 256)
    assert (y == 3 * x).all()
    with pytest.raises(heddle.BadInput, match="NVRTC.*identifier"):
        cuda.kernel(SAXPY.replace("a * x[i]", "b * x[i]"), "saxpy")


def test_tensors_are_taken(gpu):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    values = torch.zeros(64, dtype=torch.int32)
    gpu.kernel(INCREMENT)[1, 32](values[16:32], 16)
    assert values.sum().item() == 16 and values[16:32].sum().item() == 16


def test_a_launch_costs_little(gpu):
    kernel = gpu.kernel(INCREMENT)
    values = numpy.zeros(32, dtype=numpy.int32)
    kernel[1, 32](values, 32)
    before = time.process_time()
    for _ in range(100):
        kernel[1, 32](values, 32)
    assert (time.process_time() - before) / 100 < 0.005 and values[0] == 101


def test_check_finds_wrong_values_races_and_bounds(cuda):
    x = numpy.random.rand(1024).astype(numpy.float32)
    right = heddle.Case([numpy.zeros_like(x), x], grid=4, block=256, expected={0: x.reshape(4, 256)[:, ::-1].reshape(-1)}, name="right")
    beyond = heddle.Case([numpy.zeros_like(x), x], grid=5, block=256)
    good = heddle.check(cuda.kernel(REVERSE.replace("SYNC", "__syncthreads();"), "reverse"), [right, beyond])
    first, second = good["cases"]
    assert first["passed"] and first["correct"] and first["name"] == "right" and first["outputs"][0]["mismatches"] == 0
    assert first["launches"][0]["cycles"] > 1000 and first["launches"][0]["bound_by"] and first["launches"][0]["stalls"]
    assert not second["passed"] and second["error"]["kind"] == "out of bounds" and not good["passed"]
    bad = heddle.check(cuda.kernel(REVERSE.replace("SYNC", ""), "reverse"), [right])["cases"][0]
    assert not bad["passed"] and {finding["kind"] for finding in bad["findings"]} & {"race", "uninitialised"}
    assert (right.arguments[0] == 0).all()


def test_check_says_the_same_twice(gpu):
    kernel = gpu.kernel(INCREMENT)
    values = numpy.arange(32, dtype=numpy.int32)

    def reference(changed, count):
        changed[:count] += 2

    cases = [heddle.Case([values, 32], block=32, expected=reference)]
    first, second = (json.dumps(heddle.check(kernel, cases)) for _ in range(2))
    assert first == second
    output = json.loads(first)["cases"][0]["outputs"][0]
    assert output["mismatches"] == 32 and output["first"][0] == {"index": [0], "got": 1, "expected": 2}


def test_check_ends_in_time(gpu):
    kernel = gpu.kernel(INCREMENT.replace("DONE:\n", "DONE:\n    bra DONE;\n"))
    case = heddle.Case([numpy.zeros(4, dtype=numpy.int32), 4], block=32)
    before = time.monotonic()
    answer = heddle.check(kernel, [case], time_limit=3)
    assert answer["cases"][0]["error"]["kind"] in ("time limit", "launch failed") and time.monotonic() - before < 30
    assert heddle.check(gpu.kernel(INCREMENT), [case], time_limit=60)["passed"]


def _worker(device):
    values = numpy.arange(32, dtype=numpy.int32)
    answer = heddle.check(device.kernel(INCREMENT), [heddle.Case([values, 32], block=32, expected={0: values + 1})], time_limit=120)
    device.close()
    return json.dumps(answer)


def test_check_in_parallel_workers(gpu):
    assert pickle.loads(pickle.dumps(gpu)) == gpu
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        answers = list(pool.map(_worker, [gpu] * 3))
    assert len(set(answers)) == 1 and json.loads(answers[0])["passed"]


def test_nothing_is_left_behind():
    device = heddle.device("a100-sxm4-80gb") if "a100-sxm4-80gb" in list(heddle.devices()["name"]) else heddle.device("h100-sxm")
    device.kernel(INCREMENT)
    folder = os.path.dirname(device.session.connection.path)
    assert os.path.isdir(folder)
    device.close()
    assert not os.path.exists(folder)
