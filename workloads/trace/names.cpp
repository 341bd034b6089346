#include "workloads/trace/names.h"

#include <array>

#include "isa/common/error.h"

namespace heddle::trace {
namespace {

struct TypeFacts {
    const char* name;
    unsigned bytes;
};

// In the order of the enumerations.
constexpr std::array<TypeFacts, 13> types{{{"f64", 8},
                                           {"f32", 4},
                                           {"tf32", 4},
                                           {"f16", 2},
                                           {"bf16", 2},
                                           {"e4m3", 1},
                                           {"e5m2", 1},
                                           {"i64", 8},
                                           {"i32", 4},
                                           {"i16", 2},
                                           {"i8", 1},
                                           {"u8", 1},
                                           {"boolean", 1}}};
constexpr std::array<const char*, 5> phases{"forward", "backward", "optimizer", "communication", "other"};
constexpr std::array<const char*, 7> roles{"activation", "input",           "label", "parameter",
                                           "gradient",   "optimizer_state", "other"};
#define HEDDLE_ROW(kind, ...) #kind,
constexpr std::array<const char*, kOpKinds> kinds{HEDDLE_OP_KINDS(HEDDLE_ROW)};
#undef HEDDLE_ROW
static_assert(static_cast<std::size_t>(ElementType::boolean) + 1 == types.size());
static_assert(static_cast<std::size_t>(Phase::other) + 1 == phases.size());
static_assert(static_cast<std::size_t>(TensorRole::other) + 1 == roles.size());

template <class Enum, std::size_t N>
Enum from_name(const std::array<const char*, N>& names, const std::string& name, const std::string& what) {
    for (std::size_t i = 0; i < N; ++i) {
        if (name == names[i]) return static_cast<Enum>(i);
    }
    const std::array<std::string, N> words = [&names] {
        std::array<std::string, N> result;
        for (std::size_t i = 0; i < N; ++i) result[i] = names[i];
        return result;
    }();
    const std::string near = nearest_word(name, words.data(), N);
    throw Error("unknown " + what + " '" + name + "'", {}, near.empty() ? "" : "did you mean " + near + "?");
}

}  // namespace

unsigned bytes_of(ElementType type) {
    return types.at(static_cast<std::size_t>(type)).bytes;
}

std::string name_of(ElementType type) {
    return types.at(static_cast<std::size_t>(type)).name;
}

ElementType element_type_from_name(const std::string& name) {
    std::array<const char*, types.size()> names{};
    for (std::size_t i = 0; i < types.size(); ++i) names[i] = types[i].name;
    return from_name<ElementType>(names, name, "element type");
}

std::string name_of(Phase phase) {
    return phases.at(static_cast<std::size_t>(phase));
}
std::string name_of(OpKind kind) {
    return kinds.at(static_cast<std::size_t>(kind));
}
std::string name_of(TensorRole role) {
    return roles.at(static_cast<std::size_t>(role));
}

Phase phase_from_name(const std::string& name) {
    return from_name<Phase>(phases, name, "phase");
}
OpKind op_kind_from_name(const std::string& name) {
    return from_name<OpKind>(kinds, name, "op kind");
}
TensorRole tensor_role_from_name(const std::string& name) {
    return from_name<TensorRole>(roles, name, "tensor role");
}

}  // namespace heddle::trace
