#include "validation/capture/sections/gemm_sweep.h"

#include <algorithm>
#include <set>

#include "validation/capture/microbenchmarks/launching.h"
#include "validation/capture/sections/random_operands.h"

namespace heddle::capture {
namespace {

/// A kind of GEMM as libraries offer it: types with the compute type.
struct Kind {
    Type input, output;
    Compute compute;
    bool fast_accumulation = false;
};
constexpr Kind kBf16{Type::bf16, Type::bf16, Compute::f32}, kF16{Type::f16, Type::f16, Compute::f32},
    kTf32{Type::f32, Type::f32, Compute::tf32}, kF32{Type::f32, Type::f32, Compute::f32},
    kF64{Type::f64, Type::f64, Compute::f64}, kE4m3{Type::e4m3, Type::bf16, Compute::f32, true},
    kE4m3Slow{Type::e4m3, Type::bf16, Compute::f32, false}, kI8{Type::i8, Type::i32, Compute::i32},
    kF16Whole{Type::f16, Type::f16, Compute::f16};

GemmProblem problem_of(const Kind& kind, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                       bool transpose_a = false, bool transpose_b = true) {
    GemmProblem problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.a = problem.b = kind.input;
    problem.c = problem.d = problem.bias = kind.output;
    problem.compute = kind.compute;
    problem.fast_accumulation = kind.fast_accumulation;
    problem.transpose_a = transpose_a;
    problem.transpose_b = transpose_b;
    return problem;
}

class Designer {
  public:
    void add(const std::string& family, unsigned priority, const GemmProblem& problem) {
        if (!names_.insert(problem.name()).second) return;
        const std::uint64_t work = problem.m * problem.n * problem.k * problem.batch;
        list_.push_back({problem, family, priority, work <= (std::uint64_t{1} << 27)});
    }
    std::vector<TimedGemm> take() {
        std::stable_sort(list_.begin(), list_.end(),
                         [](const TimedGemm& x, const TimedGemm& y) { return x.priority < y.priority; });
        return std::move(list_);
    }

