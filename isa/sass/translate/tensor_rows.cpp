// Rows of the translator: tensor instructions.
//
// Fragments lie in consecutive registers, in the order of PTX's operands. HMMA.16816.F32.BF16 is m16n8k16 with bf16 inputs and
// fp32 accumulators; IMMA, DMMA, BMMA and QMMA say their shapes alike. HGMMA and its kin read descriptors of shared memory from
// four uniform registers, that of A in the first two and that of B in the others; gsb0 ends a group of products.
#include <charconv>
#include <optional>
#include <string>

#include "isa/sass/translate/rows.h"

namespace heddle::sass {
namespace {

struct Shape {
    unsigned m = 0, n = 0, k = 0;
    std::string text() const { return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k); }
};

/// 16816, 88128, 16x8x4, 64x128x16.
std::optional<Shape> shape_named(std::string_view word) {
    Shape shape;
    const auto number = [](std::string_view text, unsigned& value) {
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        return problem == std::errc{} && end == text.data() + text.size();
    };
    if (const std::size_t first = word.find('x'); first != std::string_view::npos) {
        const std::size_t second = word.find('x', first + 1);
        if (second == std::string_view::npos || !number(word.substr(0, first), shape.m) || !number(word.substr(first + 1, second - first - 1), shape.n) ||
            !number(word.substr(second + 1), shape.k))
            return std::nullopt;
        return shape;
    }
    for (const std::string_view rows : {"16", "8"}) {
        if (!word.starts_with(rows)) continue;
        const std::string_view rest = word.substr(rows.size());
        if (rest.size() < 2 || rest[0] != '8' || !number(rest.substr(1), shape.k)) continue;
        number(rows, shape.m);
        shape.n = 8;
        return shape;
    }
    return std::nullopt;
}

/// The element types of a product, by PTX's names.
struct ElementTypes {
    std::string a, b, d;
    unsigned bits = 16;  ///< of an element of A and B
    std::string operation;  ///< of bits: ".and.popc"
    bool saturates = false;
};

ElementTypes types_of(Emitter& e, const Instruction& n, Modifiers& m) {
    ElementTypes t;
    switch (n.mnemonic[0]) {
        case 'H':
            t.d = m.require_one_of({"F32", "F16"}) == "F32" ? "f32" : "f16";
            t.a = m.take("BF16") ? "bf16" : m.take("TF32") ? "tf32" : "f16";
            t.b = t.a;
            if (t.a == "tf32") t.bits = 32;
            return t;
        case 'Q':
            t.d = m.require_one_of({"F32", "F16"}) == "F32" ? "f32" : "f16";
            break;
        case 'I':
            t.d = "s32";
            break;
        case 'D':
            t.a = t.b = t.d = "f64";
            t.bits = 64;
            return t;
        default:
            t.d = "s32";
            t.a = t.b = "b1";
            t.bits = 1;
            t.operation = m.require_one_of({"XOR", "AND"}) == "XOR" ? ".xor.popc" : ".and.popc";
            if (!m.take("POPC")) e.refuse("a product of bits counts them");
            return t;
    }
    // IMMA and QMMA name both types, which may be the same word twice.
    std::size_t found = 0;
    for (const std::string& one : n.modifiers) {
        std::string type;
        for (const std::string_view known : {"S8", "U8", "S4", "U4", "E4M3", "E5M2"})
            if (one == known) type = known;
        if (type.empty()) continue;
        for (char& c : type) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        (found++ == 0 ? t.a : t.b) = type;
    }
    if (found != 2) e.refuse("the types of both factors are expected");
    for (int i = 0; i < 2; ++i) m.take_one_of({"S8", "U8", "S4", "U4", "E4M3", "E5M2"});
    t.bits = t.a == "s4" || t.a == "u4" ? 4 : 8;
    t.saturates = m.take("SAT");
    return t;
}

/// Registers as a vector; RZ reads as zeros.
std::string fragment(Emitter& e, const Operand& operand, unsigned count) {
    if (operand.negated || operand.absolute) e.refuse("a factor with a sign is not known");
    if (operand.index != kZeroRegister) return e.words(operand, count);
    const std::string zero = e.temporary();
    e.prepare("mov.b32 " + zero + ", 0;");
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + zero;
    return text + "}";
}

/// `count` doubles.
std::string doubles(Emitter& e, const Operand& operand, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) {
        Operand one = operand;
        if (one.index != kZeroRegister) one.index = static_cast<std::uint16_t>(one.index + 2 * i);
        text += (i == 0 ? "" : ", ") + e.pair_source(one);
    }
    return text + "}";
}

