// Trees of sums as text, and back.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "isa/common/error.h"
#include "isa/common/nesting.h"
#include "isa/numerics/summation_tree.h"

namespace heddle::numerics {
namespace {

using Node = SummationTree::Node;

/// What a node looks like wherever it lies: nodes of the same shape differ by a shift.
struct Shapes {
    explicit Shapes(const SummationTree& tree)
        : shape(tree.node_count(), 0), smallest(tree.node_count()), size(tree.node_count(), 1) {
        std::map<std::vector<std::uint32_t>, std::uint32_t> known;
        std::vector<std::uint32_t> key;
        const Node first = static_cast<Node>(tree.leaf_count());
        for (Node leaf = 0; leaf < first; ++leaf) smallest[leaf] = leaf;
        for (Node node = first; node < tree.node_count(); ++node) {
            const std::span<const Node> children = tree.children(node);
            smallest[node] = smallest[children[0]];
            size[node] = 0;
            key.clear();
            for (const Node child : children) {
                size[node] += size[child];
                key.push_back(shape[child]);
                key.push_back(smallest[child] - smallest[node]);
            }
            shape[node] = known.emplace(key, static_cast<std::uint32_t>(known.size() + 1)).first->second;
        }
    }
    std::vector<std::uint32_t> shape, smallest, size;
};

class Writer {
  public:
    explicit Writer(const SummationTree& tree) : tree_(tree), shapes_(tree) {}

    std::string write() {
        if (tree_.root() == SummationTree::kNone)
            text_ = "-";
        else
            write_node(tree_.root());
        const std::vector<Node> missing = tree_.missing();
        if (!missing.empty()) {
            text_ += " without ";
            write_list(missing);
        }
        return text_;
    }

  private:
    /// The child from which a chain goes on, and the others.
    struct Step {
        Node node, heavy;
        std::vector<Node> rest;
    };

    Step step_of(Node node) const {
        const std::span<const Node> children = tree_.children(node);
        const auto heavy = std::max_element(children.begin(), children.end(), [&](Node a, Node b) {
            return shapes_.size[a] < shapes_.size[b];
        });
        Step step{node, *heavy, {children.begin(), heavy}};
        step.rest.insert(step.rest.end(), heavy + 1, children.end());
        return step;
    }

    std::int64_t shift_between(Node from, Node to) const {
        return std::int64_t{shapes_.smallest[to]} - shapes_.smallest[from];
    }

    /// Whether `b` is `a` with every summand moved by `shift`.
    bool moved(const std::vector<Node>& a, const std::vector<Node>& b, std::int64_t shift) const {
        if (a.size() != b.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (shapes_.shape[a[i]] != shapes_.shape[b[i]] || shift_between(a[i], b[i]) != shift)
                return false;
        }
        return true;
    }

    /// Down along the heavy children without recursion: what is left at every step is at most half.
    void write_node(Node top) {
        std::vector<Step> spine;
        Node end = top;
        while (!tree_.is_leaf(end)) {
            spine.push_back(step_of(end));
            end = spine.back().heavy;
        }
        std::vector<std::string> closings;
        for (std::size_t i = 0; i < spine.size();) {
            std::size_t run = 1;
            std::int64_t shift = 0;
            if (i + 1 < spine.size()) {
                shift = shift_between(spine[i + 1].rest[0], spine[i].rest[0]);
                while (i + run < spine.size() && moved(spine[i + run].rest, spine[i + run - 1].rest, shift))
                    ++run;
            }
            if (run > 1) {
                text_ += '<';
                closings.push_back(aside([&] {
                    text_ += "; ";
                    write_list(spine[i + run - 1].rest);
                    text_ += '>';
                    write_repetition(run, shift);
                }));
            } else {
                const std::span<const Node> children = tree_.children(spine[i].node);
                const std::vector<Node> all(children.begin(), children.end());
                const auto place =
                    static_cast<std::size_t>(std::find(all.begin(), all.end(), spine[i].heavy) - all.begin());
                text_ += '(';
                write_list({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(place)});
                if (place != 0) text_ += ' ';
                closings.push_back(aside([&] {
                    const std::size_t copies = write_copies(all, place);
                    if (place + copies < all.size()) text_ += ' ';
                    write_list({all.begin() + static_cast<std::ptrdiff_t>(place + copies), all.end()});
                    text_ += ')';
                }));
            }
            i += run;
        }
        text_ += std::to_string(end);
        for (std::size_t i = closings.size(); i-- > 0;) text_ += closings[i];
    }

    template <typename Write>
    std::string aside(const Write& write) {
        std::string kept;
        kept.swap(text_);
        write();
        kept.swap(text_);
        return kept;
    }

    void write_repetition(std::size_t count, std::int64_t shift) {
        text_ += '*' + std::to_string(count);
        if (shift != 1) text_ += ':' + std::to_string(shift);
    }

    /// "*n:s" for the children from `first` that are copies of it; returns how many they are.
    std::size_t write_copies(const std::vector<Node>& nodes, std::size_t first) {
        std::size_t count = 1;
        std::int64_t shift = 0;
        if (first + 1 < nodes.size()) {
            shift = shift_between(nodes[first], nodes[first + 1]);
            while (first + count < nodes.size() &&
                   shapes_.shape[nodes[first + count]] == shapes_.shape[nodes[first]] &&
                   shift_between(nodes[first + count - 1], nodes[first + count]) == shift)
                ++count;
        }
        if (count == 2 && tree_.is_leaf(nodes[first])) count = 1;  // "4 9" reads better than "4*2:5"
        if (count > 1) write_repetition(count, shift);
        return count;
    }

