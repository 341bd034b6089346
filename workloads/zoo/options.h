// The options of a model as users write them: words and numbers as text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::zoo {

/// One option of a model, for help texts.
struct OptionDescription {
    std::string name;
    std::string default_value;
    std::string meaning;
};

/// The given options combined with the defaults. An option that is not described is a heddle::Error with the
/// nearest word.
class Options {
  public:
    Options(const std::string& model, const std::vector<OptionDescription>& known,
            const std::map<std::string, std::string>& given);

    std::int64_t integer(const std::string& name) const;
    double real(const std::string& name) const;
    /// "784,512,10"
    std::vector<std::int64_t> integers(const std::string& name) const;
    trace::ElementType type(const std::string& name) const;
    bool has(const std::string& name) const { return values_.contains(name); }
    const std::string& text(const std::string& name) const { return values_.at(name); }
    /// 0 or 1.
    bool flag(const std::string& name) const;
    /// The position of the value among `words`.
    std::size_t choice(const std::string& name, const std::vector<std::string>& words) const;

  private:
    [[noreturn]] void fail(const std::string& name, const std::string& wanted) const;

    std::string model_;
    std::map<std::string, std::string> values_;
};

}  // namespace heddle::zoo