void multiply_doubles(Emitter& e, const Shape& shape) {
    const unsigned c = shape.m * shape.n / 32;
    std::vector<std::string> results;
    std::string vector = "{";
    for (unsigned i = 0; i < c; ++i) {
        results.push_back(e.wide_temporary());
        vector += (i == 0 ? "" : ", ") + results.back();
    }
    const std::string a = doubles(e, e.operand(1), shape.m * shape.k / 32), b = doubles(e, e.operand(2), shape.n * shape.k / 32);
    const std::string addend = doubles(e, e.operand(3), c);
    e.principal("mma.sync.aligned." + shape.text() + ".row.col.f64.f64.f64.f64 " + vector + "}, " + a + ", " + b + ", " + addend + ";");
    for (unsigned i = 0; i < c; ++i) {
        const std::string low = e.destination_word(e.operand(0), 2 * i), high = e.destination_word(e.operand(0), 2 * i + 1);
        e.helper("mov.b64 {" + low + ", " + high + "}, " + results[i] + ";");
    }
}

// HMMA.{SP.}16816.F32{.BF16} d, a, b, c {, metadata, selector}
void translate_mma(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool sparse = m.take("SP");
    std::optional<Shape> shape;
    for (const std::string& one : n.modifiers)
        if (!shape && (shape = shape_named(one))) m.take(one);
    if (!shape) e.refuse("the shape of the product is not known");
    const ElementTypes t = types_of(e, n, m);
    m.finish();
    e.expect_operands(sparse ? 6 : 4);
    for (const std::size_t i : {1, 2})
        for (const std::string& suffix : e.operand(i).suffixes)
            if (suffix != (i == 1 ? "ROW" : "COL")) e.refuse("." + suffix + " is not known in a factor");
    if (t.bits == 64) return multiply_doubles(e, *shape);
    const unsigned of_a = shape->m * shape->k * t.bits / 1024 / (sparse ? 2 : 1), of_b = shape->n * shape->k * t.bits / 1024;
    const unsigned of_c = shape->m * shape->n / 32 / (t.d == "f16" ? 2 : 1);
    const std::string a = fragment(e, e.operand(1), of_a), b = fragment(e, e.operand(2), of_b), c = fragment(e, e.operand(3), of_c);
    std::string text = std::string("mma.") + (sparse ? "sp::ordered_metadata." : "") + "sync.aligned." + shape->text() + ".row.col" + (t.saturates ? ".satfinite" : "") +
                       "." + t.d + "." + t.a + "." + t.b + "." + t.d + t.operation + " " + e.destination_words(e.operand(0), of_c) + ", " + a + ", " + b + ", " + c;
    if (sparse) text += ", " + e.source(e.operand(4)) + ", " + std::to_string(e.operand(5).value);
    e.principal(text + ";");
}

// MOVM.16.MT88 d, a: a matrix of 8 x 8, transposed.
void translate_movm(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    if (!m.take("16") || !m.take("MT88")) e.refuse("only MOVM.16.MT88 is known");
    m.finish();
    e.expect_operands(2);
    e.principal("movmatrix.sync.aligned.m8n8.trans.b16 " + e.destination(e.operand(0)) + ", " + e.source(e.operand(1)) + ";");
}

struct MatrixRows {
    bool transposed = false;
    unsigned count = 1;
};

MatrixRows matrix_rows(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    if (!m.take("16")) e.refuse("only matrices of 16-bit elements are known");
    MatrixRows rows;
    rows.transposed = m.require_one_of({"M88", "MT88"}) == "MT88";
    const std::string_view count = m.take_one_of({"2", "4"});
    if (!count.empty()) rows.count = static_cast<unsigned>(count[0] - '0');
    m.finish();
    e.expect_operands(2);
    return rows;
}

std::string matrix_move(const char* opcode, const MatrixRows& rows) {
    return std::string(opcode) + ".sync.aligned.m8n8.x" + std::to_string(rows.count) + (rows.transposed ? ".trans" : "") + ".shared.b16 ";
}

// LDSM.16.{M88, MT88}{.2, .4} d, [address]
void translate_ldsm(Emitter& e, const Instruction& n) {
    const MatrixRows rows = matrix_rows(e, n);
    const std::string address = e.shared_address(e.operand(1));
    e.principal(matrix_move("ldmatrix", rows) + e.destination_words(e.operand(0), rows.count) + ", [" + address + "];");
}

// STSM.16.{M88, MT88}{.2, .4} [address], a
void translate_stsm(Emitter& e, const Instruction& n) {
    const MatrixRows rows = matrix_rows(e, n);
    const std::string address = e.shared_address(e.operand(0));
    e.principal(matrix_move("stmatrix", rows) + "[" + address + "], " + fragment(e, e.operand(1), rows.count) + ";");
}

bool ends_group(const Operand& operand) {
    return operand.kind == OperandKind::word && operand.name == "gsb0";
}

/// A pair of uniform registers as 64 bits.
std::string uniform_pair(Emitter& e, unsigned index) {
    std::string result = e.wide_temporary();
    e.prepare("mov.b64 " + result + ", {" + e.uniform(index) + ", " + e.uniform(index + 1) + "};");
    return result;
}

