// What the capture writes, read back by another JSON library and by plain file reading.
#include <sys/resource.h>

#include <csignal>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "support/folder.h"
#include "validation/capture/blas.h"
#include "validation/capture/files.h"
#include "validation/capture/json_value.h"
#include "validation/capture/record.h"

using namespace heddle;
using namespace heddle::capture;
using nlohmann::json;

using heddle::tests::Folder;

namespace {

std::vector<std::byte> bytes_of_text(const std::string& text) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
}

/// Takes out of the section's bytes what the record names.
std::string binary_of(const std::string& line, const std::string& all) {
    const json place = json::parse(line).at("binary");
    return all.substr(place.at(0).get<std::size_t>(), place.at(1).get<std::size_t>());
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        REQUIRE(end != std::string::npos);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

}  // namespace

TEST_CASE("records are JSON that says what was added, in order") {
    Record record;
    record.text("a \"name\"", "line\nbreak\t\\ \x01 end").integer("i", -9007199254740993);
    record.number("third", 1.0 / 3).number("tiny", 5e-324).number("huge", 1.7976931348623157e308);
    record.number("nan", std::nan("")).number("minus", -std::numeric_limits<double>::infinity());
    record.flag("yes", true).hexadecimal("bits", 0xBEEF, 8).hexadecimal("all", ~std::uint64_t{0});
    record.texts("words", {"x", ""}).integers("none", {}).numbers("numbers", {0.1, 1e30});
    record.object("inner", Record().integer("n", 1)).objects("list", {Record(), Record().flag("f", false)});
    const json read = json::parse(record.json());
    CHECK(read.at("a \"name\"") == "line\nbreak\t\\ \x01 end");
    CHECK(read.at("i").get<std::int64_t>() == -9007199254740993);
    CHECK(read.at("third").get<double>() == 1.0 / 3);
    CHECK(read.at("tiny").get<double>() == 5e-324);
    CHECK(read.at("huge").get<double>() == 1.7976931348623157e308);
    CHECK(read.at("nan") == "nan");
    CHECK(read.at("minus") == "-inf");
    CHECK(read.at("yes") == true);
    CHECK(read.at("bits") == "0000beef");
    CHECK(read.at("all") == "ffffffffffffffff");
    CHECK(read.at("words") == json({"x", ""}));
    CHECK(read.at("none") == json::array());
    CHECK(read.at("numbers") == json({0.1, 1e30}));
    CHECK(read.at("inner").at("n") == 1);
    CHECK(read.at("list").size() == 2);
    CHECK(nlohmann::ordered_json::parse(record.json()).begin().key() == "a \"name\"");
}

TEST_CASE("bytes that are not ASCII, as a compiler's log may have, leave valid JSON") {
    CHECK(json::accept(Record().text("log", "caf\xE9 \xFF\xC3").json()));
}

TEST_CASE("the reader of JSON agrees with another one on what is JSON") {
    for (const char* text : {"{}", "[]", "{\"a\":[1,2.5e-3,-4],\"b\":null,\"c\":{\"d\":\"\\u00e9\\n\"}}",
                             "true", " 1 ", "\"\"", "{", "{\"a\"}", "[1,]", "{\"a\":1,}", "tru", "1 2",
                             "\"open", "\"\\q\"", "", "[1 2]", "{\"a\" 1}", "nul", "-"})
        CHECK(parse_json(text).has_value() == json::accept(text));
    const auto value = parse_json("{\"c\":{\"d\":\"\\u00e9\\n\"},\"n\":-2.5,\"t\":true}");
    REQUIRE(value);
    CHECK(value->find("c")->text_or("d", "") == "\xC3\xA9\n");
    CHECK(value->number_or("n", 0) == -2.5);
    CHECK(value->boolean_or("t", false));
    CHECK(value->find("x") == nullptr);
    CHECK_FALSE(parse_json(std::string(1000, '[')));
}

TEST_CASE("a journal keeps lines and bytes, and knows its ids when it is opened again") {
    const Folder folder;
    {
        Journal journal(folder.path(), "s");
        journal.add("one", Record().integer("x", 1), bytes_of_text("first"));
        journal.add("two", Record().integer("x", 2));
        CHECK_THROWS_AS(journal.add("two", Record()), std::logic_error);
    }
    Journal journal(folder.path(), "s");
    CHECK(journal.size() == 2);
    CHECK(journal.has("one"));
    CHECK_FALSE(journal.has("three"));
    journal.add("three \"quoted\"", Record(), bytes_of_text("third"));
    const auto lines = lines_of(folder.read("s.jsonl"));
    REQUIRE(lines.size() == 3);
    CHECK(json::parse(lines[1]) == json({{"id", "two"}, {"x", 2}}));
    CHECK(json::parse(lines[2]).at("id") == "three \"quoted\"");
    CHECK(binary_of(lines[0], folder.read("s.bin")) == "first");
    CHECK(binary_of(lines[2], folder.read("s.bin")) == "third");
}

