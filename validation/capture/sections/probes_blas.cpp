#include "validation/capture/sections/probes_blas.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "isa/numerics/counter_random.h"
#include "isa/target/generation.h"
#include "validation/capture/blas_record.h"
#include "validation/capture/sections/probe_records.h"
#include "validation/capture/type_format.h"

namespace heddle::capture {
namespace {

using numerics::Format;

/// Of products of floating-point numbers, which all that are asked here are.
Format float_format_of(Type type) {
    return format_of(type).value();
}

GemmProblem problem_of(std::uint64_t m, std::uint64_t n, std::uint64_t k, Type ab, Type cd, Compute compute) {
    GemmProblem problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.a = problem.b = ab;
    problem.c = problem.d = cd;
    problem.compute = compute;
    problem.transpose_b = true;
    return problem;
}

// A matrix as numbers, written in the type's bits.
std::vector<std::byte> bytes_of_values(Type type, const std::vector<double>& values) {
    std::vector<std::byte> bytes(values.size() * bytes_of(type));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint64_t bits =
            numerics::convert(float_format_of(type), Format::fp64, std::bit_cast<std::uint64_t>(values[i]));
        std::memcpy(&bytes[i * bytes_of(type)], &bits, bytes_of(type));
    }
    return bytes;
}

struct Operands {
    std::vector<double> a, b, c;  // [m][k], [n][k], [m][n] or nothing
};

// The operands of a problem on the device.
class PlacedOperands {
  public:
    PlacedOperands(Device& device, const GemmProblem& problem, const Operands& operands)
        : device_(&device),
          problem_(problem),
          a_(device, bytes_of_values(problem.a, operands.a)),
          b_(device, bytes_of_values(problem.b, operands.b)),
          c_(device, operands.c.empty() ? std::vector<std::byte>(problem.elements_c() * bytes_of(problem.c))
                                        : bytes_of_values(problem.c, operands.c)),
          d_(device, problem.elements_d() * bytes_of(problem.d)) {}

    /// Raw bits of D.
    std::vector<std::uint64_t> multiply(const GemmAlgorithm& algorithm) const {
        GemmOperands places;
        places.a = a_.address();
        places.b = b_.address();
        places.c = c_.address();
        places.d = d_.address();
        device_->fill(d_.address(), 0xFF, d_.bytes());  // what is not written shows
        device_->blas()->run(problem_, algorithm, places);
        const std::vector<std::byte> bytes = d_.read();
        std::vector<std::uint64_t> values(problem_.elements_d());
        for (std::size_t i = 0; i < values.size(); ++i)
            std::memcpy(&values[i], &bytes[i * bytes_of(problem_.d)], bytes_of(problem_.d));
        return values;
    }

