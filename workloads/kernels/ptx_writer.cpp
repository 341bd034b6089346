#include "workloads/kernels/ptx_writer.h"

#include <bit>
#include <cstdio>

#include "isa/common/error.h"

namespace heddle::kernels {

PtxWriter::PtxWriter(std::string entry, unsigned compute_capability, unsigned minimum,
                     const std::string& needs)
    : entry_(std::move(entry)),
      compute_capability_(compute_capability),
      generation_(target::nearest_generation(compute_capability)) {
    if (!target::runs_ptx(compute_capability, minimum)) {
        throw Error("kernel '" + entry_ + "' cannot be written for compute capability " +
                        target::capability_text(compute_capability) +
                        (needs.empty() ? "" : ": it needs " + needs),
                    {},
                    "use a device of compute capability " + target::capability_text(minimum) +
                        " or newer, or another kernel");
    }
}

std::vector<Reg> PtxWriter::b32s(unsigned count) {
    std::vector<Reg> result;
    for (unsigned i = 0; i < count; ++i) result.push_back(b32());
    return result;
}

std::vector<Reg> PtxWriter::f32s(unsigned count) {
    std::vector<Reg> result;
    for (unsigned i = 0; i < count; ++i) result.push_back(f32());
    return result;
}

Reg PtxWriter::parameter(const std::string& name, const char* type, std::uint8_t bytes, bool pointer,
                         const Reg& into) {
    for (const KernelParameter& other : parameters_) {
        if (other.name == name)
            throw Error("parameter '" + name + "' of kernel '" + entry_ + "' declared twice");
    }
    if (!parameters_.empty()) parameter_text_ += ",\n";
    parameter_text_ +=
        std::string("    .param .") + type + (pointer ? " .ptr .global .align 16 " : " ") + "p_" + name;
    parameters_.push_back({name, bytes, pointer});
    op(std::string("ld.param.") + type, into, "[p_" + name + "]");
    return into;
}

Reg PtxWriter::pointer_parameter(const std::string& name) {
    const Reg generic = parameter(name, "u64", 8, true, b64());
    return make_b64("cvta.to.global.u64", generic);
}
Reg PtxWriter::b32_parameter(const std::string& name) {
    return parameter(name, "u32", 4, false, b32());
}
Reg PtxWriter::b64_parameter(const std::string& name) {
    return parameter(name, "u64", 8, false, b64());
}
Reg PtxWriter::f32_parameter(const std::string& name) {
    return parameter(name, "f32", 4, false, f32());
}
Reg PtxWriter::f64_parameter(const std::string& name) {
    return parameter(name, "f64", 8, false, f64());
}

Reg PtxWriter::tensor_map_parameter(const std::string& name) {
    if (!parameters_.empty()) parameter_text_ += ",\n";
    parameter_text_ += "    .param .align 64 .b8 p_" + name + "[" + std::to_string(kTensorMapBytes) + "]";
    parameters_.push_back({name, kTensorMapBytes, true});
    return make_b64("cvta.param.u64", make_b64("mov.b64", "p_" + name));
}

std::string PtxWriter::shared(const std::string& name, std::uint32_t bytes, std::uint32_t alignment) {
    shared_text_ += "    .shared .align " + std::to_string(alignment) + " .b8 " + name + "[" +
                    std::to_string(bytes) + "];\n";
    return name;
}

std::string PtxWriter::dynamic_shared(std::uint32_t bytes) {
    dynamic_shared_bytes_ = bytes;
    return "dynamic_shared";
}

std::string PtxWriter::new_label(const std::string& stem) {
    return "$" + stem + "_" + std::to_string(labels_++);
}

void PtxWriter::place(const std::string& label) {
    body_ += label + ":\n";
}

void PtxWriter::begin(const std::string& guard, std::string_view opcode) {
    body_ += "    ";
    if (!guard.empty()) body_ += "@" + guard + " ";
    body_ += opcode;
    first_operand_ = true;
}

void PtxWriter::operand(const std::string& text) {
    body_ += first_operand_ ? " " : ", ";
    body_ += text;
    first_operand_ = false;
}

void PtxWriter::end() {
    body_ += ";\n";
}

Reg PtxWriter::constant_f32(double value) {
    return make_f32("mov.f32", f32_immediate(value));
}

Reg PtxWriter::element_address(const Reg& base, const Reg& index, unsigned bytes) {
    return make_b64("mad.wide.u32", index, bytes, base);
}

Reg PtxWriter::divide_by(const Reg& value, unsigned divisor) {
    if (divisor == 1) return value;
    if (std::has_single_bit(divisor)) return make_b32("shr.u32", value, std::countr_zero(divisor));
    return make_b32("div.u32", value, divisor);
}

Reg PtxWriter::remainder_by(const Reg& value, unsigned divisor) {
    if (std::has_single_bit(divisor)) return make_b32("and.b32", value, divisor - 1);
    return make_b32("rem.u32", value, divisor);
}

Reg PtxWriter::multiply_by(const Reg& value, unsigned factor) {
    if (factor == 1) return value;
    if (std::has_single_bit(factor)) return make_b32("shl.b32", value, std::countr_zero(factor));
    return make_b32("mul.lo.u32", value, factor);
}

PtxWriter::Divider PtxWriter::divider_parameter(const std::string& prefix) {
    Divider divider;
    divider.divisor = b32_parameter(prefix);
    divider.multiplier = b32_parameter(prefix + "_multiplier");
    divider.shift = b32_parameter(prefix + "_shift");
    return divider;
}

Reg PtxWriter::divide_fast(const Reg& value, const Divider& divider) {
    const Reg high = make_b32("mul.hi.u32", value, divider.multiplier);
    const Reg sum = make_b32("add.u32", high, value);
    return make_b32("shr.u32", sum, divider.shift);
}

Reg PtxWriter::remainder_fast(const Reg& value, const Reg& quotient, const Divider& divider) {
    const Reg product = make_b32("mul.lo.u32", quotient, divider.divisor);
    return make_b32("sub.u32", value, product);
}

GeneratedKernel PtxWriter::finish(Extent3 block, unsigned minimum_ctas_per_sm) {
    const std::string version = generation_.ptx_version != nullptr ? generation_.ptx_version : version_;
    std::string text = ".version " + version + "\n.target sm_" + std::to_string(compute_capability_) +
                       (architecture_specific_ ? "a" : "") + "\n.address_size 64\n\n";
    if (dynamic_shared_bytes_ != 0) text += ".extern .shared .align 128 .b8 dynamic_shared[];\n\n";
    text += ".visible .entry " + entry_ + "(\n" + parameter_text_ + ")\n";
    text += ".maxntid " + std::to_string(block[0]) + ", " + std::to_string(block[1]) + ", " +
            std::to_string(block[2]) + "\n";
    if (minimum_ctas_per_sm != 0) text += ".minnctapersm " + std::to_string(minimum_ctas_per_sm) + "\n";
    if (maximum_registers_ != 0) text += ".maxnreg " + std::to_string(maximum_registers_) + "\n";
    if (cluster_ != Extent3{1, 1, 1}) {
        text += ".reqnctapercluster " + std::to_string(cluster_[0]) + ", " + std::to_string(cluster_[1]) +
                ", " + std::to_string(cluster_[2]) + "\n";
    }
    text += "{\n";
    const auto declare = [&text](const char* type, const char* prefix, unsigned count) {
        if (count == 0) return;
        text += std::string("    .reg ") + type + " " + prefix + "<" + std::to_string(count) + ">;\n";
    };
    declare(".pred", "%p", predicates_);
    declare(".b16", "%h", b16s_);
    declare(".b32", "%r", b32s_);
    declare(".b64", "%rd", b64s_);
    declare(".f32", "%f", f32s_);
    declare(".f64", "%fd", f64s_);
    text += shared_text_ + "\n" + body_ + "    ret;\n}\n";

    GeneratedKernel kernel;
    kernel.text = std::move(text);
    kernel.entry = entry_;
    kernel.block = block;
    kernel.dynamic_shared_bytes = dynamic_shared_bytes_;
    kernel.parameters = parameters_;
    kernel.cluster = cluster_;
    return kernel;
}

std::string at(const std::string& base, std::int64_t offset) {
    if (offset == 0) return "[" + base + "]";
    return "[" + base + (offset > 0 ? "+" : "") + std::to_string(offset) + "]";
}

std::string vector_of(const std::vector<Reg>& registers) {
    if (registers.size() == 1) return registers[0];
    std::string text = "{";
    for (std::size_t i = 0; i < registers.size(); ++i) text += (i != 0 ? ", " : "") + registers[i];
    return text + "}";
}

std::string at_box(const Reg& map, const std::vector<Reg>& coordinates) {
    return "[" + map + ", " + vector_of(coordinates) + "]";
}

std::string f32_immediate(double value) {
    char text[16];
    std::snprintf(text, sizeof text, "0f%08X", std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    return text;
}

std::string f64_immediate(double value) {
    char text[24];
    std::snprintf(text, sizeof text, "0d%016llX",
                  static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
    return text;
}

}  // namespace heddle::kernels
