// Tensor copies against a reference that looks at one element after the other, written from the PTX manual,
// "Tensors", and the driver API, cuTensorMapEncodeTiled.
#include <bit>
#include <optional>
#include <random>

#include "async_launch.h"

namespace heddle::ptx::test {
namespace {

constexpr std::size_t kBytes = 16384;  // of the tensor's memory, and of the box at most

bool contains(const std::string& text, const std::string& part) {
    INFO(text);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

unsigned element_size(TensorMapType type) {
    static constexpr unsigned kSizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return kSizes[static_cast<unsigned>(type)];
}

// An element of the box: where it lies in shared memory, from the start of the box at a multiple of 1024, and
// in the tensor; nothing when that is out of bounds.
struct Element {
    std::size_t shared = 0;
    std::optional<std::size_t> global;
};

std::vector<Element> elements_of(const TensorMap& map, const std::vector<int>& start) {
    std::vector<Element> elements;
    const std::size_t size = element_size(map.type);
    std::vector<std::size_t> index(map.rank, 0), counts(map.rank);
    for (unsigned d = 0; d < map.rank; ++d) {
        const std::size_t step = d == 0 ? 1 : map.element_strides[d];
        counts[d] = (map.box[d] + step - 1) / step;
    }
    for (std::size_t linear = 0;; ++linear) {
        Element element;
        const std::size_t byte = linear * size, row = byte / 128, chunk = byte / 16 % 8;
        const std::size_t mask = map.swizzle == TensorMapSwizzle::bytes_128  ? 7
                                 : map.swizzle == TensorMapSwizzle::bytes_64 ? 3
                                 : map.swizzle == TensorMapSwizzle::bytes_32 ? 1
                                                                             : 0;
        element.shared = row * 128 + (chunk ^ (row & mask)) * 16 + byte % 16;
        std::size_t place = 0;
        bool inside = true;
        for (unsigned d = 0; d < map.rank; ++d) {
            const long c = start[d] + static_cast<long>(index[d] * (d == 0 ? 1 : map.element_strides[d]));
            inside = inside && c >= 0 && c < static_cast<long>(map.sizes[d]);
            if (inside) place += static_cast<std::size_t>(c) * (d == 0 ? size : map.strides[d - 1]);
        }
        if (inside) element.global = place;
        elements.push_back(element);
        unsigned d = 0;
        while (d < map.rank && ++index[d] == counts[d]) index[d++] = 0;
        if (d == map.rank) return elements;
    }
}

struct Case {
    TensorMap map;
    std::vector<int> start;
    std::string coordinates;
    std::size_t box_bytes = 0;
};

// A tensor of at most kBytes that a box of at most kBytes hangs over on any side.
Case random_case(std::mt19937& random, unsigned rank, TensorMapType type, TensorMapSwizzle swizzle) {
    const auto pick = [&](unsigned low, unsigned high) {
        return low + static_cast<unsigned>(random() % (high - low + 1));
    };
    const unsigned size = element_size(type);
    for (;;) {
        Case c;
        TensorMap& map = c.map;
        map.type = type;
        map.rank = static_cast<std::uint8_t>(rank);
        map.swizzle = swizzle;
        const unsigned width =
            swizzle == TensorMapSwizzle::none ? 256u : 16u << static_cast<unsigned>(swizzle);
        map.box[0] = pick(1, std::min(width, 256 * size) / 16) * 16 / size;
        map.sizes[0] = pick(1, 400 / size);
        std::uint64_t stride = (map.sizes[0] * size + 15) / 16 * 16 + 16 * pick(0, 2);
        std::uint64_t box = std::uint64_t{map.box[0]} * size;
        for (unsigned d = 1; d < rank; ++d) {
            map.sizes[d] = pick(1, 9);
            map.box[d] = pick(1, 8);
            map.element_strides[d] = random() % 3 == 0 ? pick(2, 4) : 1;
            map.strides[d - 1] = stride;
            stride *= map.sizes[d];
            stride += 16 * pick(0, 1);
            box *= (map.box[d] + map.element_strides[d] - 1) / map.element_strides[d];
        }
        if (stride > kBytes || box > kBytes) continue;
        for (unsigned d = 0; d < rank; ++d) {
            const int reach = static_cast<int>(map.box[d]);
            c.start.push_back(static_cast<int>(random() % (map.sizes[d] + map.box[d] + 1)) - reach);
            if (random() % 4 == 0) c.start.back() = 0;
            c.coordinates += (d == 0 ? "" : ", ") + std::to_string(c.start.back());
        }
        c.coordinates = "{" + c.coordinates + "}";
        c.box_bytes = box;
        return c;
    }
}

std::vector<std::byte> random_bytes(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

// All of the box, word by word, to `out`; before the copy it holds 0xABABABAB.
const std::string kPaint =
    "mov.b32 %n, %t; paint: mad.lo.u32 %w, %n, 4, %b; st.shared.b32 [%w], 0xABABABAB; add.u32 %n, %n, 128;\n"
    "setp.lt.u32 %q, %n, 4096; @%q bra paint; fence.proxy.async.shared::cta; bar.sync 0;\n";
const std::string kDump =
    "mov.b32 %n, %t; dump: mad.lo.u32 %w, %n, 4, %b; ld.shared.b32 %v, [%w]; mad.wide.u32 %a, %n, 4, %out;\n"
    "st.global.b32 [%a], %v; add.u32 %n, %n, 128; setp.lt.u32 %q, %n, 4096; @%q bra dump;\n";
// The box is `in`.
const std::string kFill =
    "mov.b32 %n, %t; fill: mad.lo.u32 %w, %n, 4, %b; mad.wide.u32 %a, %n, 4, %in; ld.global.b32 %v, [%a];\n"
    "st.shared.b32 [%w], %v; add.u32 %n, %n, 128; setp.lt.u32 %q, %n, 4096; @%q bra fill;\n"
    "fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 %p, %t, 0;\n";
const std::string kFlush = "@%p cp.async.bulk.commit_group; @%p cp.async.bulk.wait_group 0;\n";

std::string dimension(const Case& c) {
    return std::to_string(c.map.rank) + "d";
}

std::string describe(const Case& c) {
    return dimension(c) + " type " + std::to_string(static_cast<int>(c.map.type)) + " swizzle " +
           std::to_string(static_cast<int>(c.map.swizzle)) + " at " + c.coordinates;
}

std::string load_text(const Case& c, const std::string& suffix = "", const std::string& operand = "") {
    return kPaint + kInitialize + "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " +
           std::to_string(c.box_bytes) + ";\n@%p cp.async.bulk.tensor." + dimension(c) +
           ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" + suffix + " [box], [%map, " +
           c.coordinates + "], [bar]" + operand + ";\n" + kWait + kDump;
}

AsyncRun load_run(const Case& c) {
    AsyncRun run;
    run.threads = 128;
    run.in = random_bytes(kBytes, 7);
    run.out.resize(kBytes);
    run.map = [=](std::uint64_t in, std::uint64_t) {
        TensorMap map = c.map;
        map.address = in;
        return map;
    };
    return run;
}

std::vector<std::byte> expected_load(const Case& c, const std::vector<std::byte>& in) {
    std::vector<std::byte> expected(kBytes, std::byte{0xAB});
    const std::size_t size = element_size(c.map.type);
    for (const Element& element : elements_of(c.map, c.start)) {
        for (std::size_t k = 0; k < size; ++k)
            expected[element.shared + k] = element.global ? in[*element.global + k] : std::byte{0};
    }
    return expected;
}

}  // namespace

TEST_CASE("Boxes of tensors to shared memory", "[ptx][tensor]") {
    std::mt19937 random(42);
    const TensorMapType types[] = {TensorMapType::uint8,   TensorMapType::uint16,  TensorMapType::uint32,
                                   TensorMapType::int32,   TensorMapType::uint64,  TensorMapType::int64,
                                   TensorMapType::float16, TensorMapType::float32, TensorMapType::float64,
                                   TensorMapType::bfloat16};
    unsigned number = 0;
    for (unsigned rank = 1; rank <= 5; ++rank) {
        for (unsigned swizzle = 0; swizzle < 4; ++swizzle) {
            for (unsigned repeat = 0; repeat < 8; ++repeat) {
                const Case c =
                    random_case(random, rank, types[number++ % 10], static_cast<TensorMapSwizzle>(swizzle));
                const AsyncRun run = load_run(c);
                const AsyncOutcome outcome = run.run(load_text(c));
                INFO(describe(c));
                REQUIRE(outcome.error == "");
                REQUIRE((outcome.out == expected_load(c, run.in)));
            }
        }
    }
}

TEST_CASE("What the reference expects of a small box", "[ptx][tensor]") {
    // By hand: 4 columns of 32 bits and 3 rows in memory; a box of 4 x 2 at (1, 2), swizzle of 32 bytes.
    Case c;
    c.map.type = TensorMapType::uint32;
    c.map.rank = 2;
    c.map.sizes = {4, 3};
    c.map.strides = {16};
    c.map.box = {8, 8};
    c.map.swizzle = TensorMapSwizzle::bytes_32;
    c.start = {1, 2};
    const std::vector<Element> elements = elements_of(c.map, c.start);
    REQUIRE(elements.size() == 64);
    CHECK(elements[0].shared == 0);
    CHECK(elements[0].global == 2 * 16 + 4);
    CHECK(elements[2].global == 2 * 16 + 12);
    CHECK_FALSE(elements[3].global);
    CHECK_FALSE(elements[8].global);
    CHECK(elements[32].shared == 128 + 16);  // the second line: its chunks trade places
    CHECK(elements[36].shared == 128);
}

TEST_CASE("A box for several CTAs", "[ptx][tensor][cluster]") {
    std::mt19937 random(3);
    for (unsigned rank = 2; rank <= 3; ++rank) {
        const Case c = random_case(random, rank, TensorMapType::float16, TensorMapSwizzle::bytes_64);
        AsyncRun run = load_run(c);
        run.ctas = run.cluster = 2;
        run.out.resize(2 * kBytes);
        const std::string body = kPaint + kInitialize +
                                 "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " +
                                 std::to_string(c.box_bytes) +
                                 ";\nbarrier.cluster.arrive; barrier.cluster.wait; mov.u32 %x, %ctaid.x; "
                                 "setp.eq.and.u32 %q, %x, 1, %p;\n"
                                 "mov.b16 %h, 3; @%q cp.async.bulk.tensor." +
                                 dimension(c) +
                                 ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2:"
                                 ":cache_hint [box], [%map, " +
                                 c.coordinates + "], [bar], %h, %s;\n" + kWait +
                                 "mul.wide.u32 %a, %x, 16384; add.u64 %out, %out, %a;\n" + kDump +
                                 "barrier.cluster.arrive; barrier.cluster.wait;\n";
        const AsyncOutcome outcome = run.run(body);
        INFO(describe(c));
        REQUIRE(outcome.error == "");
        const std::vector<std::byte> expected = expected_load(c, run.in);
        for (unsigned cta = 0; cta < 2; ++cta) {
            const auto first = outcome.out.begin() + static_cast<std::ptrdiff_t>(cta * kBytes);
            CHECK(std::equal(expected.begin(), expected.end(), first));
        }
    }
}

TEST_CASE("Boxes of shared memory to tensors", "[ptx][tensor]") {
    std::mt19937 random(17);
    const TensorMapType types[] = {TensorMapType::uint8, TensorMapType::bfloat16, TensorMapType::float32,
                                   TensorMapType::int64};
    unsigned number = 0;
    for (unsigned rank = 1; rank <= 5; ++rank) {
        for (unsigned swizzle = 0; swizzle < 4; ++swizzle) {
            for (unsigned repeat = 0; repeat < 3; ++repeat) {
                const Case c =
                    random_case(random, rank, types[number++ % 4], static_cast<TensorMapSwizzle>(swizzle));
                AsyncRun run = load_run(c);
                run.out = random_bytes(kBytes, 8);
                run.map = [&](std::uint64_t, std::uint64_t out) {
                    TensorMap map = c.map;
                    map.address = out;
                    return map;
                };
                const AsyncOutcome outcome = run.run(kFill + "@%p cp.async.bulk.tensor." + dimension(c) +
                                                     ".global.shared::cta.tile.bulk_group [%map, " +
                                                     c.coordinates + "], [box];\n" + kFlush);
                std::vector<std::byte> expected = run.out;
                const std::size_t size = element_size(c.map.type);
                for (const Element& element : elements_of(c.map, c.start)) {
                    for (std::size_t k = 0; k < size && element.global; ++k)
                        expected[*element.global + k] = run.in[element.shared + k];
                }
                INFO(describe(c));
                REQUIRE(outcome.error == "");
                REQUIRE((outcome.out == expected));
            }
        }
    }
}

TEST_CASE("Reductions of boxes into tensors", "[ptx][tensor]") {
    std::mt19937 random(23);
    using Combine = std::function<std::uint32_t(std::uint32_t, std::uint32_t)>;
    const std::vector<std::tuple<std::string, TensorMapType, Combine>> reductions = {
        {"add", TensorMapType::uint32, [](std::uint32_t a, std::uint32_t b) { return a + b; }},
        {"min", TensorMapType::int32,
         [](std::uint32_t a, std::uint32_t b) {
             return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b;
         }},
        {"max", TensorMapType::uint32, [](std::uint32_t a, std::uint32_t b) { return a < b ? b : a; }},
        {"and", TensorMapType::uint32, [](std::uint32_t a, std::uint32_t b) { return a & b; }},
        {"xor", TensorMapType::int32, [](std::uint32_t a, std::uint32_t b) { return a ^ b; }},
        {"inc", TensorMapType::uint32, [](std::uint32_t a, std::uint32_t b) { return a >= b ? 0 : a + 1; }},
    };
    for (const auto& [name, type, combine] : reductions) {
        const Case c = random_case(random, 3, type, TensorMapSwizzle::bytes_64);
        AsyncRun run = load_run(c);
        run.out = random_bytes(kBytes, 9);
        run.map = [&c = c](std::uint64_t, std::uint64_t out) {
            TensorMap map = c.map;
            map.address = out;
            return map;
        };
        const AsyncOutcome outcome =
            run.run(kFill + "@%p cp.reduce.async.bulk.tensor.3d.global.shared::cta." + name +
                    ".tile.bulk_group [%map, " + c.coordinates + "], [box];\n" + kFlush);
        std::vector<std::byte> expected = run.out;
        for (const Element& element : elements_of(c.map, c.start)) {
            if (!element.global) continue;
            std::uint32_t before = 0, value = 0;
            std::memcpy(&before, expected.data() + *element.global, 4);
            std::memcpy(&value, run.in.data() + element.shared, 4);
            const std::uint32_t after = combine(before, value);
            std::memcpy(expected.data() + *element.global, &after, 4);
        }
        INFO(name + " " + describe(c));
        CHECK(outcome.error == "");
        CHECK((outcome.out == expected));
    }
    Case c = random_case(random, 2, TensorMapType::uint16, TensorMapSwizzle::none);
    AsyncRun run = load_run(c);
    contains(run.run(kFill + "@%p cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%map, " +
                     c.coordinates + "], [box];\n")
                 .error,
             "not possible on elements of type u16");
}

TEST_CASE("A tensor map in global and in constant memory", "[ptx][tensor]") {
    std::mt19937 random(5);
    const Case c = random_case(random, 2, TensorMapType::uint16, TensorMapSwizzle::bytes_128);
    AsyncRun run = load_run(c);
    run.steers = true;
    run.in.resize(kBytes + 128);
    // The map's bytes are copied behind the tensor by the kernel itself, for the next ones to use.
    const std::string copy =
        "setp.lt.u32 %q, %t, 16; mad.wide.u32 %a, %t, 8, %map; mad.wide.u32 %s, %t, 8, %in; .reg .b64 "
        "%word;\n"
        "@%q ld.b64 %word, [%a]; @%q st.global.b64 [%s + 16384], %word; bar.sync 0;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [%in], 128; add.u64 %map, %in, 16384;\n"
        "prefetch.tensormap [%map];\n";
    const AsyncOutcome outcome = run.run(copy + load_text(c, ".L2::cache_hint", ", %s"));
    CHECK(outcome.error == "");
    CHECK((outcome.out == expected_load(c, run.in)));
}

TEST_CASE("A kernel makes a tensor map", "[ptx][tensor]") {
    // From zeros in shared memory, then copied to global memory: CUDA programming guide, "Modifying tensor
    // map in shared memory".
    AsyncRun run;
    run.threads = 128;
    run.in = random_bytes(kBytes + 128, 7);
    run.out.resize(kBytes);
    run.steers = true;
    run.globals = ".shared .align 128 .b8 map_box[128];";
    Case c;
    c.map.type = TensorMapType::bfloat16;
    c.map.rank = 3;
    c.map.sizes = {40, 9, 5};
    c.map.strides = {96, 96 * 10};
    c.map.box = {32, 4, 3};
    c.map.element_strides = {1, 2, 1, 1, 1};
    c.map.swizzle = TensorMapSwizzle::bytes_64;
    c.start = {-3, 2, 3};
    c.coordinates = "{-3, 2, 3}";
    c.box_bytes = 64 * 2 * 3;
    std::string body = "setp.eq.u32 %p, %t, 0; @!%p bra made; mov.b64 %a, map_box; cvta.shared.u64 %a, %a;\n";
    const auto replace = [&](const std::string& field, const std::string& type, const std::string& value) {
        body +=
            "tensormap.replace.tile." + field + ".shared::cta.b1024." + type + " [map_box], " + value + ";\n";
    };
    replace("global_address", "b64", "%in");
    body += "mov.b32 %n, 2; tensormap.replace.tile.rank.b1024.b32 [%a], %n;\n";
    for (unsigned d = 0; d < 3; ++d) {
        const std::string ordinal = std::to_string(d) + ", ";
        replace("box_dim", "b32", ordinal + std::to_string(c.map.box[d]));
        replace("global_dim", "b32", ordinal + std::to_string(c.map.sizes[d]));
        replace("element_stride", "b32", ordinal + std::to_string(c.map.element_strides[d]));
        if (d < 2) replace("global_stride", "b64", ordinal + std::to_string(c.map.strides[d]));
    }
    replace("elemtype", "b32", "10");
    replace("interleave_layout", "b32", "0");
    replace("swizzle_mode", "b32", "2");
    replace("fill_mode", "b32", "0");
    body +=
        "made: bar.sync 0; setp.ge.u32 %q, %t, 32; @%q bra copied; add.u64 %map, %in, 16384;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], "
        "[map_box], "
        "128;\ncopied: bar.sync 0; add.u64 %map, %in, 16384;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [%map], 128;\n";
    const AsyncOutcome outcome = run.run(body + load_text(c));
    CHECK(outcome.error == "");
    CHECK((outcome.out == expected_load(c, run.in)));
}

TEST_CASE("Elements that change on their way", "[ptx][tensor]") {
    const std::vector<std::uint32_t> words = {
        0x3F800000, 0x00000001, 0x80000123, 0x3F801000, 0x3F803000, 0x7F800000, 0xBF8FFFFF, 0x00800000,
        0x3F800FFF, 0x3F801001, 0x80000000, 0xFF800000, 0x42280000, 0x7F7FFFFF, 0x0,        0x1};
    const auto load = [&](TensorMapType type, TensorMapFill fill) {
        Case c;
        c.map.type = type;
        c.map.rank = 1;
        c.map.sizes = {16};
        c.map.box = {32};
        c.map.fill = fill;
        c.start = {0};
        c.coordinates = "{0}";
        c.box_bytes = 128;
        AsyncRun run = load_run(c);
        run.in = bytes_from(words);
        const AsyncOutcome outcome = run.run(load_text(c));
        CHECK(outcome.error == "");
        return outcome;
    };
    const AsyncOutcome plain = load(TensorMapType::float32, TensorMapFill::zero),
                       flushed = load(TensorMapType::float32_flushed, TensorMapFill::nan),
                       rounded = load(TensorMapType::tfloat32, TensorMapFill::zero);
    for (std::size_t k = 0; k < 16; ++k) {
        const std::uint32_t word = words[k];
        CHECK(plain.at<std::uint32_t>(k) == word);
        CHECK(flushed.at<std::uint32_t>(k) == word);  // .ftz is about reductions
        CHECK(plain.at<std::uint32_t>(16 + k) == 0);
        CHECK(flushed.at<std::uint32_t>(16 + k) == 0x7FF77FF7);
        CHECK(rounded.at<std::uint32_t>(k) % 8192 == 0);  // 13 bits fewer
    }
    // Ties to even: 1 + 2^-11 and 1 + 3 * 2^-11.
    CHECK(rounded.at<std::uint32_t>(3) == 0x3F800000);
    CHECK(rounded.at<std::uint32_t>(4) == 0x3F804000);
    CHECK(rounded.at<std::uint32_t>(9) == 0x3F802000);
}

TEST_CASE("Additions into tensors of f32 keep subnormals unless the type is .ftz", "[ptx][tensor]") {
    const std::vector<std::uint32_t> before = {0x00000005, 0x80800003, 0x3F800000, 0},
                                     value = {0x00000003, 0x00800001, 0x3F800000, 1};
    const auto add = [&](TensorMapType type) {
        AsyncRun run;
        run.threads = 1;
        run.in = bytes_from(value);
        run.out = bytes_from(before);
        run.map = [=](std::uint64_t, std::uint64_t out) {
            TensorMap map;
            map.type = type;
            map.address = out;
            map.sizes = {4};
            map.box = {4};
            return map;
        };
        const AsyncOutcome outcome = run.run(
            "mov.b32 %n, 0; cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%map, {%n}];\n"
            ".reg .b32 %c<4>; ld.global.v4.b32 {%c0, %c1, %c2, %c3}, [%in];\n"
            "st.shared.v4.b32 [box], {%c0, %c1, %c2, %c3}; fence.proxy.async;\n"
            "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%map, {%n}], [box];\n"
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
        CHECK(outcome.error == "");
        return outcome;
    };
    const AsyncOutcome kept = add(TensorMapType::float32), flushed = add(TensorMapType::float32_flushed);
    const std::vector<std::uint32_t> with = {8, 0x80000002, 0x40000000, 1},
                                     without = {0, 0x80000000, 0x40000000, 0};
    for (std::size_t k = 0; k < 4; ++k) {
        CHECK(kept.at<std::uint32_t>(k) == with[k]);
        CHECK(flushed.at<std::uint32_t>(k) == without[k]);
    }
}

TEST_CASE("Parameters of a tensor map are checked", "[ptx][tensor]") {
    TensorMap good;
    good.type = TensorMapType::float16;
    good.rank = 3;
    good.address = 0x7f0000000000;
    good.sizes = {100, 50, 7};
    good.strides = {208, 208 * 50};
    good.box = {64, 16, 2};
    good.swizzle = TensorMapSwizzle::bytes_128;
    const auto problem = [&](const std::function<void(TensorMap&)>& change) -> std::string {
        TensorMap map = good;
        change(map);
        try {
            map.encode();
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    CHECK(problem([](TensorMap&) {}) == "");
    contains(problem([](TensorMap& m) { m.rank = 0; }), "rank 0");
    contains(problem([](TensorMap& m) { m.rank = 6; }), "rank 6");
    contains(problem([](TensorMap& m) { m.address += 8; }), "no multiple of 16");
    contains(problem([](TensorMap& m) { m.sizes[1] = 0; }), "globalDim[1]");
    contains(problem([](TensorMap& m) { m.sizes[2] = (1ull << 32) + 1; }), "globalDim[2]");
    contains(problem([](TensorMap& m) { m.strides[0] = 200; }), "globalStrides[0]");
    contains(problem([](TensorMap& m) { m.strides[1] = 1ull << 40; }), "globalStrides[1]");
    contains(problem([](TensorMap& m) { m.box[2] = 257; }), "boxDim[2]");
    contains(problem([](TensorMap& m) { m.box[0] = 12; }), "24 bytes wide");
    contains(problem([](TensorMap& m) { m.box[0] = 72; }), "the swizzle only 128");
    contains(problem([](TensorMap& m) { m.swizzle = TensorMapSwizzle::bytes_64; }), "the swizzle only 64");
    contains(problem([](TensorMap& m) { m.element_strides[1] = 9; }), "elementStrides[1]");
    contains(problem([](TensorMap& m) { m.interleave = 1; }), "interleaved layouts are not supported");
    contains(problem([](TensorMap& m) {
                 m.type = TensorMapType::int32;
                 m.fill = TensorMapFill::nan;
                 m.box[0] = 32;
             }),
             "cannot be filled with NaN");
    const TensorMap again = TensorMap::decode(good.encode());
    CHECK(again.type == good.type);
    CHECK(again.sizes == good.sizes);
    CHECK(again.strides == good.strides);
    CHECK(again.box == good.box);
    CHECK(again.element_strides == good.element_strides);
    CHECK(again.address == good.address);
    CHECK(again.swizzle == good.swizzle);
}

TEST_CASE("Errors of tensor copies say what is wrong", "[ptx][tensor]") {
    std::mt19937 random(1);
    const Case c = random_case(random, 2, TensorMapType::uint16, TensorMapSwizzle::none);
    AsyncRun run = load_run(c);
    const std::string load = ".shared::cluster.global.mbarrier::complete_tx::bytes ";
    const std::string begin = "mbarrier.init.shared::cta.b64 [bar], 1; mov.b32 %w, box;\n";
    contains(run.run(begin + "cp.async.bulk.tensor.3d" + load + "[box], [%map, {0, 0, 0}], [bar];").error,
             "a copy of 3 dimensions with a tensor map of 2");
    contains(run.run(begin + "cp.async.bulk.tensor.2d" + load + "[%w + 64], [%map, {0, 0}], [bar];").error,
             "misaligned");
    contains(run.run(begin + "add.u64 %map, %map, 64; cp.async.bulk.tensor.2d" + load +
                     "[box], [%map, {0, 0}], [bar];")
                 .error,
             "a tensor map at generic address");
    run.map = nullptr;
    contains(run.run(begin + "cp.async.bulk.tensor.2d" + load + "[box], [%map, {0, 0}], [bar];").error,
             "tensor map");
    run = load_run(c);
    run.in.resize(16);
    contains(run.run(begin + "cp.async.bulk.tensor.2d" + load + "[box], [%map, {0, 0}], [bar];").error,
             "out of bounds");
    contains(
        run.run(begin + "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                        "[box], [%map, {0, 0, 0, 0}], [bar], {%h, %h};")
            .error,
        "unsupported form");
}

}  // namespace heddle::ptx::test
