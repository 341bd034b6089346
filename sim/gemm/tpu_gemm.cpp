#include "sim/gemm/tpu_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "isa/numerics/counter_random.h"
#include "models/tpu/tpu.h"
#include "models/tpu/tpu_result.h"
#include "sim/gemm/gemm_numerics.h"
#include "sim/tpu/tiling_cache.h"
#include "sim/tpu/tpu_options.h"
#include "sim/run/workers/worker_pool.h"
#include "workloads/lowering/tpu/tensor_placement.h"
#include "workloads/lowering/tpu/tpu_lowering.h"

namespace heddle::sim {
namespace {

using trace::ElementType;

constexpr const char* kTypes =
    "bf16, fp8 (e4m3), e5m2, f32, i8, i16, or two of them: i8xi16, 8x16, e4m3xbf16";
/// Of D that are computed again in doubles.
constexpr std::uint64_t kCompared = 65536;

bool is_integer(ElementType type) {
    return type == ElementType::i8 || type == ElementType::i16;
}

ElementType type_from_name(const std::string& name) {
    static const std::pair<const char*, ElementType> known[] = {
        {"bf16", ElementType::bf16}, {"fp8", ElementType::e4m3}, {"e4m3", ElementType::e4m3},
        {"e5m2", ElementType::e5m2}, {"f32", ElementType::f32},  {"i8", ElementType::i8},
        {"8", ElementType::i8},      {"i16", ElementType::i16},  {"16", ElementType::i16}};
    for (const auto& [text, type] : known)
        if (name == text) return type;
    throw Error("a TPU does not multiply `" + name + "`", {"--type", 0, ""}, kTypes);
}

trace::Trace trace_of(const TpuGemmQuestion& q) {
    trace::Trace trace;
    trace.name = "gemm";
    const auto add = [&](const char* name, ElementType type, std::int64_t rows, std::int64_t columns) {
        trace::Tensor tensor;
        tensor.name = name;
        tensor.type = type;
        tensor.shape = {rows, columns};
        if (q.batch > 1) tensor.shape.insert(tensor.shape.begin(), q.batch);
        return trace.add(std::move(tensor));
    };
    trace::Op op;
    op.kind = trace::OpKind::matmul;
    op.name = "gemm";
    op.inputs = {q.transpose_a ? add("A", q.a, q.k, q.m) : add("A", q.a, q.m, q.k),
                 q.transpose_b ? add("B", q.b, q.n, q.k) : add("B", q.b, q.k, q.n)};
    op.outputs = {add("D", result_type_of(q), q.m, q.n)};
    op.set(keys::matmul.transpose_a, q.transpose_a);
    op.set(keys::matmul.transpose_b, q.transpose_b);
    trace.add(std::move(op));
    trace.check();
    return trace;
}

/// Operations per second when a row enters every array as often as these formats let it.
double peak_of(const TpuGemmQuestion& q, const models::TpuConfig& config) {
    double rows = 1;
    if (q.a == ElementType::i8 && q.b == ElementType::i8) rows = config.matrix.int8_rows_per_cycle;
    if (q.a == ElementType::i16) rows /= 2;
    if (q.b == ElementType::i16) rows /= 2;
    if (q.a == ElementType::f32 && q.b == ElementType::f32) rows /= config.compiler.fp32_passes;
    return 2.0 * config.cores * config.matrix.per_core * config.matrix.rows * config.matrix.columns *
           config.clock_hertz * rows;
}

std::vector<double> random_values(ElementType type, std::uint64_t count, std::uint64_t stream) {
    const std::uint64_t seed = numerics::stream_seed(8, stream);
    std::vector<double> values(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = numerics::random_bits(seed, i);
        if (type == ElementType::i8) {
            values[i] = static_cast<std::int8_t>(bits);
        } else if (type == ElementType::i16) {
            values[i] = static_cast<std::int16_t>(bits);
        } else {
            const std::uint64_t number =
                numerics::random_element(numerics::Format::fp32, numerics::Distribution::normal, seed, i);
            values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(number));
        }
    }
    return values;
}

/// What each product may be off, relative to |a||b|: the parts of operands that the passes leave out (2^-8 of
/// one bf16 number each, rounded to nearest even: half of that; 2^-17 of two and their small product; 2^-24
/// of three), and the rounding of sums and of D.
double bound_of(const TpuGemmQuestion& q, const models::TpuConfig& config) {
    if (is_integer(q.a)) return 0;
    double operands = 0;
    const bool both = q.a == ElementType::f32 && q.b == ElementType::f32;
    if (both) {
        const unsigned passes = config.compiler.fp32_passes;
        operands = passes == 1 ? 0x1.01p-8 : passes == 3 ? 0x1p-16 : 0x1p-23;
    } else if (q.a == ElementType::f32 || q.b == ElementType::f32) {
        operands = 0x1p-9;
    }
    const double sums = 0x1p-24 * (q.k + 8.0) * (both ? config.compiler.fp32_passes : 1);
    return operands + sums + (result_type_of(q) == ElementType::bf16 ? 0x1p-8 : 0x1p-24);
}

class Measured : public JobRunner {
  public:
    Measured(const TpuGemmQuestion& question, const models::TpuConfig& config, bool numerics,
             const SignalOptions& signals)
        : q_(question),
          config_(config),
          numerics_(numerics),
          signals_(signals),
          trace_(trace_of(question)),
          target_(models::target_of(config)),
          placement_(trace_, target_) {}

