#include "validation/capture/sections/order_record.h"

#include <cstring>
#include <stdexcept>

#include "validation/capture/blas_record.h"
#include "validation/capture/sections/gemm_order_probe.h"

namespace heddle::capture {
namespace {

constexpr std::size_t kLongestText = 1000;  // of a tree in a line of JSON; longer ones go to the binary file

void observe(SectionContext& context, const GemmProblem& problem, GemmAlgorithm& algorithm, Record& record) {
    try {
        const DeviceBuffer a(context.device, problem.elements_a() * bytes_of(problem.a)),
            b(context.device, problem.elements_b() * bytes_of(problem.b)),
            d(context.device, problem.elements_d() * bytes_of(problem.d));
        GemmOperands operands;
        operands.a = a.address();
        operands.b = b.address();
        operands.c = operands.d = d.address();
        context.device.blas()->observe(problem, algorithm, operands);
    } catch (const DeviceError& error) {
        if (error.lost) throw;
        record.text("not_observed", error.what());
    }
}

void add_order(Record& record, const numerics::RevealedOrder& order, std::vector<std::byte>& bytes) {
    record.integer("probes", static_cast<std::int64_t>(order.probes)).flag("complete", order.complete);
    if (!order.tree) {
        record.text("problem_text", order.problem);
        return;
    }
    const std::string text = order.tree->text();
    record.integer("tree_length", static_cast<std::int64_t>(text.size()));
    if (text.size() <= kLongestText) {
        record.text("tree", text);
    } else {
        bytes.resize(text.size());
        std::memcpy(bytes.data(), text.data(), text.size());
    }
}

}  // namespace

bool has_order(const GemmProblem& p) {
    return probed_arithmetic(p) && p.alpha == 1 && p.beta == 0 && p.epilogue == Epilogue::none &&
           p.batch == 1 && p.ldd == 0;
}

bool reveal_algorithm(SectionContext& context, const GemmProblem& problem, GemmAlgorithm algorithm,
                      Record& record, std::vector<std::byte>& bytes) {
    observe(context, problem, algorithm, record);
    record.object("algorithm", record_of(algorithm));
    try {
        GemmOrderProbe probe(context.device, problem);
        probe.stop = context.stop;
        numerics::RevealedOrder order = probe.reveal(algorithm);
        if (!order.tree) {  // perhaps the edges differ: one tile by itself
            record.text("problem_of_all_places", order.problem);
            order = probe.reveal(algorithm, GemmOrderProbe::Places::corner);
            record.text("places", "corner");
        }
        add_order(record, order, bytes);
        record.integer("multiplications", static_cast<std::int64_t>(probe.multiplications()));
    } catch (const std::exception& error) {
        if (const auto* device_error = dynamic_cast<const DeviceError*>(&error);
            device_error && device_error->lost)
            throw;
        if (context.stop()) return false;  // interrupted: next time
        record.text("error", error.what());
    }
    return true;
}

}  // namespace heddle::capture
