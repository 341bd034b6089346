// Writes PTX: allocates registers by type, keeps labels unique, collects parameters and shared memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "isa/target/generation.h"
#include "workloads/kernels/kernel.h"

namespace heddle::kernels {

/// A register, as it is spelt in PTX. Any other operand (immediate, address) may stand in its place.
using Reg = std::string;

/// Collects the text of one kernel.
class PtxWriter {
  public:
    /// Throws heddle::Error when `compute_capability` is below `minimum`, naming what the kernel needs.
    PtxWriter(std::string entry, unsigned compute_capability, unsigned minimum = 70,
              const std::string& needs = "");

    unsigned compute_capability() const { return compute_capability_; }
    /// The generation of the device, which determines the available instructions.
    const target::Generation& generation() const { return generation_; }

    // Registers.
    Reg predicate() { return name(predicates_, "%p"); }
    Reg b16() { return name(b16s_, "%h"); }
    Reg b32() { return name(b32s_, "%r"); }
    Reg b64() { return name(b64s_, "%rd"); }
    Reg f32() { return name(f32s_, "%f"); }
    Reg f64() { return name(f64s_, "%fd"); }
    std::vector<Reg> b32s(unsigned count);
    std::vector<Reg> f32s(unsigned count);

    /// Parameters: declares, loads and returns the register that holds the value. Pointers point to global
    /// memory.
    Reg pointer_parameter(const std::string& name);
    Reg b32_parameter(const std::string& name);
    Reg b64_parameter(const std::string& name);
    Reg f32_parameter(const std::string& name);
    Reg f64_parameter(const std::string& name);
    /// A tensor map; returns its address.
    Reg tensor_map_parameter(const std::string& name);

    /// Instructions of an "a" target (wgmma, setmaxnreg), which exist for one compute capability alone.
    void use_architecture_specific() { architecture_specific_ = true; }
    /// Sets the PTX version of the module; 8.0 by default.
    void require_version(const std::string& version) { version_ = version; }
    /// .reqnctapercluster
    void set_cluster(Extent3 cluster) { cluster_ = cluster; }
    /// .maxnreg; 0: as many as it takes.
    void limit_registers(unsigned registers) { maximum_registers_ = registers; }

    /// A static shared array; returns its name (an address).
    std::string shared(const std::string& name, std::uint32_t bytes, std::uint32_t alignment = 16);
    /// The dynamic shared memory; returns its name.
    std::string dynamic_shared(std::uint32_t bytes);

    // Instructions. Operands are registers, strings, or integers (immediates).
    template <class... Operands>
    void op(std::string_view opcode, const Operands&... operands) {
        begin({}, opcode);
        (operand(operands), ...);
        end();
    }
    /// Guarded by a predicate: @p opcode ...
    template <class... Operands>
    void op_if(const Reg& guard, std::string_view opcode, const Operands&... operands) {
        begin(guard, opcode);
        (operand(operands), ...);
        end();
    }
    template <class... Operands>
    void op_unless(const Reg& guard, std::string_view opcode, const Operands&... operands) {
        begin("!" + guard, opcode);
        (operand(operands), ...);
        end();
    }
    // The same with a new register for the result.
    template <class... Operands>
    Reg make_b32(std::string_view opcode, const Operands&... operands) {
        Reg result = b32();
        op(opcode, result, operands...);
        return result;
    }
    template <class... Operands>
    Reg make_b64(std::string_view opcode, const Operands&... operands) {
        Reg result = b64();
        op(opcode, result, operands...);
        return result;
    }
    template <class... Operands>
    Reg make_f32(std::string_view opcode, const Operands&... operands) {
        Reg result = f32();
        op(opcode, result, operands...);
        return result;
    }
    template <class... Operands>
    Reg make_f64(std::string_view opcode, const Operands&... operands) {
        Reg result = f64();
        op(opcode, result, operands...);
        return result;
    }
    template <class... Operands>
    Reg make_predicate(std::string_view opcode, const Operands&... operands) {
        Reg result = predicate();
        op(opcode, result, operands...);
        return result;
    }

