// What an imported trace is made of: ops, kernels and recorded time of each kind.
#pragma once

#include <cstddef>
#include <map>

#include "workloads/trace/trace.h"

namespace heddle::test {

struct Coverage {
    struct Line {
        std::size_t ops = 0, kernels = 0;
        double microseconds = 0;
    };
    std::map<trace::OpKind, Line> kinds;
    Line total;
};

inline Coverage coverage_of(const trace::Trace& trace) {
    Coverage coverage;
    for (const trace::Op& op : trace.ops) {
        for (Coverage::Line* const line : {&coverage.kinds[op.kind], &coverage.total}) {
            ++line->ops;
            line->kernels += static_cast<std::size_t>(op.get(keys::any.kernels));
            line->microseconds += op.measured_us.value_or(0);
        }
    }
    return coverage;
}

}  // namespace heddle::test
