#include "validation/capture/sections/scalar_probe.h"

#include <cstring>

#include "isa/numerics/counter_random.h"

namespace heddle::capture {
namespace {

constexpr unsigned kScalarProbeThreads = 128;

std::string width(unsigned bits) {
    return ".b" + std::to_string(bits);
}

std::vector<std::byte> packed_bits(const std::vector<std::uint64_t>& values, unsigned bits) {
    std::vector<std::byte> bytes(values.size() * (bits / 8));
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&bytes[i * (bits / 8)], &values[i], bits / 8);
    return bytes;
}

// Zeros, ones, ends of the range, numbers around the thresholds of narrower formats, NaNs of several kinds.
std::vector<std::uint64_t> edges(unsigned bits) {
    if (bits == 16) {
        return {0x0000, 0x8000, 0x3C00, 0xBC00, 0x3F80, 0x7BFF, 0xFBFF, 0x7C00,
                0xFC00, 0x7C01, 0x7E00, 0x7FFF, 0xFFFF, 0x0001, 0x03FF, 0x0400,
                0x7F80, 0xFF80, 0x7F81, 0x0080, 0x007F, 0x5F00, 0x5F01, 0x7B00};
    }
    if (bits == 64) {
        return {0,
                0x8000000000000000u,
                0x3FF0000000000000u,
                0x7FF0000000000000u,
                0xFFF0000000000000u,
                0x7FF0000000000001u,
                0x7FF8000000000000u,
                0xFFFFFFFFFFFFFFFFu,
                1,
                0x000FFFFFFFFFFFFFu,
                0x47EFFFFFE0000000u,
                0x47EFFFFFF0000000u,
                0x36A0000000000000u,
                0x3690000000000000u,
                0x3690000000000001u,
                0x3810000000000000u,
                0x380FFFFFE0000000u,
                0x43E0000000000000u,
                0xC3E0000000000000u,
                0x7FEFFFFFFFFFFFFFu};
    }
    return {0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000,
            0x7FFFFFFF, 0xFFFFFFFF, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x477FE000,
            0x477FEFFF, 0x477FF000, 0x33000000, 0x33000001, 0x33800000, 0x387FC000, 0x387FE000, 0x387FF000,
            0x38800000, 0x7F7F8000, 0x7F7F7FFF, 0x3F801000, 0x3F801001, 0x3F803000, 0x43E00000, 0x43E80000,
            0x43E80001, 0x43F00000, 0x3A800000, 0x3B000000, 0x4F000000, 0xCF000000, 0xCF000001, 0x4F7FFFFF,
            0x4F800000, 0x3F000000, 0x3FC00000, 0x40200000, 0xBF000000, 0xBFC00000, 0x47600000, 0x47680000,
            0x37000000, 0x37800000, 0x00400000, 0x0DA24260, 0x19000000, 0x7149F2CA};
}

}  // namespace

std::string scalar_probe_ptx(const ScalarInstruction& instruction) {
    const unsigned in_bytes = instruction.input_bits / 8, out_bytes = instruction.output_bits / 8;
    std::string text =
        std::string(".version ") + instruction.ptx_version + "\n.target " + instruction.target +
        "\n.address_size 64\n\n.visible .entry probe(.param .u64 a, .param .u64 b, .param .u64 c, "
        ".param .u64 d)\n{\n    .reg .b32 %x<3>;\n    .reg .b64 %y<3>;\n    .reg " +
        width(instruction.input_bits) + " %i<3>;\n    .reg " + width(instruction.output_bits) +
        " %o;\n    mov.u32 %x0, %ctaid.x;\n    mov.u32 %x1, %tid.x;\n    mad.lo.u32 %x0, %x0, " +
        std::to_string(kScalarProbeThreads) + ", %x1;\n";
    const auto pointer = [&](const char* name, unsigned bytes) {
        return std::string("    ld.param.u64 %y0, [") + name +
               "];\n    cvta.to.global.u64 %y0, %y0;\n    mul.wide.u32 %y1, %x0, " + std::to_string(bytes) +
               ";\n    add.u64 %y0, %y0, %y1;\n";
    };
    std::string operands = "%o";
    for (unsigned i = 0; i < instruction.inputs; ++i) {
        const std::string input = "%i" + std::to_string(i);
        const char name[] = {static_cast<char>('a' + i), '\0'};
        text += pointer(name, in_bytes) + "    ld.global" + width(instruction.input_bits) + " " + input +
                ", [%y0];\n";
        operands += ", " + input;
    }
    return text + "    " + instruction.mnemonic + " " + operands + ";\n" + pointer("d", out_bytes) +
           "    st.global" + width(instruction.output_bits) + " [%y0], %o;\n    ret;\n}\n";
}

std::vector<std::uint64_t> run_scalar(Device& device, const ScalarInstruction& instruction,
                                      const std::vector<std::vector<std::uint64_t>>& inputs) {
    const std::size_t count = inputs.at(0).size(), ctas = (count + kScalarProbeThreads - 1) / kScalarProbeThreads,
                      padded = ctas * kScalarProbeThreads;
    std::vector<DeviceBuffer> buffers;
    for (unsigned i = 0; i < 3; ++i) {
        std::vector<std::uint64_t> values =
            i < instruction.inputs ? inputs.at(i) : std::vector<std::uint64_t>{};
        values.resize(i < instruction.inputs ? padded : 1);
        buffers.emplace_back(device, packed_bits(values, instruction.input_bits));
    }
    const unsigned bytes = instruction.output_bits / 8;
    const DeviceBuffer output(device, padded * bytes);
    Launch launch;
    launch.kernel = device.load(scalar_probe_ptx(instruction), "probe");
    launch.grid = {static_cast<std::uint32_t>(ctas), 1, 1};
    launch.block = {kScalarProbeThreads, 1, 1};
    for (const DeviceBuffer& buffer : buffers) launch.parameters.push_back(parameter(buffer.address()));
    launch.parameters.push_back(parameter(output.address()));
    device.launch(launch);
    const std::vector<std::byte> raw = output.read();
    std::vector<std::uint64_t> results(count);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&results[i], &raw[i * bytes], bytes);
    return results;
}

std::vector<std::vector<std::uint64_t>> scalar_operands(const ScalarInstruction& instruction,
                                                        std::size_t count) {
    const std::vector<std::uint64_t> special = edges(instruction.input_bits);
    const unsigned bits = instruction.input_bits;
    std::vector<std::vector<std::uint64_t>> inputs(instruction.inputs, std::vector<std::uint64_t>(count));
    for (unsigned input = 0; input < instruction.inputs; ++input) {
        const std::uint64_t seed = numerics::stream_seed(0x7363616C6172u, bits * 4 + input);  // "scalar"
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t value = numerics::random_bits(seed, i) >> (64 - bits);
            // All pairs of special numbers, while they last.
            const std::size_t n = special.size();
            const std::size_t pairs = instruction.inputs == 1 ? n : n * n / 2;
            if (i < pairs) {
                value = special[(input == 0 ? i : input == 1 ? i / n + i * 7 : i * 5 + 3) % n];
            } else if (i % 2 == 0 && bits == 32) {
                // Exponents near 1: sums and products that neither vanish nor overflow.
                const std::uint64_t exponent = 127 - 12 + (value >> 23 & 0xFF) % 24;
                value = (value & 0x807FFFFFu) | exponent << 23;
            }
            inputs[input][i] = value;
        }
    }
    return inputs;
}

}  // namespace heddle::capture
