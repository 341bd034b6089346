"""Why is my Triton matmul slow? A product of Triton on an H100 that is not there, and what each change does to its time.

    python examples/python/why_is_my_triton_matmul_slow.py
"""

import torch
import triton
import triton.language as tl

import heddle


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


def main() -> None:
    torch.manual_seed(0)
    size = 1024
    a, b = torch.randn(2, size, size, dtype=torch.float16)
    right = a.float() @ b.float()
    gpu = heddle.device("h100-sxm")

    for label, m, n, k, options in [
        ("small tiles", 32, 32, 32, {"num_warps": 4, "num_stages": 1}),
        ("large tiles", 128, 128, 32, {"num_warps": 4, "num_stages": 1}),
        ("and a pipeline", 128, 128, 64, {"num_warps": 4, "num_stages": 3}),
    ]:
        c = torch.empty(size, size, dtype=torch.float16)
        with gpu.triton():
            matmul[(size // m, size // n)](a, b, c, size, size, size, M=m, N=n, K=k, **options)
        torch.testing.assert_close(c.float(), right, atol=0.1, rtol=1e-2)
        last = gpu.last
        rate = 2 * size**3 / last.time_us / 1e6
        print(f"{label}: {last.time_us:.1f} us, {rate:.0f} TFLOP/s, bound by {last.bound_by}")
        print("  " + ", ".join(f"{reason} {share:.0%}" for reason, share in list(last.stalls.items())[:4]))
        print(f"  tensor cores {last.utilisation['tensor']:.0%} busy, {last.occupancy['achieved']:.0%} of the warps that fit")
        for row in last.line_rows()[:3]:
            print(f"  {row['share']:4.0%} {row['text']}")
    gpu.close()


if __name__ == "__main__":
    main()
