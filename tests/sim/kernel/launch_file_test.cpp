#include "sim/kernel/launch_file.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

using namespace heddle::kernel;

namespace {

const char* const kWhole = R"(module: kernels/saxpy.ptx
nvcc_flags: [-O3]
buffers:
  x: {type: f32, count: 100, fill: {uniform: {low: -1, high: 2, seed: 9}}}
  y:
    type: bf16
    shape: [4, 25]
    fill: ones
  z: {type: s8, fill: {file: z.npy}}
launches:
  - entry: saxpy<float>(int, float*)
    grid: [2, 3]
    block: 128
    cluster: [2, 1, 1]
    dynamic_shared: 1024
    repetitions: 3
    arguments:
      - x
      - {buffer: y, offset: 16}
      - {f32: 2.5}
      - {s32: -7}
      - {struct: [{u8: 1}, {f64: 2}, {u16: 3}]}
      - {bytes: "00 fF 10"}
      - tensor_map: {buffer: x, dimensions: [10, 10], strides: [40], box: [8, 4], swizzle: 32B}
  - {entry: other, module: /abs/other.cu, grid: 1, block: [32, 2, 2], programmatic: true, access_policy_window: {buffer: x, offset: 128, bytes: 256, hit_ratio: 0.5, hit: persisting, miss: streaming}}
outputs:
  - {buffer: y, file: out/y.npy}
compare:
  - {buffer: y, expression: "x[i] * 2", tolerance: {absolute: 1e-3, relative: 0.5, ulp: 2}}
  - {buffer: x, with: y, bit_exact: true}
)";

