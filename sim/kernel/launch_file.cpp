#include "sim/kernel/launch_file.h"

#include <yaml-cpp/depthguard.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "isa/common/text_file.h"
#include "isa/target/launch_limits.h"
#include "sim/kernel/launch_arguments.h"
#include "sim/kernel/reference_expression.h"
#include "sim/kernel/yaml_map.h"

namespace heddle::kernel {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

class Reader {
  public:
    Reader(std::string path) : folder_(fs::path(path).parent_path()) { file_.path = std::move(path); }

    LaunchFile read(const YamlValue& root) {
        const YamlMap map(root, {"module", "nvcc_flags", "buffers", "launches", "outputs", "compare"});
        if (const auto buffers = map.find("buffers")) {
            for (const auto& [name, value] : named_entries(*buffers)) read_buffer(name, value);
        }
        const auto module = map.find("module");
        const auto flags = map.find("nvcc_flags");
        for (const YamlValue& value : map.require("launches").list()) read_launch(value, module, flags);
        if (file_.launches.empty()) map.fail("there is no launch", "list at least one under `launches`");
        if (const auto outputs = map.find("outputs")) {
            for (const YamlValue& value : outputs->list()) read_output(value);
        }
        if (const auto comparisons = map.find("compare")) {
            for (const YamlValue& value : comparisons->list()) read_comparison(value);
        }
        return std::move(file_);
    }

  private:
    std::string beside(const std::string& path) const { return (folder_ / path).lexically_normal().string(); }

    // ---- buffers ----

    void read_buffer(const std::string& name, const YamlValue& value) {
        const YamlMap map(value, {"type", "count", "shape", "fill"});
        BufferDeclaration buffer;
        buffer.name = name;
        buffer.where = value.where;
        const YamlValue type = map.require("type");
        buffer.type = with_place(type, [&] { return element_type(type.text()); });
        const auto count = map.find("count"), shape = map.find("shape");
        if (count && shape) shape->fail("`count` is given too", "keep one of the two");
        if (count) buffer.shape = {count->unsigned_integer(1)};
        if (shape) buffer.shape = shape->integers();
        std::uint64_t bytes = bytes_of(buffer.type);
        for (const std::uint64_t extent : buffer.shape) {
            if (extent > kMostBytes / bytes) value.fail("the buffer is larger than 1 TiB");
            bytes *= extent;
        }
        if (const auto fill = map.find("fill")) buffer.fill = read_fill(*fill, buffer.type);
        if (buffer.shape.empty() && !std::holds_alternative<FillFile>(buffer.fill)) {
            value.fail("missing key `count` or `shape`");
        }
        file_.buffers.push_back(std::move(buffer));
    }

    Fill read_fill(const YamlValue& value, ElementType type) const {
        if (value.node.IsScalar()) {
            const std::string& word = value.text();
            if (word == "zeros") return FillConstant{0};
            if (word == "ones") return FillConstant{from_double(type, 1)};
            if (word == "iota") return FillIota{};
            if (word == "uniform") return FillUniform{};
            if (word == "normal") return FillNormal{};
            value.fail(
                "there is no fill `" + word + "`",
                "known: zeros, ones, iota, uniform, normal, {constant: V}, {uniform: {low, high, seed}}, "
                "{normal: {mean, stddev, seed}}, {file: PATH}");
        }
        const YamlMap map(value, {"constant", "iota", "uniform", "normal", "file"});
        const auto entries = map.entries();
        if (entries.size() != 1) value.fail("expected one kind of fill");
        const auto& [kind, body] = entries.front();
        if (kind == "constant") {
            return FillConstant{with_place(body, [&, &b = body] { return parse_element(type, b.text()); })};
        }
        if (kind == "file") return FillFile{beside(body.text())};
        return read_numbers(kind, body);
    }

