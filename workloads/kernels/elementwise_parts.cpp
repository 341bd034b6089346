#include "workloads/kernels/elementwise_parts.h"

#include <algorithm>
#include <array>
#include <optional>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

/// A type that an access of a casting kernel tells apart, by PyTorch's number (c10::ScalarType).
struct CastType {
    unsigned number;
    std::optional<ElementType> type;  ///< nothing: a type that kernels here do not have
};
constexpr std::array<CastType, 15> kCastTypes{{{0, ElementType::u8},
                                               {1, ElementType::i8},
                                               {2, {}},
                                               {3, ElementType::i32},
                                               {4, ElementType::i64},
                                               {5, ElementType::f16},
                                               {6, ElementType::f32},
                                               {7, ElementType::f64},
                                               {8, {}},
                                               {9, {}},
                                               {10, {}},
                                               {11, ElementType::boolean},
                                               {15, ElementType::bf16},
                                               {23, {}},
                                               {24, {}}}};

/// Goes to the code of the type whose number is in `type`. nvcc makes a tree of comparisons of the switch,
/// each of which sends a warp to code far away: PyTorch 2.1 for sm_90, LoadWithCast.
class TypeSwitch {
  public:
    TypeSwitch(PtxWriter& w, const Reg& type, const std::function<void(ElementType)>& code)
        : w_(w), type_(type), code_(code), done_(w.new_label("typed")), other_(w.new_label("other_type")) {}

    void emit() {
        among(0, kCastTypes.size());
        w_.place(other_);
        w_.place(done_);
    }

  private:
    void among(std::size_t begin, std::size_t end) {
        if (end - begin > 3) {
            const std::size_t middle = begin + (end - begin) / 2;
            const std::string right = w_.new_label("types");
            w_.jump_if(w_.make_predicate("setp.gt.s32", type_, kCastTypes[middle - 1].number), right);
            among(begin, middle);
            w_.place(right);
            among(middle, end);
            return;
        }
        std::vector<std::string> labels;
        for (std::size_t i = begin; i + 1 < end; ++i) {
            labels.push_back(w_.new_label("type"));
            w_.jump_if(w_.make_predicate("setp.eq.s32", type_, kCastTypes[i].number), labels.back());
        }
        w_.jump_if(w_.make_predicate("setp.ne.s32", type_, kCastTypes[end - 1].number), other_);
        body(kCastTypes[end - 1]);
        for (std::size_t i = end - 1; i-- > begin;) {
            w_.place(labels[i - begin]);
            body(kCastTypes[i]);
        }
    }
    void body(const CastType& each) {
        if (each.type) code_(*each.type);
        w_.jump(done_);
    }

    PtxWriter& w_;
    const Reg& type_;
    const std::function<void(ElementType)>& code_;
    std::string done_, other_;
};

}  // namespace

bool has_access(const ElementwiseSpec& spec, AccessPattern access) {
    return std::any_of(spec.inputs.begin(), spec.inputs.end(),
                       [access](const ElementwiseInput& input) { return input.access == access; });
}

bool counts_dimensions(const ElementwiseSpec& spec) {
    return spec.form == ElementwiseForm::in_turn && has_access(spec, AccessPattern::strided);
}

void emit_by_type(PtxWriter& w, const Reg& type, const std::function<void(ElementType)>& code) {
    TypeSwitch(w, type, code).emit();
}

unsigned cast_number(ElementType type, const std::string& operand) {
    const auto found = std::find_if(kCastTypes.begin(), kCastTypes.end(),
                                    [type](const CastType& each) { return each.type == type; });
    if (found == kCastTypes.end())
        throw Error("casting kernels do not know the type " + name_of(type), {.key = operand});
    return found->number;
}

}  // namespace heddle::kernels