    /// Instructions that `write` makes, not written yet: put() writes them one by one, among others.
    template <class Write>
    std::vector<std::string> set_aside(Write write) {
        const std::size_t before = body_.size();
        write();
        std::vector<std::string> lines;
        for (std::size_t at = before; at < body_.size();) {
            const std::size_t end = body_.find('\n', at) + 1;
            lines.push_back(body_.substr(at, end - at));
            at = end;
        }
        body_.resize(before);
        return lines;
    }
    void put(const std::string& instruction) { body_ += instruction; }

    // Control flow.
    std::string new_label(const std::string& stem);
    void place(const std::string& label);
    void jump(const std::string& label) { op("bra.uni", label); }
    void jump_if(const Reg& guard, const std::string& label) { op_if(guard, "bra", label); }
    void jump_unless(const Reg& guard, const std::string& label) { op_unless(guard, "bra", label); }

    void comment(const std::string& text) { body_ += "    // " + text + "\n"; }
    void cta_barrier() { op("bar.sync", 0); }
    /// Orders shared memory between the lanes of a warp.
    void warp_barrier() { op("bar.warp.sync", "0xffffffff"); }

    // Frequent short sequences.
    Reg tid() { return make_b32("mov.u32", "%tid.x"); }
    Reg cta_x() { return make_b32("mov.u32", "%ctaid.x"); }
    Reg cta_y() { return make_b32("mov.u32", "%ctaid.y"); }
    Reg cta_z() { return make_b32("mov.u32", "%ctaid.z"); }
    Reg constant_b32(std::int64_t value) { return make_b32("mov.u32", value); }
    Reg constant_f32(double value);
    /// base + index * bytes, a 64-bit address; `bytes` a constant.
    Reg element_address(const Reg& base, const Reg& index_b32, unsigned bytes);
    /// value / divisor and value % divisor for constants, with shifts where possible.
    Reg divide_by(const Reg& value, unsigned divisor);
    Reg remainder_by(const Reg& value, unsigned divisor);
    Reg multiply_by(const Reg& value, unsigned factor);

    struct Divider {
        Reg divisor, multiplier, shift;
    };
    /// Three parameters laid out as add_divider_arguments() names them.
    Divider divider_parameter(const std::string& prefix);
    /// value < 2^31 divided by a FastDivider parameter.
    Reg divide_fast(const Reg& value, const Divider& divider);
    /// value - quotient * divisor
    Reg remainder_fast(const Reg& value, const Reg& quotient, const Divider& divider);

    /// The finished module. `threads` goes into .maxntid.
    GeneratedKernel finish(Extent3 block, unsigned minimum_ctas_per_sm = 0);

  private:
    static Reg name(unsigned& counter, const char* prefix) { return prefix + std::to_string(counter++); }
    Reg parameter(const std::string& name, const char* type, std::uint8_t bytes, bool pointer,
                  const Reg& into);
    void begin(const std::string& guard, std::string_view opcode);
    void operand(const std::string& text);
    void operand(const char* text) { operand(std::string(text)); }
    template <class Integer>
    requires std::is_integral_v<Integer>
    void operand(Integer value) { operand(std::to_string(value)); }
    void end();

    std::string entry_, version_ = "8.0";
    unsigned compute_capability_;
    const target::Generation& generation_;
    std::vector<KernelParameter> parameters_;
    std::string parameter_text_, shared_text_, body_;
    std::uint32_t dynamic_shared_bytes_ = 0;
    bool first_operand_ = true;
    bool architecture_specific_ = false;
    Extent3 cluster_{1, 1, 1};
    unsigned maximum_registers_ = 0;
    unsigned predicates_ = 0, b16s_ = 0, b32s_ = 0, b64s_ = 0, f32s_ = 0, f64s_ = 0, labels_ = 0;
};

/// "[base+offset]"
std::string at(const std::string& base, std::int64_t offset = 0);
/// "{a, b, c}"; a single register stays bare.
std::string vector_of(const std::vector<Reg>& registers);
/// "[map, {x, y, ...}]": a box of a tensor by its first coordinates, as copies of tensors name it.
std::string at_box(const Reg& map, const std::vector<Reg>& coordinates);
/// Immediates as bit patterns: 0f3F800000, 0d3FF0000000000000.
std::string f32_immediate(double value);
std::string f64_immediate(double value);

}  // namespace heddle::kernels
