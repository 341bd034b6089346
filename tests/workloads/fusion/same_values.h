// Whether a fused step computes what the plain one does, in the double-precision reference.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "workloads/reference/execute.h"
#include "workloads/trace/trace.h"

namespace heddle::tests {

/// All tensors that the fused step still makes must have the values of the plain one, within `tolerance` of
/// each. A result that lies in a strided view there is left out: its numbers lie elsewhere.
inline void check_same_values(const trace::Trace& plain, const trace::Trace& fused, double tolerance) {
    reference::TensorValues expected(plain), found(fused);
    reference::execute(plain, expected);
    reference::execute(fused, found);
    std::size_t compared = 0;
    for (const trace::Op& op : fused.ops) {
        for (std::size_t k = 0; k < op.outputs.size(); ++k) {
            if (op.has_strides("output" + std::to_string(k))) continue;
            const auto a = expected[op.outputs[k]], b = found[op.outputs[k]];
            REQUIRE(a.size() == b.size());
            for (std::size_t i = 0; i < a.size(); ++i) {
                const auto same = Approx(a[i]).epsilon(tolerance).margin(1e-12);
                if (b[i] == same) continue;
                CAPTURE(op.name, k, i);
                CHECK(b[i] == same);
                return;
            }
            ++compared;
        }
    }
    CHECK(compared > 0);
}

}  // namespace heddle::tests
