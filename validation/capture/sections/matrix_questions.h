// Questions about the arithmetic of one matrix instruction: operands that tell the possible answers apart.
#pragma once

#include <string>
#include <vector>

#include "validation/capture/sections/matrix_probe.h"
#include "validation/capture/sections/sum_model.h"

namespace heddle::capture {

/// One possible answer: what the hardware would have to do to give it.
struct Hypothesis {
    std::string answer;
    SumModel model;
};

struct MatrixQuestion {
    /// 1 to 8 as the documentation of the numerics counts them; 0: not among these.
    unsigned number = 0;
    std::string topic;  ///< unique for an instruction: "block length"
    std::string asked;  ///< one line for people
    DotProducts products;
    /// The first is what Heddle's model says. No two give the same results on `products`: the answers of
    /// those that would are joined, "e0=-20 or e0=-21".
    std::vector<Hypothesis> hypotheses;
};

/// All questions that make sense for the instruction (floating point, dense). `base` is what is believed.
std::vector<MatrixQuestion> questions_about(const MatrixInstruction& instruction, const SumModel& base);

/// What a hypothesis gives on the question's operands.
std::vector<std::uint64_t> results_of(const Hypothesis& hypothesis, const DotProducts& products);

/// Index of the hypothesis that gives exactly these results, or -1.
int answer_of(const MatrixQuestion& question, const std::vector<std::uint64_t>& results);

}  // namespace heddle::capture
