// The table of generations. Source of every row: arXiv 2511.10909 and arXiv 2512.07004, unless a comment says
// more.
#include <stdexcept>
#include <string>

#include "isa/numerics/dot_product_unit.h"

namespace heddle::numerics {
namespace {

/// 0: the generation does not take the input.
struct GenerationRow {
    unsigned length_16bit;  ///< L of fp16; of bf16 too where bf16 exists
    unsigned length_tf32;
    unsigned length_fp8;
    bool bf16;
    int fraction_bits;      ///< F
    int fraction_bits_fp8;  ///< F of the native fp8 path
    bool fp8_rounds_to_e8m13;
    bool mma_sync_unpacks_fp8;  ///< mma.sync does not reach the native fp8 path
    int minimum_exponent_fp32;  ///< e0
    int minimum_exponent_fp16;
    bool fp16_output_inferred;
};

constexpr GenerationRow row_of(Generation generation) {
    switch (generation) {
        case Generation::volta:
            return {4, 0, 0, false, 23, 0, false, false, -131, -19, false};
        // e0 of fp16 output is not published; Ampere's, whose other parameters are the same.
        case Generation::turing:
            return {8, 0, 0, false, 24, 0, false, false, -132, -20, true};
        case Generation::ampere:
            return {8, 4, 0, true, 24, 0, false, false, -132, -20, false};
        case Generation::ada:
            return {8, 4, 16, true, 24, 13, true, false, -132, -20, false};
        case Generation::hopper:
            return {16, 8, 32, true, 25, 13, true, true, -133, -21, false};
        // mma.sync with fp8: recorded on a B200, see validation/recorded/tensor_core_vectors.h.
        case Generation::blackwell:
            return {16, 8, 32, true, 25, 25, false, true, -133, -21, false};
        case Generation::rtx_blackwell:
            return {16, 8, 32, true, 25, 25, false, false, -133, -21, false};
    }
    return {};
}

bool is_fp8(Format format) {
    return format == Format::e4m3 || format == Format::e5m2;
}

/// Formats of 6 and 4 bits, which both kinds of Blackwell multiply as they do fp8 (kind::f8f6f4), each by one
/// instruction.
bool is_narrower(Format format) {
    return format == Format::e3m2 || format == Format::e2m3 || format == Format::e2m1;
}

bool multiplies_narrower(Generation generation, Instruction instruction) {
    return generation == Generation::rtx_blackwell ||
           (generation == Generation::blackwell && instruction == Instruction::tcgen05);
}

bool has_instruction(Generation generation, Instruction instruction) {
    switch (instruction) {
        case Instruction::mma_sync:
            return true;
        case Instruction::wgmma:
            return generation == Generation::hopper;
        case Instruction::tcgen05:
            return generation == Generation::blackwell;
    }
    return false;
}

[[noreturn]] void reject(Generation generation, Format input, Format output) {
    throw std::invalid_argument(std::string("no tensor core operation ") + traits(input).name + " -> " +
                                traits(output).name + " on " + name_of(generation));
}

}  // namespace

const char* name_of(Generation generation) {
    switch (generation) {
        case Generation::volta:
            return "Volta";
        case Generation::turing:
            return "Turing";
        case Generation::ampere:
            return "Ampere";
        case Generation::ada:
            return "Ada";
        case Generation::hopper:
            return "Hopper";
        case Generation::blackwell:
            return "Blackwell";
        case Generation::rtx_blackwell:
            return "RTX Blackwell";
    }
    return "?";
}

Generation generation_of(unsigned compute_capability) {
    switch (compute_capability) {
        case 70:
        case 72:
            return Generation::volta;
        case 75:
            return Generation::turing;
        case 80:
        case 86:
        case 87:
        case 88:
            return Generation::ampere;
        case 89:
            return Generation::ada;
        case 90:
            return Generation::hopper;
        case 100:
        case 101:
        case 103:
        case 110:
            return Generation::blackwell;
        case 120:
        case 121:
            return Generation::rtx_blackwell;
        default:
            throw std::invalid_argument("no tensor core is known for compute capability " +
                                        std::to_string(compute_capability / 10) + "." +
                                        std::to_string(compute_capability % 10) +
                                        "; known are 7.0, 7.2, 7.5, 8.0, 8.6 to 9.0, 10.0, 10.1, 10.3, 11.0, "
                                        "12.0 and 12.1");
    }
}

DotProductParameters parameters_for(Generation generation, Format input, Format output,
                                    Instruction instruction) {
    const GenerationRow row = row_of(generation);
    if (!has_instruction(generation, instruction)) reject(generation, input, output);

    DotProductParameters parameters;
    parameters.input = parameters.input_b = input;
    parameters.output = output;
    switch (input) {
        case Format::fp16:
            parameters.block_length = row.length_16bit;
            break;
        case Format::bf16:
            parameters.block_length = row.bf16 ? row.length_16bit : 0;
            break;
        case Format::tf32:
            parameters.block_length = row.length_tf32;
            break;
        case Format::e4m3:
        case Format::e5m2:
            parameters.block_length = row.length_fp8;
            break;
        case Format::e3m2:
        case Format::e2m3:
        case Format::e2m1:
            parameters.block_length = multiplies_narrower(generation, instruction) ? row.length_fp8 : 0;
            break;
        default:
            parameters.block_length = 0;
            break;
    }
    if (parameters.block_length == 0) reject(generation, input, output);

    const bool narrow = is_fp8(input) || is_narrower(input);
    parameters.alignment_fraction_bits = narrow ? row.fraction_bits_fp8 : row.fraction_bits;
    if (output == Format::fp32) {
        parameters.minimum_exponent = row.minimum_exponent_fp32;
        parameters.rounding = Rounding::toward_zero;
        parameters.result_fraction_bits = is_fp8(input) && row.fp8_rounds_to_e8m13 ? 13 : 23;
    } else if (output == Format::fp16 && (input == Format::fp16 || narrow)) {
        parameters.minimum_exponent = row.minimum_exponent_fp16;
        parameters.rounding = Rounding::nearest_even;
        parameters.result_fraction_bits = 10;
        parameters.inferred = row.fp16_output_inferred;
    } else {
        reject(generation, input, output);
    }

    if (row.mma_sync_unpacks_fp8 && instruction == Instruction::mma_sync && is_fp8(input)) {
        parameters.unpacks_to_fp16 = true;
        parameters.block_length = row.length_16bit;
        parameters.alignment_fraction_bits = row.fraction_bits;
        if (output == Format::fp32) parameters.result_fraction_bits = 23;
    }
    return parameters;
}

DotProductParameters parameters_for(Generation generation, Format input, Format input_b, Format output,
                                    Instruction instruction) {
    DotProductParameters parameters = parameters_for(generation, input, output, instruction);
    if (input_b == input) return parameters;
    const bool both_fp8 = is_fp8(input) && is_fp8(input_b);
    const bool both_narrow =
        (is_fp8(input) || is_narrower(input)) && (is_fp8(input_b) || is_narrower(input_b));
    if (!both_fp8 && !(both_narrow && multiplies_narrower(generation, instruction))) {
        throw std::invalid_argument(std::string("no tensor core multiplies ") + traits(input).name + " by " +
                                    traits(input_b).name);
    }
    parameters.input_b = input_b;
    parameters.inferred = true;
    return parameters;
}

}  // namespace heddle::numerics
