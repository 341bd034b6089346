// What a recorded section `probes` says: the answers to the open questions, and whether today's model gives
// every recorded bit.
#pragma once

#include <string>
#include <vector>

#include "validation/compare/result.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// What one instruction (or one cublasLt problem) answered to one question.
struct ProbeAnswer {
    unsigned question = 0;  ///< 1 to 12; 0: not one of the numbered ones
    std::string topic, instruction, answer;
    std::string believed;  ///< by the model when it was recorded; empty: nothing
    bool agrees() const { return answer == believed; }
};

/// In the order recorded. Throws heddle::Error for damaged records.
std::vector<ProbeAnswer> probe_answers(const CapturedSection& section);

/// Every recorded result beside today's model, recomputed from the recorded operands (questions) or those
/// that the generator gives again (vectors); with the answers as a table, sorted by question, instructions
/// with the same answer joined. What has no model (approximations) is counted, not compared.
std::vector<Comparison> compare_probes(const RecordedCapture& capture, const CompareOptions& options);

}  // namespace heddle::validation
