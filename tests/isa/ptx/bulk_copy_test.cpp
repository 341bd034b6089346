// cp.async.bulk and its relatives against plain C++.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "async_launch.h"
#include "isa/numerics/formats.h"

namespace heddle::ptx::test {
namespace {

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u + 12345u);
    return values;
}

const std::string kExpect256 = "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n";
// 64 threads: word t of the box, 64 bytes in.
const std::string kReadBox = "mad.lo.u32 %w, %t, 4, %b; ld.shared.b32 %v, [%w + 64];" + kStoreV;
// Shared word k = in[k], 1024 of them, for copies out of shared memory.
const std::string kFillBox =
    "mov.b32 %n, %t; fill: mad.wide.u32 %a, %n, 4, %in; ld.global.b32 %v, [%a]; mad.lo.u32 %w, %n, 4, %b;\n"
    "st.shared.b32 [%w], %v; mov.u32 %m, %ntid.x; add.u32 %n, %n, %m; setp.lt.u32 %q, %n, 1024; @%q bra "
    "fill;\n"
    "fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 %p, %t, 0;\n";
const std::string kFlush =
    "@%p cp.async.bulk.commit_group; @%p cp.async.bulk.wait_group.read 0;\n"
    "@%p cp.async.bulk.wait_group 0;\n";

bool contains(const std::string& text, const std::string& part) {
    INFO(text);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

}  // namespace

TEST_CASE("Bulk copies from global to shared memory", "[ptx][bulk]") {
    AsyncRun run;
    run.threads = 64;
    run.in = bytes_from(numbers(1024));
    const std::string destination = "[box + 64], [%in + 32], 256, [bar]";
    for (const std::string& copy :
         {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " + destination,
          "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes " + destination,
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint " + destination +
              ", 0",
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster " +
              destination + ", 1"}) {
        const AsyncOutcome outcome =
            run.run(kInitialize + kExpect256 + "@%p " + copy + ";\n" + kWait + kReadBox);
        CHECK(outcome.error == "");
        for (unsigned t = 0; t < 64; ++t) REQUIRE(outcome.at<std::uint32_t>(t) == numbers(1024)[8 + t]);
    }
}

TEST_CASE("Several lanes each copy a part", "[ptx][bulk]") {
    AsyncRun run;
    run.threads = 64;
    run.in = bytes_from(numbers(1024));
    // 16 lanes, 16 bytes each, in reverse order.
    const AsyncOutcome outcome = run.run(
        kInitialize + kExpect256 +
        "setp.lt.u32 %r, %t, 16; mad.lo.u32 %w, %t, 16, %b; mul.lo.u32 %n, %t, 16; sub.u32 %n, 240, %n;\n"
        "cvt.u64.u32 %a, %n; add.u64 %a, %a, %in; mov.b32 %x, bar; mov.b32 %m, 16;\n"
        "@%r cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%w + 64], [%a], %m, [%x];\n" +
        kWait + kReadBox);
    CHECK(outcome.error == "");
    for (unsigned t = 0; t < 64; ++t)
        CHECK(outcome.at<std::uint32_t>(t) == numbers(1024)[(15 - t / 4) * 4 + t % 4]);
}

TEST_CASE("Bulk copies from shared to global memory", "[ptx][bulk]") {
    AsyncRun run;
    run.threads = 64;
    run.in = bytes_from(numbers(1024));
    run.out = bytes_from(std::vector<std::uint32_t>(1024, 5));
    const AsyncOutcome outcome =
        run.run(kFillBox +
                "@%p cp.async.bulk.global.shared::cta.bulk_group [%out + 128], [box + 16], 512;\n"
                "@%p cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%out + 3072], [box], 32, "
                "%s;\n" +
                kFlush + "@%p cp.async.bulk.prefetch.L2.global [%in], 1024;\n");
    CHECK(outcome.error == "");
    for (unsigned k = 0; k < 1024; ++k) {
        std::uint32_t expected = 5;
        if (k >= 32 && k < 160) expected = numbers(1024)[k - 32 + 4];
        if (k >= 768 && k < 776) expected = numbers(1024)[k - 768];
        CHECK(outcome.at<std::uint32_t>(k) == expected);
    }
}

