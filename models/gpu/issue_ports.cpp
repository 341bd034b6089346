#include "models/gpu/issue_ports.h"

#include <string>

namespace heddle::models::gpu {

using ptx::Operation;

PipelinesConfig::PipelinesConfig() {
    PipelinesConfig& table = *this;
    table[Operation::fp32] = {Unit::fma, 2, 4};
    table[Operation::fp32_compare] = {Unit::alu, 2, 5};
    table[Operation::integer] = {Unit::alu, 2, 4};
    table[Operation::integer_compare] = {Unit::alu, 2, 4};
    table[Operation::move] = {Unit::alu_or_fma_heavy, 2, 4};
    table[Operation::multiply] = {Unit::fma_heavy, 2, 4};
    table[Operation::multiply_wide] = {Unit::fma_heavy, 4, 5};
    table[Operation::half] = {Unit::fma, 2, 5};
    table[Operation::bf16] = {Unit::fma, 2, 5};
    table[Operation::half_conversion] = {Unit::alu, 2, 5};
    table[Operation::fp64] = {Unit::fp64, 2, 8};
    table[Operation::special] = {Unit::special, 8, 19};
    table[Operation::conversion] = {Unit::special, 8, 15};
    table[Operation::wide_conversion] = {Unit::special, 8, 15};
    table[Operation::bit_count] = {Unit::special, 8, 15};
    table[Operation::vote] = {Unit::alu, 2, 4};
    table[Operation::warp_reduce] = {Unit::special, 8, 19};
    table[Operation::uniform] = {Unit::uniform, 2, 4};
}

namespace {

const char* meaning_of(Operation operation) {
    switch (operation) {
        case Operation::fp32:
            return "fp32 additions, products and multiply-additions";
        case Operation::fp32_compare:
            return "fp32 comparisons, minima and maxima";
        case Operation::integer:
            return "integer additions, logic, shifts and permutations";
        case Operation::integer_compare:
            return "integer comparisons, minima, maxima and logic of predicates";
        case Operation::move:
            return "moves and selections";
        case Operation::multiply:
            return "32-bit integer products and multiply-additions";
        case Operation::multiply_wide:
            return "integer products of 64 bits";
        case Operation::half:
            return "packed fp16 arithmetic";
        case Operation::bf16:
            return "packed bfloat16 arithmetic";
        case Operation::half_conversion:
            return "conversions between fp32 and 16-bit floats";
        case Operation::fp64:
            return "fp64 arithmetic";
        case Operation::special:
            return "special functions (MUFU)";
        case Operation::conversion:
            return "conversions between integers and floats of at most 32 bits";
        case Operation::wide_conversion:
            return "conversions from and to 64-bit types";
        case Operation::bit_count:
            return "population counts, leading bits and bit reversals";
        case Operation::vote:
            return "votes of a warp";
        case Operation::warp_reduce:
            return "integer reductions and matches over a warp";
        case Operation::uniform:
            return "integer operations on values that all threads of a warp share";
        default:
            return "";
    }
}

}  // namespace

void describe(PipelinesConfig& config, ParameterList& list) {
    // In the order of Unit; the last two are not for arithmetic.
    const std::vector<std::string> ports{"fma_heavy", "fma_lite",   "alu",     "half",
                                         "fp64",      "special",    "uniform", "control",
                                         "tensor",    "load_store", "fma",     "alu_or_fma_heavy"};
    for (auto i = static_cast<std::uint8_t>(kFirstConfigured);
         i <= static_cast<std::uint8_t>(kLastConfigured); ++i) {
        const auto operation = static_cast<Operation>(i);
        OperationConfig& row = config[operation];
        const std::string path = "pipelines." + std::string(name_of(operation)), what = meaning_of(operation);
        list.add_choice(path + ".port", row.port, ports,
                        "Datapath of a sub-core for " + what + "; fma: fma_heavy or fma_lite.");
        list.add(path + ".interval", row.interval, Quantity::cycles, 0.5, 128,
                 "Cycles for which one warp instruction occupies its port: " + what + ".");
        list.add(path + ".latency", row.latency, Quantity::cycles, 1, 1000,
                 "Cycles until a dependent instruction may issue: " + what + ".");
    }
    list.add("pipelines.uniform_datapath", config.uniform_datapath, Quantity::count, 0, 1,
             "true: work that is the same for all threads of a warp has a datapath of its own.");
}

}  // namespace heddle::models::gpu
