// When measured times count as settled, and when the rest must not be taken to be like them.
#include "models/gpu/settling.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>

using namespace heddle::models::gpu;

namespace {

std::vector<Batch> batches_of(std::size_t count, const std::function<double(std::size_t)>& time_per_turn) {
    std::vector<Batch> batches;
    for (std::size_t i = 0; i < count; ++i) {
        const double turns = 2;
        batches.push_back({turns * time_per_turn(i), turns});
    }
    return batches;
}

}  // namespace

TEST_CASE("Times that are alike have settled, and the mean is that of a turn") {
    const std::vector<Batch> batches = batches_of(6, [](std::size_t i) { return 1000.0 + 2.0 * (i % 2); });
    const Settled result = settled(batches);
    CHECK(result.used == 6);
    CHECK(result.mean == Approx(1001));
    CHECK(result.error < 0.001);
}

TEST_CASE("One batch, two that differ, and a row that grows have not settled") {
    CHECK(settled(batches_of(1, [](std::size_t) { return 1000.0; })).used == 0);
    CHECK(settled(batches_of(2, [](std::size_t i) { return 1000.0 + 10.0 * i; })).used == 0);
    CHECK(settled(batches_of(2, [](std::size_t i) { return 1000.0 + 1.0 * i; })).used == 2);
    CHECK(settled(batches_of(9, [](std::size_t i) { return 1000.0 + 40.0 * i; })).used == 0);
}

TEST_CASE("Times that become shorter little by little have a trend, though neighbours are alike") {
    // As the forward product of GPT-2's head: 5 % over twenty waves, then level.
    const auto falling = [](std::size_t i) { return 1000.0 + 50.0 * std::exp(-static_cast<double>(i) / 8); };
    const std::vector<Batch> beginning = batches_of(6, falling);
    CHECK(settled(std::vector<Batch>(beginning.end() - 3, beginning.end())).used != 0);
    CHECK(has_trend(beginning));
    std::vector<Batch> end;
    for (std::size_t i = 40; i < 52; ++i) end.push_back({falling(i), 1});
    CHECK_FALSE(has_trend(end));
}

TEST_CASE("Scatter is no trend, unless the halves differ by more than it explains") {
    std::mt19937 random(11);
    std::normal_distribution<double> noise(0, 8);
    unsigned seen = 0, of_slope = 0;
    for (unsigned turn = 0; turn < 200; ++turn) {
        seen += has_trend(batches_of(24, [&](std::size_t) { return 1000.0 + noise(random); }));
        of_slope +=
            has_trend(batches_of(24, [&](std::size_t i) { return 1000.0 + 2.0 * i + noise(random); }));
    }
    CHECK(seen < 20);       // two standard errors: one in twenty
    CHECK(of_slope > 190);  // 24 between the halves, whose means are known to 3
}

TEST_CASE("Of too few batches no trend can be excluded") {
    CHECK(has_trend(batches_of(2 * kFew - 1, [](std::size_t) { return 1000.0; })));
    CHECK_FALSE(has_trend(batches_of(2 * kFew, [](std::size_t) { return 1000.0; })));
}
