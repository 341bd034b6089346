// What a wake-up of a block costs: the timing wheel of ClockDomain, in nanoseconds per activation.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "models/common/clock_domain.h"

namespace {

using heddle::models::Block;
using heddle::models::ClockDomain;
using heddle::models::Cycle;
using heddle::models::kNever;

/// Sleeps between 1 and 16 cycles, by a linear congruential generator, until it has acted often enough.
class Sleeper : public Block {
  public:
    Sleeper(const sc_core::sc_module_name& name, ClockDomain& clock, std::uint32_t seed)
        : Block(name, clock), seed_(seed) {}

    Cycle tick(Cycle now) override {
        if (remaining_ == 0) return kNever;
        --remaining_;
        state_ = state_ * 1664525u + 1013904223u;
        return now + 1 + (state_ >> 28);
    }
    bool can_act(Cycle) const override { return false; }
    void reset() override { start(0); }
    void start(std::uint32_t activations) {
        remaining_ = activations;
        state_ = seed_;
    }

  private:
    std::uint32_t seed_, state_ = 0, remaining_ = 0;
};

/// SystemC elaborates once per process: one clock with as many blocks as the largest case, of which a case
/// wakes some.
struct Machine {
    static constexpr std::size_t kBlocks = 352;
    ClockDomain clock{"clock", 1e9};
    std::vector<std::unique_ptr<Sleeper>> blocks;

    Machine() {
        for (std::size_t i = 0; i < kBlocks; ++i) {
            const std::string name = "block" + std::to_string(i);
            blocks.push_back(
                std::make_unique<Sleeper>(name.c_str(), clock, static_cast<std::uint32_t>(i) * 7919u));
        }
    }
};

Machine& machine() {
    static Machine only;
    return only;
}

void clock_domain_activation(benchmark::State& state) {
    constexpr std::uint32_t kActivations = 200;
    Machine& m = machine();
    const auto awake = static_cast<std::size_t>(state.range(0));
    std::uint64_t activations = 0;
    for (auto _ : state) {
        m.clock.restart();
        for (std::size_t i = 0; i < awake; ++i) {
            m.blocks[i]->start(kActivations);
            m.blocks[i]->wake(0);
        }
        const std::uint64_t before = m.clock.activations();
        benchmark::DoNotOptimize(m.clock.run());
        activations += m.clock.activations() - before;
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(activations));
}
BENCHMARK(clock_domain_activation)->Arg(1)->Arg(132)->Arg(352);

}  // namespace
