// Tensor maps: where they may lie, how a kernel makes one, and which there cannot be.
#include <functional>

#include "tensor_cases.h"

namespace heddle::ptx::test {

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

TEST_CASE("A dimension of one element may have the stride 0", "[ptx][tensor]") {
    Case c;
    c.map.type = TensorMapType::float32;
    c.map.rank = 3;
    c.map.sizes = {24, 1, 6};
    c.map.strides = {0, 96};  // as CuTe makes them of a matrix
    c.map.box = {8, 1, 4};
    c.start = {4, 0, 1};
    c.coordinates = "{4, 0, 1}";
    c.box_bytes = 32 * 4;
    AsyncRun run = load_run(c);
    run.in = random_bytes(kBytes, 11);
    const AsyncOutcome outcome = run.run(load_text(c));
    CHECK(outcome.error == "");
    CHECK((outcome.out == expected_load(c, run.in)));
    // Rows 1 to 4 of a matrix of 24 columns, from column 4.
    for (unsigned row = 0; row < 4; ++row)
        CHECK(std::memcmp(outcome.out.data() + 32 * row, run.in.data() + 96 * (row + 1) + 16, 32) == 0);
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

}  // namespace heddle::ptx::test
