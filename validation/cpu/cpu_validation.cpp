#include "validation/cpu/cpu_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "isa/common/error.h"
#include "isa/cpu/execute.h"
#include "models/cpu/cpu.h"
#include "validation/cpu/native_program.h"
#include "workloads/lowering/cpu/trace_memory.h"
#include "workloads/zoo/registry.h"

namespace heddle::validation {
namespace {

using trace::ElementType;
using trace::OpKind;

/// An op by itself, its program, and memory for it.
struct Kernel {
    std::string name;
    trace::Trace trace;
    lowering::CpuLoweredOp lowered;
    double amount = 0;
    std::string unit;
};

struct KernelMaker {
    trace::Trace trace;
    trace::Op op;
    explicit KernelMaker(OpKind kind) { op.kind = kind; }
    KernelMaker& in(std::vector<std::int64_t> shape, ElementType type = ElementType::f32) {
        op.inputs.push_back(trace.add({"x" + std::to_string(op.inputs.size()), type, std::move(shape)}));
        return *this;
    }
    KernelMaker& out(std::vector<std::int64_t> shape, ElementType type = ElementType::f32) {
        op.outputs.push_back(trace.add({"y" + std::to_string(op.outputs.size()), type, std::move(shape)}));
        return *this;
    }
};

lowering::CpuTarget one_thread(const models::CpuConfig& config) {
    lowering::CpuTarget target;
    target.lanes = 16;
    target.registers = 32;
    target.bf16_dot = config.bf16_dot && host_has_bf16_dot();
    target.tiles = config.tile_interval != 0 && host_has_tiles();
    target.threads = 1;
    return target;
}

Kernel kernel_of(const std::string& name, KernelMaker maker, const lowering::CpuTarget& target, bool by_bytes) {
    Kernel kernel;
    kernel.name = name;
    maker.trace.add(maker.op);
    kernel.trace = std::move(maker.trace);
    kernel.lowered = lowering::lower_for_cpu(kernel.trace, 0, target);
    if (!kernel.lowered.supported) throw Error(name + " has no program: " + kernel.lowered.reason_if_not);
    kernel.amount = by_bytes ? trace::bytes_moved(kernel.trace, kernel.trace.ops[0]) : trace::floating_point_operations(kernel.trace, kernel.trace.ops[0]);
    kernel.unit = by_bytes ? "B/s" : "FLOP/s";
    return kernel;
}

KernelMaker product(std::int64_t m, std::int64_t n, std::int64_t k, ElementType type, bool transpose_b = false) {
    KernelMaker maker(OpKind::matmul);
    maker.in({m, k}, type).in(transpose_b ? std::vector<std::int64_t>{n, k} : std::vector<std::int64_t>{k, n}, type).out({m, n}, type);
    maker.op.set(keys::matmul.transpose_b, std::int64_t{transpose_b});
    return maker;
}

KernelMaker elementwise(const std::string& expression, unsigned inputs, unsigned outputs, std::int64_t elements, ElementType type = ElementType::f32) {
    KernelMaker maker(OpKind::elementwise);
    for (unsigned i = 0; i < inputs; ++i) maker.in({elements}, type);
    for (unsigned i = 0; i < outputs; ++i) maker.out({elements}, type);
    maker.op.set(keys::elementwise.expression, expression);
    maker.op.set(keys::elementwise.scalars, std::vector<double>{0.9, 0.01});
    return maker;
}

KernelMaker convolution(std::int64_t channels, std::int64_t filters, std::int64_t size, std::int64_t window, std::int64_t stride) {
    KernelMaker maker(OpKind::convolution);
    const std::int64_t padding = window / 2, out = (size + 2 * padding - window) / stride + 1;
    maker.in({1, channels, size, size}).in({filters, channels, window, window}).out({1, filters, out, out});
    maker.op.set(keys::convolution.strides, {stride, stride});
    maker.op.set(keys::convolution.padding, {padding, padding});
    return maker;
}

std::vector<Kernel> kernels_to_time(const models::CpuConfig& config) {
    const lowering::CpuTarget target = one_thread(config);
    std::vector<Kernel> kernels;
    const auto add = [&](const std::string& name, const KernelMaker& maker, bool by_bytes) { kernels.push_back(kernel_of(name, maker, target, by_bytes)); };
    const auto f32 = ElementType::f32, bf16 = ElementType::bf16;
    add("matmul 256x256x256 f32", product(256, 256, 256, f32), false);
    add("matmul 512x512x512 f32", product(512, 512, 512, f32), false);
    add("matmul 512x512x512 f32, B transposed", product(512, 512, 512, f32, true), false);
    add("matmul 1x2048x2048 f32, B transposed", product(1, 2048, 2048, f32, true), false);
    add("matmul 100x130x70 f32", product(100, 130, 70, f32), false);
    add("matmul 512x512x512 bf16", product(512, 512, 512, bf16), false);
    add("matmul 1024x1024x1024 bf16", product(1024, 1024, 1024, bf16), false);
    add("convolution 64->64 3x3 of 56", convolution(64, 64, 56, 3, 1), false);
    add("convolution 256->64 1x1 of 28", convolution(256, 64, 28, 1, 1), false);
    add("convolution 3->64 7x7 of 112, stride 2", convolution(3, 64, 112, 7, 2), false);
    add("gelu of 1 Mi f32", elementwise("y0 = 0.5 * x0 * (1 + erf(x0 * 0.70710678))", 1, 1, 1 << 20), true);
    add("sgd with momentum of 4 Mi f32", elementwise("y0 = s0 * x0 + x1; y1 = x2 - s1 * y0", 3, 2, 4 << 20), true);
    add("add of 64 Ki f32", elementwise("y0 = x0 + x1", 2, 1, 64 << 10), true);
    add("add of 4 Mi bf16", elementwise("y0 = x0 + x1", 2, 1, 4 << 20, bf16), true);
    KernelMaker softmax(OpKind::softmax);
    add("softmax 512x1024 f32", softmax.in({512, 1024}).out({512, 1024}), true);
    KernelMaker norm(OpKind::layer_norm);
    add("layer_norm 512x768 f32", norm.in({512, 768}).in({768}).in({768}).out({512, 768}), true);
    KernelMaker rows(OpKind::reduce);
    rows.op.set(keys::reduce.reduction, std::string("sum"));
    rows.op.set(keys::reduce.axes, {1});
    add("sum of rows 2048x1024 f32", rows.in({2048, 1024}).out({2048}), true);
    KernelMaker columns(OpKind::reduce);
    columns.op.set(keys::reduce.reduction, std::string("sum"));
    columns.op.set(keys::reduce.axes, {0});
    add("sum of columns 2048x1024 f32", columns.in({2048, 1024}).out({1024}), true);
    KernelMaker turn(OpKind::copy);
    turn.op.set(keys::copy.permutation, {1, 0});
    add("transpose 1024x1024 f32", turn.in({1024, 1024}).out({1024, 1024}), true);
    KernelMaker attention(OpKind::attention);
    add("attention 1x4x256x64 f32", attention.in({1, 4, 256, 64}).in({1, 4, 256, 64}).in({1, 4, 256, 64}).out({1, 4, 256, 64}), false);
    return kernels;
}

/// Memory of a kernel on the host: its tensors with random numbers, and scratch.
class KernelMemory {
  public:
    explicit KernelMemory(const Kernel& kernel, unsigned seed = 1) : tensors_(kernel.trace, std::span(&kernel.lowered, 1)) {
        std::mt19937 random(seed);
        for (const trace::TensorId id : kernel.trace.ops[0].inputs) {
            const trace::Tensor& tensor = kernel.trace.tensor(id);
            std::vector<double> numbers(static_cast<std::size_t>(tensor.elements()));
            const bool integers = tensor.type == ElementType::i64 || tensor.type == ElementType::i32;
            for (double& number : numbers) number = integers ? static_cast<double>(random() % 2) : static_cast<double>(static_cast<int>(random() % 513) - 256) / 128 + 0x1p-9;
            tensors_.write(id, numbers);
        }
        bound_ = tensors_.bind(kernel.lowered);
        for (std::size_t i = 0; i < bound_.size(); ++i) {
            const std::uint64_t bytes = kernel.lowered.program.buffers[i].bytes;
            if (bound_[i].empty() && bytes != 0) {
                scratch_.emplace_back(bytes + 64);
                std::byte* const at = scratch_.back().data();
                bound_[i] = {at + (64 - reinterpret_cast<std::uintptr_t>(at) % 64) % 64, bytes};
            }
            pointers_.push_back(bound_[i].data());
        }
    }
    const std::vector<std::byte*>& pointers() const { return pointers_; }
    std::vector<std::span<std::byte>>& bound() { return bound_; }
    std::vector<double> read(trace::TensorId id) const { return tensors_.read(id); }

