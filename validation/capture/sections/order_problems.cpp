#include "validation/capture/sections/order_problems.h"

#include <set>
#include <string>

namespace heddle::capture {
namespace {

// What tells arithmetic apart: operands, output and the compute type.
std::vector<GemmProblem> kinds_of_arithmetic() {
    std::vector<GemmProblem> kinds;
    const auto add = [&](Type ab, Type cd, Compute compute) {
        GemmProblem problem;
        problem.a = problem.b = ab;
        problem.c = problem.d = cd;
        problem.compute = compute;
        problem.transpose_b = true;
        kinds.push_back(problem);
    };
    add(Type::f16, Type::f16, Compute::f32);
    add(Type::bf16, Type::bf16, Compute::f32);
    add(Type::f16, Type::f32, Compute::f32);
    add(Type::bf16, Type::f32, Compute::f32);
    add(Type::f32, Type::f32, Compute::tf32);
    add(Type::f32, Type::f32, Compute::f32);
    add(Type::f32, Type::f32, Compute::f32_pedantic);
    add(Type::f64, Type::f64, Compute::f64);
    add(Type::f16, Type::f16, Compute::f16);
    add(Type::e4m3, Type::f32, Compute::f32);
    add(Type::e4m3, Type::bf16, Compute::f32);
    kinds.push_back(kinds[kinds.size() - 2]);
    kinds.back().fast_accumulation = true;
    kinds.push_back(kinds[kinds.size() - 2]);
    kinds.back().fast_accumulation = true;
    kinds.push_back(kinds[kinds.size() - 4]);
    kinds.back().b = Type::e5m2;
    return kinds;
}

struct Shape {
    std::uint64_t m, n, k;
};

bool is_fp8(const GemmProblem& problem) {
    return bytes_of(problem.a) == 1;
}

// fp8 wants rows of 16 bytes, and B transposed.
bool allowed(const GemmProblem& problem) {
    if (!is_fp8(problem)) return true;
    return problem.m % 16 == 0 && problem.n % 16 == 0 && problem.k % 16 == 0 && !problem.transpose_a &&
           problem.transpose_b;
}

class List {
  public:
    void add(GemmProblem problem, Shape shape, unsigned algorithms) {
        problem.m = shape.m;
        problem.n = shape.n;
        problem.k = shape.k;
        if (!allowed(problem) || !names_.insert(problem.name()).second) return;
        problems.push_back({problem, algorithms});
    }
    std::vector<OrderProblem> problems;

  private:
    std::set<std::string> names_;
};

GemmProblem with_layout(GemmProblem problem, bool transpose_a, bool transpose_b) {
    problem.transpose_a = transpose_a;
    problem.transpose_b = transpose_b;
    return problem;
}

std::vector<OrderProblem> quick_problems() {
    List list;
    for (const GemmProblem& kind : kinds_of_arithmetic()) list.add(kind, {32, 16, 32}, 2);
    list.add(kinds_of_arithmetic()[1], {32, 32, 96}, 4);
    return list.problems;
}

}  // namespace

std::vector<OrderProblem> order_problems(Extent extent) {
    if (extent == Extent::quick) return quick_problems();
    List list;
    const std::vector<GemmProblem> kinds = kinds_of_arithmetic();
    for (const GemmProblem& kind : kinds) list.add(kind, {1024, 1024, 512}, 3);
    // Few tiles and a long K: split-K. The range of fp8 is so small that few units can be counted at once:
    // its probes take the longest.
    for (const GemmProblem& kind : kinds) list.add(kind, {128, 128, 4096}, is_fp8(kind) ? 1 : 4);
    // A K that no block divides: the residue.
    for (const GemmProblem& kind : kinds) list.add(kind, {256, 192, 520}, 3);
    for (const GemmProblem& kind : kinds) list.add(kind, {250, 120, 331}, 2);
    for (const GemmProblem& kind : kinds) {
        for (const std::uint64_t k : {8u, 16u, 64u, 100u, 128u, 1000u}) list.add(kind, {512, 256, k}, 1);
    }
    for (const GemmProblem& kind : kinds) {
        for (const bool transpose_a : {false, true})
            for (const bool transpose_b : {false, true})
                list.add(with_layout(kind, transpose_a, transpose_b), {512, 512, 768}, 2);
    }
    for (const GemmProblem& kind : kinds) {
        list.add(kind, {16, 4096, 1024}, 2);
        list.add(kind, {4096, 16, 1024}, 2);
        list.add(kind, {2048, 2048, 2048}, 1);
    }
    for (const GemmProblem& kind : kinds)
        if (!is_fp8(kind)) list.add(kind, {4096, 4096, 4096}, 1);
    return list.problems;
}

}  // namespace heddle::capture