  private:
    Device* device_;
    GemmProblem problem_;
    DeviceBuffer a_, b_, c_, d_;
};

std::vector<std::uint64_t> multiply(Device& device, const GemmProblem& problem,
                                    const GemmAlgorithm& algorithm, const Operands& operands) {
    return PlacedOperands(device, problem, operands).multiply(algorithm);
}

double value_of(Type type, std::uint64_t bits) {
    return numerics::to_double(float_format_of(type), bits);
}

Record question(unsigned number, const char* topic, const char* asked, const GemmProblem& problem) {
    Record record;
    record.text("kind", "question")
        .integer("question", number)
        .text("topic", topic)
        .text("asked", asked)
        .text("instruction", "cublasLt " + problem.name())
        .object("problem", record_of(problem));
    return record;
}

void add_answer(Record& record, const std::string& answer, const std::string& believed,
                const std::vector<std::string>& considered) {
    record.text("answer", answer).text("believed", believed).texts("considered", considered);
    if (believed.empty())
        record.text("agrees", "unknown");
    else
        record.flag("agrees", answer == believed);
}

/// The heuristic's first algorithm; throws when there is none.
GemmAlgorithm first_algorithm(SectionContext& context, const GemmProblem& problem) {
    const auto algorithms = context.device.blas()->algorithms(problem, 1);
    if (algorithms.empty()) throw LeftOut("the heuristic has no algorithm for " + problem.name());
    return algorithms[0];
}

std::vector<std::byte> raw_bytes(const std::vector<std::uint64_t>& values, Type type) {
    std::vector<std::byte> bytes(values.size() * bytes_of(type));
    for (std::size_t i = 0; i < values.size(); ++i)
        std::memcpy(&bytes[i * bytes_of(type)], &values[i], bytes_of(type));
    return bytes;
}

// ---- 7: what becomes of the low bits of fp32 inputs ----

void tf32_inputs(SectionContext& context, const std::string& id, Compute compute) {
    const std::uint32_t patterns[16] = {0x3F801000u, 0x3F801001u, 0x3F803000u, 0x3F800FFFu,
                                        0x3F801FFFu, 0x3F805000u, 0xBF801000u, 0xBF803000u,
                                        0x3FFFF000u, 0x3F802FFFu, 0x3F807000u, 0x40491FDBu,
                                        0x3EAAAAABu, 0x3F666666u, 0x3DCCCCCDu, 0x3F800001u};
    GemmProblem problem = problem_of(16, 16, 32, Type::f32, Type::f32, compute);
    Operands operands{std::vector<double>(16 * 32), std::vector<double>(16 * 32), {}};
    // D[i, j] = a_i * b_j with b_0 = 1 in column 0 and a_15 ... in A; column j > 0 holds pattern j in B.
    for (unsigned i = 0; i < 16; ++i) {
        operands.a[i * 32] = std::bit_cast<float>(patterns[i]);
        operands.b[i * 32] = 1;
    }
    GemmAlgorithm algorithm = first_algorithm(context, problem);
    const auto of_a = multiply(context.device, problem, algorithm, operands);
    std::swap(operands.a, operands.b);
    const auto of_b = multiply(context.device, problem, algorithm, operands);
    std::vector<std::uint64_t> results;
    for (unsigned i = 0; i < 16; ++i) results.push_back(of_a[i * 16]);
    for (unsigned i = 0; i < 16; ++i) results.push_back(of_b[i]);

    struct Choice {
        const char* name;
        bool all;
        numerics::Rounding rounding;
    };
    const Choice choices[] = {{"ignored", false, numerics::Rounding::toward_zero},
                              {"rounded to nearest even", false, numerics::Rounding::nearest_even},
                              {"rounded to nearest, ties away", false, numerics::Rounding::nearest_away},
                              {"used", true, numerics::Rounding::nearest_even}};
    std::string answer = "none of those considered";
    std::vector<std::string> considered;
    for (const Choice& choice : choices) {
        considered.push_back(choice.name);
        bool same = true;
        for (unsigned i = 0; i < 32; ++i) {
            std::uint64_t expected = patterns[i % 16];
            if (!choice.all)
                expected =
                    numerics::convert(Format::tf32, Format::fp32, expected, {.rounding = choice.rounding});
            same = same && results[i] == expected;
        }
        if (same) answer = choice.name;
    }
    Record record = question(7, "low bits of fp32 inputs", "A or B holds fp32 numbers, the other 1", problem);
    add_answer(record, answer, compute == Compute::f32_pedantic ? "used" : "", considered);
    record.object("algorithm", record_of(algorithm)).texts("d", hexadecimals(results, 32));
    context.journal.add(id, record, raw_bytes(results, Type::f32));
}

// ---- 9: alpha and beta ----

void epilogue(SectionContext& context, const std::string& id, const GemmProblem& shape) {
    GemmProblem problem = shape;
    const float third = 1.0f / 3.0f;
    problem.alpha = problem.beta = third;
    Operands operands;
    operands.a.resize(problem.m * problem.k);
    operands.b.resize(problem.n * problem.k);
    // One product per element, exact in every type: whole numbers below 32.
    for (std::size_t i = 0; i < problem.m; ++i)
        operands.a[i * problem.k] = static_cast<double>(numerics::random_bits(91, i) % 31) - 15;
    for (std::size_t i = 0; i < problem.n; ++i)
        operands.b[i * problem.k] = static_cast<double>(numerics::random_bits(92, i) % 31) - 15;
    for (std::size_t i = 0; i < problem.m * problem.n; ++i) {
        const double value =
            static_cast<double>(static_cast<std::int64_t>(numerics::random_bits(93, i))) * 0x1p-58;
        const Format format = float_format_of(problem.c);
        operands.c.push_back(numerics::to_double(
            format, numerics::convert(format, Format::fp64, std::bit_cast<std::uint64_t>(value))));
    }
    GemmAlgorithm algorithm = first_algorithm(context, problem);
    const auto results = multiply(context.device, problem, algorithm, operands);

    std::vector<std::string> considered;
    std::vector<std::int64_t> identical;
    std::string answer;
    const Format output = float_format_of(problem.d);
    for (const EpilogueRounding rounding : kEpilogueRoundings) {
        std::int64_t same = 0;
        for (std::size_t i = 0; i < results.size(); ++i) {
            const float sum = static_cast<float>(operands.a[i / problem.n * problem.k] *
                                                 operands.b[i % problem.n * problem.k]);
            const float value =
                epilogue_value(rounding, third, sum, third, static_cast<float>(operands.c[i]));
            same += results[i] == numerics::from_float(output, value) ? 1 : 0;
        }
        considered.push_back(name_of(rounding));
        identical.push_back(same);
        if (same == static_cast<std::int64_t>(results.size()))
            answer += (answer.empty() ? "" : " or ") + considered.back();
    }
    Record record =
        question(9, "alpha and beta", "alpha = beta = 1/3, one exact product for each element", problem);
    if (answer.empty()) answer = "none of those considered";
    add_answer(record, answer, "", considered);
    record.integers("identical_by_answer", identical)
        .integer("rows", static_cast<std::int64_t>(results.size()))
        .object("algorithm", record_of(algorithm));
    context.journal.add(id, record, raw_bytes(results, problem.d));
}

// ---- 10: subnormal numbers in SIMT kernels ----

void subnormal_inputs(SectionContext& context, const std::string& id) {
    const GemmProblem problem = problem_of(16, 16, 16, Type::f32, Type::f32, Compute::f32_pedantic);
    Operands operands{std::vector<double>(16 * 16), std::vector<double>(16 * 16), {}};
    const double a[4] = {0x1p-140, 0x1p-140, 0x1p-70, 0x1p-126}, b[4] = {1, 0x1p100, 0x1p-70, 0.5};
    for (unsigned i = 0; i < 4; ++i) {
        operands.a[i * 16] = a[i];
        operands.b[i * 16] = b[i];
    }
    GemmAlgorithm algorithm = first_algorithm(context, problem);
    const auto d = multiply(context.device, problem, algorithm, operands);
    std::vector<std::uint64_t> results;
    bool kept = true, inputs_flushed = true, results_flushed = true;
    for (unsigned i = 0; i < 4; ++i) {
        results.push_back(d[i * 16 + i]);
        const double exact = a[i] * b[i], found = value_of(Type::f32, results[i]);
        kept = kept && found == exact;
        inputs_flushed = inputs_flushed && found == (i < 2 || std::abs(exact) < 0x1p-126 ? 0 : exact);
        results_flushed = results_flushed && found == (std::abs(exact) < 0x1p-126 ? 0 : exact);
    }
    Record record =
        question(10, "subnormal fp32", "2^-140 * 1, 2^-140 * 2^100, 2^-70 * 2^-70, 2^-126 / 2", problem);
    add_answer(record,
               kept              ? "kept"
               : inputs_flushed  ? "inputs and results become zero"
               : results_flushed ? "results become zero"
                                 : "none of those considered",
               "kept", {"kept", "inputs and results become zero", "results become zero"});
    record.object("algorithm", record_of(algorithm)).texts("d", hexadecimals(results, 32));
    context.journal.add(id, record);
}

// ---- 11: the tail of split-K ----

void split_k_tail(SectionContext& context, const std::string& id, std::uint64_t m, std::uint64_t n,
                  Type output) {
    constexpr std::uint64_t kDepth = 11528;  // 180 blocks of 64, and 8
    const GemmProblem problem = problem_of(m, n, kDepth, Type::f16, output, Compute::f32);
    const PlacedOperands ones(
        context.device, problem,
        {std::vector<double>(m * kDepth, 1.0), std::vector<double>(n * kDepth, 1.0), {}});
    std::vector<Record> tried;
    std::map<double, unsigned> sums;
    for (const GemmAlgorithm& algorithm :
         context.device.blas()->algorithms(problem, context.extent == Extent::quick ? 2 : 24)) {
        Record one;
        try {
            const auto results = ones.multiply(algorithm);
            const double sum = value_of(output, results[0]);
            const bool uniform =
                std::all_of(results.begin(), results.end(), [&](auto r) { return r == results[0]; });
            ++sums[sum];
            one.number("sum", sum).flag("all_elements", uniform);
        } catch (const DeviceError& error) {
            if (error.lost) throw;
            one.text("error", error.what());
        }
        tried.push_back(one.object("algorithm", record_of(algorithm)));
    }
    std::string answer;
    for (const auto& [sum, count] : sums) {
        answer += (answer.empty() ? "" : ", ") + std::to_string(static_cast<long long>(sum)) + " by " +
                  std::to_string(count) + " of the algorithms";
    }
    Record record = question(11, "tail of split-K",
                             "all ones, K = 11528: the sum of each algorithm; 11520 has lost the "
                             "products behind the last whole block",
                             problem);
    record.text("answer", answer.empty() ? "no algorithm" : answer).text("believed", "");
    if (sums.empty()) {
        record.text("agrees", "unknown");
    } else {
        record.flag("agrees", sums.size() == 1 && sums.begin()->first == static_cast<double>(kDepth));
    }
    record.objects("tried", tried);
    context.journal.add(id, record);
}

// ---- 12: how fp8 sums are kept ----

void fp8_accumulation(SectionContext& context, const std::string& id, std::uint64_t k, bool fast,
                      Type b_type) {
    GemmProblem problem = problem_of(k, 16, k, Type::e4m3, Type::f32, Compute::f32);
    problem.b = b_type;
    problem.fast_accumulation = fast;
    Operands operands{std::vector<double>(k * k), std::vector<double>(16 * k, 1.0), {}};
    for (std::uint64_t row = 0; row < k; ++row) {
        operands.a[row * k] = 0x1p8;
        if (row != 0) operands.a[row * k + row] = 0x1p-6;
    }
    GemmAlgorithm algorithm = first_algorithm(context, problem);
    const auto d = multiply(context.device, problem, algorithm, operands);
    std::vector<bool> kept;
    std::string map;
    bool as_expected = true;
    for (std::uint64_t row = 0; row < k; ++row) {
        const double sum = value_of(Type::f32, d[row * 16]);
        kept.push_back(sum == 0x1p8 + 0x1p-6);
        if (!kept.back() && sum != 0x1p8) as_expected = false;
        map += kept.back() ? '1' : '0';
    }
    Record record =
        question(12, fast ? "fp8 sums, fast accumulation" : "fp8 sums",
                 "2^8 at 0 and 2^-6 at k = j: is the small one in the sum (1) or lost (0)", problem);
    const bool hopper =
        context.device.is_silicon() &&
        target::nearest_generation(context.device.compute_capability()) == target::Generation::hopper;
    add_answer(record, as_expected ? name_fp8_accumulation(kept) : "none of those considered",
               !hopper ? ""
               : fast  ? "13 bits are kept from one instruction to the next"
                       : "added in fp32 every 128 of k",
               {"13 bits are kept from one instruction to the next",
                "added in fp32 every 32, 64, 128, 256 of k", "more than 13 bits everywhere"});
    record.text("kept", map).object("algorithm", record_of(algorithm));
    context.journal.add(id, record, raw_bytes(d, Type::f32));
}

}  // namespace