    std::string run(std::size_t) override {
        TilingCache tilings;
        lowering::TpuLoweringOptions options = lowering_options_of(config_);
        options.tilings = &tilings;
        const lowering::LoweredOp lowered = lowering::lower(trace_, 0, target_, placement_, options);
        if (!lowered.supported)
            throw Error("no program for " + name_of(q_) + ": " + lowered.reason_if_not, {"--type", 0, ""});
        models::Tpu tpu("tpu", config_);
        tpu::Memory memory;
        placement_.allocate(memory, false, lowered.workspace_bytes);
        models::TpuResult result;
        std::string signals;
        if (signals_.asked())
            signals = write_signals(signals_, signals_.file, [&](models::SignalTrace& trace) {
                models::TpuRunOptions traced;
                traced.signals = &trace;
                result = tpu.run(lowered.program, memory, traced);
            });
        else
            result = tpu.run(lowered.program, memory);
        nlohmann::json json{{"cycles", result.cycles},
                            {"signals", signals},
                            {"seconds", result.seconds},
                            {"schedule", lowered.schedule},
                            {"bound_by", result.bound_by},
                            {"bytes", result.bytes_loaded + result.bytes_stored},
                            {"where", models::shares_of(result.where)}};
        if (numerics_) compute(tpu, lowered, json["numerics"]);
        return json.dump();
    }

  private:
    void compute(models::Tpu& tpu, const lowering::LoweredOp& lowered, nlohmann::json& json) {
        tpu::Memory memory;
        placement_.allocate(memory, true, lowered.workspace_bytes);
        for (trace::TensorId id = 0; id < 2; ++id) {
            const auto count = static_cast<std::uint64_t>(trace_.tensor(id).elements());
            placement_.write(memory, trace_, id, random_values(trace_.tensor(id).type, count, id));
        }
        // As the device keeps them.
        const std::vector<double> a = placement_.read(memory, trace_, 0),
                                  b = placement_.read(memory, trace_, 1);
        models::TpuRunOptions options;
        options.mode = models::TpuMode::functional;
        json["cycles_with_values"] = tpu.run(lowered.program, memory, options).cycles;
        const std::vector<double> d = placement_.read(memory, trace_, 2);
        const std::uint64_t step = std::max<std::uint64_t>(1, d.size() / kCompared);
        std::uint64_t compared = 0;
        double worst = 0;
        for (std::uint64_t i = 0; i < d.size(); i += step, ++compared)
            worst = std::max(worst, error(a, b, d, i));
        json["elements"] = d.size();
        json["compared"] = compared;
        json["worst"] = worst;
    }