std::string error_of(const std::string& text) {
    try {
        parse_launch_file(text, "dir/launch.yaml");
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "no error";
}

/// kWhole with a piece replaced.
std::string changed(const std::string& from, const std::string& to) {
    std::string text = kWhole;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a launch file says what it says") {
    const LaunchFile file = parse_launch_file(kWhole, "dir/launch.yaml");
    REQUIRE(file.buffers.size() == 3);
    CHECK(file.buffers[0].name == "x");
    CHECK(std::get<FillUniform>(file.buffers[0].fill).seed == 9);
    CHECK(file.buffers[1].shape == std::vector<std::uint64_t>{4, 25});
    CHECK(std::get<FillConstant>(file.buffers[1].fill).bits == 0x3F80);  // bf16
    CHECK(std::get<FillFile>(file.buffers[2].fill).path == "dir/z.npy");
    REQUIRE(file.launches.size() == 2);
    const LaunchDeclaration& launch = file.launches[0];
    CHECK(launch.module == "dir/kernels/saxpy.ptx");
    CHECK(launch.entry == "saxpy<float>(int, float*)");
    CHECK(launch.nvcc_flags == std::vector<std::string>{"-O3"});
    CHECK(launch.grid == heddle::ptx::Dim3{2, 3, 1});
    CHECK(launch.block == heddle::ptx::Dim3{128, 1, 1});
    CHECK(launch.cluster == heddle::ptx::Dim3{2, 1, 1});
    CHECK(launch.dynamic_shared_bytes == 1024);
    CHECK(launch.repetitions == 3);
    CHECK(!launch.programmatic);
    CHECK(file.launches[1].programmatic);
    CHECK(file.launches[1].module == "/abs/other.cu");
    CHECK_FALSE(launch.access_policy_window.has_value());
    const AccessPolicyWindow& window = file.launches[1].access_policy_window.value();
    CHECK(window.buffer.byte_offset == 128);
    CHECK(window.bytes == 256);
    CHECK(window.hit_ratio == 0.5);
    CHECK(window.hit == heddle::ptx::CachePriority::last);
    CHECK(window.miss == heddle::ptx::CachePriority::first);
    CHECK(file.outputs.at(0).path == "out/y.npy");
    REQUIRE(file.comparisons.size() == 2);
    CHECK(file.comparisons[0].tolerance.ulp == 2);
    CHECK(file.comparisons[0].tolerance.relative == 0.5);
    CHECK(file.comparisons[1].tolerance.bit_exact);
}

TEST_CASE("arguments have the bytes that C gives them") {
    const LaunchFile file = parse_launch_file(kWhole, "dir/launch.yaml");
    const auto& arguments = file.launches[0].arguments;
    REQUIRE(arguments.size() == 7);
    CHECK(std::get<BufferReference>(arguments[0].value).buffer == 0);
    CHECK(std::get<BufferReference>(arguments[1].value).buffer == 1);
    CHECK(std::get<BufferReference>(arguments[1].value).byte_offset == 16);
    const auto is = [&](std::size_t i, const void* expected, std::size_t size) {
        const auto& bytes = std::get<BytesArgument>(arguments[i].value);
        return bytes.size() == size && std::memcmp(bytes.data(), expected, size) == 0;
    };
    const float scalar = 2.5f;
    const std::int32_t integer = -7;
    CHECK(is(2, &scalar, 4));
    CHECK(is(3, &integer, 4));
    struct {
        std::uint8_t a[8] = {1};  // padded to the double
        double b = 2;
        std::uint16_t c[4] = {3};
    } expected;
    CHECK(is(4, &expected, 24));
    CHECK(is(5, "\x00\xff\x10", 3));
    const auto& map = std::get<TensorMapArgument>(arguments[6].value);
    CHECK(map.type == "f32");
    CHECK(map.box == std::vector<std::uint64_t>{8, 4});
    CHECK(map.element_strides == std::vector<std::uint64_t>{1, 1});
    CHECK(map.swizzle == "32B");

    const LaunchFile flat =
        parse_launch_file(changed("dimensions: [10, 10], strides: [40], box: [8, 4]",
                                  "dimensions: [10, 1, 10], strides: [0, 48], box: [8, 1, 4]"),
                          "dir/launch.yaml");
    CHECK(std::get<TensorMapArgument>(flat.launches[0].arguments[6].value).strides ==
          std::vector<std::uint64_t>{0, 48});
}

TEST_CASE("a launch is cooperative when it says so") {
    CHECK_FALSE(parse_launch_file(kWhole, "dir/launch.yaml").launches[0].cooperative);
    CHECK(parse_launch_file(changed("    block: 128\n", "    block: 128\n    cooperative: true\n"),
                            "dir/launch.yaml")
              .launches[0]
              .cooperative);
}

TEST_CASE("mistakes are told with file, line, key and remedy") {
    struct Case {
        std::string text;
        const char* expected;
    };
    const Case cases[] = {
        {"", "dir/launch.yaml: the file is empty"},
        {"a: [", "dir/launch.yaml:1: not YAML"},
        {"a:\n" + std::string(100000, '['), "dir/launch.yaml:2: nested too deeply"},
        {"[1, 2]", "dir/launch.yaml:1: expected a map"},
        {"module: x.ptx", "dir/launch.yaml:1: missing key `launches`"},
        {"module: x.ptx\nlaunches: []", "there is no launch"},
        {changed("outputs:", "output:"), "dir/launch.yaml:26: output: unknown key; did you mean `outputs`?"},
        {changed("    grid: [2, 3]", "    grids: [2, 3]"),
         "dir/launch.yaml:12: launches[0].grids: unknown key; did you mean `grid`?"},
        {changed("    block: 128\n", ""), "dir/launch.yaml:11: launches[0]: missing key `block`"},
        {changed("block: 128", "block: 2000"),
         "launches[0].block: a block has at most 1024 threads, this has 2000"},
        {changed("block: 128", "block: 0"),
         "dir/launch.yaml:13: launches[0].block: `0` is not an integer of at least 1"},
        {changed("grid: [2, 3]", "grid: [1, 2, 3, 4]"), "launches[0].grid: expected 1 to 3 extents"},
        {changed("grid: [2, 3]", "grid: [3, 3]"),
         "dir/launch.yaml:14: launches[0].cluster: the grid 3 x 3 x 1 is not made of whole clusters of 2 x 1 x 1"},
        {changed("grid: [2, 3]", "grid: [2, 2147483648]"),
         "dir/launch.yaml:12: launches[0].grid: a grid has at most 65535 blocks in y, this has 2147483648"},
        {changed("grid: [2, 3]", "grid: [2147483648, 1]"), "a grid has at most 2147483647 blocks in x"},
        {changed("grid: [2, 3]", "grid: [2, 3, 65536]"), "a grid has at most 65535 blocks in z"},
        {changed("grid: [2, 3]", "grid: [18446744073709551615, 1]"), "launches[0].grid: "},
        {changed("block: 128", "block: [1, 1, 128]"),
         "dir/launch.yaml:13: launches[0].block: a block has at most 64 threads in z, this has 128"},
        {changed("hit: persisting", "hit: sticky"),
         "access_policy_window.hit: unknown property sticky; expected persisting, streaming or normal"},
        {changed("miss: streaming", "miss: persisting"), "lines that miss cannot be persisting"},
        {changed("hit_ratio: 0.5", "hit_ratio: 2"), "hit_ratio: expected a number from 0 to 1"},
        {changed("- x\n", "- xx\n"),
         "dir/launch.yaml:18: launches[0].arguments[0]: there is no buffer `xx`; did you mean `x`?"},
        {changed("{f32: 2.5}", "{f32: two}"),
         "dir/launch.yaml:20: launches[0].arguments[2].f32: `two` is not a number"},
        {changed("{f32: 2.5}", "{fp32: 2}"),
         "arguments[2].fp32: there is no element type `fp32`; did you mean `f32`?"},
        {changed("{s32: -7}", "{u32: -7}"), "arguments[3].u32: `-7` does not fit u32"},
        {changed("00 fF 10", "00 f"), "arguments[5].bytes: `f` is not a byte"},
        {changed("strides: [40], ", ""), "missing key `strides`"},
        {changed("strides: [40]", "strides: [0]"),
         "tensor_map.strides: the stride of dimension 1, which has 10 elements, is 0; 0 is the stride of dimensions "
         "of one element alone"},
        {changed("block: 128", "block: 128\n    cooperative: 2"), "launches[0].cooperative: "},
        {changed("box: [8, 4]", "box: [8]"), "tensor_map.box: expected as many extents as `dimensions`"},
        {changed("swizzle: 32B", "swizzle: 32"),
         "tensor_map.swizzle: `32` is not known here; known: none, 32B, 64B, 128B"},
        {changed("type: bf16", "type: bfloat"),
         "dir/launch.yaml:6: buffers.y.type: there is no element type `bfloat`"},
        {changed("shape: [4, 25]", "shape: [4, -25]"),
         "dir/launch.yaml:7: buffers.y.shape[1]: `-25` is not an integer"},
        {changed("    shape: [4, 25]\n", ""), "dir/launch.yaml:5: buffers.y: missing key `count` or `shape`"},
        {changed("fill: ones", "fill: one"),
         "dir/launch.yaml:8: buffers.y.fill: there is no fill `one`; known: zeros"},
        {changed("low: -1", "low: 3"), "`low` must be below `high`"},
        {changed("low: -1", "lo: 3"), "buffers.x.fill.uniform.lo: unknown key; did you mean `low`?"},
        {changed("count: 100", "count: 99999999999999"), "larger than 1 TiB"},
        {changed("with: y, ", ""), "expected one of the keys `file`, `with`, `expression` and `matmul`"},
        {changed(", bit_exact: true", ""),
         "dir/launch.yaml:30: compare[1]: missing key `tolerance` or `bit_exact`"},
        {changed("x[i] * 2", "xx[i] * 2"),
         "dir/launch.yaml:29: compare[0].expression: there is no buffer `xx`"},
        {changed("x[i] * 2", "x[i] * "), "dir/launch.yaml:29: compare[0].expression: column 8"},
        {changed("ulp: 2", "ulps: 2"), "compare[0].tolerance.ulps: unknown key; did you mean `ulp`?"},
        {changed("with: y", "matmul: {a: x, b: x, m: 20, n: 3, k: 5}"), ""},
        {changed("with: y", "matmul: {a: x, b: x, m: 30, n: 3, k: 5}"),
         "compare[1].matmul.a: buffer `x` has 100 elements, 150 are needed"},
        {changed("    grid: [2, 3]", "    grid: [2, 3]\n    grid: 4"), "already given"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.text, test.expected);
        CHECK_THAT(error_of(test.text), Catch::Contains(test.expected));
    }
    CHECK(error_of(changed("with: y", "matmul: {a: x, b: x, m: 20, n: 3, k: 5}")) == "no error");
}

TEST_CASE("a damaged launch file is read or refused, nothing else") {
    std::mt19937 random(1);
    const std::string whole = kWhole;
    const std::string marks = "{}[]:,-\"'&*!|>#% \n\t0x~?";
    std::size_t refused = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string text = whole;
        for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text[at] = marks[random() % marks.size()];
                    break;
                case 1:
                    text.erase(at, 1 + random() % 20);
                    break;
                case 2:
                    text.insert(at, 1, marks[random() % marks.size()]);
                    break;
                default:
                    text.insert(at, whole.substr(random() % whole.size(), random() % 30));
            }
        }
        if (error_of(text) != "no error") ++refused;  // another exception ends the test
    }
    CHECK(refused > 1000);
}

TEST_CASE("anchors do not make an endless struct of a few lines") {
    std::string bomb = "{struct: &a0 [{u8: 1}]}";
    for (unsigned level = 1; level < 8; ++level) {
        const std::string before = "{struct: *a" + std::to_string(level - 1) + "}";
        std::string fields;
        for (unsigned i = 0; i < 12; ++i) fields += (i == 0 ? "" : ", ") + before;
        bomb += "\n      - {struct: &a" + std::to_string(level) + " [" + fields + "]}";
    }
    CHECK_THAT(error_of(changed("{struct: [{u8: 1}, {f64: 2}, {u16: 3}]}", bomb)),
               Catch::Contains("dir/launch.yaml:") && Catch::Contains("more fields"));
}