    static Fill read_numbers(const std::string& kind, const YamlValue& body) {
        const auto number = [](const YamlMap& map, const char* key, double otherwise) {
            const auto value = map.find(key);
            return value ? value->number() : otherwise;
        };
        const auto seed = [](const YamlMap& map) {
            const auto value = map.find("seed");
            return value ? value->unsigned_integer() : 1;
        };
        if (kind == "iota") {
            const YamlMap map(body, {"start", "step"});
            return FillIota{number(map, "start", 0), number(map, "step", 1)};
        }
        if (kind == "uniform") {
            const YamlMap map(body, {"low", "high", "seed"});
            const FillUniform fill{number(map, "low", 0), number(map, "high", 1), seed(map)};
            if (!(fill.low < fill.high)) body.fail("`low` must be below `high`");
            return fill;
        }
        const YamlMap map(body, {"mean", "stddev", "seed"});
        const FillNormal fill{number(map, "mean", 0), number(map, "stddev", 1), seed(map)};
        if (!(fill.stddev >= 0)) body.fail("`stddev` must not be negative");
        return fill;
    }

    // ---- launches ----

    static ptx::Dim3 read_dim3(const YamlValue& value) {
        const std::vector<std::uint64_t> extents = value.integers();
        if (extents.empty() || extents.size() > 3) value.fail("expected 1 to 3 extents: [x, y, z]");
        const auto extent = [&](std::size_t i) {
            if (i >= extents.size()) return std::uint32_t{1};
            if (extents[i] > 0xFFFFFFFF) value.fail("an extent is larger than any launch's");
            return static_cast<std::uint32_t>(extents[i]);
        };
        return {extent(0), extent(1), extent(2)};
    }

    void read_launch(const YamlValue& value, const std::optional<YamlValue>& default_module,
                     const std::optional<YamlValue>& default_flags) {
        const YamlMap map(value,
                          {"module", "nvcc_flags", "entry", "grid", "block", "cluster", "dynamic_shared",
                           "arguments", "repetitions", "programmatic", "cooperative", "access_policy_window", "stream", "priority", "after", "sms"});
        LaunchDeclaration launch;
        launch.where = value.where;
        auto module = map.find("module");
        if (!module) module = default_module;
        if (!module) value.fail("missing key `module`", "name a .ptx or .cu file, here or for all launches");
        launch.module = beside(module->text());
        launch.module_where = module->where;
        auto flags = map.find("nvcc_flags");
        if (!flags) flags = default_flags;
        if (flags) launch.nvcc_flags = flags->texts();
        const YamlValue entry = map.require("entry");
        launch.entry = entry.text();
        launch.entry_where = entry.where;
        launch.grid = read_dim3(map.require("grid"));
        launch.block = read_dim3(map.require("block"));
        if (const auto cluster = map.find("cluster")) launch.cluster = read_dim3(*cluster);
        const auto all = [](const ptx::Dim3& d) { return std::array<std::uint64_t, 3>{d.x, d.y, d.z}; };
        if (const auto fault = target::fault_of({all(launch.grid), all(launch.block), all(launch.cluster)}))
            map.require(fault->part).fail(fault->problem);
        if (const auto shared = map.find("dynamic_shared")) {
            launch.dynamic_shared_bytes = static_cast<std::uint32_t>(shared->unsigned_integer(0, 1u << 20));
        }
        if (const auto window = map.find("access_policy_window"))
            launch.access_policy_window = read_window(*window);
        if (const auto repetitions = map.find("repetitions")) {
            launch.repetitions = static_cast<std::uint32_t>(repetitions->unsigned_integer(1, 1u << 20));
        }
        if (const auto programmatic = map.find("programmatic")) {
            launch.programmatic = programmatic->boolean();
            if (launch.programmatic && file_.launches.empty())
                programmatic->fail("the first launch has none before it that it could depend on");
        }
        if (const auto cooperative = map.find("cooperative")) launch.cooperative = cooperative->boolean();
        read_order(map, launch);
        if (const auto arguments = map.find("arguments")) {
            for (const YamlValue& argument : arguments->list())
                launch.arguments.push_back(read_argument(argument, file_.buffers));
        }
        file_.launches.push_back(std::move(launch));
    }