    void cubes() {
        for (const std::uint64_t size : {512, 1024, 2048, 4096, 8192, 256, 128, 3072, 6144}) {
            for (const Kind& kind : {kBf16, kF16, kE4m3, kTf32, kF32, kI8, kF64}) {
                // CUDA cores and fp64 take long at the largest sizes and show nothing new there.
                const bool slow =
                    kind.compute == Compute::f64 || (kind.input == Type::f32 && kind.compute == Compute::f32);
                if (slow && size > 4096) continue;
                add("cube", size == 3072 || size == 6144 ? 2 : 0, problem_of(kind, size, size, size));
            }
        }
        for (const std::uint64_t size : {1024, 4096}) {
            add("cube", 2, problem_of(kE4m3Slow, size, size, size));
            add("cube", 2, problem_of(kF16Whole, size, size, size));
            for (const bool transpose_a : {false, true})
                for (const bool transpose_b : {false, true})
                    for (const Kind& kind : {kBf16, kF32, kF64})
                        add("layout", 1, problem_of(kind, size, size, size, transpose_a, transpose_b));
        }
    }
    /// The linear layers of GPT-2 small (and one of XL) with their gradients.
    void transformer_steps() {
        struct Layer {
            std::uint64_t n, k;
        };
        for (const Layer& layer : {Layer{2304, 768},
                                   {768, 768},
                                   {3072, 768},
                                   {768, 3072},
                                   {50304, 768},
                                   {4800, 1600},
                                   {6400, 1600},
                                   {1600, 6400}}) {
            for (const std::uint64_t tokens : {1024, 8192}) {
                for (const Kind& kind : {kBf16, kTf32}) {
                    if (kind.compute == Compute::tf32 && (tokens == 8192 || layer.k == 1600)) continue;
                    const unsigned priority = kind.compute == Compute::tf32 ? 1 : 0;
                    add("gpt2", priority, problem_of(kind, tokens, layer.n, layer.k, false, true));
                    add("gpt2", priority, problem_of(kind, tokens, layer.k, layer.n, false, false));
                    add("gpt2", priority, problem_of(kind, layer.n, layer.k, tokens, true, false));
                }
            }
        }
        for (const std::uint64_t batch : {12, 96}) {
            for (const bool values : {false, true}) {
                GemmProblem problem = values ? problem_of(kBf16, 1024, 64, 1024, false, false)
                                             : problem_of(kBf16, 1024, 1024, 64, false, true);
                problem.batch = batch;
                add("batched", 1, problem);
            }
        }
    }
    /// Few rows against the weights of large models: bound by memory.
    void decode() {
        struct Weight {
            std::uint64_t n, k;
        };
        for (const Weight& weight :
             {Weight{4096, 4096}, {12288, 4096}, {4096, 11008}, {8192, 8192}, {768, 7168}, {28672, 8192}}) {
            for (const std::uint64_t m : {1, 8, 16, 32, 64, 128, 2, 4, 24, 48, 96, 192})
                add("decode", m == 1 || m >= 8 ? 1 : 2, problem_of(kBf16, m, weight.n, weight.k));
        }
        for (const std::uint64_t m : {16, 64, 128}) add("decode", 1, problem_of(kE4m3, m, 8192, 8192));
    }
    /// One dimension in steps of a tile: where a wave of tiles is full.
    void waves() {
        for (std::uint64_t size = 128; size <= 4608; size += 128) {
            add("waves in m", 1, problem_of(kBf16, size, 2048, 2048));
            add("waves in n", 1, problem_of(kBf16, 2048, size, 2048));
        }
        for (std::uint64_t m = 768; m <= 1280; m += 16)
            add("waves in m", 2, problem_of(kBf16, m, 4096, 1024));
        for (std::uint64_t n = 768; n <= 1280; n += 16)
            add("waves in n", 2, problem_of(kBf16, 1024, n, 4096));
        for (std::uint64_t m = 256; m <= 4096; m += 256) {
            add("waves in m", 3, problem_of(kE4m3, m, 4096, 4096));
            add("waves in m", 3, problem_of(kTf32, m, 2048, 2048));
            add("waves in m", 3, problem_of(kF32, m, 1024, 1024));
            add("waves in m", 3, problem_of(kF64, m, 1024, 1024));
            add("waves in m", 3, problem_of(kF16, m, 4096, 1024));
        }
    }
    void ladders_in_k() {
        for (std::uint64_t k = 32; k <= 65536; k *= 2) {
            add("k", 1, problem_of(kBf16, 1024, 1024, k));
            add("k", 1, problem_of(kBf16, 128, 128, k));
            if (k <= 16384) add("k", 1, problem_of(kBf16, 4096, 4096, k));
            if (k <= 16384) add("k", 3, problem_of(kF32, 512, 512, k));
            if (k <= 16384) add("k", 3, problem_of(kE4m3, 2048, 2048, k));
            add("k", 2, problem_of(kBf16, 1024, 1024, k + k / 2));
            add("k", 3, problem_of(kBf16, 512, 2048, k + k / 4));
            if (k <= 16384) add("k", 3, problem_of(kTf32, 1024, 1024, k));
        }
    }
    /// The same work in other proportions.
    void aspects() {
        for (int shift = -5; shift <= 5; ++shift) {
            const auto scaled = [](std::uint64_t size, int by) { return by >= 0 ? size << by : size >> -by; };
            add("aspect", 2, problem_of(kBf16, scaled(1024, shift), scaled(1024, -shift), 1024));
            add("aspect", 2,
                problem_of(kBf16, scaled(4096, shift > 3 ? 3 : shift), scaled(4096, -shift), 512));
            add("aspect", 2, problem_of(kBf16, 2048, scaled(1024, shift), scaled(1024, -shift)));
        }
    }
    /// Sizes that nobody chose, evenly spread over orders of magnitude; some that no vector width divides.
    void random_sizes() {
        std::uint64_t state = 12345;
        const auto draw = [&state](std::uint64_t low, unsigned octaves) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const std::uint64_t octave = (state >> 33) % octaves, part = (state >> 41) % 1024;
            return (low << octave) + (low << octave) * part / 1024;
        };
        for (unsigned i = 0; i < 220; ++i) {
            const std::uint64_t m = draw(16, 9) / 8 * 8, n = draw(64, 7) / 8 * 8, k = draw(64, 7) / 8 * 8;
            add("random", i < 60 ? 1 : 3, problem_of(i % 8 == 7 ? kF16 : kBf16, m, n, k));
        }
        for (unsigned i = 0; i < 60; ++i)
            add("random", 3,
                problem_of(i % 3 == 0   ? kTf32
                           : i % 3 == 1 ? kF32
                                        : kE4m3,
                           draw(64, 6) / 16 * 16, draw(64, 6) / 16 * 16, draw(64, 6) / 16 * 16));
        for (unsigned i = 0; i < 40; ++i)
            add("odd", 2,
                problem_of(i % 2 == 0 ? kBf16 : kF32, draw(16, 8) | 1, draw(16, 7) | (i & 4 ? 1 : 0),
                           draw(16, 8) | (i & 2 ? 1 : 0), i % 5 == 0, i % 3 == 0));
    }
    void epilogues() {
        for (const Epilogue epilogue : {Epilogue::bias, Epilogue::gelu_bias, Epilogue::relu_bias}) {
            for (const std::uint64_t m : {1024, 8192}) {
                GemmProblem problem = problem_of(kBf16, m, 3072, 768);
                problem.epilogue = epilogue;
                add("epilogue", 1, problem);
            }
        }
        GemmProblem accumulate = problem_of(kBf16, 4096, 4096, 1024);
        accumulate.beta = 1;
        add("epilogue", 2, accumulate);
    }