// HGMMA.{SP.}64x128x16.F32{.BF16} d, {a,} gdesc[UR], c {, metadata, selector} {, scale} {, gsb0}
void translate_gmma(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const bool sparse = m.take("SP");
    std::optional<Shape> shape;
    for (const std::string& one : n.modifiers)
        if (!shape && (shape = shape_named(one))) m.take(one);
    if (!shape) e.refuse("the shape of the product is not known");
    const ElementTypes t = types_of(e, n, m);
    m.finish();
    std::size_t o = 1;
    const bool a_in_registers = e.operand(o).kind == OperandKind::general;
    const Operand& a = e.operand(o);
    if (a_in_registers) ++o;
    const Operand& descriptor = e.operand(o++);
    if (descriptor.kind != OperandKind::address || descriptor.name != "gdesc") e.refuse("a matrix descriptor is expected");
    const Operand& c = e.operand(o++);
    const bool commits = ends_group(e.operand(n.operands.size() - 1));
    const bool nothing = e.is_nowhere(e.operand(0)) && e.is_nowhere(c);
    if (nothing && commits) return e.principal("wgmma.commit_group.sync.aligned;");  // what stands for commit_group alone
    std::string metadata;
    if (sparse) {
        metadata = e.source(e.operand(o)) + ", " + std::to_string(e.operand(o + 1).value) + ", ";
        o += 2;
    }
    const std::string scale = e.predicate_temporary();
    const std::size_t end = n.operands.size() - (commits ? 1 : 0);
    if (c.index == kZeroRegister)
        e.prepare("setp.ne.u32 " + scale + ", 0, 0;");
    else if (o < end)
        e.prepare("mov.pred " + scale + ", " + e.predicate_source(e.operand(o)) + ";");
    else
        e.prepare("setp.eq.u32 " + scale + ", 0, 0;");
    if (o < end) ++o;
    if (o != end) e.refuse("an operand is not known");
    if (c.index != kZeroRegister && c.index != e.operand(0).index) e.refuse("the sum is expected in the registers of the result");

    bool negate_a = a_in_registers && a.negated, negate_b = false, transpose_a = false, transpose_b = false;
    for (const std::string& suffix : descriptor.suffixes) {
        if (suffix == "negA")
            negate_a = true;
        else if (suffix == "negB")
            negate_b = true;
        else if (suffix == "tnspA")
            transpose_a = true;
        else if (suffix == "tnspB")
            transpose_b = true;
        else
            e.refuse("." + suffix + " is not known in a matrix descriptor");
    }
    const unsigned registers = shape->m * shape->n / 128 / (t.d == "f16" ? 2 : 1);
    std::string text = std::string("wgmma.mma_async.") + (sparse ? "sp." : "") + "sync.aligned." + shape->text() + (t.saturates ? ".satfinite" : "") + "." + t.d + "." +
                       t.a + "." + t.b + t.operation + " " + e.destination_words(e.operand(0), registers) + ", ";
    if (a_in_registers) {
        Operand plain = a;
        plain.negated = false;
        text += fragment(e, plain, 4);
    } else {
        text += uniform_pair(e, descriptor.descriptor);
    }
    text += ", " + uniform_pair(e, descriptor.descriptor + 2u) + ", " + metadata + scale;
    const bool floating = t.d == "f32" || t.d == "f16";
    if (floating) text += std::string(", ") + (negate_a ? "-1" : "1") + ", " + (negate_b ? "-1" : "1");
    if (floating && t.bits == 16) text += (a_in_registers ? "" : transpose_a ? ", 1" : ", 0") + std::string(transpose_b ? ", 1" : ", 0");
    e.principal(text + ";");
    if (commits) e.helper("wgmma.commit_group.sync.aligned;");
}

// WARPGROUP.ARRIVE, WARPGROUP.DEPBAR.LE gsb0, n
void translate_warpgroup(Emitter& e, const Instruction& n) {
    Modifiers m(e, n);
    const std::string_view what = m.require_one_of({"ARRIVE", "DEPBAR"});
    m.take("LE");
    m.finish();
    if (what == "ARRIVE") return e.principal("wgmma.fence.sync.aligned;");
    e.expect_operands(2);
    e.principal("wgmma.wait_group.sync.aligned " + std::to_string(e.operand(1).value) + ";");
}

constexpr Row kTensorRows[] = {
    {"HMMA", translate_mma},   {"IMMA", translate_mma},   {"DMMA", translate_mma},   {"BMMA", translate_mma},   {"QMMA", translate_mma},
    {"MOVM", translate_movm},  {"LDSM", translate_ldsm},  {"STSM", translate_stsm},  {"HGMMA", translate_gmma}, {"IGMMA", translate_gmma},
    {"QGMMA", translate_gmma}, {"BGMMA", translate_gmma}, {"WARPGROUP", translate_warpgroup},
};

}  // namespace

std::span<const Row> tensor_rows() {
    return kTensorRows;
}

}  // namespace heddle::sass
