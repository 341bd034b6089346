// What a generation's numbers say of an instruction: isa/target/generations has them, with their sources.
#include <stdexcept>
#include <string>

#include "isa/numerics/dot_product_unit.h"

namespace heddle::numerics {
namespace {

bool is_fp8(Format format) {
    return format == Format::e4m3 || format == Format::e5m2;
}

/// Formats of 6 and 4 bits, which both kinds of Blackwell multiply as they do fp8 (kind::f8f6f4), each by one
/// instruction.
bool is_narrower(Format format) {
    return format == Format::e3m2 || format == Format::e2m3 || format == Format::e2m1;
}

bool multiplies_narrower(const Generation& generation, Instruction instruction) {
    return generation.tensor_core.mma_sync_multiplies_narrower ||
           (generation.has_tcgen05 && instruction == Instruction::tcgen05);
}

bool has_instruction(const Generation& generation, Instruction instruction) {
    switch (instruction) {
        case Instruction::mma_sync:
            return true;
        case Instruction::wgmma:
            return generation.has_wgmma;
        case Instruction::tcgen05:
            return generation.has_tcgen05;
    }
    return false;
}

[[noreturn]] void reject(const Generation& generation, Format input, Format output) {
    throw std::invalid_argument(std::string("no tensor core operation ") + traits(input).name + " -> " +
                                traits(output).name + " on " + generation.name);
}

}  // namespace

DotProductParameters parameters_for(const Generation& generation, Format input, Format output,
                                    Instruction instruction) {
    const target::TensorCoreArithmetic& row = generation.tensor_core;
    if (!has_instruction(generation, instruction)) reject(generation, input, output);

    DotProductParameters parameters;
    parameters.input = parameters.input_b = input;
    parameters.output = output;
    switch (input) {
        case Format::fp16:
            parameters.block_length = row.length_16bit;
            break;
        case Format::bf16:
            parameters.block_length = generation.has_bf16 ? row.length_16bit : 0;
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

DotProductParameters parameters_for(const Generation& generation, Format input, Format input_b, Format output,
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
