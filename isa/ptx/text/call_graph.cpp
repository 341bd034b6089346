// Which functions of a module can be called while they run already.
#include <algorithm>

#include "isa/ptx/text/function_inliner.h"

namespace heddle::ptx {
namespace {

using Sizes = std::vector<std::uint32_t>;

// Sizes of the variables that a call passes.
Sizes actual_bytes(const Kernel& body, const Operand& list) {
    Sizes bytes;
    for (const Operand& operand : list.elements)
        bytes.push_back(static_cast<std::uint32_t>(body.variables[operand.index].bytes));
    return bytes;
}

// Tarjan, "Depth-First Search and Linear Graph Algorithms" (1972), without recursion of its own.
class Components {
  public:
    explicit Components(const std::vector<std::vector<std::uint32_t>>& edges)
        : edges_(edges), number_(edges.size(), 0), low_(edges.size(), 0), stacked_(edges.size(), false) {
        cyclic.assign(edges.size(), false);
        for (std::uint32_t node = 0; node < edges.size(); ++node) {
            if (number_[node] == 0) visit(node);
        }
    }

    std::vector<bool> cyclic;  // lies on a cycle

  private:
    void enter(std::uint32_t node) {
        number_[node] = low_[node] = ++count_;
        stack_.push_back(node);
        stacked_[node] = true;
        path_.emplace_back(node, 0);
    }

    void visit(std::uint32_t root) {
        enter(root);
        while (!path_.empty()) {
            auto& [node, edge] = path_.back();
            if (edge < edges_[node].size()) {
                const std::uint32_t next = edges_[node][edge++];
                if (next == node) cyclic[node] = true;
                if (number_[next] == 0)
                    enter(next);
                else if (stacked_[next])
                    low_[node] = std::min(low_[node], number_[next]);
                continue;
            }
            const std::uint32_t done = node;
            path_.pop_back();
            if (!path_.empty()) {
                std::uint32_t& outer = low_[path_.back().first];
                outer = std::min(outer, low_[done]);
            }
            if (low_[done] == number_[done]) close(done);
        }
    }

    void close(std::uint32_t node) {
        const bool several = stack_.back() != node;
        for (;;) {
            const std::uint32_t member = stack_.back();
            stack_.pop_back();
            stacked_[member] = false;
            if (several) cyclic[member] = true;
            if (member == node) return;
        }
    }

    const std::vector<std::vector<std::uint32_t>>& edges_;
    std::vector<std::uint32_t> number_, low_;
    std::vector<bool> stacked_;
    std::vector<std::uint32_t> stack_;
    std::vector<std::pair<std::uint32_t, std::size_t>> path_;
    std::uint32_t count_ = 0;
};

}  // namespace

std::vector<std::uint32_t> formal_bytes(const Function& function, bool results) {
    const std::size_t first = function.first_formal + (results ? 0 : function.results);
    Sizes bytes;
    for (std::size_t i = 0; i < (results ? function.results : function.arguments); ++i)
        bytes.push_back(static_cast<std::uint32_t>(function.body.variables[first + i].bytes));
    return bytes;
}

void mark_recursive(Functions& functions) {
    std::map<std::string, std::uint32_t> index;
    std::map<std::pair<Sizes, Sizes>, std::vector<std::uint32_t>> by_signature;
    for (const auto& [name, function] : functions) {
        const auto number = static_cast<std::uint32_t>(index.size());
        index[name] = number;
        if (!function.defined || !function.address_taken) continue;
        by_signature[{formal_bytes(function, true), formal_bytes(function, false)}].push_back(number);
    }
    std::vector<std::vector<std::uint32_t>> edges(functions.size());
    for (const auto& [name, function] : functions) {
        std::vector<std::uint32_t>& out = edges[index[name]];
        for (const Instruction& n : function.body.instructions) {
            if (n.opcode != Opcode::call) continue;
            if (n.operands[2].kind == Operand::Kind::reg) {
                const auto found = by_signature.find(
                    {actual_bytes(function.body, n.operands[0]), actual_bytes(function.body, n.operands[1])});
                if (found != by_signature.end())
                    out.insert(out.end(), found->second.begin(), found->second.end());
            } else if (const auto callee = index.find(function.body.callees[n.operands[2].bits]);
                       callee != index.end()) {
                out.push_back(callee->second);
            }
        }
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
    }
    const Components components(edges);
    for (auto& [name, function] : functions) function.recursive = components.cyclic[index[name]];
}

}  // namespace heddle::ptx