  private:
    std::vector<TimedGemm> list_;
    std::set<std::string> names_;
};

unsigned repetitions_for(double microseconds) {
    if (microseconds > 5000) return 5;
    return static_cast<unsigned>(std::clamp(2000 / std::max(1.0, microseconds), 10.0, 30.0));
}

}  // namespace

std::vector<TimedGemm> designed_gemms() {
    Designer designer;
    designer.cubes();
    designer.transformer_steps();
    designer.decode();
    designer.waves();
    designer.ladders_in_k();
    designer.aspects();
    designer.epilogues();
    designer.random_sizes();
    return designer.take();
}

bool wants_all_algorithms(const TimedGemm& gemm) {
    return gemm.priority == 0 ||
           (gemm.family == "decode" && gemm.problem.n == 4096 && gemm.problem.m % 16 == 0) ||
           (gemm.family == "k" && gemm.problem.m == 1024 && gemm.priority == 1);
}

std::uint64_t largest_operand(const GemmProblem& problem) {
    return std::max({problem.elements_a() * bytes_of(problem.a), problem.elements_b() * bytes_of(problem.b),
                     problem.elements_c() * bytes_of(problem.c), problem.elements_d() * bytes_of(problem.d)});
}

GemmOperandPool::GemmOperandPool(Device& device, std::uint64_t bytes)
    : device_(device),
      a_(device, (bytes + 255) / 256 * 256),
      b_(device, (bytes + 255) / 256 * 256),
      d_(device, (bytes + 255) / 256 * 256),
      bias_(device, 8u << 16),
      scales_(device, 256) {
    device.fill(d_.address(), 0, d_.bytes());
    device.fill(bias_.address(), 0, bias_.bytes());
    write_values(device, scales_.address(), std::vector<float>(4, 1.0f));
}

void GemmOperandPool::fill(const DeviceBuffer& buffer, Type type, Type& held, bool& filled,
                           std::uint32_t seed) {
    if (filled && held == type) return;
    fill_random(device_, buffer.address(), buffer.bytes(), type, seed);
    held = type;
    filled = true;
}

GemmOperands GemmOperandPool::operands(const GemmProblem& problem) {
    if (largest_operand(problem) > a_.bytes() || problem.n * bytes_of(problem.bias) > bias_.bytes())
        throw DeviceError("not enough device memory for the operands of " + problem.name());
    fill(a_, problem.a, type_a_, filled_a_, 1);
    fill(b_, problem.b, type_b_, filled_b_, 2);
    GemmOperands operands;
    operands.a = a_.address();
    operands.b = b_.address();
    operands.c = operands.d = d_.address();
    operands.bias = bias_.address();
    if (problem.a == Type::e4m3 || problem.a == Type::e5m2)
        operands.scale_a = operands.scale_b = scales_.address();
    return operands;
}

GemmTimes time_gemm(Device& device, const GemmProblem& problem, const GemmAlgorithm& algorithm,
                    const GemmOperands& operands, bool warm_too) {
    const auto enqueue = [&] { device.blas()->run(problem, algorithm, operands); };
    TimingOptions options;
    options.cold_l2 = true;
    options.warm_up = 1;
    GemmTimes times;
    if (!device.is_silicon()) {
        options.repetitions = 1;
        options.warm_up = 0;
        times.cold = device.time(enqueue, options);
        return times;
    }
    options.repetitions = 2;
    const double once = median(device.time(enqueue, options));
    options.repetitions = repetitions_for(once);
    times.cold = device.time(enqueue, options);
    if (warm_too) {
        options.cold_l2 = false;
        times.warm = device.time(enqueue, options);
    }
    return times;
}

}  // namespace heddle::capture
