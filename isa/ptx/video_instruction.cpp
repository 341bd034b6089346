#include "isa/ptx/video_instruction.h"

namespace heddle::ptx {
namespace {

VideoOperation operation_of(Opcode opcode) {
    switch (opcode) {
        case Opcode::vsub:
        case Opcode::vsub2:
        case Opcode::vsub4:
            return VideoOperation::subtract;
        case Opcode::vabsdiff:
        case Opcode::vabsdiff2:
        case Opcode::vabsdiff4:
            return VideoOperation::absolute_difference;
        case Opcode::vmin:
        case Opcode::vmin2:
        case Opcode::vmin4:
            return VideoOperation::minimum;
        case Opcode::vmax:
        case Opcode::vmax2:
        case Opcode::vmax4:
            return VideoOperation::maximum;
        case Opcode::vshl:
            return VideoOperation::shift_left;
        case Opcode::vshr:
            return VideoOperation::shift_right;
        case Opcode::vmad:
            return VideoOperation::multiply_add;
        case Opcode::vset:
        case Opcode::vset2:
        case Opcode::vset4:
            return VideoOperation::compare;
        case Opcode::vavrg2:
        case Opcode::vavrg4:
            return VideoOperation::average;
        default:
            return VideoOperation::add;
    }
}

VideoSecondary secondary_of(const Instruction& n) {
    if (n.has(Modifier::add)) return VideoSecondary::add;
    if (n.has(Modifier::min)) return VideoSecondary::minimum;
    return n.has(Modifier::max) ? VideoSecondary::maximum : VideoSecondary::none;
}

VideoComparison comparison_of(const Instruction& n) {
    if (n.has(Modifier::ne)) return VideoComparison::not_equal;
    if (n.has(Modifier::lt)) return VideoComparison::less;
    if (n.has(Modifier::le)) return VideoComparison::less_equal;
    if (n.has(Modifier::gt)) return VideoComparison::greater;
    return n.has(Modifier::ge) ? VideoComparison::greater_equal : VideoComparison::equal;
}

// Of vadd2 and the like each part of a source comes from one of the two registers; of a destination the parts
// in descending order.
bool selects_parts(PartSelector selector, unsigned lanes, bool destination) {
    if (!selector.present()) return true;
    if (selector.halves() != (lanes == 2)) return false;
    if (!destination && selector.count() != lanes) return false;
    for (unsigned n = 0; n < selector.count(); ++n) {
        if (selector.part(n) >= (destination ? lanes : 2 * lanes)) return false;
        if (destination && n > 0 && selector.part(n) <= selector.part(n - 1)) return false;
    }
    return true;
}

bool selects_one(PartSelector selector) {
    return !selector.present() || (selector.count() == 1 && selector.part(0) < (selector.halves() ? 2u : 4u));
}

}  // namespace

PartSelector PartSelector::parse(std::string_view text) {
    constexpr std::size_t kMost = 4;
    if (text.size() < 2 || text.size() > 1 + kMost || (text[0] != 'b' && text[0] != 'h')) return {};
    unsigned code = text[0] == 'h' ? 1u << 15 : 0u;
    const std::size_t count = text.size() - 1;
    for (std::size_t n = 0; n < count; ++n) {
        const char digit = text[count - n];
        if (digit < '0' || digit > '7') return {};
        code |= static_cast<unsigned>(digit - '0') << (3 * n);
    }
    return PartSelector(static_cast<std::uint16_t>(code | count << 12));
}

bool is_video(const Instruction& instruction) {
    return instruction.opcode >= Opcode::vabsdiff && instruction.opcode <= Opcode::vsub4;
}

unsigned video_lanes(const Instruction& instruction) {
    const char last = name_of(instruction.opcode).back();
    return last == '2' ? 2 : last == '4' ? 4 : 1;
}

VideoDetails video_details(const Instruction& n) {
    VideoDetails details;
    details.operation = operation_of(n.opcode);
    details.secondary = secondary_of(n);
    details.comparison = comparison_of(n);
    // vset has no type of the destination: it is unsigned.
    const bool compares = details.operation == VideoOperation::compare;
    details.d_signed = !compares && n.type(0) == Type::s32;
    details.a_signed = n.type(compares ? 0 : 1) == Type::s32;
    details.b_signed = n.type(compares ? 1 : 2) == Type::s32;
    details.saturates = n.has(Modifier::sat);
    details.wraps = n.has(Modifier::wrap);
    details.plus_one = n.has(Modifier::po);
    details.scale = n.has(Modifier::shr7) ? 7 : n.has(Modifier::shr15) ? 15 : 0;
    details.d = PartSelector(n.operands[0].selector);
    details.a = PartSelector(n.operands[1].selector);
    details.b = PartSelector(n.operands[2].selector);
    if (details.operation == VideoOperation::multiply_add) {
        details.negates_product = n.operands[1].negated != n.operands[2].negated;
        details.negates_c = n.operands[3].negated;
    }
    return details;
}

std::string check_video(const Instruction& n) {
    const VideoDetails details = video_details(n);
    const unsigned lanes = video_lanes(n);
    if (lanes == 1) {
        if (selects_one(details.d) && selects_one(details.a) && selects_one(details.b)) return "";
        return "the selectors of " + std::string(name_of(n.opcode)) + " are .b0 to .b3, .h0 and .h1";
    }
    if (!selects_parts(details.a, lanes, false) || !selects_parts(details.b, lanes, false))
        return lanes == 2 ? "sources are selected with .h and two digits from 0 to 3"
                          : "sources are selected with .b and four digits from 0 to 7";
    if (selects_parts(details.d, lanes, true)) return "";
    return lanes == 2 ? "the destination is selected with .h0, .h1 or .h10"
                      : "the destination is selected with .b and digits from 3 to 0, in this order";
}

std::uint32_t pack_video_operation(const VideoDetails& d) {
    return static_cast<std::uint32_t>(d.operation) | static_cast<std::uint32_t>(d.secondary) << 4 |
           static_cast<std::uint32_t>(d.comparison) << 6 | static_cast<std::uint32_t>(d.a_signed) << 9 |
           static_cast<std::uint32_t>(d.b_signed) << 10 | static_cast<std::uint32_t>(d.d_signed) << 11 |
           static_cast<std::uint32_t>(d.saturates) << 12 | static_cast<std::uint32_t>(d.wraps) << 13 |
           static_cast<std::uint32_t>(d.plus_one) << 14 |
           static_cast<std::uint32_t>(d.negates_product) << 15 |
           static_cast<std::uint32_t>(d.negates_c) << 16 | static_cast<std::uint32_t>(d.scale) << 17;
}

std::uint64_t pack_video_selectors(const VideoDetails& d) {
    return std::uint64_t{d.d.code()} | std::uint64_t{d.a.code()} << 16 | std::uint64_t{d.b.code()} << 32;
}

VideoDetails unpack_video(std::uint32_t operation, std::uint64_t selectors) {
    VideoDetails d;
    d.operation = static_cast<VideoOperation>(operation & 15u);
    d.secondary = static_cast<VideoSecondary>(operation >> 4 & 3u);
    d.comparison = static_cast<VideoComparison>(operation >> 6 & 7u);
    d.a_signed = (operation >> 9 & 1u) != 0;
    d.b_signed = (operation >> 10 & 1u) != 0;
    d.d_signed = (operation >> 11 & 1u) != 0;
    d.saturates = (operation >> 12 & 1u) != 0;
    d.wraps = (operation >> 13 & 1u) != 0;
    d.plus_one = (operation >> 14 & 1u) != 0;
    d.negates_product = (operation >> 15 & 1u) != 0;
    d.negates_c = (operation >> 16 & 1u) != 0;
    d.scale = static_cast<std::uint8_t>(operation >> 17 & 15u);
    d.d = PartSelector(static_cast<std::uint16_t>(selectors));
    d.a = PartSelector(static_cast<std::uint16_t>(selectors >> 16));
    d.b = PartSelector(static_cast<std::uint16_t>(selectors >> 32));
    return d;
}

}  // namespace heddle::ptx