TEST_CASE("Bulk copies in a cluster", "[ptx][bulk][cluster]") {
    AsyncRun run;
    run.threads = 64;
    run.ctas = 4;
    run.cluster = 4;
    run.in = bytes_from(numbers(1024));
    run.out.resize(4 * 256);
    const std::string begin =
        kInitialize + kExpect256 + "barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %n, %ctaid.x;\n";
    const std::string end = kWait +
                            "barrier.cluster.arrive; barrier.cluster.wait; mad.lo.u32 %w, %t, 4, %b; "
                            "ld.shared.b32 %v, [%w + 64];\n"
                            "mad.lo.u32 %t, %n, 64, %t;" +
                            kStoreV;
    SECTION("one CTA loads for all") {
        const AsyncOutcome outcome = run.run(
            begin +
            "setp.eq.and.u32 %q, %n, 2, %p;\n"
            "@%q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
            "[box + 64], [%in + 400], 256, [bar], 15;\n" +
            end);
        CHECK(outcome.error == "");
        for (unsigned k = 0; k < 256; ++k) CHECK(outcome.at<std::uint32_t>(k) == numbers(1024)[100 + k % 64]);
    }
    SECTION("each loads for two") {  // ranks 0 and 2 for 0 and 1, 2 and 3, half of the bytes each
        const AsyncOutcome outcome = run.run(
            begin +
            "and.b32 %m, %n, 1; mad.lo.u32 %w, %m, 128, %b; mul.wide.u32 %a, %m, 128; add.u64 %a, %a, %in;\n"
            "and.b32 %x, %n, 2; mov.b32 %y, 3; shl.b32 %y, %y, %x; cvt.u16.u32 %h, %y;\n"
            "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster."
            "L2::cache_hint [%w + 64], [%a], 128, [bar], %h, %s;\n" +
            end);
        CHECK(outcome.error == "");
        for (unsigned k = 0; k < 256; ++k) CHECK(outcome.at<std::uint32_t>(k) == numbers(1024)[k % 64]);
    }
    SECTION("to the next CTA's shared memory") {
        const AsyncOutcome outcome = run.run(
            begin +
            "mad.lo.u32 %w, %t, 4, %b; mad.lo.u32 %v, %n, 1000, %t; st.shared.b32 [%w + 2048], %v; bar.sync "
            "0;\n"
            "add.u32 %m, %n, 1; and.b32 %m, %m, 3; mapa.shared::cluster.u32 %x, %b, %m; mov.b32 %y, bar;\n"
            "mapa.shared::cluster.u32 %y, %y, %m;\n"
            "@%p cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%x + 64], [box + "
            "2048], "
            "256, [%y];\n" +
            end);
        CHECK(outcome.error == "");
        for (unsigned k = 0; k < 256; ++k)
            CHECK(outcome.at<std::uint32_t>(k) == (k / 64 + 3) % 4 * 1000 + k % 64);
    }
    SECTION("st.async of one, two and four words") {
        const AsyncOutcome outcome = run.run(
            begin +
            "add.u32 %m, %n, 1; and.b32 %m, %m, 3; mapa.shared::cluster.u32 %x, %b, %m; mov.b32 %y, bar;\n"
            "mapa.shared::cluster.u32 %y, %y, %m; mad.lo.u32 %v, %n, 1000, %t;\n"
            // words 0-15 one by one, 16-31 in pairs from even threads, 32-47 as 64 bits, 48-63 by fours.
            ".reg .b32 %c<4>; add.u32 %c1, %v, 1; add.u32 %c2, %v, 2; add.u32 %c3, %v, 3; mov.b64 %s, {%v, "
            "%c1};\n"
            "mad.lo.u32 %x, %t, 4, %x; setp.lt.u32 %q, %t, 16;\n"
            "@%q st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%x + 64], %v, [%y];\n"
            "and.b32 %w, %t, 49; setp.eq.u32 %q, %w, 16;\n"
            "@%q st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%x + 64], {%v, %c1}, [%y];\n"
            "setp.eq.u32 %q, %w, 32;\n"
            "@%q st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s64 [%x + 64], %s, [%y];\n"
            "and.b32 %w, %t, 51; setp.eq.u32 %q, %w, 48;\n"
            "@%q st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%x + 64], {%v, %c1, %c2, "
            "%c3}, "
            "[%y];\n" +
            end);
        CHECK(outcome.error == "");
        for (unsigned k = 0; k < 256; ++k)
            CHECK(outcome.at<std::uint32_t>(k) == (k / 64 + 3) % 4 * 1000 + k % 64);
    }
    SECTION("red.async from all CTAs to one") {
        // Rank 1 expects 4 bytes of each of 256 threads; word 0 adds, word 1 is the maximum, by parity.
        const AsyncOutcome outcome = run.run(
            kInitialize +
            "mov.u32 %n, %ctaid.x; setp.eq.u32 %r, %n, 1; setp.eq.and.u32 %q, %t, 0, %r; mov.b32 %m, 0;\n"
            "@%q mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;\n"
            "barrier.cluster.arrive; barrier.cluster.wait;\n"
            "mapa.shared::cluster.u32 %x, %b, 1; mov.b32 %y, bar; mapa.shared::cluster.u32 %y, %y, 1;\n"
            "and.b32 %m, %t, 1; setp.eq.u32 %q, %m, 0; mad.lo.u32 %v, %n, 64, %t;\n"
            "@%q red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%x], %v, "
            "[%y];\n"
            "@!%q red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%x + 4], "
            "%v, "
            "[%y];\n"
            "@!%r bra join;\n" +
            kWait +
            "ld.shared.b32 %v, [box]; st.global.b32 [%out], %v; ld.shared.b32 %v, [box + 4];\n"
            "st.global.b32 [%out + 4], %v; join: barrier.cluster.arrive; barrier.cluster.wait;");
        CHECK(outcome.error == "");
        std::uint32_t sum = 0;
        for (std::uint32_t v = 0; v < 256; v += 2) sum += v;
        CHECK(outcome.at<std::uint32_t>(0) == sum);
        CHECK(outcome.at<std::uint32_t>(1) == 255);
    }
    SECTION("cp.reduce into the next CTA's shared memory") {
        const AsyncOutcome outcome = run.run(
            begin +
            "mad.lo.u32 %w, %t, 4, %b; mad.lo.u32 %v, %n, 1000, %t; st.shared.b32 [%w + 2048], %v;\n"
            "st.shared.b32 [%w + 64], %n; barrier.cluster.arrive; barrier.cluster.wait;\n"
            "add.u32 %m, %n, 1; and.b32 %m, %m, 3; mapa.shared::cluster.u32 %x, %b, %m; mov.b32 %y, bar;\n"
            "mapa.shared::cluster.u32 %y, %y, %m;\n"
            "@%p cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%x + "
            "64], "
            "[box + 2048], 256, [%y];\n" +
            end);
        CHECK(outcome.error == "");
        for (unsigned k = 0; k < 256; ++k)
            CHECK(outcome.at<std::uint32_t>(k) == k / 64 + (k / 64 + 3) % 4 * 1000 + k % 64);
    }
}

