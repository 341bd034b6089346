// What a fused step holds: never more than the step that it was made of, and no gradient before there is one.
#include "workloads/trace/memory.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "workloads/fusion/fuse.h"
#include "workloads/fusion/xla.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using trace::MemoryProfile;
using trace::MemoryUse;
using trace::Phase;
using trace::Trace;

namespace {

using Options = std::map<std::string, std::string>;

std::uint64_t held(const MemoryProfile& profile, trace::OpId op, MemoryUse use) {
    return profile.during[op][static_cast<std::size_t>(use)];
}

std::uint64_t peak(const MemoryProfile& profile) {
    return trace::total(profile.during[profile.peak]);
}

/// Most bytes of this use that any op of the forward pass sees.
std::uint64_t most_in_forward(const Trace& trace, const MemoryProfile& profile, MemoryUse use) {
    std::uint64_t most = 0;
    for (trace::OpId i = 0; i < trace.ops.size(); ++i)
        if (trace.ops[i].phase == Phase::forward) most = std::max(most, held(profile, i, use));
    return most;
}

/// The memory that a tensor lies in; tensors without a storage of their own number are alone in theirs.
const trace::Allocation& allocation_of(const Trace& trace, const MemoryProfile& profile, trace::TensorId id) {
    const std::uint64_t shared = trace.tensor(id).storage;
    const std::uint64_t storage = shared != 0 ? shared : std::uint64_t{1} << 63 | id;
    const auto found = std::find_if(profile.allocations.begin(), profile.allocations.end(),
                                    [&](const trace::Allocation& one) { return one.storage == storage; });
    REQUIRE(found != profile.allocations.end());
    return *found;
}

/// The step as each compiler makes it.
std::vector<std::pair<std::string, Trace>> fused_forms(const Trace& plain) {
    return {{"torch.compile", fusion::fuse(plain)},
            {"XLA", fusion::fuse_as_xla(plain)},
            {"XLA, updates apart", fusion::fuse_as_xla(plain, {{}, false})}};
}

/// One of each kind of model, with few layers where layers repeat, and what changes which tensors are held.
const std::vector<std::pair<std::string, Options>>& models() {
    static const std::vector<std::pair<std::string, Options>> all{
        {"mlp", {}},
        {"lstm", {{"sequence", "8"}}},
        {"gpt", {}},
        {"gpt2-small", {}},
        {"gpt2-small", {{"layers", "2"}, {"type", "f32"}, {"optimizer", "sgd"}}},
        {"gpt2-small", {{"layers", "2"}, {"recompute", "selective"}}},
        {"gpt2-small", {{"layers", "2"}, {"recompute", "full"}}},
        {"gpt2-small", {{"layers", "2"}, {"dropout", "0.1"}, {"clip_norm", "1"}}},
        {"gpt2-small", {{"layers", "2"}, {"fp8", "1"}}},
        {"llama2-7b", {{"layers", "2"}, {"recompute", "selective"}}},
        {"llama3-8b", {{"layers", "2"}, {"sequence", "1024"}}},
        {"bert-large", {{"layers", "3"}}},
        {"vit-b16", {{"layers", "3"}}},
        {"switch-base-8", {{"layers", "2"}}},
        {"resnet18", {}},
        {"resnet50", {{"type", "f32"}}},
        {"resnet50", {{"layout", "nhwc"}, {"batch", "4"}}},
    };
    return all;
}

}  // namespace

TEST_CASE("fused steps never hold more at their peak than the steps that they were made of") {
    auto cases = models();
    cases.emplace_back("gpt2-small", Options{{"layers", "2"}, {"micro_batches", "2"}});
    cases.emplace_back("resnet18", Options{{"micro_batches", "2"}});
    for (const auto& [model, options] : cases) {
        CAPTURE(model, options);
        const Trace plain = zoo::build(model, options);
        const std::uint64_t before = peak(trace::profile_memory(plain));
        for (const auto& [compiler, fused] : fused_forms(plain)) {
            CAPTURE(compiler);
            CHECK(peak(trace::profile_memory(fused)) <= before);
        }
    }
}

TEST_CASE("no gradient of a parameter is held in a forward pass, fused or not") {
    for (const auto& [model, options] : models()) {
        CAPTURE(model, options);
        const Trace plain = zoo::build(model, options);
        CHECK(most_in_forward(plain, trace::profile_memory(plain), MemoryUse::gradients) == 0);
        for (const auto& [compiler, fused] : fused_forms(plain)) {
            CAPTURE(compiler);
            CHECK(most_in_forward(fused, trace::profile_memory(fused), MemoryUse::gradients) == 0);
        }
    }
}

TEST_CASE("what a product multiplies is freed after it, though the product's epilogue updates the weight") {
    const Trace plain = zoo::build("gpt2-small", {{"layers", "2"}});
    const Trace fused = fusion::fuse_as_xla(plain);
    const MemoryProfile profile = trace::profile_memory(fused);
    std::size_t updates = 0;
    for (trace::OpId i = 0; i < fused.ops.size(); ++i) {
        const trace::Op& op = fused.ops[i];
        const bool updates_weight = std::any_of(
            op.outputs.begin(), op.outputs.end(),
            [&](trace::TensorId id) { return fused.tensor(id).role == trace::TensorRole::parameter; });
        if (op.kind != trace::OpKind::matmul || !updates_weight) continue;
        ++updates;
        for (std::size_t k = 0; k < 2; ++k) {
            const trace::Allocation& multiplied = allocation_of(fused, profile, op.inputs[k]);
            CAPTURE(op.name, multiplied.name);
            CHECK(multiplied.use == MemoryUse::activations);
            CHECK(multiplied.last < fused.ops.size() - 1);
        }
    }
    CHECK(updates == 8);
    // A step's gradients are four bytes a parameter; those of two blocks' matrices are never written.
    const auto most_gradients = [&](const Trace& trace) {
        const MemoryProfile all = trace::profile_memory(trace);
        return held(all, static_cast<trace::OpId>(trace.ops.size() - 1), MemoryUse::gradients);
    };
    CHECK(most_gradients(fused) + 2ULL * 12 * 768 * 768 * 2 <= most_gradients(plain));
}

TEST_CASE("what is computed again stays computed again under fusion") {
    const auto activations = [](const Options& options) {
        const Trace fused = fusion::fuse_as_xla(zoo::build("gpt2-small", options));
        return most_in_forward(fused, trace::profile_memory(fused), MemoryUse::activations);
    };
    const std::uint64_t kept = activations({{"layers", "4"}});
    const std::uint64_t again = activations({{"layers", "4"}, {"recompute", "selective"}});
    // Of each of four blocks, at least the result of GELU: 8 x 1024 tokens, 4 x 768 numbers of two bytes.
    CHECK(again + 4ULL * 8 * 1024 * 4 * 768 * 2 <= kept);
}

TEST_CASE("weights of images' convolutions are weights, whichever view of them is used first") {
    const Trace plain = zoo::build("resnet50", {{"type", "f32"}, {"batch", "2"}});
    const Trace fused = fusion::fuse_as_xla(plain);
    const auto last = [](const Trace& trace) { return static_cast<trace::OpId>(trace.ops.size() - 1); };
    const MemoryProfile before = trace::profile_memory(plain), after = trace::profile_memory(fused);
    CHECK(held(after, last(fused), MemoryUse::weights) == held(before, last(plain), MemoryUse::weights));
    CHECK(held(after, last(fused), MemoryUse::other) == held(before, last(plain), MemoryUse::other));
}
