// Hardware files: every mistake is told with file, line and key.
#include "sim/config/settings.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "support/folder.h"

using heddle::Error;
using heddle::models::ParameterList;
using heddle::models::Quantity;
using heddle::sim::apply_settings;
using heddle::sim::HardwareText;
using heddle::sim::parse_override;
using heddle::sim::read_hardware_file;
using heddle::sim::Setting;
using heddle::sim::ValueOrigin;

using heddle::tests::Folder;

namespace {

/// A small machine, so that these tests do not depend on the models.
struct Machine {
    unsigned sm_count = 1;
    double clock = 1e9;
    std::uint64_t l2_size = 1;
    double hbm_bandwidth = 1;
    std::vector<std::uint32_t> sizes;

    ParameterList describe() {
        ParameterList list;
        list.add("sm.count", sm_count, Quantity::count, 1, 1024, "streaming multiprocessors");
        list.add("clock", clock, Quantity::frequency, 1e8, 1e10, "main clock");
        list.add("l2.size", l2_size, Quantity::bytes, 1024, 1e9, "level-2 cache");
        list.add("hbm.bandwidth", hbm_bandwidth, Quantity::bandwidth, 1e9, 1e13, "memory bandwidth");
        list.add_list("sm.sizes", sizes, "even", {"sm.count"}, 2, 128, "SMs of each cluster");
        return list;
    }
};

constexpr const char* kComplete =
    "kind: gpu\n"                                       // 1
    "description: a test machine\n"                     // 2
    "clock: 1830 MHz   # source: a datasheet,\n"        // 3
    "                  # page 7\n"                      // 4
    "sm:\n"                                             // 5
    "  count: 132      # source: a whitepaper\n"        // 6
    "l2:\n"                                             // 7
    "  size: 50 MiB\n"                                  // 8
    "hbm:\n"                                            // 9
    "  bandwidth: 3.35 TB/s  # source: a datasheet\n";  // 10

std::string error_of(const std::string& file, const std::vector<std::string>& overrides = {}) {
    try {
        const HardwareText text = read_hardware_file(file);
        std::vector<Setting> settings;
        for (const std::string& assignment : overrides) settings.push_back(parse_override(assignment));
        Machine machine;
        apply_settings(text, settings, machine.describe());
    } catch (const Error& failure) {
        return failure.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("a complete file sets every field and remembers where from") {
    Folder folder;
    const std::string file = folder.write("test-machine.yaml", kComplete);
    const HardwareText text = read_hardware_file(file);
    CHECK(text.name == "test-machine");
    CHECK(text.kind == "gpu");
    CHECK(text.description == "a test machine");
    Machine machine;
    const auto origins = apply_settings(text, {}, machine.describe());
    CHECK(machine.sm_count == 132);
    CHECK(machine.clock == 1.83e9);
    CHECK(machine.l2_size == 50u << 20);
    CHECK(machine.hbm_bandwidth == 3.35e12);
    CHECK(origins.at("sm.count").source == "source: a whitepaper");
    CHECK(origins.at("sm.count").where.line == 6);
    CHECK(origins.at("sm.count").where.file == file);
    CHECK(origins.at("clock").source == "source: a datasheet, page 7");
    CHECK(origins.at("clock").text == "1830 MHz");
    CHECK(origins.at("l2.size").source.empty());
}

TEST_CASE("mistakes are told with file, line, key and remedy") {
    struct Case {
        const char* name;
        std::string text;
        std::vector<std::string> expected;
    };
    const std::string complete = kComplete;
    auto with = [&](const std::string& from, const std::string& to) {
        std::string text = complete;
        return text.replace(text.find(from), from.size(), to);
    };
    const std::vector<Case> cases = {
        {"unknown key", with("count:", "cuont:"), {":6: sm.cuont: unknown key", "did you mean `sm.count`?"}},
        {"unknown group", with("hbm:", "hbn:"), {":10: hbn.bandwidth: unknown key", "`hbm.bandwidth`"}},
        {"wrong unit", with("50 MiB", "50 MHz"), {":8: l2.size: `50 MHz`", "`50 MiB`"}},
        {"no unit", with("1830 MHz", "1830"), {":3: clock: `1830`", "`1830 MHz`"}},
        {"out of range", with("132", "2000"), {":6: sm.count: `2000` is out of range", "1 .. 1024"}},
        {"not whole", with("132", "132.5"), {":6: sm.count:", "whole number"}},
        {"missing",
         with("  size: 50 MiB\n", "  {}\n"),
         {"missing key `l2.size`", "level-2 cache", "`extends`"}},
        {"twice", with("l2:\n", "sm:\n"), {":7: sm: this group was already given on line 5"}},
        {"twice in a group",
         complete + "  bandwidth: 1 TB/s\n",
         {":11: hbm.bandwidth: this key was already given on line 10"}},
        {"twice, dotted",
         complete + "sm.count: 7\n",
         {":11: sm.count: this key was already given on line 6"}},
        {"list", with("132", "[1, 2]"), {":6: sm.count: `[1, 2]` is not a bare number"}},
        {"no value", with("132", ""), {":6: sm.count: no value"}},
        {"not yaml", complete + "a: [\n", {"not YAML"}},
        {"too deep for a parser",
         complete + "a: " + std::string(100000, '['),
         {":11: groups are nested too deeply"}},
        {"not a map", "132\n", {":1: a hardware file is a map"}},
        {"endless", "a: &a\n  b: *a\n", {"nested too deeply"}},
        {"key that is no word", "[1, 2]: 3\n", {":1: a key must be a word"}},
        {"empty", "# nothing\n", {"the file is empty"}},
        {"unknown base",
         complete + "extends: no-such-machine\n",
         {":11: extends: no hardware named `no-such-machine`", "h100-sxm"}},
    };
    for (const Case& test : cases) {
        CAPTURE(test.name);
        Folder folder;
        const std::string file = folder.write("machine.yaml", test.text);
        const std::string message = error_of(file);
        CHECK_THAT(message, Catch::StartsWith(file));
        for (const std::string& expected : test.expected) CHECK_THAT(message, Catch::Contains(expected));
        CHECK(message.find('\n') == std::string::npos);
    }
}

TEST_CASE("a file extends another and changes what it names") {
    Folder folder;
    const std::string base = folder.write("base.yaml", kComplete);
    folder.write("middle.yaml", "extends: base.yaml\nsm.count: 100  # source: middle\nclock: 1 GHz\n");
    const std::string file = folder.write("derived.yaml", "extends: middle.yaml\nclock: 2 GHz\n");
    const HardwareText text = read_hardware_file(file);
    CHECK(text.kind == "gpu");
    CHECK(text.name == "derived");
    CHECK(text.description.empty());
    REQUIRE(text.files.size() == 3);
    Machine machine;
    const auto origins = apply_settings(text, {}, machine.describe());
    CHECK(machine.clock == 2e9);
    CHECK(machine.sm_count == 100);
    CHECK(machine.l2_size == 52428800);
    CHECK(origins.at("clock").where.file == file);
    CHECK(origins.at("clock").where.line == 2);
    CHECK(origins.at("sm.count").source == "source: middle");
    CHECK(origins.at("l2.size").where.file == base);
}

TEST_CASE("lists are read from files and from the command line") {
    Folder folder;
    const std::string file =
        folder.write("machine.yaml", std::string(kComplete) + "sm.sizes: [50, 82]  # source: a count\n");
    const auto sizes = [&](const std::vector<std::string>& overrides) {
        std::vector<Setting> settings;
        for (const std::string& assignment : overrides) settings.push_back(parse_override(assignment));
        Machine machine;
        apply_settings(read_hardware_file(file), settings, machine.describe());
        return machine.sizes;
    };
    using Sizes = std::vector<std::uint32_t>;
    CHECK(sizes({}) == Sizes{50, 82});
    CHECK(sizes({"sm.sizes=[2, 4, 6]"}) == Sizes{2, 4, 6});
    CHECK(sizes({"sm.sizes=2,4"}) == Sizes{2, 4});
    CHECK(sizes({"sm.sizes=even"}).empty());
    // Another number of SMs: what the file says of the old ones does not hold for them.
    CHECK(sizes({"sm.count=100"}).empty());
    CHECK(sizes({"sm.count=6", "sm.sizes=2,4"}) == Sizes{2, 4});
    CHECK(sizes({"clock=1 GHz"}) == Sizes{50, 82});
    const std::string derived = folder.write("derived.yaml", "extends: machine.yaml\nsm.count: 100\n");
    Machine machine;
    const auto origins = apply_settings(read_hardware_file(derived), {}, machine.describe());
    CHECK(machine.sizes.empty());
    CHECK(origins.at("sm.sizes").where.file == derived);
    for (const std::string wrong : {"[2, x]", "[2, 300]", "[]", "[2,]", "uneven", "[[2], 4]", "[2.5]"}) {
        CAPTURE(wrong);
        CHECK_THAT(error_of(file, {"sm.sizes=" + wrong}),
                   Catch::StartsWith("--set: sm.sizes: `" + wrong + "` is not a list of numbers") &&
                       Catch::Contains("even | [2 .. 128, ...]"));
    }
}

TEST_CASE("an error in a base file names the base file") {
    Folder folder;
    const std::string base = folder.write("base.yaml", std::string(kComplete) + "typo: 1\n");
    const std::string file = folder.write("derived.yaml", "extends: base.yaml\n");
    CHECK_THAT(error_of(file), Catch::StartsWith(base + ":11: typo: unknown key"));
}

TEST_CASE("extends may not go in a circle") {
    Folder folder;
    folder.write("b.yaml", "kind: gpu\nextends: a.yaml\n");
    const std::string file = folder.write("a.yaml", "extends: b.yaml\n");
    const std::string message = error_of(file);
    CHECK_THAT(message, Catch::Contains("b.yaml:2: extends: `extends` goes round in a circle"));
    CHECK_THAT(message, Catch::Contains("a.yaml -> b.yaml -> a.yaml"));
    const std::string self = folder.write("self.yaml", "extends: self.yaml\n");
    CHECK_THAT(error_of(self), Catch::Contains("self.yaml -> self.yaml"));
}

TEST_CASE("a file may not change the kind of what it extends") {
    Folder folder;
    folder.write("base.yaml", kComplete);
    const std::string file = folder.write("derived.yaml", "extends: base.yaml\nkind: tpu\n");
    CHECK_THAT(error_of(file), Catch::Contains(":2: kind: kind `tpu` extends a file of kind `gpu`"));
}

TEST_CASE("the command line overrides the file") {
    Folder folder;
    const std::string file = folder.write("machine.yaml", kComplete);
    Machine machine;
    const auto origins =
        apply_settings(read_hardware_file(file), {parse_override("sm.count=144")}, machine.describe());
    CHECK(machine.sm_count == 144);
    CHECK(origins.at("sm.count").where.file == "--set");
    CHECK_THAT(error_of(file, {"sm.cuont=144"}),
               Catch::Equals("--set: sm.cuont: unknown key; did you mean `sm.count`?"));
    CHECK_THAT(error_of(file, {"clock=1.83"}), Catch::StartsWith("--set: clock: `1.83` is not a frequency"));
    CHECK_THAT(error_of(file, {"clock"}), Catch::StartsWith("--set: `clock` sets nothing"));
    CHECK_THAT(error_of(file, {"=3"}), Catch::StartsWith("--set: `=3` sets nothing"));
}

TEST_CASE("an override may supply what the file lacks") {
    Folder folder;
    const std::string file =
        folder.write("machine.yaml", "kind: gpu\nclock: 1 GHz\nsm.count: 1\nl2.size: 1 MiB\n");
    CHECK_THAT(error_of(file), Catch::Contains("missing key `hbm.bandwidth`"));
    CHECK(error_of(file, {"hbm.bandwidth=1 TB/s"}) == "no error");
}

TEST_CASE("Windows line ends are read like others") {
    Folder folder;
    std::string text;
    for (const char c : std::string(kComplete)) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
    Machine machine;
    const auto origins =
        apply_settings(read_hardware_file(folder.write("machine.yaml", text)), {}, machine.describe());
    CHECK(machine.sm_count == 132);
    CHECK(origins.at("sm.count").source == "source: a whitepaper");
    CHECK(origins.at("clock").source == "source: a datasheet, page 7");
}

TEST_CASE("whatever a file holds, the outcome is a device or an error in one line") {
    Folder folder;
    const std::string complete = kComplete;
    const std::string bytes =
        "\n\t :#[]{}&*!|>'\"%@-,\xff\x01"
        "0a";
    std::uint64_t state = 1;
    const auto random = [&state](std::size_t bound) {  // Knuth's MMIX generator
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>(state >> 33) % bound;
    };
    int devices = 0, errors = 0;
    for (int trial = 0; trial < 1500; ++trial) {
        std::string text = complete;
        for (std::size_t change = 0; change <= random(3); ++change) {
            const std::size_t at = random(text.size());
            const char byte = bytes[random(bytes.size())];
            switch (random(3)) {
                case 0:
                    text[at] = byte;
                    break;
                case 1:
                    text.insert(at, 1, byte);
                    break;
                default:
                    text.erase(at, 1 + random(8));
                    break;
            }
        }
        CAPTURE(text);
        const std::string message = error_of(folder.write("machine.yaml", text));
        (message == "no error" ? devices : errors) += 1;
        CHECK(message.find('\n') == std::string::npos);
    }
    CHECK(devices > 50);  // changes in comments
    CHECK(errors > 500);
}