  private:
    lowering::CpuTraceMemory tensors_;
    std::vector<std::vector<std::byte>> scratch_;
    std::vector<std::span<std::byte>> bound_;
    std::vector<std::byte*> pointers_;
};

constexpr std::int64_t kTriadElements = std::int64_t{1} << 27;  // 512 MiB each: beyond any L3

cpu::Program chase_program(std::uint64_t bytes, int loads) {
    return cpu::assemble(fmt::format("program chase lanes 16\nbuffer x {}\nparallel touch 1 {{\nloop i1 {} {{\nload.i32 v1 [x 0+64*i1] step 0\n}}\n}}\n"
                                     "parallel chase 1 {{\nloop i1 {} {{\ngather.i32 v0 v0 [x 0] step 0 scale 64 uniform\n}}\n}}\n",
                                     bytes, bytes / 64, loads));
}

struct ChaseLevel {
    const char* name;
    std::uint64_t bytes;
};

std::vector<ChaseLevel> chase_levels(const models::CpuConfig& config) {
    const std::uint64_t l3 = std::clamp<std::uint64_t>(config.l3.bytes / 8, config.l2.bytes * 4, std::uint64_t{32} << 20);
    // Far beyond the L3, but not more memory than a machine has to spare.
    const std::uint64_t beyond = std::min<std::uint64_t>(config.memory_bytes / 8 / 64 * 64, std::max<std::uint64_t>(config.l3.bytes * 4, std::uint64_t{1} << 30));
    return {{"L1", config.l1.bytes / 2}, {"L2", config.l2.bytes / 2}, {"L3", l3}, {"memory", beyond}};
}

bool is_wanted(const CpuValidationOptions& options, const std::string& group, const std::string& name) {
    return options.filter.empty() || group.find(options.filter) != std::string::npos || name.find(options.filter) != std::string::npos;
}

/// The time of a program in caches that it has warmed itself.
models::CpuResult warm_time(models::Cpu& cpu, const cpu::Program& program) {
    models::CpuRunOptions options;
    options.alone = true;
    cpu.run(program, options);
    options.warm = true;
    return cpu.run(program, options);
}

void compare_times(const models::CpuConfig& config, const CpuValidationOptions& options, CpuValidation& found) {
    models::CpuConfig alone = config;
    alone.threads = 1;
    models::Cpu model("cpu", alone);
    std::vector<HostExperiment> experiments;
    std::vector<std::unique_ptr<HostChase>> chases;
    for (const ChaseLevel& level : chase_levels(config)) {
        if (!is_wanted(options, "chase", level.name)) continue;
        options.progress(std::string("chase through ") + level.name);
        chases.push_back(std::make_unique<HostChase>(level.bytes));
        experiments.push_back({level.name, [chase = chases.back().get()] { return chase->seconds_per_load(); }});
        CpuTimeRow row{"chase", fmt::format("{}: a load of {} KiB", level.name, level.bytes >> 10), {}, 0, 0, "", std::string(level.name) != "L1" && std::string(level.name) != "L2", "latency"};
        constexpr int kLoads = 20000;
        row.model = model.run(chase_program(level.bytes, kLoads)).regions[1].seconds / kLoads;
        found.times.push_back(row);
    }
    const std::string missing = why_no_twins();
    if (!missing.empty()) found.notes.push_back("kernels are not timed: " + missing);
    // The triad is an op like others, of vectors that no cache holds.
    std::vector<Kernel> kernels;
    if (missing.empty()) {
        if (is_wanted(options, "memory", "STREAM triad")) {
            kernels.push_back(kernel_of("STREAM triad", elementwise("y0 = x0 + s0 * x1", 2, 1, kTriadElements), one_thread(config), true));
        }
        for (Kernel& kernel : kernels_to_time(config))
            if (is_wanted(options, "kernels", kernel.name)) kernels.push_back(std::move(kernel));
    }
    std::vector<cpu::Program> programs;
    std::vector<std::unique_ptr<KernelMemory>> memories;
    for (const Kernel& kernel : kernels) {
        options.progress(kernel.name);
        programs.push_back(kernel.lowered.program);
        memories.push_back(std::make_unique<KernelMemory>(kernel));
        const models::CpuResult result = kernel.name == "STREAM triad" ? model.run(kernel.lowered.program) : warm_time(model, kernel.lowered.program);
        found.times.push_back({kernel.name == "STREAM triad" ? "memory" : "kernels", kernel.name, {}, result.seconds, kernel.amount, kernel.unit, false, result.bound_by});
    }
    std::unique_ptr<NativePrograms> twins;
    if (!programs.empty()) {
        options.progress("compiling the twins of kernels");
        twins = std::make_unique<NativePrograms>(programs);
    }
    for (std::size_t i = 0; i < programs.size(); ++i)
        experiments.push_back({kernels[i].name, [&, i] {
                                   // Short ones are repeated within a measurement.
                                   int times = 0;
                                   const double begin = host_now();
                                   double seconds = 0;
                                   do {
                                       twins->run(i, memories[i]->pointers());
                                       ++times;
                                       seconds = host_now() - begin;
                                   } while (seconds < 2e-3);
                                   return seconds / times;
                               }});
    const HostBlas blas;
    if (!blas.found()) found.notes.push_back("OpenBLAS is not here (libopenblas.so.0, or what $HEDDLE_OPENBLAS names): its products are not timed");
    std::vector<std::unique_ptr<std::vector<float>>> matrices;
    if (blas.found()) {
        found.notes.push_back("products of the library: " + blas.name());
        const std::int64_t shapes[][3] = {{64, 64, 64},     {128, 128, 128},  {256, 256, 256},   {384, 384, 384},   {512, 512, 512},  {768, 768, 768},  {1024, 1024, 1024},
                                          {1536, 1536, 256}, {256, 1024, 256}, {1024, 256, 256},  {256, 256, 1024},  {512, 2048, 512}, {128, 768, 768},  {128, 3072, 768},
                                          {128, 768, 3072},  {32, 1024, 1024}, {100, 1000, 500}, {333, 333, 333},   {48, 512, 512},   {1024, 64, 1024}};
        for (const auto& s : shapes) {
            const std::int64_t m = s[0], n = s[1], k = s[2];
            const std::string name = fmt::format("{}x{}x{}", m, n, k);
            if (!is_wanted(options, "sgemm", name)) continue;
            options.progress("sgemm " + name);
            for (const std::int64_t elements : {m * k, k * n, m * n}) matrices.push_back(std::make_unique<std::vector<float>>(static_cast<std::size_t>(elements), 0.5f));
            const float* const a = matrices[matrices.size() - 3]->data();
            const float* const b = matrices[matrices.size() - 2]->data();
            float* const c = matrices.back()->data();
            experiments.push_back({name, [&blas, m, n, k, a, b, c] {
                                       int times = 0;
                                       const double begin = host_now();
                                       double seconds = 0;
                                       do {
                                           blas.sgemm(m, n, k, a, b, c);
                                           ++times;
                                           seconds = host_now() - begin;
                                       } while (seconds < 2e-3);
                                       return seconds / times;
                                   }});
            const Kernel kernel = kernel_of(name, product(m, n, k, ElementType::f32), one_thread(config), false);
            const models::CpuResult result = warm_time(model, kernel.lowered.program);
            found.times.push_back({"sgemm", name, {}, result.seconds, kernel.amount, kernel.unit, false, result.bound_by});
        }
    }
    options.progress("measuring in turns");
    const std::vector<HostTime> times = measure_in_turns(experiments, options.rounds);
    for (std::size_t i = 0; i < times.size(); ++i) found.times[i].host = times[i];
}

/// The ops of small models, each program once.
std::vector<Kernel> kernels_to_compare(const models::CpuConfig& config) {
    const lowering::CpuTarget target = one_thread(config);
    std::vector<trace::Trace> models;
    using Options = std::map<std::string, std::string>;
    for (const char* type : {"f32", "bf16"}) {
        models.push_back(zoo::build("resnet18", Options{{"batch", "2"}, {"image", "33"}, {"classes", "11"}, {"width", "8"}, {"type", type}}));
        models.push_back(zoo::build("llama2-7b", Options{{"layers", "1"}, {"hidden", "32"}, {"heads", "4"}, {"key_heads", "4"}, {"feed_forward", "40"}, {"vocabulary", "50"}, {"sequence", "20"}, {"type", type}}));
        models.push_back(zoo::build("bert-base", Options{{"layers", "1"}, {"hidden", "32"}, {"heads", "2"}, {"vocabulary", "50"}, {"sequence", "24"}, {"batch", "2"}, {"attention", "fused"}, {"type", type}}));
    }
    models.push_back(zoo::build("mlp", Options{{"batch", "21"}, {"widths", "35,52,10"}}));
    models.push_back(zoo::build("lstm", Options{{"hidden", "20"}, {"vocabulary", "50"}, {"batch", "3"}, {"sequence", "2"}}));
    std::vector<Kernel> kernels;
    std::set<std::string> seen;
    for (const trace::Trace& model : models) {
        for (const trace::Op& op : model.ops) {
            Kernel kernel;
            kernel.name = trace::name_of(op.kind);
            // The op alone, with its tensors.
            kernel.trace.tensors = model.tensors;
            trace::Op copy = op;
            copy.dependencies.clear();
            kernel.trace.ops.push_back(copy);
            kernel.lowered = lowering::lower_for_cpu(kernel.trace, 0, target);
            if (!kernel.lowered.supported || kernel.lowered.program.regions.empty()) continue;
            if (seen.insert(cpu::disassemble(kernel.lowered.program)).second) kernels.push_back(std::move(kernel));
        }
    }
    return kernels;
}

void compare_bits(const models::CpuConfig& config, const CpuValidationOptions& options, CpuValidation& found) {
    const std::string missing = why_no_twins();
    if (!missing.empty()) {
        found.notes.push_back("bits are not compared: " + missing);
        return;
    }
    std::vector<Kernel> kernels;
    for (Kernel& kernel : kernels_to_compare(config)) {
        try {
            twin_text(std::span(&kernel.lowered.program, 1));
            kernels.push_back(std::move(kernel));
        } catch (const Error& error) {
            found.notes.push_back(kernel.name + " is not compared: " + error.what());
        }
    }
    std::vector<cpu::Program> programs;
    for (const Kernel& kernel : kernels) programs.push_back(kernel.lowered.program);
    options.progress(fmt::format("compiling {} twins", programs.size()));
    const NativePrograms twins(programs, 1);
    std::map<std::string, CpuBitsRow> rows;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const Kernel& kernel = kernels[i];
        KernelMemory host(kernel), executor(kernel);
        // The executor first: it checks every access.
        cpu::Memory memory(kernel.lowered.program, 1, executor.bound());
        cpu::execute(kernel.lowered.program, memory);
        twins.run(i, host.pointers());
        CpuBitsRow& row = rows[kernel.name];
        row.kind = kernel.name;
        ++row.programs;
        for (const trace::TensorId id : kernel.trace.ops[0].outputs) {
            const std::vector<double> theirs = host.read(id), ours = executor.read(id);
            for (std::size_t e = 0; e < ours.size(); ++e) {
                ++row.numbers;
                row.equal += std::memcmp(&theirs[e], &ours[e], sizeof(double)) == 0 || (std::isnan(theirs[e]) && std::isnan(ours[e])) ? 1 : 0;
            }
        }
    }
    for (auto& [kind, row] : rows) found.bits.push_back(row);
}

std::string quantity(double seconds, const CpuTimeRow& row) {
    if (row.amount > 0) return fmt::format("{:.4g} G{}", row.amount / seconds / 1e9, row.unit);
    return seconds < 1e-6 ? fmt::format("{:.3g} ns", seconds * 1e9) : fmt::format("{:.4g} us", seconds * 1e6);
}

}  // namespace