    /// Of element i of D, relative to |A||B|.
    double error(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& d,
                 std::uint64_t i) const {
        const std::uint64_t m = q_.m, n = q_.n, k = q_.k, column = i % n, row = i / n % m, entry = i / n / m;
        double sum = 0, sizes = 0;
        std::uint32_t whole = 0;
        for (std::uint64_t x = 0; x < k; ++x) {
            const double left = a[entry * m * k + (q_.transpose_a ? x * m + row : row * k + x)];
            const double right = b[entry * n * k + (q_.transpose_b ? column * k + x : x * n + column)];
            sum += left * right;
            sizes += std::fabs(left * right);
            whole += static_cast<std::uint32_t>(static_cast<std::int64_t>(left * right));
        }
        if (is_integer(q_.a))
            return static_cast<std::int32_t>(whole) == static_cast<std::int32_t>(d[i]) ? 0 : 1;
        return sizes == 0 ? std::fabs(d[i]) : std::fabs(d[i] - sum) / sizes;
    }

    const TpuGemmQuestion& q_;
    const models::TpuConfig& config_;
    bool numerics_;
    const SignalOptions& signals_;
    trace::Trace trace_;
    target::TpuTarget target_;
    lowering::TensorPlacement placement_;
};

double rate_of(const TpuGemmQuestion& q, const TpuGemmAnswer& answer) {
    return 2.0 * q.m * q.n * q.k * q.batch / answer.seconds;
}

}  // namespace

std::pair<ElementType, ElementType> tpu_gemm_types_from_name(const std::string& name) {
    const std::size_t x = name.find('x');
    const ElementType a = type_from_name(name.substr(0, x));
    const ElementType b = x == std::string::npos ? a : type_from_name(name.substr(x + 1));
    if (is_integer(a) != is_integer(b))
        throw Error("`" + name + "` multiplies integers by floats", {"--type", 0, ""}, kTypes);
    return {a, b};
}

ElementType result_type_of(const TpuGemmQuestion& q) {
    if (is_integer(q.a)) return ElementType::i32;
    return q.a == ElementType::f32 && q.b == ElementType::f32 ? ElementType::f32 : ElementType::bf16;
}

std::string name_of(const TpuGemmQuestion& q) {
    std::string text = fmt::format("{}x{}x{} {}", q.m, q.n, q.k, trace::name_of(q.a));
    if (q.b != q.a) text += " x " + trace::name_of(q.b);
    text += fmt::format(" {}{}", q.transpose_a ? 't' : 'n', q.transpose_b ? 't' : 'n');
    return q.batch == 1 ? text : text + fmt::format(", batch of {}", q.batch);
}

void check(const TpuGemmQuestion& q, const models::TpuConfig& config) {
    constexpr std::uint32_t kLimit = 1u << 24;
    for (const std::uint32_t extent : {q.m, q.n, q.k}) {
        if (extent == 0 || extent > kLimit)
            throw Error(fmt::format("an extent of {} is out of range", extent), {"M N K", 0, ""},
                        fmt::format("1 to {}", kLimit));
    }
    if (q.batch == 0 || q.batch > 65535)
        throw Error(fmt::format("a batch of {} is out of range", q.batch), {"--batch", 0, ""}, "1 to 65535");
    check_products(trace_of(q), config);
}

TpuGemmAnswer time_tpu_gemm(const TpuGemmQuestion& q, const models::TpuConfig& config, bool numerics,
                            const SignalOptions& signals) {
    const double work = static_cast<double>(q.m) * q.n * q.k * q.batch;
    if (numerics && work > kMostNumericWork)
        throw Error("the values of " + name_of(q) + " would take hours to compute", {"--numerics", 0, ""},
                    "ask for a smaller product, or leave out --numerics");
    TpuGemmAnswer answer;
    run_jobs(
        1, 1, [&]() -> std::unique_ptr<JobRunner> { return std::make_unique<Measured>(q, config, numerics, signals); },
        [&](std::size_t, const std::string& text) {
            const nlohmann::json json = nlohmann::json::parse(text);
            json.at("cycles").get_to(answer.cycles);
            json.at("signals").get_to(answer.signals);
            json.at("schedule").get_to(answer.schedule);
            json.at("bound_by").get_to(answer.bound_by);
            json.at("bytes").get_to(answer.bytes);
            json.at("where").get_to(answer.where);
            answer.launch_seconds = config.launch_seconds;
            answer.seconds = json.at("seconds").get<double>() + config.launch_seconds;
            answer.peak = peak_of(q, config);
            answer.clock = config.clock_hertz;
            answer.published_clock = config.peak_clock();
            answer.published_peak = answer.peak * answer.published_clock / answer.clock;
            if (!numerics) return;
            const nlohmann::json& values = json.at("numerics");
            answer.numerics =
                TpuGemmNumerics{values.at("elements"), values.at("compared"), values.at("worst"),
                                bound_of(q, config), values.at("cycles_with_values")};
        });
    return answer;
}