    /// When, and on which SMs, the launch runs beside others.
    void read_order(const YamlMap& map, LaunchDeclaration& launch) {
        const auto number = [&](const char* key, std::uint32_t largest) -> std::optional<std::uint32_t> {
            const auto value = map.find(key);
            if (!value) return std::nullopt;
            file_.streams = true;
            return static_cast<std::uint32_t>(value->unsigned_integer(0, largest));
        };
        launch.stream = number("stream", 1u << 20).value_or(0);
        if (const auto priority = map.find("priority")) {
            file_.streams = true;
            const double value = priority->number();
            if (value != std::floor(value) || std::abs(value) > 1000) priority->fail("expected a whole number from -1000 to 1000", "the lowest comes first");
            launch.priority = static_cast<int>(value);
        }
        if (const auto after = map.find("after")) {
            file_.streams = true;
            for (const std::uint64_t before : after->integers(0)) {
                if (before >= file_.launches.size())
                    after->fail("launch " + std::to_string(before) + " does not come before this one", "launches are numbered from 0, in the order of the file");
                launch.after.push_back(before);
            }
        }
        if (const auto sms = map.find("sms")) {
            file_.streams = true;
            const std::vector<std::uint64_t> range = sms->integers(0);
            if (range.size() != 2 || range[0] > range[1] || range[1] > 0xFFFF) sms->fail("expected [FIRST, LAST], numbers of SMs from 0");
            launch.sms = {static_cast<std::uint32_t>(range[0]), static_cast<std::uint32_t>(range[1])};
        }
        if (!launch.programmatic || file_.launches.empty()) return;
        if (launch.stream != file_.launches.back().stream || !launch.after.empty())
            map.require("programmatic").fail("a programmatic launch depends on the launch before it, in its stream, and on none else");
    }

    AccessPolicyWindow read_window(const YamlValue& value) const {
        const YamlMap map(value, {"buffer", "offset", "bytes", "hit_ratio", "hit", "miss"});
        AccessPolicyWindow window;
        window.buffer.buffer = buffer_named(file_.buffers, map.require("buffer"));
        if (const auto offset = map.find("offset")) window.buffer.byte_offset = offset->unsigned_integer();
        window.bytes = map.require("bytes").unsigned_integer(1);
        if (const auto ratio = map.find("hit_ratio")) {
            window.hit_ratio = ratio->number();
            if (!(window.hit_ratio >= 0 && window.hit_ratio <= 1))
                ratio->fail("expected a number from 0 to 1");
        }
        window.hit = read_property(map.require("hit"));
        if (const auto miss = map.find("miss")) window.miss = read_property(*miss);
        if (window.miss == ptx::CachePriority::last)
            map.require("miss").fail("lines that miss cannot be persisting", "expected normal or streaming");
        return window;
    }

    static ptx::CachePriority read_property(const YamlValue& value) {
        const std::string& word = value.text();
        if (word == "persisting") return ptx::CachePriority::last;
        if (word == "streaming") return ptx::CachePriority::first;
        if (word == "normal") return ptx::CachePriority::normal;
        value.fail("unknown property " + word, "expected persisting, streaming or normal");
    }

    // ---- outputs and comparisons ----

    void read_output(const YamlValue& value) {
        const YamlMap map(value, {"buffer", "file"});
        file_.outputs.push_back(
            {buffer_named(file_.buffers, map.require("buffer")), map.require("file").text(), value.where});
    }

    void read_comparison(const YamlValue& value) {
        const YamlMap map(value,
                          {"buffer", "file", "with", "expression", "matmul", "tolerance", "bit_exact"});
        CompareDeclaration comparison;
        comparison.where = value.where;
        comparison.buffer = buffer_named(file_.buffers, map.require("buffer"));
        int references = 0;
        if (const auto file = map.find("file")) {
            comparison.reference = FileReference{beside(file->text())};
            ++references;
        }
        if (const auto other = map.find("with")) {
            comparison.reference = OtherBufferReference{buffer_named(file_.buffers, *other)};
            ++references;
        }
        if (const auto expression = map.find("expression")) {
            check_expression(*expression);
            comparison.reference = ExpressionReference{expression->text()};
            ++references;
        }
        if (const auto matmul = map.find("matmul")) {
            comparison.reference = read_matmul(*matmul, comparison.buffer);
            ++references;
        }
        if (references != 1) {
            value.fail("expected one of the keys `file`, `with`, `expression` and `matmul`");
        }
        comparison.tolerance = read_tolerance(map);
        file_.comparisons.push_back(std::move(comparison));
    }