namespace {

// One reduction of 4096 bytes: what it makes of `before` in global memory and `value` in shared memory.
template <class T>
void check_reduction(const std::string& suffix, const std::vector<T>& before, const std::vector<T>& value,
                     const std::function<T(T, T)>& expected) {
    AsyncRun run;
    run.threads = 32;
    run.in = bytes_from(value);
    run.out = bytes_from(before);
    const AsyncOutcome outcome =
        run.run(kFillBox + "@%p cp.reduce.async.bulk.global.shared::cta.bulk_group." + suffix +
                " [%out], [box], 4096;\n" + kFlush);
    INFO(suffix);
    CHECK(outcome.error == "");
    unsigned wrong = 0;
    for (std::size_t k = 0; k < before.size(); ++k)
        wrong += outcome.at<T>(k) != expected(before[k], value[k]) ? 1 : 0;
    CHECK(wrong == 0);
}

template <class T>
std::vector<T> random_words(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(4096 / sizeof(T));
    for (T& value : values) value = static_cast<T>(random());
    return values;
}

template <class T>
void check_integers(const std::string& type, bool has_extremes) {
    using Bits = std::make_unsigned_t<T>;
    std::vector<T> a = random_words<T>(1), b = random_words<T>(2);
    for (std::size_t k = 0; k < a.size(); k += 5) a[k] = b[k];
    check_reduction<T>("add." + type, a, b,
                       [](T x, T y) { return static_cast<T>(static_cast<Bits>(x) + static_cast<Bits>(y)); });
    if (!has_extremes) return;
    check_reduction<T>("min." + type, a, b, [](T x, T y) { return std::min(x, y); });
    check_reduction<T>("max." + type, a, b, [](T x, T y) { return std::max(x, y); });
}

template <class T>
void check_bits(const std::string& type) {
    const std::vector<T> a = random_words<T>(3), b = random_words<T>(4);
    check_reduction<T>("and." + type, a, b, [](T x, T y) { return static_cast<T>(x & y); });
    check_reduction<T>("or." + type, a, b, [](T x, T y) { return static_cast<T>(x | y); });
    check_reduction<T>("xor." + type, a, b, [](T x, T y) { return static_cast<T>(x ^ y); });
}

// 16-bit floating point: every exponent, both signs, infinities, NaN, subnormals and pairs that cancel.
std::vector<std::uint16_t> special_halves(std::uint64_t seed) {
    std::vector<std::uint16_t> values = random_words<std::uint16_t>(seed);
    const std::array<std::uint16_t, 8> special = {0x0000, 0x8000, 0x0001, 0x8001,
                                                  0x7F80, 0xFF80, 0x7C00, 0x7FFF};
    for (std::size_t k = 0; k < values.size(); k += 3) values[k] = special[(k / 3 * (seed + 1)) % 8];
    return values;
}

void check_halves(numerics::Format format, const std::string& type) {
    const auto value = [=](std::uint16_t bits) { return numerics::to_double(format, bits); };
    // The exact sum of two doubles this short is a double; one rounding follows.
    check_reduction<std::uint16_t>(
        "add.noftz." + type, special_halves(5), special_halves(6), [=](std::uint16_t x, std::uint16_t y) {
            const double sum = value(x) + value(y);
            if (std::isnan(sum)) return std::uint16_t{0x7FFF};
            return static_cast<std::uint16_t>(
                numerics::convert(format, numerics::Format::fp64, std::bit_cast<std::uint64_t>(sum)));
        });
    const auto extreme = [=](bool smallest) {
        return [=](std::uint16_t x, std::uint16_t y) -> std::uint16_t {
            const double a = value(x), b = value(y);
            if (std::isnan(a) && std::isnan(b)) return 0x7FFF;
            if (std::isnan(a)) return y;
            if (std::isnan(b)) return x;
            const bool first = a < b || (a == b && std::signbit(a));
            return first == smallest ? x : y;
        };
    };
    check_reduction<std::uint16_t>("min." + type, special_halves(7), special_halves(8), extreme(true));
    check_reduction<std::uint16_t>("max." + type, special_halves(7), special_halves(8), extreme(false));
}

}  // namespace