CpuValidation validate_cpu(const models::CpuConfig& config, const CpuValidationOptions& options) {
    pin_to_processor();
    CpuValidation found;
    if (options.bits) compare_bits(config, options, found);
    if (options.times) compare_times(config, options, found);
    return found;
}

std::vector<CpuMeasured> calibrate_cpu(const models::CpuConfig& config) {
    pin_to_processor();
    double clock = 0;
    for (int i = 0; i < 5; ++i) clock = std::max(clock, host_clock());
    const std::vector<ChaseLevel> levels = chase_levels(config);
    std::vector<std::unique_ptr<HostChase>> chases;
    std::vector<HostExperiment> experiments;
    for (const ChaseLevel& level : {levels[2], levels[3]}) {
        chases.push_back(std::make_unique<HostChase>(level.bytes));
        experiments.push_back({level.name, [chase = chases.back().get()] { return chase->seconds_per_load(); }});
    }
    const std::vector<HostTime> times = measure_in_turns(experiments, 20);
    // Of a chase in the L3 some loads still hit the L2, and of one beyond the L3 some hit the L3.
    const double l2 = config.l2.latency / clock, hit_l2 = std::min(0.9, static_cast<double>(config.l2.bytes) / static_cast<double>(levels[2].bytes));
    const double l3 = (times[0].least - hit_l2 * l2) / (1 - hit_l2) - l2;
    const double hit_l3 = std::min(0.9, static_cast<double>(config.l3.bytes) / static_cast<double>(levels[3].bytes));
    const double memory = (times[1].least - l2 - l3) / (1 - hit_l3);
    // Arithmetic of 512 bits has a clock of its own, as a licence or because of a neighbour on the same core.
    double wide = 0;
    for (int i = 0; i < 3; ++i) wide = std::max(wide, host_vector_clock());
    wide = std::min(wide > 0 ? wide : clock, clock);
    // What is under way at once follows from the rate at which lines come.
    const double lines = std::max(host_read_rate(levels[2].bytes), host_read_rate(levels[3].bytes)) / 64 * (l3 + l2);
    const std::string hertz = fmt::format("{:.0f} MHz", clock / 1e6), vector = fmt::format("{:.0f} MHz", wide / 1e6);
    return {{"clock.single", hertz}, {"clock.all", hertz}, {"clock.vector512", vector}, {"clock.matrix", vector},
            {"l2.fills", fmt::format("{:.0f}", std::clamp(lines, 16.0, 512.0))}, {"l3.latency", fmt::format("{:.1f} ns", std::max(1e-9, l3) * 1e9)},
            {"memory.latency", fmt::format("{:.1f} ns", std::max(1e-9, memory) * 1e9)}};
}

