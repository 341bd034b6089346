#include "isa/numerics/summation_tree.h"

#include <algorithm>
#include <stdexcept>

namespace heddle::numerics {

using Node = SummationTree::Node;

SummationTree::Builder::Builder(std::size_t leaf_count) : leaf_count_(leaf_count) {
    if (leaf_count >= std::size_t{1} << 30) throw std::invalid_argument("a sum of more than 2^30 numbers");
}

Node SummationTree::Builder::add(std::span<const Node> children) {
    std::vector<Node> present;
    for (const Node child : children) {
        if (child == kNone) continue;
        if (child >= leaf_count_ + inner_.size()) throw std::invalid_argument("no such node");
        present.push_back(child);
    }
    if (present.empty()) return kNone;
    if (present.size() == 1) return present.front();
    inner_.push_back(std::move(present));
    return static_cast<Node>(leaf_count_ + inner_.size() - 1);
}

Node SummationTree::Builder::add(Node a, Node b) {
    const Node both[] = {a, b};
    return add(both);
}

Node SummationTree::Builder::chain(Node start, std::size_t begin, std::size_t end, std::size_t length) {
    std::vector<Node> block;
    for (std::size_t k = begin; k < end;) {
        block.assign(1, start);
        for (const std::size_t stop = std::min(end, k + length); k < stop; ++k)
            block.push_back(static_cast<Node>(k));
        start = add(block);
    }
    return start;
}

SummationTree SummationTree::Builder::finish(Node root) {
    const std::size_t count = leaf_count_ + inner_.size();
    std::vector<bool> has_parent(count, false);
    std::vector<Node> smallest(count);
    for (Node k = 0; k < leaf_count_; ++k) smallest[k] = k;
    for (std::size_t i = 0; i < inner_.size(); ++i) {
        smallest[leaf_count_ + i] = kNone;
        for (const Node child : inner_[i]) {
            if (has_parent[child]) throw std::invalid_argument("a summand is added twice");
            has_parent[child] = true;
            smallest[leaf_count_ + i] = std::min(smallest[leaf_count_ + i], smallest[child]);
        }
        std::sort(inner_[i].begin(), inner_[i].end(),
                  [&](Node a, Node b) { return smallest[a] < smallest[b]; });
    }

    SummationTree tree;
    tree.leaf_count_ = leaf_count_;
    if (root == kNone) return tree;
    std::vector<Node> number(count, kNone);
    for (Node k = 0; k < leaf_count_; ++k) number[k] = k;
    struct Visit {
        Node node;
        std::size_t next;
    };
    std::vector<Visit> stack;
    if (root >= leaf_count_) stack.push_back({root, 0});
    while (!stack.empty()) {
        const std::vector<Node>& children = inner_[stack.back().node - leaf_count_];
        if (stack.back().next < children.size()) {
            const Node child = children[stack.back().next++];
            if (child >= leaf_count_) stack.push_back({child, 0});
            continue;
        }
        for (const Node child : children) tree.children_.push_back(number[child]);
        number[stack.back().node] = static_cast<Node>(leaf_count_ + tree.first_child_.size() - 1);
        tree.first_child_.push_back(static_cast<std::uint32_t>(tree.children_.size()));
        stack.pop_back();
    }
    tree.root_ = number[root];
    return tree;
}

std::span<const Node> SummationTree::children(Node node) const {
    if (node < leaf_count_) return {};
    const std::size_t inner = node - leaf_count_;
    return {children_.data() + first_child_[inner], first_child_[inner + 1] - first_child_[inner]};
}

std::vector<Node> SummationTree::missing() const {
    std::vector<bool> present(leaf_count_, false);
    for (const Node child : children_)
        if (child < leaf_count_) present[child] = true;
    if (root_ < leaf_count_) present[root_] = true;
    std::vector<Node> absent;
    for (Node k = 0; k < leaf_count_; ++k)
        if (!present[k]) absent.push_back(k);
    return absent;
}

SummationTree::PairSizes::PairSizes(const SummationTree& tree)
    : parent_(tree.node_count(), kNone),
      depth_(tree.node_count(), 0),
      size_(tree.node_count(), 1),
      jump_(tree.node_count(), kNone) {
    const Node first = static_cast<Node>(tree.leaf_count()), count = static_cast<Node>(tree.node_count());
    for (Node node = first; node < count; ++node) {
        size_[node] = 0;
        for (const Node child : tree.children(node)) {
            parent_[child] = node;
            size_[node] += size_[child];
        }
    }
    // Skip pointers of Myers: from every node to its parent or some way up, so that any ancestor is near.
    const auto place = [&](Node node) {
        const Node up = parent_[node];
        if (up == kNone) {
            jump_[node] = node;
            return;
        }
        depth_[node] = depth_[up] + 1;
        const Node once = jump_[up], twice = jump_[once];
        jump_[node] = depth_[up] - depth_[once] == depth_[once] - depth_[twice] ? twice : up;
    };
    for (Node node = count; node-- > first;) place(node);
    for (Node leaf = 0; leaf < first; ++leaf) place(leaf);
}

std::size_t SummationTree::PairSizes::operator()(Node a, Node b) const {
    const auto lift = [&](Node node, std::uint32_t depth) {
        while (depth_[node] > depth) node = depth_[jump_[node]] < depth ? parent_[node] : jump_[node];
        return node;
    };
    const std::uint32_t depth = std::min(depth_[a], depth_[b]);
    a = lift(a, depth);
    b = lift(b, depth);
    while (a != b) {
        if (parent_[a] == kNone || parent_[b] == kNone) return 0;
        const bool far = jump_[a] != jump_[b];
        a = far ? jump_[a] : parent_[a];
        b = far ? jump_[b] : parent_[b];
    }
    return size_[a];
}

}  // namespace heddle::numerics