TEST_CASE("Bulk reductions into global memory", "[ptx][bulk]") {
    check_integers<std::uint32_t>("u32", true);
    check_integers<std::int32_t>("s32", true);
    check_integers<std::uint64_t>("u64", true);
    const std::vector<std::int64_t> a = random_words<std::int64_t>(1), b = random_words<std::int64_t>(2);
    check_reduction<std::int64_t>("min.s64", a, b,
                                  [](std::int64_t x, std::int64_t y) { return std::min(x, y); });
    check_reduction<std::int64_t>("max.s64", a, b,
                                  [](std::int64_t x, std::int64_t y) { return std::max(x, y); });
    check_bits<std::uint32_t>("b32");
    check_bits<std::uint64_t>("b64");
    std::vector<std::uint32_t> counts(1024), limits(1024);
    for (std::uint32_t k = 0; k < 1024; ++k) counts[k] = k % 9, limits[k] = k % 7;
    check_reduction<std::uint32_t>("inc.u32", counts, limits,
                                   [](std::uint32_t x, std::uint32_t y) { return x >= y ? 0 : x + 1; });
    check_reduction<std::uint32_t>("dec.u32", counts, limits, [](std::uint32_t x, std::uint32_t y) {
        return x == 0 || x > y ? y : x - 1;
    });
    check_halves(numerics::Format::fp16, "f16");
    check_halves(numerics::Format::bf16, "bf16");
}

