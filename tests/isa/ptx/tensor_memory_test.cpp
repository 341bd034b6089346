// Tensor memory: allocation, loads and stores in every shape, copies, and what misuse is told.
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "tensor_harness.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

// A kernel of `threads` threads whose body is given; %t the thread, %w its warp, %ta what [slot] holds after `read`.
std::string small_kernel(const std::string& body) {
    return ".version 9.0\n.target sm_100a\n.address_size 64\n.shared .b32 slot; .shared .b32 other; .shared .align 8 .b64 bar; .shared .align 128 .b8 tile[4096];\n"
           ".visible .entry test(.param .u64 out)\n{\n.reg .pred %p, %q; .reg .b32 %t, %w, %l, %ta, %v<128>, %x; .reg .b64 %out, %a, %d;\n"
           "mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; and.b32 %l, %t, 31; ld.param.u64 %out, [out]; setp.eq.u32 %p, %w, 0;\n" +
           body + "\nret;\n}\n";
}

std::vector<std::uint32_t> run_small(const std::string& body, unsigned threads, Device& device, std::size_t words = 65536) {
    const Program program(small_kernel(body), "test");
    const std::uint64_t out = device.upload("out", std::vector<std::uint32_t>(words));
    LaunchContext context = program.launch(device, {1}, {threads}, {argument(out)});
    context.compute_capability = 100;
    run_functionally(context);
    return device.download<std::uint32_t>(out, words);
}

