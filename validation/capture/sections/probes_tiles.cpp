#include "validation/capture/sections/probes_tiles.h"

#include <cstring>

#include "isa/numerics/dot_product_unit.h"
#include "isa/target/generation.h"
#include "validation/capture/sections/matrix_vectors.h"
#include "validation/capture/sections/probe_records.h"

namespace heddle::capture {
namespace {

using numerics::Format;

constexpr unsigned kSide = 16, kElements = kSide * kSide;

std::vector<std::byte> packed(const std::vector<std::uint64_t>& values, unsigned bytes) {
    std::vector<std::byte> raw(values.size() * bytes);
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&raw[i * bytes], &values[i], bytes);
    return raw;
}

std::vector<std::uint64_t> unpacked(const std::vector<std::byte>& raw, unsigned bytes) {
    std::vector<std::uint64_t> values(raw.size() / bytes);
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], &raw[i * bytes], bytes);
    return values;
}

std::string registers(const std::string& prefix, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + prefix + std::to_string(i);
    return text + "}";
}

// ---- wmma ----

enum class MixedSum : std::uint8_t { fp32_throughout, fp16_throughout };

// One element of D: A and B of 16 products.
std::uint64_t mixed_sum(MixedSum way, unsigned capability, const std::vector<std::uint32_t>& a,
                        const std::vector<std::uint32_t>& b, std::uint64_t c, bool half_c, bool half_d) {
    const Format sum = way == MixedSum::fp32_throughout ? Format::fp32 : Format::fp16;
    const Format c_format = half_c ? Format::fp16 : Format::fp32,
                 d_format = half_d ? Format::fp16 : Format::fp32;
    const auto parameters = numerics::parameters_for(target::generation_of(capability), Format::fp16, sum);
    const auto start = static_cast<std::uint32_t>(c_format == sum ? c : numerics::convert(sum, c_format, c));
    const std::uint32_t result = numerics::dot_product(parameters, a, b, start);
    return d_format == sum ? result : numerics::convert(d_format, sum, result);
}

void ask_wmma(SectionContext& context, const std::string& id, bool half_c, bool half_d, VectorKind kind) {
    constexpr std::size_t kTiles = 8;
    const auto a = random_elements(Element::f16, kind, 0, 0, kTiles * kElements);
    const auto b = random_elements(Element::f16, kind, 1, 0, kTiles * kElements);  // [n][k]
    const auto c = random_elements(half_c ? Element::f16 : Element::f32, kind, 2, 0, kTiles * kElements);
    Device& device = context.device;
    const unsigned c_bytes = half_c ? 2 : 4, d_bytes = half_d ? 2 : 4;
    const DeviceBuffer a_buffer(device, packed(a, 2)), b_buffer(device, packed(b, 2)),
        c_buffer(device, packed(c, c_bytes)), d_buffer(device, kTiles * kElements * d_bytes);
    Launch launch;
    launch.kernel = device.load(wmma_probe_ptx(half_c, half_d), "probe");
    launch.grid = {kTiles, 1, 1};
    launch.block = {32, 1, 1};
    for (const DeviceBuffer* buffer : {&a_buffer, &b_buffer, &c_buffer, &d_buffer})
        launch.parameters.push_back(parameter(buffer->address()));
    device.launch(launch);
    const auto results = unpacked(d_buffer.read(), d_bytes);

    const unsigned capability = device.compute_capability();
    std::vector<std::uint64_t> expected[2];
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::size_t tile = i / kElements, row = i / kSide % kSide, column = i % kSide;
        const auto line = [&](const std::vector<std::uint64_t>& matrix, std::size_t which) {
            const auto from = matrix.begin() + static_cast<std::ptrdiff_t>(tile * kElements + which * kSide);
            return std::vector<std::uint32_t>(from, from + kSide);
        };
        for (const MixedSum way : {MixedSum::fp32_throughout, MixedSum::fp16_throughout})
            expected[static_cast<std::size_t>(way)].push_back(
                mixed_sum(way, capability, line(a, row), line(b, column), c[i], half_c, half_d));
    }
    const char* names[] = {"summed in fp32, D rounded to nearest", "summed in fp16, C rounded to nearest"};
    const std::size_t believed = half_c && half_d ? 1 : 0;
    const std::string answer = results == expected[believed]       ? names[believed]
                               : results == expected[1 - believed] ? names[1 - believed]
                                                                   : "none of those considered";
    Record record;
    record.text("kind", "question")
        .integer("question", 0)
        .text("topic", "wmma of mixed types")
        .text("asked", "C and D of different types: in which precision the sum is made")
        .text("instruction",
              std::string("wmma.m16n16k16.") + (half_d ? "f16" : "f32") + (half_c ? ".f16" : ".f32"))
        .text("answer", answer)
        .text("believed", names[believed])
        .texts("considered", {names[0], names[1]});
    add_agreement(record, d_bytes * 8, results, expected[believed]);
    context.journal.add(id, record, packed(results, d_bytes));
}

