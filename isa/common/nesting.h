// How deep a text may nest: recursion over what a user wrote ends before the stack does.
#pragma once

namespace heddle {

/// Deepest nesting of parentheses, signs, calls, branches, lists and regions that parsers accept; no sensible
/// text comes near it.
inline constexpr unsigned kDeepestNesting = 200;

/// Counts one level of nesting for as long as the object lives. Every recursive parser counts its levels with
/// it; terms of a sum and statements, which follow one another, are not levels.
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