std::string problem_of(const std::string& body, unsigned threads = 128) {
    Device device;
    try {
        run_small(body, threads, device);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

const std::string kAllocate = "@!%p bra a;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;\na: bar.sync 0; ld.shared.b32 %ta, [slot]; shl.b32 %x, %w, 21; add.u32 %ta, %ta, %x;\n";
const std::string kFree = "bar.sync 0; @!%p bra f;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 64;\nf:\n";

// Where a word of a register lies: the figures "Matrix fragment" of each shape.
struct Cell {
    unsigned row, column;
};
Cell cell(const std::string& shape, unsigned lane, unsigned r) {
    if (shape == "16x64b") return {lane / 4 + 8 * (lane & 1), (lane >> 1 & 1) + 2 * r};
    if (shape == "16x128b") return {lane / 4 + 8 * (r & 1), lane % 4 + 4 * (r / 2)};
    if (shape == "16x256b") return {lane / 4 + 8 * (r >> 1 & 1), (r & 1) + 2 * (lane % 4) + 8 * (r / 4)};
    if (shape == "16x32bx2") return {lane % 16, r + (lane / 16) * 16};
    return {lane, r};
}

}  // namespace

TEST_CASE("what a warp stores in one shape it loads in every other, where the manual's figures say") {
    struct Shape {
        std::string name, number;
        unsigned registers;
    };
    const Shape shapes[] = {{"32x32b", "x16", 16}, {"16x64b", "x8", 8}, {"16x128b", "x4", 8}, {"16x256b", "x2", 8}, {"16x32bx2", "x8", 8}};
    for (const Shape& to : shapes) {
        INFO(to.name);
        // A word says its lane and column.
        std::string body = kAllocate + "shl.b32 %x, %t, 16;\n";
        for (unsigned r = 0; r < 32; ++r) body += "add.u32 %v" + std::to_string(r) + ", %x, " + std::to_string(r) + ";\n";
        body += "tcgen05.st.sync.aligned.32x32b.x32.b32 [%ta], " + vector_of("%v", 32) + "; tcgen05.wait::st.sync.aligned;\n";
        body += "tcgen05.ld.sync.aligned." + to.name + "." + to.number + ".b32 " + vector_of("%v", to.registers) + ", [%ta]" + (to.name == "16x32bx2" ? ", 16" : "") + "; tcgen05.wait::ld.sync.aligned;\n";
        body += "mad.wide.u32 %a, %t, " + std::to_string(4 * to.registers) + ", %out;\n";
        for (unsigned r = 0; r < to.registers; ++r) body += "st.global.b32 [%a+" + std::to_string(4 * r) + "], %v" + std::to_string(r) + ";\n";
        Device device;
        const auto out = run_small(body + kFree, 128, device);
        unsigned wrong = 0;
        for (unsigned thread = 0; thread < 128; ++thread) {
            for (unsigned r = 0; r < to.registers; ++r) {
                const Cell c = cell(to.name, thread % 32, r);
                wrong += out[thread * to.registers + r] != ((thread / 32 * 32 + c.row) << 16 | c.column);
            }
        }
        CHECK(wrong == 0);
        // And the other way: stored in this shape, loaded lane by lane.
        body = kAllocate + "shl.b32 %x, %t, 16;\n";
        for (unsigned r = 0; r < to.registers; ++r) body += "add.u32 %v" + std::to_string(r) + ", %x, " + std::to_string(r) + ";\n";
        body += "tcgen05.st.sync.aligned." + to.name + "." + to.number + ".b32 [%ta], " + (to.name == "16x32bx2" ? std::string("16, ") : std::string()) + vector_of("%v", to.registers) + "; tcgen05.wait::st.sync.aligned;\n";
        body += "tcgen05.ld.sync.aligned.32x32b.x32.b32 " + vector_of("%v", 32) + ", [%ta];\nmad.wide.u32 %a, %t, 128, %out;\n";
        for (unsigned r = 0; r < 32; ++r) body += "st.global.b32 [%a+" + std::to_string(4 * r) + "], %v" + std::to_string(r) + ";\n";
        Device second;
        const auto back = run_small(body + kFree, 128, second);
        for (unsigned thread = 0; thread < 128; ++thread) {
            for (unsigned r = 0; r < to.registers; ++r) {
                const Cell c = cell(to.name, thread % 32, r);
                wrong += back[(thread / 32 * 32 + c.row) * 32 + c.column] != (thread << 16 | r);
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("pack joins the lower halves of neighbouring columns, unpack parts them") {
    std::string body = kAllocate + "shl.b32 %x, %t, 8; or.b32 %x, %x, -1073741824;\n";
    for (unsigned r = 0; r < 8; ++r) body += "add.u32 %v" + std::to_string(r) + ", %x, " + std::to_string(r) + ";\n";
    body += "tcgen05.st.sync.aligned.32x32b.x8.b32 [%ta], " + vector_of("%v", 8) + "; tcgen05.wait::st.sync.aligned;\n"
            "tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 " + vector_of("%v", 4) + ", [%ta]; tcgen05.wait::ld.sync.aligned;\n"
            "tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32 [%ta+8], " + vector_of("%v", 4) + "; tcgen05.wait::st.sync.aligned;\n"
            "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%v4, %v5, %v6, %v7, %v8, %v9, %v10, %v11}, [%ta+8]; tcgen05.wait::ld.sync.aligned;\nmad.wide.u32 %a, %t, 48, %out;\n";
    for (unsigned r = 0; r < 12; ++r) body += "st.global.b32 [%a+" + std::to_string(4 * r) + "], %v" + std::to_string(r) + ";\n";
    Device device;
    const auto out = run_small(body + kFree, 128, device);
    unsigned wrong = 0;
    for (unsigned t = 0; t < 128; ++t) {
        for (unsigned r = 0; r < 4; ++r) wrong += out[t * 12 + r] != (((t << 8) + 2 * r) & 0xFFFF) + (((t << 8) + 2 * r + 1) << 16);
        for (unsigned r = 0; r < 8; ++r) wrong += out[t * 12 + 4 + r] != (((t << 8) + r) & 0xFFFF);
    }
    CHECK(wrong == 0);
}

TEST_CASE("ld.red gives the largest and the smallest of a lane's words beside them") {
    std::string body = kAllocate + "cvt.rn.f32.u32 %v0, %t; neg.f32 %v1, %v0; add.f32 %v2, %v0, 0f3F800000; mov.b32 %v3, 0f7FC00000;\n"
                                   "tcgen05.st.sync.aligned.32x32b.x4.b32 [%ta], {%v0, %v1, %v2, %v3}; tcgen05.wait::st.sync.aligned;\n"
                                   "tcgen05.ld.red.sync.aligned.32x32b.x4.max.f32 {%v4, %v5, %v6, %v7}, %v10, [%ta];\n"
                                   "tcgen05.ld.red.sync.aligned.32x32b.x4.min.abs.f32 {%v4, %v5, %v6, %v7}, %v11, [%ta];\n"
                                   "tcgen05.ld.red.sync.aligned.32x32b.x4.max.NaN.f32 {%v4, %v5, %v6, %v7}, %v12, [%ta];\n"
                                   "tcgen05.ld.red.sync.aligned.32x32b.x2.min.s32 {%v4, %v5}, %v13, [%ta];\nmad.wide.u32 %a, %t, 16, %out;\n";
    for (unsigned r = 0; r < 4; ++r) body += "st.global.b32 [%a+" + std::to_string(4 * r) + "], %v" + std::to_string(10 + r) + ";\n";
    Device device;
    const std::string floats = [&] {
        std::string text = body;
        return text;
    }();
    const auto out = run_small(floats + kFree, 128, device);
    for (unsigned t : {1u, 7u, 100u}) {
        CHECK(std::bit_cast<float>(out[t * 4]) == static_cast<float>(t + 1));
        CHECK(std::bit_cast<float>(out[t * 4 + 1]) == static_cast<float>(t));
        CHECK(out[t * 4 + 2] == 0x7FFFFFFFu);
        CHECK(out[t * 4 + 3] == std::bit_cast<std::uint32_t>(-static_cast<float>(t)));
    }
}

TEST_CASE("alloc waits until another warp gives columns back") {
    // Warp 0 takes all; warp 1 waits, and goes on when warp 0 has seen the flag of warp 2 and given them back.
    const std::string body =
        "@!%p bra one;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;\nbar.sync 1, 96;\nld.shared.b32 %ta, [slot]; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 512; bra end;\n"
        "one: setp.eq.u32 %q, %w, 1; @!%q bra two;\nbar.arrive 1, 96; nanosleep.u32 10;\n"
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [other], 32; ld.shared.b32 %ta, [other]; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 32; st.global.b32 [%out], 7; bra end;\n"
        "two: bar.sync 1, 96;\nend:\n";
    Device device;
    CHECK(run_small(body, 96, device)[0] == 7);
    // Nobody gives anything back.
    const std::string stuck = problem_of("@!%p bra one;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512; one:\nbar.sync 0; @%p bra end;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [other], 32; end: bar.sync 0;\n", 64);
    CHECK_THAT(stuck, Catch::Contains("deadlock"));
}

TEST_CASE("cp copies rows of 32 bytes, to one part of tensor memory or to several") {
    struct Copy {
        std::string shape;
        unsigned rows, chunks;
    };
    for (const Copy& c : {Copy{"128x256b", 128, 2}, Copy{"128x128b", 128, 1}, Copy{"32x128b.warpx4", 32, 1}, Copy{"64x128b.warpx2::02_13", 64, 1}, Copy{"64x128b.warpx2::01_23", 64, 1}, Copy{"4x256b", 4, 2}}) {
        INFO(c.shape);
        TensorCta cta;
        std::mt19937 generator(3);
        for (auto& byte : cta.shared) byte = static_cast<std::uint8_t>(generator());
        cta.a = tensor_descriptor(2048, 128, 256, 0);
        const auto after = cta.run("tcgen05.cp.cta_group::1." + c.shape + " [%ta+12], %da;");
        unsigned wrong = 0, found = 0;
        for (unsigned lane = 0; lane < 128; ++lane) {
            unsigned row = lane;
            if (c.rows == 32) row = lane % 32;
            if (c.shape == "64x128b.warpx2::02_13") row = lane % 64;
            if (c.shape == "64x128b.warpx2::01_23") row = lane / 64 * 32 + lane % 32;
            if (c.rows == 4) row = lane % 32 == 0 ? lane / 32 : 99;
            for (unsigned word = 0; word < c.chunks * 4; ++word) {
                if (row == 99) continue;
                std::uint32_t expected;
                std::memcpy(&expected, &cta.shared[canonical_address(Majorness::k, 0, 1, 2048, 128, 256, row, word * 4)], 4);
                wrong += after[lane * 512 + 12 + word] != expected;
                ++found;
            }
        }
        CHECK(wrong == 0);
        CHECK(found != 0);
    }
    // 6 and 4 bits become bytes.
    TensorCta cta;
    for (unsigned i = 0; i < 16; ++i) {
        for (unsigned b = 0; b < 6; ++b)
            if ((i * 3 % 64) >> b & 1) cta.shared[(i * 6 + b) / 8] |= static_cast<std::uint8_t>(1u << (i * 6 + b) % 8);
        cta.shared[4096 + i / 2] |= static_cast<std::uint8_t>(i << i % 2 * 4);
    }
    cta.a = tensor_descriptor(0, 128, 256, 0);
    cta.b = tensor_descriptor(4096, 128, 256, 0);
    const auto after = cta.run("tcgen05.cp.cta_group::1.128x128b.b8x16.b6x16_p32 [%ta], %da; tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64 [%ta+4], %db;");
    for (unsigned i = 0; i < 16; ++i) {
        CHECK((after[i / 4] >> i % 4 * 8 & 255) == i * 3 % 64);
        CHECK((after[4 + i / 4] >> i % 4 * 8 & 255) == i << 2);
    }
}

TEST_CASE("shift moves 32 bytes of each row to the row before it") {
    TensorCta cta;
    for (unsigned i = 0; i < cta.tensor.size(); ++i) cta.tensor[i] = i;
    const auto after = cta.run("tcgen05.shift.cta_group::1.down [%ta+16];");
    unsigned wrong = 0;
    for (unsigned lane = 0; lane < 128; ++lane)
        for (unsigned column = 0; column < 512; ++column)
            wrong += after[lane * 512 + column] != (column >= 16 && column < 24 && lane % 32 != 31 ? lane + 1 : lane) * 512 + column;
    CHECK(wrong == 0);
}

TEST_CASE("misuse of tensor memory is told in one sentence") {
    const std::string st = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%ta], {%t};\n";
    CHECK_THAT(problem_of(kAllocate), Catch::Contains("exits with 64 columns of tensor memory allocated"));
    CHECK_THAT(problem_of("shl.b32 %ta, %w, 21;" + st), Catch::Contains("column 0 of tensor memory, which the CTA has not allocated"));
    CHECK_THAT(problem_of(kAllocate + kFree + "bar.sync 0;" + st), Catch::Contains("which the CTA has deallocated"));
    CHECK_THAT(problem_of(kAllocate + "add.u32 %ta, %ta, 64;" + st), Catch::Contains("column 64 of tensor memory, which the CTA has not allocated"));
    CHECK_THAT(problem_of(kAllocate + "add.u32 %ta, %ta, 512;" + st), Catch::Contains("reaches column 512 of tensor memory, which has 512"));
    CHECK_THAT(problem_of(kAllocate + "xor.b32 %ta, %ta, 2097152;" + st), Catch::Contains("the warp reaches lanes 96 to 127"));
    CHECK_THAT(problem_of("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 48;"), Catch::Contains("a power of two from 32 to 512"));
    CHECK_THAT(problem_of(kAllocate + kFree + "@!%p bra g; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 64; g:\n"), Catch::Contains("which is deallocated already"));
    CHECK_THAT(problem_of("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" + kAllocate), Catch::Contains("after tcgen05.relinquish_alloc_permit"));
    CHECK_THAT(problem_of("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 64;"), Catch::Contains("in a cluster of 1 CTAs"));
    CHECK_THAT(problem_of(kAllocate + "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;"), Catch::Contains("another .cta_group than in line"));
    CHECK_THAT(problem_of("setp.eq.u32 %q, %t, 0; mov.b32 %x, 136314896; mov.b64 %d, 0; @%q tcgen05.mma.cta_group::1.kind::f16 [%x], %d, %d, %x, %q;"),
               Catch::Contains("which the CTA has not allocated"));
    CHECK_THAT(problem_of("setp.eq.u32 %q, %t, 0; mov.b32 %x, 0; mov.b64 %d, 0; @%q tcgen05.mma.cta_group::1.kind::f16 [%x], %d, %d, %x, %q;"),
               Catch::Contains("instruction descriptor of tcgen05.mma: M = 0"));
}