// ---- tensor loads ----

constexpr unsigned kRows = 2,
                   kWidth = 32;  // of the tensor; the box begins half way and reaches beyond its end

struct LoadCase {
    const char* name;
    unsigned data_type;  // CUtensorMapDataType
    unsigned element_bytes;
    unsigned fill;
};
constexpr LoadCase kLoads[] = {{"f16, NaN fill", 6, 2, 1},
                               {"bf16, NaN fill", 9, 2, 1},
                               {"f32, NaN fill", 7, 4, 1},
                               {"tf32, NaN fill", 11, 4, 1},
                               {"tf32", 11, 4, 0},
                               {"f32, subnormals flushed", 10, 4, 0},
                               {"tf32, subnormals flushed", 12, 4, 0},
                               {"f32", 7, 4, 0}};

std::vector<std::uint64_t> tensor_values(unsigned bytes) {
    if (bytes == 2) return random_elements(Element::f16, VectorKind::any_bits, 0, 0, kRows * kWidth);
    static constexpr std::uint32_t kSpecial[] = {
        0x3F801000, 0x3F801001, 0x3F803000, 0x3F800FFF, 0xBF801000, 0xBF803000, 0x7F7FF000, 0x7F7FFFFF,
        0x7F800000, 0x7F800001, 0x7FC00000, 0xFFC00001, 0x00000001, 0x007FFFFF, 0x80000001, 0x00400000};
    auto values = random_elements(Element::f32, VectorKind::any_bits, 0, 0, kRows * kWidth);
    for (unsigned i = 0; i < 16; ++i) values[kWidth / 2 + i] = kSpecial[i];  // what the box holds of row 0
    return values;
}

// What came of the numbers inside.
std::string inside_answer(const LoadCase& load, const std::vector<std::uint64_t>& values,
                          const std::vector<std::uint64_t>& box) {
    const struct {
        const char* name;
        bool convert;
        numerics::Rounding rounding;
    } ways[] = {{"unchanged", false, {}},
                {"rounded to nearest even", true, numerics::Rounding::nearest_even},
                {"rounded to nearest, ties away", true, numerics::Rounding::nearest_away},
                {"cut toward zero", true, numerics::Rounding::toward_zero}};
    for (const bool flush : {false, true}) {
        for (const auto& way : ways) {
            if (way.convert && load.element_bytes != 4) continue;
            bool same = true;
            for (unsigned row = 0; row < kRows; ++row) {
                for (unsigned i = 0; i < kWidth / 2; ++i) {
                    std::uint64_t value = values[row * kWidth + kWidth / 2 + i];
                    if (flush && (value & 0x7F800000u) == 0) value &= 0x80000000u;
                    if (way.convert)
                        value =
                            numerics::convert(Format::tf32, Format::fp32, value, {.rounding = way.rounding});
                    const bool nan = load.element_bytes == 4 && (value & 0x7FFFFFFFu) > 0x7F800000u &&
                                     way.convert;  // which NaN is told beside
                    same = same && (nan ? (box[row * kWidth + i] & 0x7FFFFFFFu) > 0x7F800000u
                                        : box[row * kWidth + i] == value);
                }
            }
            if (same) return std::string(way.name) + (flush ? ", subnormals zero" : "");
        }
    }
    return "otherwise";
}

