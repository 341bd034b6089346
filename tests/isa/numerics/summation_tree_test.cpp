#include "isa/numerics/summation_tree.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "isa/common/error.h"

namespace heddle::numerics {
namespace {

using Node = SummationTree::Node;

SummationTree tree_of(const std::string& text) {
    return SummationTree::parse(text);
}

/// Pairs whose smallest common subtree has this many leaves, straight from the definition.
std::size_t pair_size_slowly(const SummationTree& tree, Node a, Node b) {
    std::vector<std::vector<bool>> below(tree.node_count(), std::vector<bool>(tree.leaf_count(), false));
    std::size_t best = 0;
    for (Node node = 0; node < tree.node_count(); ++node) {
        if (tree.is_leaf(node)) below[node][node] = true;
        for (const Node child : tree.children(node))
            for (std::size_t k = 0; k < tree.leaf_count(); ++k)
                if (below[child][k]) below[node][k] = true;
        const auto size = static_cast<std::size_t>(std::count(below[node].begin(), below[node].end(), true));
        if (below[node][a] && below[node][b] && (best == 0 || size < best)) best = size;
    }
    return best;
}

TEST_CASE("A chain of tensor core blocks has one short text") {
    SummationTree::Builder builder(64);
    const SummationTree tree = builder.finish(builder.chain(SummationTree::kNone, 0, 64, 16));
    CHECK(tree.text() == "<(0*16); 16*16>*3:16");
    CHECK(tree.node_count() == 64 + 4);
    CHECK(tree.children(64).size() == 16);
    CHECK(tree.children(65).size() == 17);
    CHECK(tree_of(tree.text()) == tree);
}

TEST_CASE("Known orders and their texts") {
    SECTION("a chain of additions") {
        SummationTree::Builder builder(512);
        CHECK(builder.finish(builder.chain(SummationTree::kNone, 0, 512, 1)).text() == "<0; 1>*511");
    }
    SECTION("two, three") {
        CHECK(tree_of("(0 1)").children(2).size() == 2);
        CHECK(tree_of("(0*3)") == tree_of("(2 0 1)"));
        CHECK(tree_of("((0 1) 2)").text() == "<0; 1>*2");
    }
    SECTION("pairwise") {
        SummationTree::Builder builder(8);
        std::vector<Node> level{0, 1, 2, 3, 4, 5, 6, 7};
        while (level.size() > 1) {
            std::vector<Node> next;
            for (std::size_t i = 0; i < level.size(); i += 2)
                next.push_back(builder.add(level[i], level[i + 1]));
            level = next;
        }
        CHECK(builder.finish(level[0]).text() == "(((0 1)*2:2)*2:4)");
    }
    SECTION("from the end") {
        SummationTree::Builder builder(6);
        Node sum = 5;
        for (Node k = 5; k-- > 0;) sum = builder.add(sum, k);
        const SummationTree tree = builder.finish(sum);
        CHECK(tree == tree_of("(((((5 4) 3) 2) 1) 0)"));
        CHECK(tree_of(tree.text()) == tree);
        CHECK(tree.text() == "<(4 5); 3>*4:-1");
    }
    SECTION("summands that are never read") {
        SummationTree::Builder builder(20);
        const SummationTree tree = builder.finish(builder.chain(SummationTree::kNone, 0, 16, 8));
        CHECK(tree.text() == "((0*8) 8*8) without 16*4");
        CHECK(tree.missing() == std::vector<Node>{16, 17, 18, 19});
        CHECK(tree_of(tree.text()) == tree);
    }
    SECTION("one summand, none") {
        CHECK(SummationTree::Builder(1).finish(0).text() == "0");
        CHECK(tree_of("0").leaf_count() == 1);
        CHECK(SummationTree::Builder(3).finish(SummationTree::kNone).text() == "- without 0*3");
        CHECK(tree_of("- without 0*3").missing().size() == 3);
    }
}

TEST_CASE("Random trees go through text unchanged, and their pair sizes agree with the definition") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        const std::size_t k = 1 + random() % 40;
        SummationTree::Builder builder(k);
        std::vector<Node> open;
        for (Node leaf = 0; leaf < k; ++leaf) open.push_back(leaf);
        while (open.size() > 1) {
            std::shuffle(open.begin(), open.end(), random);
            const std::size_t count = 2 + random() % std::min<std::size_t>(open.size() - 1, 4);
            const Node node = builder.add(std::span<const Node>(open).last(std::min(count, open.size())));
            open.resize(open.size() - std::min(count, open.size()));
            open.push_back(node);
        }
        const SummationTree tree = builder.finish(open[0]);
        CAPTURE(tree.text());
        CHECK(tree_of(tree.text()) == tree);
        CHECK(tree_of(tree.text()).text() == tree.text());
        if (k < 2) continue;
        const SummationTree::PairSizes sizes(tree);
        for (int i = 0; i < 10; ++i) {
            const Node a = static_cast<Node>(random() % k), b = static_cast<Node>(random() % k);
            CHECK(sizes(a, b) == pair_size_slowly(tree, a, b));
        }
    }
}

TEST_CASE("A long irregular chain is written without deep recursion") {
    constexpr std::size_t kLeaves = 60'000;
    SummationTree::Builder builder(kLeaves);
    std::vector<Node> order(kLeaves);
    for (Node k = 0; k < kLeaves; ++k) order[k] = k;
    std::shuffle(order.begin(), order.end(), std::mt19937(3));
    Node sum = order[0];
    for (std::size_t i = 1; i < kLeaves; ++i) sum = builder.add(sum, order[i]);
    const SummationTree tree = builder.finish(sum);
    CHECK(tree.text().size() > kLeaves);
    const SummationTree::PairSizes sizes(tree);
    CHECK(sizes(order[0], order[kLeaves - 1]) == kLeaves);
    CHECK(sizes(order[100], order[999]) == 1000);
}

TEST_CASE("Bad texts of trees are told") {
    for (const char* text : {"", "(0 1", "(0 1) x", "<0; 1>", "<0; 1>*0", "(0 -1)", "(0 0)", "(0 1)*2", "()",
                             "<0; 1>*99999999", "(0*5000000)", "(1 99999999999)"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(SummationTree::parse(text), Error);
    }
    CHECK_THROWS_AS(SummationTree::parse(std::string(100'000, '(')), Error);
}

}  // namespace
}  // namespace heddle::numerics