TEST_CASE("a line that was cut off, and bytes without a line, are dropped wherever the cut was") {
    const std::string last = R"({"id":"b","binary":[5,6],"x":2})";
    for (std::size_t cut = 0; cut <= last.size(); ++cut) {
        const Folder folder;
        folder.write("s.jsonl", "{\"id\":\"a\",\"binary\":[0,5]}\n" + last.substr(0, cut));
        folder.write("s.bin", "first" + std::string("second"));
        Journal journal(folder.path(), "s");
        REQUIRE(journal.size() == 1);
        journal.add("b", Record().integer("x", 3), bytes_of_text("anew"));
        const auto lines = lines_of(folder.read("s.jsonl"));
        REQUIRE(lines.size() == 2);
        CHECK(json::parse(lines[1]).at("x") == 3);
        CHECK(folder.read("s.bin") == "firstanew");
        CHECK(binary_of(lines[1], folder.read("s.bin")) == "anew");
    }
}

TEST_CASE("a record whose bytes were lost is taken again") {
    const Folder folder;
    folder.write("s.jsonl", "{\"id\":\"a\",\"binary\":[0,5]}\n{\"id\":\"b\",\"binary\":[5,6]}\n");
    folder.write("s.bin", "firstsec");
    Journal journal(folder.path(), "s");
    CHECK(journal.has("a"));
    CHECK_FALSE(journal.has("b"));
}

TEST_CASE("a damaged line in the middle is an error that names it") {
    const Folder folder;
    folder.write("s.jsonl", "{\"id\":\"a\"}\n{\"id\":\n{\"id\":\"c\"}\n");
    try {
        Journal journal(folder.path(), "s");
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.where().line == 2);
        CHECK(error.where().file.find("s.jsonl") != std::string::npos);
    }
}

TEST_CASE("a finished section's bytes are a gzip file that expands to them, and can still grow") {
    const Folder folder;
    const std::string many(100000, 'z');
    {
        Journal journal(folder.path(), "s");
        journal.add("a", Record(), bytes_of_text(many));
        journal.finish();
    }
    if (!std::filesystem::exists(folder.path() / "s.bin.gz")) {
        WARN("skipped: there is no gzip here");
        CHECK(folder.read("s.bin") == many);
        return;
    }
    CHECK_FALSE(std::filesystem::exists(folder.path() / "s.bin"));
    const std::string packed = folder.read("s.bin.gz");
    CHECK(packed.substr(0, 2) == "\x1F\x8B");
    CHECK(packed.size() < many.size() / 50);
    Journal journal(folder.path(), "s");
    journal.add("b", Record(), bytes_of_text("more"));
    CHECK(folder.read("s.bin") == many + "more");
    CHECK_FALSE(std::filesystem::exists(folder.path() / "s.bin.gz"));
}

TEST_CASE("on a full disk the old file stays, and nothing half-written beside it") {
    const Folder folder;
    folder.write("manifest.json", "old");
    // Files may have no byte: writes fail as on a full disk.
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit none{0, before.rlim_max};
    std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
    bool refused = false;
    try {
        write_file(folder.path() / "manifest.json", "new");
    } catch (const Error&) {
        refused = true;
    }
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(refused);
    CHECK(folder.read("manifest.json") == "old");
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("names of problems tell all their members apart") {
    const GemmProblem plain{.m = 1024, .n = 768, .k = 512};
    CHECK(plain.name() == "1024x768x512 f16 f16->f16 nn f32");
    std::vector<GemmProblem> all(23, plain);
    all[1].m = 1, all[2].n = 1, all[3].k = 1, all[4].batch = 2, all[5].transpose_a = true;
    all[6].transpose_b = true, all[7].a = Type::bf16, all[8].b = Type::bf16, all[9].c = Type::bf16;
    all[10].d = Type::f32, all[11].compute = Compute::f16, all[12].epilogue = Epilogue::relu;
    all[13].epilogue = Epilogue::bias, all[14].epilogue = Epilogue::bias, all[14].bias = Type::f32;
    all[15].alpha = 0.1, all[16].beta = 1, all[17].fast_accumulation = true, all[18].in_place = true;
    all[19].lda = 520, all[20].ldd = 776, all[21].workspace_bytes = 0, all[22].allow_split_k = false;
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) CHECK(all[i].name() != all[j].name());
}

TEST_CASE("a record whose bytes would lie beyond 2^64 is an error that names its line") {
    const Folder folder;
    for (const char* place : {"[18446744073709551615, 2]", "[0, 99999999999999999999]", "[1, -1]"}) {
        folder.write("s.bin", "xyz");
        folder.write("s.jsonl", std::string("{\"id\":\"a\",\"binary\":") + place + "}\n");
        CHECK_THROWS_WITH(Journal(folder.path(), "s"),
                          Catch::Contains("s.jsonl:1") && Catch::Contains("binary"));
    }
}