TEST_CASE("Bulk reductions of f32 and f64", "[ptx][bulk]") {
    std::mt19937 random(9);
    std::vector<float> a(1024), b(1024);
    for (std::size_t k = 0; k < a.size(); ++k) {
        a[k] = std::ldexp(static_cast<float>(random()) - 2e9f, -static_cast<int>(random() % 40));
        b[k] = std::ldexp(static_cast<float>(random()) - 2e9f, -static_cast<int>(random() % 40));
    }
    check_reduction<float>("add.f32", a, b, [](float x, float y) { return x + y; });
    // Subnormal operands and results become zeros of their sign (PTX manual, "red").
    const float tiny = std::bit_cast<float>(0x00800003u), subnormal = std::bit_cast<float>(0x00000005u);
    std::vector<float> c(1024, 0.0f), d(1024, 0.0f);
    c[0] = subnormal, d[0] = tiny;  // = tiny
    c[1] = -tiny, d[1] = std::bit_cast<float>(0x00800001u);
    c[2] = std::numeric_limits<float>::infinity(), d[2] = 1;
    const std::vector<std::uint32_t> expected = {0x00800003u, 0x80000000u, 0x7F800000u};
    AsyncRun run;
    run.in = bytes_from(d);
    run.out = bytes_from(c);
    const AsyncOutcome outcome = run.run(
        kFillBox +
        "@%p cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32 [%out], [box], "
        "4096, %s;\n" +
        kFlush);
    CHECK(outcome.error == "");
    for (std::size_t k = 0; k < 3; ++k) CHECK(outcome.at<std::uint32_t>(k) == expected[k]);
    std::vector<double> e(512), f(512);
    for (std::size_t k = 0; k < e.size(); ++k) {
        e[k] = std::ldexp(1.0 + static_cast<double>(random()) / 3.0, static_cast<int>(random() % 100) - 50);
        f[k] = -std::ldexp(1.0 + static_cast<double>(random()) / 3.0, static_cast<int>(random() % 100) - 50);
    }
    check_reduction<double>("add.f64", e, f, [](double x, double y) { return x + y; });
}

TEST_CASE("Copied values that steer are copied in timing mode", "[ptx][bulk]") {
    AsyncRun run;
    run.threads = 64;
    std::vector<std::uint32_t> places(1024);
    for (std::uint32_t k = 0; k < 1024; ++k) places[k] = (k * 37 + 5) % 1024;
    run.in = bytes_from(places);
    run.steers = true;
    const AsyncOutcome outcome =
        run.run(kInitialize + kExpect256 +
                "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [box + 64], [%in], "
                "256, [bar];\n" +
                kWait +
                "mad.lo.u32 %w, %t, 4, %b; ld.shared.b32 %n, [%w + 64]; mad.wide.u32 %a, %n, 4, %out;\n"
                "st.global.b32 [%a], %t;");
    CHECK(outcome.error == "");
    for (unsigned t = 0; t < 64; ++t) CHECK(outcome.at<std::uint32_t>(places[t]) == t);
}

TEST_CASE("Errors of bulk copies say what is wrong", "[ptx][bulk]") {
    AsyncRun run;
    run.threads = 1;
    const std::string init = "mbarrier.init.shared::cta.b64 [bar], 1; mov.b32 %n, 40; mov.b32 %w, box;\n";
    const std::string load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
    contains(run.run(init + load + "[box], [%in], %n, [bar];").error, "a bulk copy of 40 bytes");
    contains(run.run(init + load + "[box], [%in + 8], 32, [bar];").error, "the source of a bulk copy");
    contains(run.run(init + load + "[%w + 8], [%in], 32, [bar];").error, "misaligned");
    contains(run.run(init + load + "[%w + 32768], [%in], 256, [bar];").error, "out of bounds");
    contains(run.run(init + load + "[box], [%in + 4080], 32, [bar];").error,
             "the nearest buffer is in, 4096 bytes");
    contains(run.run(load + "[box], [%in], 32, [bar];").error, "cannot be signalled to the mbarrier");
    contains(
        run.run(init + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                       "[box], [%in], 32, [bar], 2;")
            .error,
        "mask 0x2 of a cluster of 1");
    contains(run.run("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out], [box], 32, %h;").error,
             "unsupported form");
}

}  // namespace heddle::ptx::test
