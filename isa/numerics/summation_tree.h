// The order of a sum as a tree: leaves are the summands (products of a GEMM, by their k), an inner node adds
// its children, rounding once. Two children are an ordinary addition; more are one fused operation, such as a
// block of products and C in a tensor core. Addition commutes, so children have no order.
//
// The text of a tree, unique and short where the order is regular:
//   7            summand 7
//   (x y z)      a node with these children
//   x*4:16       in a list of children: x, and x with every summand moved by 16, 32 and 48; x*4 moves by 1
//   <x; y>*3:8   a chain, ((((x y) y+8) y+16), where y+8 is y with every summand moved by 8. y may be a list.
//   a trailing " without 8*2" names summands that no node reads: their products are lost.
// So four tensor core blocks of 16 are "<(0*16); 16*16>*3:16", a chain of 512 multiply-adds is "<0; 1>*511",
// and the pairwise sum of eight is "(((0 1)*2:2)*2:4)".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::numerics {

/// An immutable tree; node numbers are valid for this tree alone.
class SummationTree {
  public:
    using Node = std::uint32_t;  ///< below leaf_count(): that summand; else an inner node, children before it
    static constexpr Node kNone = 0xFFFFFFFFu;  ///< no node

    /// Puts a tree together from below.
    class Builder {
      public:
        explicit Builder(std::size_t leaf_count);
        /// A node with these children. A list of one is that one; of none, kNone. kNone in the list is left
        /// out.
        Node add(std::span<const Node> children);
        Node add(Node a, Node b);
        /// A chain: `start` (kNone: nothing) with the summands [begin, end), `length` in each node.
        Node chain(Node start, std::size_t begin, std::size_t end, std::size_t length);
        /// Throws std::invalid_argument when a node has two parents.
        SummationTree finish(Node root);

      private:
        friend class SummationTree;
        std::size_t leaf_count_;
        std::vector<std::vector<Node>> inner_;
    };

    SummationTree() = default;
    /// Reads the text. Throws heddle::Error, also for nesting beyond 2,000 (no regular order has that);
    /// `maximum_leaves` guards against texts that stand for too much.
    static SummationTree parse(std::string_view text, std::size_t maximum_leaves = std::size_t{1} << 22);

    /// Summands, whether they are below the root or not.
    std::size_t leaf_count() const { return leaf_count_; }
    Node root() const { return root_; }  ///< kNone when there is no summand at all
    /// Whether the node is a summand; the children of an inner node, in the order in which the text has them.
    bool is_leaf(Node node) const { return node < leaf_count_; }
    std::span<const Node> children(Node node) const;
    /// Leaves and inner nodes together.
    std::size_t node_count() const { return leaf_count_ + first_child_.size() - 1; }
    /// Summands that are not below the root, ascending.
    std::vector<Node> missing() const;

    /// The notation that parse() reads; regular parts are abbreviated.
    std::string text() const;
    /// Trees are equal when they add the same numbers together at every node.
    bool operator==(const SummationTree&) const = default;

    /// The number of summands below the lowest node that has both; 0 when one of them is missing. Precompute
    /// for many pairs with PairSizes.
    class PairSizes {
      public:
        explicit PairSizes(const SummationTree& tree);
        std::size_t operator()(Node a, Node b) const;

      private:
        std::vector<Node> parent_;
        std::vector<std::uint32_t> depth_, size_;
        std::vector<Node> jump_;  // to an ancestor: logarithmic search
    };

  private:
    std::size_t leaf_count_ = 0;
    Node root_ = kNone;
    // Inner nodes in the order of a walk that visits children, by their smallest summand, before parents.
    std::vector<std::uint32_t> first_child_{0};
    std::vector<Node> children_;
};

}  // namespace heddle::numerics