    void check_expression(const YamlValue& value) const {
        const ReferenceExpression expression =
            with_place(value, [&] { return ReferenceExpression(value.text()); });
        for (const ReferenceExpression::Operand& operand : expression.operands()) {
            buffer_named(file_.buffers, {YAML::Node(operand.buffer), value.where});
        }
    }

    static Tolerance read_tolerance(const YamlMap& map) {
        Tolerance tolerance;
        const auto exact = map.find("bit_exact"), given = map.find("tolerance");
        if (exact && given) exact->fail("`tolerance` is given too", "keep one of the two");
        if (!exact && !given) map.fail("missing key `tolerance` or `bit_exact`");
        if (exact) {
            tolerance.bit_exact = exact->boolean();
            return tolerance;
        }
        const YamlMap parts(*given, {"absolute", "relative", "ulp"});
        if (const auto absolute = parts.find("absolute")) tolerance.absolute = absolute->number();
        if (const auto relative = parts.find("relative")) tolerance.relative = relative->number();
        if (const auto ulp = parts.find("ulp")) tolerance.ulp = ulp->unsigned_integer();
        if (!(tolerance.absolute >= 0 && tolerance.relative >= 0)) given->fail("a tolerance is not negative");
        return tolerance;
    }

    MatmulReference read_matmul(const YamlValue& value, std::size_t output) const {
        const YamlMap map(value, {"a", "b", "c", "m", "n", "k", "transpose_a", "transpose_b",
                                  "transpose_output", "alpha", "beta"});
        MatmulReference matmul;
        matmul.a = buffer_named(file_.buffers, map.require("a"));
        matmul.b = buffer_named(file_.buffers, map.require("b"));
        if (const auto c = map.find("c")) matmul.c = buffer_named(file_.buffers, *c);
        matmul.m = map.require("m").unsigned_integer(1, 1u << 24);
        matmul.n = map.require("n").unsigned_integer(1, 1u << 24);
        matmul.k = map.require("k").unsigned_integer(1, 1u << 24);
        const auto flag = [&](const char* key) { return map.find(key) && map.require(key).boolean(); };
        matmul.transpose_a = flag("transpose_a");
        matmul.transpose_b = flag("transpose_b");
        matmul.transpose_output = flag("transpose_output");
        if (const auto alpha = map.find("alpha")) matmul.alpha = alpha->number();
        if (const auto beta = map.find("beta")) matmul.beta = beta->number();
        check_elements(map.require("a"), matmul.a, matmul.m * matmul.k);
        check_elements(map.require("b"), matmul.b, matmul.k * matmul.n);
        if (matmul.c) check_elements(map.require("c"), *matmul.c, matmul.m * matmul.n);
        check_elements(value, output, matmul.m * matmul.n);
        return matmul;
    }

    void check_elements(const YamlValue& value, std::size_t buffer, std::uint64_t expected) const {
        const BufferDeclaration& declared = file_.buffers[buffer];
        if (declared.shape.empty()) return;  // from a file: checked when it is read
        std::uint64_t count = 1;
        for (const std::uint64_t extent : declared.shape) count *= extent;
        if (count >= expected) return;
        value.fail("buffer `" + declared.name + "` has " + std::to_string(count) + " elements, " +
                   std::to_string(expected) + " are needed");
    }

    LaunchFile file_;
    fs::path folder_;
};

}  // namespace

LaunchFile parse_launch_file(const std::string& text, const std::string& path) {
    YAML::Node root;
    try {
        root = YAML::Load(text);
    } catch (const YAML::DeepRecursion& failure) {
        throw Error("nested too deeply", {path, failure.mark.line + 1, ""},
                    "maps and lists nest a few deep; see `heddle kernel --help`");
    } catch (const YAML::Exception& failure) {
        throw Error("not YAML: " + failure.msg, {path, failure.mark.line + 1, ""});
    }
    if (root.IsNull()) throw Error("the file is empty", {path, 0, ""});
    return Reader(path).read({root, {path, root.Mark().line + 1, ""}});
}

LaunchFile read_launch_file(const std::string& path) {
    return parse_launch_file(read_text_file(path, kMostOfWritten), path);
}

}  // namespace heddle::kernel