std::string describe(const TpuGemmQuestion& q, const TpuGemmAnswer& answer) {
    const char* const unit = is_integer(q.a) ? "TOP/s" : "TFLOP/s";
    const double rate = rate_of(q, answer);
    const bool sustains = answer.clock == answer.published_clock;
    std::string text =
        fmt::format("{:.2f} us: {:.1f} {}, {:.1f} % of the {:.1f} of these formats at {}{:.0f} MHz{}",
                    answer.seconds * 1e6, rate / 1e12, unit, 100 * rate / answer.peak, answer.peak / 1e12,
                    sustains ? "" : "the ", answer.clock / 1e6, sustains ? "" : " that products sustain");
    if (!sustains)
        text += fmt::format(", {:.1f} % of the published {:.1f} at {:.0f} MHz",
                            100 * rate / answer.published_peak, answer.published_peak / 1e12,
                            answer.published_clock / 1e6);
    text += fmt::format("; launch {:.0f} % of the time\n", 100 * answer.launch_seconds / answer.seconds);
    if (!answer.schedule.empty()) text += "tiles: " + answer.schedule + "\n";
    text += fmt::format("{} cycles, bound by {}, {:.1f} MB from or to memory\nmatrix units:", answer.cycles,
                        answer.bound_by, answer.bytes / 1e6);
    const char* separator = " ";
    for (const auto& [reason, share] : answer.where) {
        if (share < 0.0005) continue;
        text += fmt::format("{}{} {:.1f} %", separator, reason, 100 * share);
        separator = ", ";
    }
    text += "\n";
    if (!answer.numerics) return text;
    const TpuGemmNumerics& values = *answer.numerics;
    text += fmt::format("numerics: {} of {} elements beside doubles: ", values.compared, values.elements);
    text += is_integer(q.a)
                ? std::string(values.worst == 0 ? "all exact\n" : "some differ\n")
                : fmt::format("worst {:.2e} of |A||B|, bound {:.2e}\n", values.worst, values.bound);
    text += answer.cycles == values.cycles_with_values
                ? fmt::format("  {} cycles with values and without\n", answer.cycles)
                : fmt::format("  {} cycles without values, {} with: a defect of the model\n", answer.cycles,
                              values.cycles_with_values);
    return text;
}

std::string to_json(const TpuGemmQuestion& q, const TpuGemmAnswer& answer) {
    nlohmann::json where;
    for (const auto& [reason, share] : answer.where) where[reason] = share;
    nlohmann::json json{{"seconds", answer.seconds},
                        {"launch_seconds", answer.launch_seconds},
                        {"operations_per_second", rate_of(q, answer)},
                        {"peak", answer.peak},
                        {"clock", answer.clock},
                        {"published_peak", answer.published_peak},
                        {"published_clock", answer.published_clock},
                        {"cycles", answer.cycles},
                        {"schedule", answer.schedule},
                        {"bound_by", answer.bound_by},
                        {"bytes", answer.bytes},
                        {"matrix_units", where}};
    if (answer.numerics) {
        const TpuGemmNumerics& values = *answer.numerics;
        json["numerics"] = {{"elements", values.elements},
                            {"compared", values.compared},
                            {"worst", values.worst},
                            {"bound", values.bound},
                            {"cycles_with_values", values.cycles_with_values}};
    }
    return json.dump();
}

}  // namespace heddle::sim
