// The section `numerics` on a device of plain loops, then its comparison: right outputs are found right,
// every wrong one is found where it is.
#include "validation/compare/numerics.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "../read/capture_folder.h"
#include "host_device.h"
#include "isa/numerics/compare.h"
#include "validation/capture/blas_record.h"
#include "validation/capture/section.h"
#include "validation/capture/sections/numerics_items.h"
#include "validation/capture/simulator/gemm_algorithm.h"
#include "validation/compare/captured_gemm.h"
#include "validation/compare/gemm_orders.h"

using namespace heddle;
using namespace heddle::validation;
using heddle::capture::GemmProblem;
using heddle::capture::Type;
using heddle::capture::test::HostDevice;
using heddle::validation::test::CaptureFolder;

namespace {

constexpr const char* kManifest =
    R"({"schema": 1, "silicon": false, "date": "2026-11-21", "device": {"name": "loops", )"
    R"("compute_capability": 90}, "order": ["numerics"], "sections": {"numerics": {"complete": true}}})";

/// Runs the section, small, and compares what it wrote. The journal's lines stay plain: no finish().
std::vector<Comparison> captured_and_compared(HostDevice& device, const CaptureFolder& folder,
                                              const std::string& filter = "", bool with_orders = false) {
    folder.write("manifest.json", kManifest);
    {
        capture::Journal journal(folder.path(), "numerics");
        capture::SectionContext context{device, journal, capture::Extent::quick};
        const std::size_t items = capture::numerics_items(true).size();
        if (!with_orders) context.stop = [&] { return journal.size() >= items; };
        CHECK(capture::capture_numerics(context) == with_orders);
    }
    CompareOptions options;
    options.filter = filter;
    options.workers = 2;
    return compare_numerics(RecordedCapture(folder.path(), true), options);
}

std::string contents_of(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

const ComparisonRow& row_of(const Comparison& comparison, const std::string& name) {
    for (const ComparisonRow& row : comparison.rows)
        if (row.name.find(name) != std::string::npos) return row;
    throw std::runtime_error("no row " + name);
}

}  // namespace

TEST_CASE("Items of the section: unique, several hundred, every type and layout") {
    const std::vector<capture::NumericsItem> items = capture::numerics_items(false);
    std::set<std::string> ids, families, categories;
    double products = 0;
    bool deep = false;
    for (const capture::NumericsItem& item : items) {
        CHECK(ids.insert(item.id).second);
        families.insert(item.family);
        categories.insert(category_of(item.problem));
        const GemmProblem& p = item.problem;
        const double all = static_cast<double>(p.batch * p.m * p.n) * static_cast<double>(p.k);
        products += item.algorithms * (all <= 0x1p28 ? all : 64.0 * static_cast<double>(p.k));
        deep = deep || p.k == 65536;
    }
    CHECK(items.size() > 600);
    CHECK(families.size() == 12);
    CHECK(categories.size() == capture::gemm_kinds().size());
    CHECK(deep);
    CHECK(products < 600e9);  // two minutes at 5 thousand million a second
    // The list is the same for everyone: captures are read by id and seed.
    CHECK(items[0].id == "size/bf16 f32/128x128x128 nt");
    CHECK(capture::numerics_items(false).back().inputs == items.back().inputs);
    const auto quick = capture::numerics_items(true);
    CHECK(quick.size() > 100);
    CHECK(quick.size() < 500);
}

TEST_CASE("All layouts of a product hold the same numbers") {
    for (const Type type : {Type::f64, Type::f32, Type::bf16, Type::e4m3, Type::i8}) {
        GemmProblem p;
        p.m = 35;
        p.n = 33;
        p.k = 40;
        p.batch = 2;
        p.a = p.b = type;
        capture::GemmInputs inputs;
        inputs.seed = 99;
        const unsigned size = capture::bytes_of(type);
        std::vector<std::byte> stream(p.batch * p.m * p.k * size);
        capture::fill_elements(p, inputs, capture::Operand::a, 0, stream);
        for (const bool transpose : {false, true}) {
            for (const std::uint64_t pad : {0u, 3u}) {
                p.transpose_a = transpose;
                p.lda = 0;
                p.lda = p.row_a() + pad;
                const auto stored = capture::stored_operand(p, inputs, capture::Operand::a);
                REQUIRE(stored.size() == p.elements_a() * size);
                std::size_t equal = 0, padding = 0;
                for (std::uint64_t l = 0; l < p.batch; ++l)
                    for (std::uint64_t i = 0; i < p.m; ++i)
                        for (std::uint64_t k = 0; k < p.k; ++k) {
                            const std::uint64_t at =
                                l * p.elements_a() / p.batch + (transpose ? k * p.lda + i : i * p.lda + k);
                            equal += std::equal(stored.begin() + static_cast<std::ptrdiff_t>(at * size),
                                                stored.begin() + static_cast<std::ptrdiff_t>((at + 1) * size),
                                                stream.begin() + static_cast<std::ptrdiff_t>(
                                                                     ((l * p.m + i) * p.k + k) * size));
                        }
                for (const std::byte byte : stored) padding += byte == std::byte{0xFF};
                CHECK(equal == p.batch * p.m * p.k);
                CHECK(padding >= pad * size * p.batch * (transpose ? p.k : p.m));
            }
        }
    }
}

TEST_CASE("Outputs: padding goes, samples are where they say") {
    GemmProblem p;
    p.m = 3;
    p.n = 4;
    p.batch = 2;
    p.d = Type::i8;
    p.ldd = 6;
    std::vector<std::byte> stored(36, std::byte{0xA5});
    for (unsigned l = 0; l < 2; ++l)
        for (unsigned i = 0; i < 3; ++i)
            for (unsigned j = 0; j < 4; ++j)
                stored[l * 18 + i * 6 + j] = static_cast<std::byte>(l * 12 + i * 4 + j);
    const auto dense = capture::dense_output(p, stored);
    REQUIRE(dense.size() == 24);
    for (unsigned i = 0; i < 24; ++i) CHECK(dense[i] == static_cast<std::byte>(i));
    const auto places = capture::sample_places(p, 5, 20);
    REQUIRE(places.size() == 20);
    const auto sample = capture::sample_of(p, dense, places);
    for (std::size_t i = 0; i < places.size(); ++i)
        CHECK(sample[i] ==
              static_cast<std::byte>(places[i].batch * 12 + places[i].row * 4 + places[i].column));
}

TEST_CASE("A capture of loops is identical in every bit") {
    const CaptureFolder folder("numerics-loops");
    HostDevice device(capture::kSimtAlgorithm);
    const auto comparisons = captured_and_compared(device, folder);
    REQUIRE(comparisons.size() == 1);  // no order is unknown
    const Comparison& known = comparisons[0];
    CHECK(known.holds());
    CHECK(known.rows.size() > 15);
    std::set<std::string> families;
    std::uint64_t elements = 0;
    for (const ComparisonRow& row : known.rows) {
        families.insert(row.name.substr(0, row.name.find('/')));
        if (row.category.find("GELU") != std::string::npos) continue;
        INFO(row.name << ": " << row.note);
        REQUIRE(row.bits);
        CHECK(row.bits->all());
        elements += row.bits->total;
    }
    CHECK(families.size() == 11);      // of a quick run: all but the large ones
    CHECK(elements > 10000);           // hashes stand for all elements
    CHECK(known.missing.size() == 1);  // the types that loops do not have
}

TEST_CASE("A wrong order, one wrong output and a flipped bit are found where they are") {
    SECTION("another order") {
        const CaptureFolder folder("numerics-order");
        HostDevice device(capture::kSimtAlgorithm);
        device.loops.descending = true;
        const auto comparisons = captured_and_compared(device, folder, "size/f32/");
        REQUIRE(comparisons.size() == 1);
        CHECK_FALSE(comparisons[0].holds());
        const ComparisonRow& row = comparisons[0].rows.at(0);
        CHECK(row.bits->fraction() < 0.9);
        CHECK(*row.frobenius > 0);
        CHECK(*row.frobenius < 1e-6);
        CHECK(*row.largest_ulp >= 1);
        REQUIRE(comparisons[0].tables.size() == 1);
        CHECK(comparisons[0].tables[0].rows.at(1).back().find(" by b(") != std::string::npos);
    }
    SECTION("one output that only the hash sees, and one in the sample") {
        const CaptureFolder folder("numerics-output");
        HostDevice device(capture::kSimtAlgorithm);
        // (0, 0) is in every sample.
        device.loops.spoil = [](const GemmProblem& p, std::uint64_t row, std::uint64_t column, float value) {
            const bool sampled = p.k == 128, other = p.k == 256;
            if ((sampled && row == 0 && column == 0) || (other && row == 1 && column == 1))
                return std::nextafter(value, 1e30f);
            return value;
        };
        const auto comparisons = captured_and_compared(device, folder, "f32/");
        REQUIRE(comparisons.size() == 1);
        CHECK_FALSE(comparisons[0].holds());
        const ComparisonRow& sampled = row_of(comparisons[0], "size/f32/32x32x128");
        CHECK(sampled.bits->identical == sampled.bits->total - 1);
        CHECK(*sampled.largest_ulp == 1);
        CHECK(sampled.note.rfind("(0, 0) is ", 0) == 0);
        const ComparisonRow& hashed = row_of(comparisons[0], "factors/f32/32x28x256");
        CHECK(hashed.bits->identical == hashed.bits->total - 1);
        CHECK(hashed.note.find("the hash of all is not") != std::string::npos);
    }
    SECTION("a bit flipped in the file") {
        const CaptureFolder folder("numerics-flip");
        HostDevice device(capture::kSimtAlgorithm);
        CHECK(captured_and_compared(device, folder, "size/f32/").at(0).holds());
        const nlohmann::json record = [&] {
            std::ifstream lines(folder.path() / "numerics.jsonl");
            for (std::string line; std::getline(lines, line);) {
                const auto value = nlohmann::json::parse(line);
                if (value["id"].get<std::string>().rfind("size/f32/", 0) == 0) return value;
            }
            return nlohmann::json();
        }();
        REQUIRE(record.is_object());
        std::string bytes = contents_of(folder.path() / "numerics.bin");
        const std::size_t element = 5;
        bytes[record["binary"][0].get<std::size_t>() + 4 * element + 1] ^= 0x10;
        folder.write("numerics.bin", bytes);
        CompareOptions options;
        options.filter = "size/f32/";
        const auto comparisons = compare_numerics(RecordedCapture(folder.path(), true), options);
        CHECK_FALSE(comparisons.at(0).holds());
        const ComparisonRow& row = comparisons[0].rows.at(0);
        CHECK(row.bits->identical == row.bits->total - 1);
        CHECK(*row.largest_ulp == 0x1000);
        const auto items = capture::numerics_items(true);
        const auto item =
            std::find_if(items.begin(), items.end(),
                         [&](const capture::NumericsItem& candidate) { return candidate.id == row.name; });
        const capture::OutputPlace place =
            capture::sample_places(item->problem, item->inputs.seed, 64).at(element);
        CHECK(row.note.rfind("(" + std::to_string(place.row) + ", " + std::to_string(place.column) + ") is ",
                             0) == 0);
    }
}

TEST_CASE("An unknown order is held to the bound of any order") {
    const CaptureFolder folder("numerics-unknown");
    HostDevice device(77);
    SECTION("right outputs") {
        const auto comparisons = captured_and_compared(device, folder);
        REQUIRE(comparisons.size() == 2);
        CHECK(comparisons[0].rows.empty());
        CHECK_FALSE(comparisons[0].holds());  // nothing is known of any order
        CHECK(comparisons[1].holds());
        CHECK(comparisons[1].bars.at(0).reached > 0);
        CHECK(comparisons[1].tables.at(0).rows.at(1).at(0) == "loop_gemm");
        for (const ComparisonRow& row : comparisons[1].rows) {
            INFO(row.name << ": " << row.note);
            if (row.name.find("GELU") == std::string::npos && row.name.find("gelu") == std::string::npos)
                CHECK(*row.frobenius < 1e-5);
        }
    }
    SECTION("an output that is off by a thousandth") {
        device.loops.spoil = [](const GemmProblem&, std::uint64_t row, std::uint64_t column, float value) {
            return row == 0 && column == 0 ? 1.001f * value : value;
        };
        const auto comparisons = captured_and_compared(device, folder, "size/f32/");
        CHECK_FALSE(comparisons.at(1).holds());
    }
}

TEST_CASE("A revealed order makes an unknown algorithm a known one") {
    const CaptureFolder folder("numerics-revealed");
    HostDevice device(77);
    // As the section `order` would have it: a product of 40 by one chain, a tree in which every node has two
    // children.
    GemmProblem problem;
    problem.m = problem.n = 16;
    problem.k = 40;
    problem.a = problem.b = problem.c = problem.d = Type::f32;
    capture::GemmAlgorithm algorithm = device.loops.algorithms(problem, 1).at(0);
    algorithm.kernels = "loop_gemm";
    const auto record_tree = [&](const std::string& tree, std::int64_t k) {
        problem.k = static_cast<std::uint64_t>(k);
        capture::Record record;
        record.text("kind", "order").object("problem", record_of(problem));
        record.object("algorithm", record_of(algorithm)).text("tree", tree);
        capture::Journal(folder.path(), "order").add("revealed at " + std::to_string(k), record);
    };
    SECTION("the right one") {
        record_tree("<0; 1>*39", 40);
        const auto comparisons = captured_and_compared(device, folder, "f32 f32 -> f32");
        REQUIRE_FALSE(comparisons.empty());
        std::size_t rows = 0;
        for (const ComparisonRow& row : comparisons[0].rows) {
            if (row.name.find("pedantic") != std::string::npos) continue;
            INFO(row.name << ": " << row.note);
            CHECK(row.bits->all());
            ++rows;
        }
        CHECK(rows > 10);
    }
    SECTION("a wrong one: outputs differ, and are not made to fit") {
        record_tree("(<0; 2>*31:2 <1; 3>*31:2)", 64);
        const auto comparisons = captured_and_compared(device, folder, "size/f32/");
        REQUIRE_FALSE(comparisons[0].rows.empty());
        CHECK_FALSE(comparisons[0].holds());
        CHECK_FALSE(comparisons[0].rows[0].bits->all());
    }
    SECTION("two that contradict each other") {
        record_tree("<0; 1>*39", 40);
        record_tree("(<0; 1>*31 <32; 33>*31)", 64);
        const auto comparisons = captured_and_compared(device, folder, "size/f32/");
        REQUIRE(comparisons.size() == 2);
        CHECK(comparisons[0].rows.empty());
        CHECK(comparisons[1].holds());
    }
}

TEST_CASE("The section reveals the orders of the algorithms that it met") {
    const CaptureFolder folder("numerics-met");
    HostDevice device(77);
    const auto comparisons = captured_and_compared(device, folder, "", true);
    REQUIRE(comparisons.size() == 1);
    CHECK(comparisons[0].holds());
    CHECK(comparisons[0].rows.size() > 40);
    const std::string lines = contents_of(folder.path() / "numerics.jsonl");
    CHECK(lines.find("\"tree\":\"<0; 1>*") != std::string::npos);
}

TEST_CASE("Errors of the device are records, and the section goes on") {
    const CaptureFolder folder("numerics-errors");
    HostDevice device(capture::kSimtAlgorithm);
    device.loops.gives_errors = true;
    const auto comparisons = captured_and_compared(device, folder, "size/f32/");
    CHECK(comparisons.at(0).rows.empty());
    REQUIRE_FALSE(comparisons[0].missing.empty());
    CHECK(comparisons[0].missing[0].find("cublasLtMatmul: not today") != std::string::npos);
}

TEST_CASE("Damaged records are told by file, line and key") {
    const CaptureFolder folder("numerics-damaged");
    HostDevice device(capture::kSimtAlgorithm);
    captured_and_compared(device, folder, "none of them");
    std::string lines = contents_of(folder.path() / "numerics.jsonl");
    const auto complaint = [&](const std::string& from, const std::string& to) {
        std::string damaged = lines;
        damaged.replace(damaged.find(from), from.size(), to);
        folder.write("numerics.jsonl", damaged);
        try {
            compare_numerics(RecordedCapture(folder.path(), true), {});
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no complaint");
    };
    CHECK(complaint("\"generator\":1", "\"generator\":9").find("generator") != std::string::npos);
    CHECK(complaint("\"m\":", "\"w\":").find("problem.m") != std::string::npos);
    CHECK(complaint("\"compute\":\"f32\"", "\"compute\":\"f31\"").find("problem.compute") !=
          std::string::npos);
}

TEST_CASE("Every order's bound holds for the tensor core's, and the exact result is exact") {
    // A 2 x 1 x 2 product by hand: 1.5 * 2 - 0.25 * 4 = 2, and a wrong 2.001.
    CapturedGemm gemm;
    gemm.problem.m = gemm.problem.n = 4;
    gemm.problem.k = 300;
    gemm.problem.transpose_b = true;
    gemm.problem.a = gemm.problem.b = Type::bf16;
    gemm.problem.c = gemm.problem.d = Type::f32;
    gemm.inputs.seed = 3;
    gemm.whole = true;
    numerics::ReductionPlan plan;
    plan.a = plan.b = numerics::Element::bf16;
    plan.c = plan.d = numerics::Element::fp32;
    plan.tensor_core = numerics::parameters_for(numerics::Generation::hopper, numerics::Format::bf16,
                                                numerics::Format::fp32);
    std::vector<std::byte> a(4 * 300 * 2), b(4 * 300 * 2);
    capture::fill_elements(gemm.problem, gemm.inputs, capture::Operand::a, 0, a);
    capture::fill_elements(gemm.problem, gemm.inputs, capture::Operand::b, 0, b);
    gemm.outputs = numerics::evaluate(plan, {4, 4, 300, a, b, {}, {}});
    gemm.hash = numerics::hash_bits(gemm.outputs);
    const BitCheck same = check_bits(gemm, plan);
    CHECK(same.bits.all());
    CHECK(same.all_evaluated);
    const ErrorCheck error = check_error(gemm);
    CHECK(error.compared == 16);
    CHECK(error.largest_share < 0.2);
    CHECK(error.frobenius < 1e-6);
    CHECK(error.frobenius > 0);
    // Ampere's blocks are of 8: other bits, found.
    plan.tensor_core = numerics::parameters_for(numerics::Generation::ampere, numerics::Format::bf16,
                                                numerics::Format::fp32);
    const BitCheck other = check_bits(gemm, plan);
    CHECK_FALSE(other.bits.all());
    CHECK(other.worst);
}