const char* name_of(EpilogueRounding rounding) {
    static constexpr const char* kNames[] = {"fma(alpha, sum, beta * C)", "fma(beta, C, alpha * sum)",
                                             "alpha * sum + beta * C, each rounded", "rounded once"};
    return kNames[static_cast<std::size_t>(rounding)];
}

float epilogue_value(EpilogueRounding rounding, float alpha, float accumulator, float beta, float c) {
    switch (rounding) {
        case EpilogueRounding::fma_of_product: {
            const float addend = beta * c;
            return std::fma(alpha, accumulator, addend);
        }
        case EpilogueRounding::fma_of_c: {
            const float addend = alpha * accumulator;
            return std::fma(beta, c, addend);
        }
        case EpilogueRounding::three_roundings: {
            const float x = alpha * accumulator, y = beta * c;
            return x + y;
        }
        default: {
            // Products of two floats are exact in double; the sum of both is rounded to odd first, so that
            // the last rounding is the only one that counts.
            const double x = static_cast<double>(alpha) * accumulator, y = static_cast<double>(beta) * c;
            const double sum = x + y, virtual_y = sum - x;
            const double error = (x - (sum - virtual_y)) + (y - virtual_y);
            std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
            if (error != 0 && (bits & 1) == 0) {
                const bool away = (error > 0) == (sum > 0);
                bits = away ? bits + 1 : bits - 1;
            }
            return static_cast<float>(std::bit_cast<double>(bits));
        }
    }
}