void ask_tensor_load(SectionContext& context, const std::string& id, const LoadCase& load) {
    Device& device = context.device;
    const auto values = tensor_values(load.element_bytes);
    const DeviceBuffer tensor(device, packed(values, load.element_bytes)),
        output(device, kRows * kWidth * load.element_bytes);
    TensorMapDescription map;
    map.data_type = load.data_type;
    map.rank = 2;
    map.address = tensor.address();
    map.sizes = {kWidth, kRows};
    map.strides = {kWidth * load.element_bytes};
    map.box = {kWidth, kRows};
    map.fill = load.fill;
    Launch launch;
    launch.kernel = device.load(tensor_load_ptx(load.element_bytes), "probe");
    launch.block = {32, 1, 1};
    launch.parameters = {parameter(device.encode_tensor_map(map)), parameter(output.address())};
    device.launch(launch);
    const auto box = unpacked(output.read(), load.element_bytes);
    bool uniform = true;
    for (unsigned row = 0; row < kRows; ++row)
        for (unsigned i = kWidth / 2; i < kWidth; ++i)
            uniform = uniform && box[row * kWidth + i] == box[kWidth / 2];
    const unsigned bits = load.element_bytes * 8;
    Record record;
    record.text("kind", "question")
        .integer("question", 0)
        .text("topic", std::string("tensor load, ") + load.name)
        .text("asked",
              "what numbers become on their way to shared memory, and what lies beyond the tensor's end")
        .text("instruction", "cp.async.bulk.tensor.2d")
        .text("answer", "inside " + inside_answer(load, values, box) +
                            (load.element_bytes == 4 ? ", NaN 7FC00000 as " + hexadecimal(box[10], 32) : "") +
                            "; beyond " + (uniform ? hexadecimal(box[kWidth / 2], bits) : "no one value"))
        .text("believed", "")
        .text("agrees", "unknown")
        .texts("d", hexadecimals(box, bits));
    context.journal.add(id, record, packed(box, load.element_bytes));
}

}  // namespace

std::string wmma_probe_ptx(bool half_c, bool half_d) {
    const std::string c_type = half_c ? "f16" : "f32", d_type = half_d ? "f16" : "f32";
    const unsigned c_count = half_c ? 4 : 8, d_count = half_d ? 4 : 8;
    const auto pointer = [](const char* name, unsigned tile_bytes) {
        const std::string p = std::string("%p") + name;
        return "    ld.param.u64 " + p + ", [" + name + "];\n    cvta.to.global.u64 " + p + ", " + p +
               ";\n    mul.wide.u32 %o, %x0, " + std::to_string(tile_bytes) + ";\n    add.u64 " + p + ", " +
               p + ", %o;\n";
    };
    return ".version 6.4\n.target sm_70\n.address_size 64\n\n.visible .entry probe(.param .u64 a, .param "
           ".u64 b, "
           ".param .u64 c, .param .u64 d)\n{\n    .reg .b32 %x<1>, %a<8>, %b<8>;\n    .reg ." +
           std::string(half_c ? "b32" : "f32") + " %c<8>;\n    .reg ." + (half_d ? "b32" : "f32") +
           " %d<8>;\n    .reg .b64 %pa, %pb, %pc, %pd, %o;\n    mov.u32 %x0, %ctaid.x;\n" +
           pointer("a", kElements * 2) + pointer("b", kElements * 2) +
           pointer("c", kElements * (half_c ? 2 : 4)) + pointer("d", kElements * (half_d ? 2 : 4)) +
           "    wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + registers("%a", 8) +
           ", [%pa], 16;\n    wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " + registers("%b", 8) +
           ", [%pb], 16;\n    wmma.load.c.sync.aligned.row.m16n16k16.global." + c_type + " " +
           registers("%c", c_count) + ", [%pc], 16;\n    wmma.mma.sync.aligned.row.col.m16n16k16." + d_type +
           "." + c_type + " " + registers("%d", d_count) + ", " + registers("%a", 8) + ", " +
           registers("%b", 8) + ", " + registers("%c", c_count) +
           ";\n    wmma.store.d.sync.aligned.row.m16n16k16.global." + d_type + " [%pd], " +
           registers("%d", d_count) + ", 16;\n    ret;\n}\n";
}

