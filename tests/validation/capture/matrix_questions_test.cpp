#include <catch2/catch.hpp>
#include <cstdio>
#include "validation/capture/sections/matrix_questions.h"
using namespace heddle::capture;
TEST_CASE("list", "[.list]") {
    for (unsigned cc : {70u, 75u, 80u, 89u, 90u}) for (auto& i : matrix_instructions(cc)) { auto m = model_of(i, cc); if (!m || i.kind == MatrixInstruction::Kind::sparse) continue;
      for (auto& q : questions_about(i, *m)) { std::printf("%u %s [%u %s] rows %zu:", cc, i.mnemonic().c_str(), q.number, q.topic.c_str(), q.products.count()); for (auto& h : q.hypotheses) std::printf(" {%s}", h.answer.c_str()); std::printf("\n"); } }
}