std::string cpu_validation_table(const CpuValidation& validation) {
    std::string text;
    if (!validation.bits.empty()) {
        text += "bits                              programs     numbers   equal\n";
        for (const CpuBitsRow& row : validation.bits)
            text += fmt::format("{:<32}  {:>8}  {:>10}  {:>5.4g} %\n", row.kind, row.programs, row.numbers, 100.0 * static_cast<double>(row.equal) / static_cast<double>(std::max<std::size_t>(1, row.numbers)));
        text += "\n";
    }
    if (!validation.times.empty()) {
        text += fmt::format("{:<9}{:<42}{:>16}{:>9}{:>16}{:>8}  {}\n", "group", "what", "host, least", "median", "model", "ratio", "bound by");
        for (const CpuTimeRow& row : validation.times)
            text += fmt::format("{:<9}{:<42}{:>16}{:>+8.0f}%{:>16}{:>8.3f}  {}{}\n", row.group, row.name, quantity(row.host.least, row), 100 * row.host.spread(),
                                quantity(row.model, row), row.ratio(), row.bound_by, row.given ? " (calibrated)" : "");
        std::map<std::string, std::vector<double>> errors;
        std::vector<double> spreads;
        for (const CpuTimeRow& row : validation.times) {
            errors[row.group].push_back(std::fabs(row.ratio() - 1));
            spreads.push_back(row.host.spread());
        }
        text += "\nmean |model / host - 1|:";
        for (const auto& [group, list] : errors) {
            double sum = 0;
            for (const double error : list) sum += error;
            text += fmt::format(" {} {:.1f} % of {},", group, 100 * sum / static_cast<double>(list.size()), list.size());
        }
        std::sort(spreads.begin(), spreads.end());
        text.back() = '\n';
        text += fmt::format("the host's own spread, median over least: {:.0f} % in the middle, {:.0f} % at most; ratios are times, model over the host's least\n",
                            100 * spreads[spreads.size() / 2], 100 * spreads.back());
    }
    for (const std::string& note : validation.notes) text += "note: " + note + "\n";
    return text;
}

std::string cpu_validation_json(const CpuValidation& validation) {
    nlohmann::json json;
    for (const CpuTimeRow& row : validation.times)
        json["times"].push_back({{"group", row.group}, {"name", row.name}, {"host_least_s", row.host.least}, {"host_quartile_s", row.host.quartile}, {"host_median_s", row.host.median},
                                 {"runs", row.host.runs}, {"model_s", row.model}, {"ratio", row.ratio()}, {"amount", row.amount}, {"unit", row.unit}, {"calibrated", row.given},
                                 {"bound_by", row.bound_by}});
    for (const CpuBitsRow& row : validation.bits)
        json["bits"].push_back({{"kind", row.kind}, {"programs", row.programs}, {"numbers", row.numbers}, {"equal", row.equal}});
    json["notes"] = validation.notes;
    return json.dump(1) + "\n";
}

}  // namespace heddle::validation