    void write_list(const std::vector<Node>& nodes) {
        for (std::size_t i = 0; i < nodes.size();) {
            if (i != 0) text_ += ' ';
            write_node(nodes[i]);
            i += write_copies(nodes, i);
        }
    }

    const SummationTree& tree_;
    Shapes shapes_;
    std::string text_;
};

class Reader {
  public:
    Reader(std::string_view text, std::size_t maximum_leaves) : text_(text), maximum_(maximum_leaves) {}

    SummationTree read() {
        std::vector<Item> missing;
        std::optional<Item> root;
        if (text_ == "-" || text_.substr(0, 2) == "- ")
            ++at_;
        else
            root = item();
        if (text_.substr(at_, 9) == " without ") {
            at_ += 9;
            missing = list('\0');
        }
        if (at_ != text_.size()) fail("the end");
        // The first walk counts the summands, the second builds.
        if (root) walk(*root, 0, nullptr);
        for (const Item& absent : missing) walk_copies(absent, 0, nullptr, nullptr);
        SummationTree::Builder builder(static_cast<std::size_t>(largest_ + 1));
        leaves_ = 0;
        try {
            return builder.finish(root ? walk(*root, 0, &builder) : SummationTree::kNone);
        } catch (const std::invalid_argument& error) {
            throw Error(std::string("this is no order of a sum: ") + error.what(),
                        {.key = std::string(text_.substr(0, 60))});
        }
    }

  private:
    struct Item {
        enum class Kind : std::uint8_t { leaf, node, chain } kind = Kind::leaf;
        std::int64_t leaf = 0;
        std::vector<Item> parts;  ///< node: children; chain: start, then what every step adds
        std::int64_t steps = 0, step_shift = 1;
        std::int64_t copies = 1, copy_shift = 1;  ///< in a list
    };

    [[noreturn]] void fail(const std::string& expected) const {
        throw Error("the text of a summation tree has \"" + std::string(text_.substr(at_, 12)) +
                        "\" at character " + std::to_string(at_ + 1) + " where " + expected + " should be",
                    {.key = std::string(text_.substr(0, 60))}, "see isa/numerics/summation_tree.h");
    }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void expect(char wanted) {
        if (peek() != wanted) fail(std::string("\"") + wanted + "\"");
        ++at_;
    }
    std::int64_t number() {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc() || value < -kLimit || value > kLimit) fail("a number");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }
    void repetition(std::int64_t& count, std::int64_t& shift) {
        expect('*');
        count = number();
        if (count < 1) fail("a count above 0");
        if (peek() == ':') {
            ++at_;
            shift = number();
        }
    }

    Item item() {
        const Nesting level(
            depth_, [this] { fail("less nesting"); }, kDeepest);
        Item result;
        if (peek() == '(') {
            ++at_;
            result.kind = Item::Kind::node;
            result.parts = list(')');
        } else if (peek() == '<') {
            ++at_;
            result.kind = Item::Kind::chain;
            result.parts.push_back(item());
            expect(';');
            expect(' ');
            std::vector<Item> step = list('>');
            for (Item& part : step) result.parts.push_back(std::move(part));
            repetition(result.steps, result.step_shift);
        } else {
            result.leaf = number();
            if (result.leaf < 0) fail("a summand");
        }
        return result;
    }

    std::vector<Item> list(char end) {
        std::vector<Item> items;
        for (;;) {
            items.push_back(item());
            if (peek() == '*') repetition(items.back().copies, items.back().copy_shift);
            if (peek() != ' ') break;
            ++at_;
        }
        if (end != '\0') expect(end);
        return items;
    }

    Node walk(const Item& item, std::int64_t shift, SummationTree::Builder* builder) {
        std::vector<Node> children;
        switch (item.kind) {
            case Item::Kind::leaf: {
                const std::int64_t leaf = item.leaf + shift;
                if (leaf < 0 || leaf > kLimit || ++leaves_ > maximum_)
                    throw Error("a summation tree with too many summands, or one below 0",
                                {.key = std::string(text_.substr(0, 60))});
                largest_ = std::max(largest_, leaf);
                return static_cast<Node>(leaf);
            }
            case Item::Kind::node:
                for (const Item& part : item.parts) walk_copies(part, shift, builder, &children);
                return builder != nullptr ? builder->add(children) : 0;
            case Item::Kind::chain:
                break;
        }
        Node chain = walk(item.parts[0], shift, builder);
        for (std::int64_t step = 0; step < item.steps; ++step) {
            children.assign(1, chain);
            for (std::size_t i = 1; i < item.parts.size(); ++i)
                walk_copies(item.parts[i], shift + step * item.step_shift, builder, &children);
            if (builder != nullptr) chain = builder->add(children);
        }
        return chain;
    }

    void walk_copies(const Item& item, std::int64_t shift, SummationTree::Builder* builder,
                     std::vector<Node>* to) {
        for (std::int64_t copy = 0; copy < item.copies; ++copy) {
            const Node node = walk(item, shift + copy * item.copy_shift, builder);
            if (to != nullptr) to->push_back(node);
        }
    }

    static constexpr std::int64_t kLimit = std::int64_t{1} << 28;
    static constexpr unsigned kDeepest = 2000;  // orders that were revealed step by step nest so

    std::string_view text_;
    std::size_t at_ = 0, maximum_, leaves_ = 0;
    std::int64_t largest_ = -1;
    unsigned depth_ = 0;
};

}  // namespace

std::string SummationTree::text() const {
    return Writer(*this).write();
}

SummationTree SummationTree::parse(std::string_view text, std::size_t maximum_leaves) {
    return Reader(text, maximum_leaves).read();
}

}  // namespace heddle::numerics
