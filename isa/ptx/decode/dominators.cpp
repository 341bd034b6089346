#include "isa/ptx/decode/dominators.h"

#include "isa/ptx/decode/data_flow.h"

namespace heddle::ptx {
namespace {

// Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", with path compression alone.
// Nodes go by their numbers in the order of a depth-first search.
class Dominators {
  public:
    Dominators(std::uint32_t root, const Edges& successors, const Edges& predecessors)
        : predecessors_(predecessors), number_(successors.size(), kNoInstruction) {
        search(root, successors);
        const std::size_t count = node_.size();
        ancestor_.assign(count, kNoInstruction);
        immediate_.assign(count, 0);
        for (std::uint32_t n = 0; n < count; ++n) {
            semi_.push_back(n);
            label_.push_back(n);
        }
        solve();
    }

    std::vector<std::uint32_t> by_node() const {
        std::vector<std::uint32_t> result(number_.size(), kNoInstruction);
        for (std::uint32_t n = 0; n < node_.size(); ++n) result[node_[n]] = node_[immediate_[n]];
        return result;
    }

  private:
    void search(std::uint32_t root, const Edges& successors) {
        std::vector<std::pair<std::uint32_t, std::size_t>> stack;
        const auto visit = [&](std::uint32_t node, std::uint32_t parent) {
            number_[node] = static_cast<std::uint32_t>(node_.size());
            node_.push_back(node);
            parent_.push_back(parent);
            stack.emplace_back(node, 0);
        };
        visit(root, 0);
        while (!stack.empty()) {
            auto& [node, edge] = stack.back();
            if (edge == successors[node].size()) {
                stack.pop_back();
                continue;
            }
            const std::uint32_t next = successors[node][edge++];
            if (number_[next] == kNoInstruction) visit(next, number_[node]);
        }
    }

    void solve() {
        // By semidominator: nodes that wait for their dominator.
        std::vector<std::vector<std::uint32_t>> waiting(node_.size());
        for (auto w = static_cast<std::uint32_t>(node_.size()); w-- > 1;) {
            for (const std::uint32_t p : predecessors_[node_[w]]) {
                if (number_[p] != kNoInstruction) semi_[w] = std::min(semi_[w], semi_[lowest(number_[p])]);
            }
            waiting[semi_[w]].push_back(w);
            ancestor_[w] = parent_[w];
            for (const std::uint32_t v : waiting[parent_[w]]) {
                const std::uint32_t u = lowest(v);
                immediate_[v] = semi_[u] < semi_[v] ? u : parent_[w];
            }
            waiting[parent_[w]].clear();
        }
        for (std::uint32_t w = 1; w < node_.size(); ++w) {
            if (immediate_[w] != semi_[w]) immediate_[w] = immediate_[immediate_[w]];
        }
    }

    /// Of the nodes above `v` that have been linked, and `v`, that with the lowest semidominator.
    std::uint32_t lowest(std::uint32_t v) {
        path_.clear();
        for (std::uint32_t u = v; ancestor_[u] != kNoInstruction && ancestor_[ancestor_[u]] != kNoInstruction;
             u = ancestor_[u])
            path_.push_back(u);
        for (; !path_.empty(); path_.pop_back()) {
            const std::uint32_t u = path_.back(), above = ancestor_[u];
            if (semi_[label_[above]] < semi_[label_[u]]) label_[u] = label_[above];
            ancestor_[u] = ancestor_[above];
        }
        return label_[v];
    }

    const Edges& predecessors_;
    std::vector<std::uint32_t> number_;         // by node
    std::vector<std::uint32_t> node_, parent_;  // by number, as all below
    std::vector<std::uint32_t> semi_, label_, ancestor_, immediate_;
    std::vector<std::uint32_t> path_;
};

}  // namespace

std::vector<std::uint32_t> immediate_dominators(std::uint32_t root, const Edges& successors,
                                                const Edges& predecessors) {
    return Dominators(root, successors, predecessors).by_node();
}

}  // namespace heddle::ptx