std::string tensor_load_ptx(unsigned element_bytes) {
    const std::string bytes = std::to_string(kRows * kWidth * element_bytes);
    return ".version 8.0\n.target sm_90\n.address_size 64\n\n"
           ".visible .entry probe(.param .align 64 .b8 map[128], .param .u64 d)\n{\n"
           "    .reg .pred %p<3>;\n    .reg .b32 %x<8>;\n    .reg .b64 %y<6>;\n"
           "    .shared .align 128 .b8 tile[" +
           bytes +
           "];\n    .shared .align 8 .b64 bar;\n"
           "    mov.u32 %x0, %tid.x;\n    mov.u32 %x1, tile;\n    mov.u32 %x2, bar;\n"
           "    mov.b64 %y0, map;\n    cvta.param.u64 %y0, %y0;\n"
           "    setp.ne.u32 %p0, %x0, 0;\n    @%p0 bra started;\n"
           "    mbarrier.init.shared.b64 [%x2], 1;\n    fence.mbarrier_init.release.cluster;\n"
           "    fence.proxy.async;\n"
           "    mbarrier.arrive.expect_tx.shared.b64 %y1, [%x2], " +
           bytes + ";\n    mov.u32 %x3, " + std::to_string(kWidth / 2) +
           ";\n    mov.u32 %x4, 0;\n"
           "    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%x1], "
           "[%y0, {%x3, %x4}], [%x2];\n"
           "started:\n    bar.sync 0;\n    mov.u32 %x5, 0;\n"
           "waiting:\n    mbarrier.try_wait.parity.shared.b64 %p1, [%x2], %x5;\n    @!%p1 bra waiting;\n"
           "    ld.param.u64 %y2, [d];\n    cvta.to.global.u64 %y2, %y2;\n    mul.lo.u32 %x6, %x0, 4;\n"
           "copying:\n    add.u32 %x7, %x1, %x6;\n    cvt.u64.u32 %y3, %x6;\n    add.u64 %y3, %y2, %y3;\n"
           "    ld.shared.b32 %x7, [%x7];\n    st.global.b32 [%y3], %x7;\n    add.u32 %x6, %x6, 128;\n"
           "    setp.lt.u32 %p2, %x6, " +
           bytes + ";\n    @%p2 bra copying;\n    ret;\n}\n";
}

void add_wmma_questions(const SectionContext&, std::vector<SectionItem>& items) {
    for (const bool half_d : {true, false}) {
        for (const bool half_c : {false, true}) {
            for (const VectorKind kind : {VectorKind::normal, VectorKind::wide, VectorKind::cancellation}) {
                const std::string what = std::string(half_d ? "f16" : "f32") + " from C " +
                                         (half_c ? "f16" : "f32") + ", " + name_of(kind);
                items.push_back({"wmma " + what, [=](SectionContext& c, const std::string& id) {
                                     ask_wmma(c, id, half_c, half_d, kind);
                                 }});
            }
        }
    }
}

void add_tensor_load_questions(const SectionContext& context, std::vector<SectionItem>& items) {
    if (!target::nearest_generation(context.device.compute_capability()).has_tensor_maps) return;
    for (const LoadCase& load : kLoads) {
        items.push_back(
            {std::string("tensor load ") + load.name,
             [&load](SectionContext& c, const std::string& id) { ask_tensor_load(c, id, load); }});
    }
}

}  // namespace heddle::capture
