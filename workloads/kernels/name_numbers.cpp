#include "workloads/kernels/name_numbers.h"

namespace heddle::kernels {

std::optional<NameNumbers> numbers_at(std::string_view name, std::size_t at,
                                      std::span<const NameNumber> pattern) {
    NameNumbers found;
    for (const NameNumber& wanted : pattern) {
        unsigned value = 0;
        std::size_t digits = 0;
        for (; digits <= wanted.most && at < name.size() && name[at] >= '0' && name[at] <= '9'; ++digits)
            value = value * 10 + static_cast<unsigned>(name[at++] - '0');
        if (digits < wanted.least || digits > wanted.most) return std::nullopt;
        found.values.push_back(value);
        const bool ends = at == name.size();
        if (wanted.behind == kWordEnd ? !ends && name[at] != '_' : ends || name[at] != wanted.behind)
            return std::nullopt;
        if (!ends) ++at;
    }
    found.end = at;
    return found;
}

std::optional<NameNumbers> first_numbers_behind(std::string_view name, std::string_view prefix,
                                                std::span<const NameNumber> pattern, std::size_t from) {
    for (std::size_t at = name.find(prefix, from); at != std::string_view::npos;
         at = name.find(prefix, at + 1)) {
        if (auto found = numbers_at(name, at + prefix.size(), pattern)) return found;
    }
    return std::nullopt;
}

std::optional<NameNumbers> last_numbers_behind(std::string_view name, std::string_view prefix,
                                               std::span<const NameNumber> pattern, std::size_t from) {
    for (std::size_t at = name.rfind(prefix); at != std::string_view::npos && at >= from;
         at = name.rfind(prefix, at - 1)) {
        if (auto found = numbers_at(name, at + prefix.size(), pattern)) return found;
        if (at == 0) break;
    }
    return std::nullopt;
}

std::optional<NameNumbers> first_numbers(std::string_view name, std::span<const NameNumber> pattern) {
    if (auto found = numbers_at(name, 0, pattern)) return found;
    return first_numbers_behind(name, "_", pattern);
}

}  // namespace heddle::kernels
