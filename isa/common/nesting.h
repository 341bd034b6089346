// How deep a text may nest: recursion over what a user wrote ends before the stack does.
#pragma once

namespace heddle {

/// Parentheses, signs, calls, branches, lists, regions in one another: more than any text that means
/// something.
inline constexpr unsigned kDeepestNesting = 200;

/// One level of nesting for as long as it lives. Every recursive parser counts its levels so; what follows
/// one another (terms of a sum, statements) is no level.
class Nesting {
  public:
    /// `refuse` throws the parser's own error, which says where: it is called when the level would lie deeper
    /// than `deepest`.
    template <class Refuse>
    Nesting(unsigned& depth, const Refuse& refuse, unsigned deepest = kDeepestNesting) : depth_(depth) {
        if (depth_ >= deepest) refuse();
        ++depth_;
    }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

  private:
    unsigned& depth_;
};

}  // namespace heddle
