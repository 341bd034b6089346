#include "workloads/trace/op_kinds.h"

#include <array>
#include <bit>

namespace heddle::trace {
namespace {

/// A struct of keys holds nothing but keys.
template <class Keys>
std::span<const Key> list_of(const Keys& keys) {
    static_assert(sizeof(Keys) % sizeof(Key) == 0 && std::is_trivially_copyable_v<Keys>);
    static const auto list = std::bit_cast<std::array<Key, sizeof(Keys) / sizeof(Key)>>(keys);
    return list;
}

#define HEDDLE_ROW(kind, Keys, operations, bytes, matrix) MatrixWork::matrix,
constexpr std::array<MatrixWork, kOpKinds> kMatrixWork{HEDDLE_OP_KINDS(HEDDLE_ROW)};
#undef HEDDLE_ROW

}  // namespace

std::span<const Key> keys_of(OpKind kind) {
#define HEDDLE_ROW(kind, ...) list_of(keys::kind),
    static const std::array<std::span<const Key>, kOpKinds> lists{HEDDLE_OP_KINDS(HEDDLE_ROW)};
#undef HEDDLE_ROW
    return lists.at(static_cast<std::size_t>(kind));
}

std::span<const Key> own_keys_of(OpKind kind) {
    return keys_of(kind).subspan(sizeof(AnyKeys) / sizeof(Key));
}

MatrixWork matrix_work(OpKind kind) {
    return kMatrixWork.at(static_cast<std::size_t>(kind));
}

bool is_product(OpKind kind) {
    return matrix_work(kind) != MatrixWork::none;
}

bool is_attention(OpKind kind) {
    return matrix_work(kind) >= MatrixWork::attention;
}

}  // namespace heddle::trace
