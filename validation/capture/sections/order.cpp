// Section "order": in which order cublasLt adds the products of an output element, for every type, over
// shapes, layouts and algorithms.
#include <chrono>
#include <cstring>

#include "isa/numerics/counter_random.h"
#include "validation/capture/blas_record.h"
#include "validation/capture/sections/order_problems.h"
#include "validation/capture/sections/order_record.h"
#include "validation/capture/sections/section_item.h"

namespace heddle::capture {
namespace {

using Clock = std::chrono::steady_clock;

/// Of the section, and of one algorithm, on a GPU: the whole takes less than a minute where all goes well,
/// and what does not must not cost the sections behind.
constexpr double kOrderSeconds = 120, kSecondsOfOne = 8;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// One algorithm: `rank` in the heuristic's list.
void reveal(SectionContext& context, const std::string& id, const GemmProblem& problem, std::size_t rank,
            unsigned wanted) {
    const auto start = Clock::now();
    std::vector<GemmAlgorithm> algorithms = context.device.blas()->algorithms(problem, wanted);
    Record record;
    record.text("kind", "order")
        .object("problem", record_of(problem))
        .integer("rank", static_cast<std::int64_t>(rank));
    if (rank >= algorithms.size()) {
        record.integer("algorithms", static_cast<std::int64_t>(algorithms.size()));
        record.text("left_out", algorithms.empty() ? "the heuristic has no algorithm for this problem"
                                                   : "the heuristic has no more algorithms for this problem");
        context.journal.add(id, record);
        return;
    }
    GemmAlgorithm& algorithm = algorithms[rank];
    std::vector<std::byte> bytes;
    SectionContext timed{context.device, context.journal, context.extent, {}, context.progress};
    timed.stop = [&] {
        return context.stop() || (context.device.is_silicon() && seconds_since(start) > kSecondsOfOne);
    };
    if (!reveal_algorithm(timed, problem, algorithm, record, bytes)) {
        if (context.stop()) return;
        record.text("error", "not revealed within the time of one algorithm");
    }
    record.number("seconds", seconds_since(start));
    context.journal.add(id, record, bytes);
}

// 8-bit integers: every order gives the exact sum modulo 2^32.
void check_integers(SectionContext& context, const std::string& id, std::uint64_t m, std::uint64_t n,
                    std::uint64_t k) {
    GemmProblem problem;
    problem.m = m, problem.n = n, problem.k = k;
    problem.a = problem.b = Type::i8;
    problem.c = problem.d = Type::i32;
    problem.compute = Compute::i32;
    problem.transpose_b = true;
    std::vector<std::int8_t> a(m * k), b(n * k);
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = static_cast<std::int8_t>(numerics::random_bits(1, i) >> 56);
    for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = static_cast<std::int8_t>(numerics::random_bits(2, i) >> 56);
    std::vector<GemmAlgorithm> algorithms = context.device.blas()->algorithms(problem, 1);
    Record record;
    record.text("kind", "integers").object("problem", record_of(problem));
    if (algorithms.empty()) {
        context.journal.add(id, record.text("left_out", "the heuristic has no algorithm for this problem"));
        return;
    }
    const DeviceBuffer a_buffer(context.device, std::as_bytes(std::span(a))),
        b_buffer(context.device, std::as_bytes(std::span(b))), d_buffer(context.device, m * n * 4);
    GemmOperands operands;
    operands.a = a_buffer.address();
    operands.b = b_buffer.address();
    operands.c = operands.d = d_buffer.address();
    context.device.blas()->run(problem, algorithms[0], operands);
    std::vector<std::int32_t> d(m * n);
    context.device.read(d_buffer.address(), std::as_writable_bytes(std::span(d)));
    std::int64_t identical = 0;
    for (std::size_t row = 0; row < m; ++row) {
        for (std::size_t column = 0; column < n; ++column) {
            std::int32_t sum = 0;  // |sum| <= 2^14 k
            for (std::size_t i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
            identical += sum == d[row * n + column] ? 1 : 0;
        }
    }
    record.object("algorithm", record_of(algorithms[0]))
        .integer("elements", static_cast<std::int64_t>(m * n))
        .integer("identical", identical)
        .flag("exact", identical == static_cast<std::int64_t>(m * n));
    context.journal.add(id, record);
}

}  // namespace

bool capture_order(SectionContext& context) {
    if (context.device.blas() == nullptr) {
        if (!context.journal.has("blas"))
            context.journal.add("blas", Record().text("left_out", "this device has no BLAS"));
        return true;
    }
    const auto begun = Clock::now();
    std::vector<SectionItem> items;
    const bool quick = context.extent == Extent::quick;
    for (const std::uint64_t k : {64u, 528u, 4096u}) {
        if (quick && k > 64) continue;
        const std::uint64_t m = quick ? 16 : 128;
        items.push_back({"integers k=" + std::to_string(k),
                         [=](SectionContext& c, const std::string& id) { check_integers(c, id, m, m, k); }});
    }
    for (const OrderProblem& order : order_problems(context.extent)) {
        for (unsigned rank = 0; rank < order.algorithms; ++rank) {
            items.push_back({order.problem.name() + " #" + std::to_string(rank),
                             [=](SectionContext& c, const std::string& id) {
                                 if (c.device.is_silicon() && seconds_since(begun) > kOrderSeconds)
                                     throw LeftOut("the time of the section was over");
                                 reveal(c, id, order.problem, rank, order.algorithms);
                             }});
        }
    }
    return run_items(context, items);
}

}  // namespace heddle::capture