std::string name_fp8_accumulation(const std::vector<bool>& kept) {
    const auto from = [&](std::size_t first) {
        for (std::size_t j = 1; j < kept.size(); ++j)
            if (kept[j] != (j >= first)) return false;
        return true;
    };
    if (from(1)) return "more than 13 bits everywhere";
    if (from(kept.size())) return "13 bits are kept from one instruction to the next";
    for (const unsigned period : {16u, 32u, 64u, 128u, 256u})
        if (from(period)) return "added in fp32 every " + std::to_string(period) + " of k";
    return "none of those considered";
}

void add_blas_questions(const SectionContext& context, std::vector<SectionItem>& items) {
    if (context.device.blas() == nullptr) return;
    const auto add = [&](std::string id, auto run) {
        items.push_back({std::move(id), [run](SectionContext& c, const std::string& name) { run(c, name); }});
    };
    for (const std::uint64_t k : {256u, 512u}) {
        for (const bool fast : {false, true}) {
            for (const Type b : {Type::e4m3, Type::e5m2}) {
                if (context.extent == Extent::quick && (k > 256 || b != Type::e4m3)) continue;
                add("question 12 fp8 K=" + std::to_string(k) + (fast ? " fast " : " ") + "e4m3 by " +
                        name_of(b),
                    [=](SectionContext& c, const std::string& id) { fp8_accumulation(c, id, k, fast, b); });
            }
        }
    }
    for (const Compute compute : {Compute::tf32, Compute::f32, Compute::f32_pedantic})
        add(std::string("question 7 cublasLt ") + name_of(compute),
            [=](SectionContext& c, const std::string& id) { tf32_inputs(c, id, compute); });
    const std::uint64_t side = context.extent == Extent::quick ? 16 : 128;
    for (const auto& [ab, cd, compute] : {std::tuple{Type::f16, Type::f32, Compute::f32},
                                          {Type::bf16, Type::f32, Compute::f32},
                                          {Type::f32, Type::f32, Compute::tf32},
                                          {Type::f32, Type::f32, Compute::f32_pedantic},
                                          {Type::bf16, Type::bf16, Compute::f32},
                                          {Type::f16, Type::f16, Compute::f32},
                                          {Type::e4m3, Type::f32, Compute::f32}}) {
        const GemmProblem problem = problem_of(side, side, 64, ab, cd, compute);
        add("question 9 " + problem.name(),
            [=](SectionContext& c, const std::string& id) { epilogue(c, id, problem); });
    }
    add("question 10 cublasLt", [](SectionContext& c, const std::string& id) { subnormal_inputs(c, id); });
    for (const auto& extents : {std::pair<std::uint64_t, std::uint64_t>{8, 1}, {1, 8}, {8, 8}, {128, 64}}) {
        const std::uint64_t m = extents.first, n = extents.second;
        for (const Type output : {Type::f16, Type::f32}) {
            if (context.extent == Extent::quick && m * n > 8) continue;
            add("question 11 " + std::to_string(m) + "x" + std::to_string(n) + " " + name_of(output),
                [=](SectionContext& c, const std::string& id) { split_k_tail(c, id, m, n, output); });
        }
    }
}

}  // namespace heddle::capture
