// Tensor copies against the reference of tensor_cases.h.
#include <bit>

#include "tensor_cases.h"

namespace heddle::ptx::test {

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
