#include "sim/gemm/gemm_numerics.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "isa/common/error.h"
#include "isa/numerics/counter_random.h"
#include "isa/numerics/reduction_plan.h"
#include "sim/gpu/time/gpu_session.h"
#include "workloads/kernels/gemm_plan.h"
#include "workloads/reference/elements.h"

namespace heddle::sim {
namespace {

using Bytes = std::vector<std::byte>;

constexpr program::BufferId kValueA = 0, kValueB = 1, kValueD = 2;

template <typename Storage>
void fill(numerics::Element element, std::uint64_t seed, Bytes& bytes) {
    numerics::fill_random(
        numerics::format_of(element), numerics::Distribution::normal, seed, 0,
        std::span(reinterpret_cast<Storage*>(bytes.data()), bytes.size() / sizeof(Storage)));
}

Bytes random_operand(kernels::ElementType type, std::uint64_t elements, std::uint64_t stream) {
    Bytes bytes(elements * kernels::bytes_of(type));
    const std::uint64_t seed = numerics::stream_seed(1, stream);
    if (type == kernels::ElementType::i8) {
        numerics::fill_random_int8(numerics::Distribution::integers, seed, 0,
                                   std::span(reinterpret_cast<std::int8_t*>(bytes.data()), bytes.size()));
        return bytes;
    }
    const numerics::Element element = kernels::element_of(type);
    switch (kernels::bytes_of(type)) {
        case 1:
            fill<std::uint8_t>(element, seed, bytes);
            break;
        case 2:
            fill<std::uint16_t>(element, seed, bytes);
            break;
        case 4:
            fill<std::uint32_t>(element, seed, bytes);
            break;
        default:
            fill<std::uint64_t>(element, seed, bytes);
    }
    return bytes;
}

/// Half the distance between neighbours of the result's type near 1.
double roundoff(trace::ElementType type) {
    switch (type) {
        case trace::ElementType::bf16:
            return 0x1p-8;
        case trace::ElementType::f16:
            return 0x1p-11;
        case trace::ElementType::f64:
            return 0x1p-53;
        case trace::ElementType::i32:
            return 0;
        default:
            return 0x1p-24;
    }
}

/// Of one addition: fp32 that truncates, 8-bit floats on Hopper with 13 bits, exact integers
/// (isa/numerics/dot_product_unit.h).
double step_of(trace::ElementType type) {
    switch (type) {
        case trace::ElementType::e4m3:
        case trace::ElementType::e5m2:
            return 0x1p-12;
        case trace::ElementType::f64:
            return 0x1p-53;
        case trace::ElementType::i8:
            return 0;
        default:
            return 0x1p-23;
    }
}

/// What each operand loses before it is multiplied.
double input_loss(trace::ElementType type) {
    return type == trace::ElementType::tf32 ? 0x1p-10 : 0;
}

/// D against the product in doubles.
void compare(GemmNumerics& result, const GemmQuestion& question, const Bytes& a, const Bytes& b,
             const std::vector<double>& d) {
    const trace::ElementType input =
        question.type == trace::ElementType::tf32 ? trace::ElementType::f32 : question.type;
    const std::size_t m = question.m, n = question.n, k = question.k;
    const std::vector<double> left = reference::decode_elements(input, a.data(), m * k);
    const std::vector<double> right = reference::decode_elements(input, b.data(), n * k);
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double sum = 0, magnitude = 0;
            for (std::size_t p = 0; p < k; ++p) {
                const double product = left[i * k + p] * right[j * k + p];
                sum += product;
                magnitude += std::abs(product);
            }
            const double off = std::abs(d[i * n + j] - sum);
            error += off * off;
            norm += sum * sum;
            if (off > 0) result.worst = std::max(result.worst, off / magnitude);
        }
    }
    result.frobenius = norm > 0 ? std::sqrt(error / norm) : 0;
    result.bound = roundoff(result_type_of(question)) + 2 * input_loss(question.type) +
                   static_cast<double>(k + 1) * step_of(question.type);
}

kernels::ElementType stored_type(trace::ElementType output) {
    switch (output) {
        case trace::ElementType::bf16:
            return kernels::ElementType::bf16;
        case trace::ElementType::f16:
            return kernels::ElementType::f16;
        case trace::ElementType::f64:
            return kernels::ElementType::f64;
        case trace::ElementType::i32:
            return kernels::ElementType::i32;
        default:
            return kernels::ElementType::f32;
    }
}

