// Dominators, lives and webs, held to what these words mean.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "isa/ptx/decode/dominators.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/schedule/definitions.h"
#include "random_program.h"

namespace heddle::ptx {
namespace {

/// Nodes that can be reached from `root` without passing `without`.
std::vector<bool> reached(const Edges& successors, std::uint32_t root, std::uint32_t without) {
    std::vector<bool> seen(successors.size(), false);
    std::vector<std::uint32_t> work;
    const auto visit = [&](std::uint32_t node) {
        if (node == without || seen[node]) return;
        seen[node] = true;
        work.push_back(node);
    };
    visit(root);
    while (!work.empty()) {
        const std::uint32_t node = work.back();
        work.pop_back();
        for (const std::uint32_t next : successors[node]) visit(next);
    }
    return seen;
}

}  // namespace

TEST_CASE("a dominator is what all ways pass", "[schedule]") {
    std::mt19937 random(5);
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    for (unsigned graph = 0; graph < 400; ++graph) {
        const std::uint32_t nodes = 1 + below(24), root = below(nodes);
        Edges successors(nodes), predecessors(nodes);
        for (std::uint32_t edge = below(3 * nodes); edge-- > 0;) {
            const std::uint32_t from = below(nodes), to = below(nodes);
            successors[from].push_back(to);
            predecessors[to].push_back(from);
        }
        const std::vector<std::uint32_t> immediate = immediate_dominators(root, successors, predecessors);
        // [a][b]: every way to b passes a.
        std::vector<std::vector<bool>> passed(nodes, std::vector<bool>(nodes, false));
        const std::vector<bool> all = reached(successors, root, kNoInstruction);
        for (std::uint32_t a = 0; a < nodes; ++a) {
            const std::vector<bool> without = reached(successors, root, a);
            for (std::uint32_t b = 0; b < nodes; ++b) passed[a][b] = all[b] && !without[b];
        }
        for (std::uint32_t b = 0; b < nodes; ++b) {
            CAPTURE(graph, b);
            if (!all[b] || b == root) {
                CHECK(immediate[b] == (all[b] ? b : kNoInstruction));
                continue;
            }
            REQUIRE(immediate[b] < nodes);
            CHECK(immediate[b] != b);
            CHECK(passed[immediate[b]][b]);
            for (std::uint32_t a = 0; a < nodes; ++a) {  // what else is passed comes before it
                if (a != b && passed[a][b]) CHECK(passed[a][immediate[b]]);
            }
        }
    }
}

TEST_CASE("a register is live where its value may be read later", "[schedule]") {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        const auto module = parse_shared(test::random_module(seed), "random.ptx");
        const Kernel& kernel = module->kernels[0];
        const std::vector<RegisterUse> uses = register_uses(kernel);
        const ControlFlow flow = analyze_control_flow(kernel);
        const Liveness liveness = analyze_liveness(uses, kernel, flow);
        const std::size_t registers = kernel.registers.size() + 1;
        // From the back to the front, until nothing changes.
        std::vector<std::vector<bool>> in(flow.blocks.size(), std::vector<bool>(registers, false)), out = in;
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t b = flow.blocks.size(); b-- > 0;) {
                for (const std::uint32_t s : flow.blocks[b].successors) {
                    for (std::size_t r = 0; r < registers; ++r) out[b][r] = out[b][r] || in[s][r];
                }
                std::vector<bool> live = out[b];
                for (std::uint32_t i = flow.blocks[b].last + 1; i-- > flow.blocks[b].first;) {
                    if (kernel.instructions[i].guard < 0)
                        for (const std::uint32_t r : uses[i].writes) live[r] = false;
                    for (const std::uint32_t r : uses[i].reads) live[r] = true;
                }
                changed = changed || live != in[b];
                in[b] = std::move(live);
            }
        }
        const auto as_bits = [&](const RegisterSet& set) {
            std::vector<bool> bits(registers, false);
            set.for_each([&](std::uint32_t r) { bits[r] = true; });
            for (std::uint32_t r = 0; r < registers; ++r)
                if (set.contains(r) != bits[r]) return std::vector<bool>();
            return bits;
        };
        for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
            const bool same =
                as_bits(liveness.live_in[b]) == in[b] && as_bits(liveness.live_out[b]) == out[b];
            CAPTURE(seed, b);
            REQUIRE(same);
        }
    }
}

TEST_CASE("values that meet in no use get registers of their own", "[schedule]") {
    // %r0 holds three values: the second one is written on both sides of a branch, the third behind code that
    // nothing reaches.
    const auto module = parse_shared(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry test(.param .u64 p)\n{\n"
        ".reg .b32 %r<4>; .reg .pred %p; .reg .b64 %d;\nld.param.u64 %d, [p];\n"
        "mov.u32 %r0, %tid.x; setp.eq.u32 %p, %r0, 3;\n"
        "@%p bra other; mov.u32 %r0, 1; bra both; other: mov.u32 %r0, 2;\nboth: st.global.u32 [%d], %r0;\n"
        "bra on; add.u32 %r1, %r0, 1; st.global.u32 [%d], %r1;\n"
        "on: mov.u32 %r0, 5; st.global.u32 [%d], %r0; ret;\n}\n",
        "webs.ptx");
    Kernel kernel = module->kernels[0];
    split_webs(kernel);
    std::vector<std::uint32_t> written;
    for (const Instruction& n : kernel.instructions) {
        if (n.opcode == Opcode::mov) written.push_back(n.operands[0].index);
    }
    REQUIRE(written.size() == 4);
    CHECK(written[1] == written[2]);
    CHECK(std::set<std::uint32_t>(written.begin(), written.end()).size() == 3);
    CHECK(kernel.instructions[7].operands[1].index == written[1]);   // what both sides have written
    CHECK(kernel.instructions[12].operands[1].index == written[3]);  // the last one
}

}  // namespace heddle::ptx