/// One product of a batch, beside its plan and beside doubles.
void compare_entry(GemmNumerics& result, const GemmQuestion& question, unsigned compute_capability,
                   const kernels::GemmChoice& choice, const BufferValues& values, std::uint64_t entry) {
    const std::uint64_t m = question.m, n = question.n, k = question.k;
    const kernels::ElementType type = kernel_type_of(question);
    const trace::ElementType output = result_type_of(question);
    const unsigned size = kernels::bytes_of(type), out = trace::bytes_of(output);
    const auto part = [entry](const Bytes& all, std::uint64_t bytes) {
        return std::span(all).subspan(entry * bytes, bytes);
    };
    const auto whole = [](std::span<const std::byte> bytes) { return Bytes(bytes.begin(), bytes.end()); };
    const auto stored_a = part(values[kValueA], m * k * size), stored_b = part(values[kValueB], n * k * size);
    const Bytes a = question.transpose_a ? numerics::transposed(stored_a, k, m, size) : whole(stored_a);
    const Bytes b = question.transpose_b ? whole(stored_b) : numerics::transposed(stored_b, k, n, size);
    numerics::PlanOperands operands;
    operands.m = m;
    operands.n = n;
    operands.k = k;
    operands.a = a;
    operands.b = b;
    const numerics::ReductionPlan plan =
        kernels::plan_of(choice, type, stored_type(output), compute_capability);
    const Bytes planned =
        kernels::evaluate(kernels::planned_parts(choice, plan, question.m, question.n), operands);
    const auto d = part(values[kValueD], m * n * out);
    result.elements += m * n;
    for (std::size_t i = 0; i < m * n; ++i)
        result.as_planned += std::memcmp(planned.data() + i * out, d.data() + i * out, out) == 0;
    const trace::ElementType plain = output == trace::ElementType::tf32 ? trace::ElementType::f32 : output;
    GemmNumerics one;
    compare(one, question, a, b, reference::decode_elements(plain, d.data(), m * n));
    result.worst = std::max(result.worst, one.worst);
    result.frobenius = std::max(result.frobenius, one.frobenius);
    result.bound = one.bound;
}

}  // namespace

GemmNumerics compute_gemm(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                          const kernels::GemmChoice& choice) {
    const std::uint64_t m = question.m, n = question.n, k = question.k, batch = question.batch;
    if (static_cast<double>(m * batch) * static_cast<double>(n) * static_cast<double>(k) > kMostNumericWork)
        throw Error("the values of " + name_of(question) + " would take hours to compute",
                    {"--numerics", 0, ""}, "ask for a smaller product, or leave out --numerics");
    program::GpuProgram program = gemm_program(question, config, choice);
    std::optional<program::BufferId> x;
    if (question.quantise) x = quantise_first(program, question);
    BufferValues values;
    for (const program::Buffer& buffer : program.buffers) values.emplace_back(buffer.bytes);
    const kernels::ElementType type = kernel_type_of(question);
    if (x) {
        values[*x] = random_operand(kernels::ElementType::bf16, m * k, 0);
    } else {
        values[kValueA] = random_operand(type, m * k * batch, 0);
    }
    values[kValueB] = random_operand(type, n * k * batch, 1);

    GpuSession session(models::gpu::in_graph(config));
    GemmNumerics result;
    for (const PlannedLaunch& planned : plan_launches(program, config.l2.bytes_per_partition())) {
        result.cycles += session.run(program, planned).cycles;
        result.cycles_with_values += session.run(program, planned, &values).cycles;
    }

    for (std::uint64_t entry = 0; entry < batch; ++entry)
        compare_entry(result, question, config.compute_capability, choice, values, entry);
    return result;
}

std::string to_text(const GemmNumerics& n) {
    return nlohmann::json{{"elements", n.elements},
                          {"as_planned", n.as_planned},
                          {"frobenius", n.frobenius},
                          {"worst", n.worst},
                          {"bound", n.bound},
                          {"cycles", n.cycles},
                          {"cycles_with_values", n.cycles_with_values}}
        .dump();
}

GemmNumerics gemm_numerics_from_text(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    GemmNumerics n;
    json.at("elements").get_to(n.elements);
    json.at("as_planned").get_to(n.as_planned);
    json.at("frobenius").get_to(n.frobenius);
    json.at("worst").get_to(n.worst);
    json.at("bound").get_to(n.bound);
    json.at("cycles").get_to(n.cycles);
    json.at("cycles_with_values").get_to(n.cycles_with_values);
    return n;
}

std::string describe(const GemmNumerics& n) {
    std::string text = fmt::format("numerics: {} of {} elements have the bits of the plan of summation\n",
                                   n.as_planned, n.elements);
    text += fmt::format(
        "  against doubles: {:.2e} in the Frobenius norm; worst element {:.2e} of |A||B|, bound {:.2e}\n",
        n.frobenius, n.worst, n.bound);
    text += n.cycles == n.cycles_with_values
                ? fmt::format("  {} cycles with values and without\n", n.cycles)
                : fmt::format("  {} cycles without values, {} with: a defect of the model\n", n.cycles,
                              n.cycles_with_values);
    return text;
}

}  // namespace heddle::sim
