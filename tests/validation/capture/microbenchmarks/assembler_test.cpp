// NVIDIA's assembler accepts every micro-benchmark for every target that it claims, and leaves in the loops
// what is to be measured.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "support/folder.h"
#include "support/ptx_assembler.h"
#include "validation/capture/microbenchmarks/benchmark.h"

using namespace heddle;
using namespace heddle::capture;
using heddle::test::find_assembler;
using heddle::test::run_command;
namespace fs = std::filesystem;

using heddle::tests::Folder;

namespace {

/// All texts in one module, each with an entry of its own: one run of the assembler.
class Module {
  public:
    void add(const kernels::GeneratedKernel& kernel) {
        if (!texts_.insert(kernel.text).second) return;
        std::string text = kernel.text.substr(kernel.text.find(".address_size 64") + 16);
        const std::string number = std::to_string(texts_.size());
        const std::string entry = ".visible .entry " + kernel.entry;
        text.replace(text.find(entry), entry.size(), entry + "_" + number);
        // Variables of modules are declared once.
        const std::string before = text.substr(0, text.find(".visible .entry"));
        if (!before.empty() && !declared_.insert(before).second) text = text.substr(before.size());
        body_ += text;
    }
    std::string text(const std::string& target) const {
        return ".version 8.4\n.target " + target + "\n.address_size 64\n" + body_;
    }
    std::size_t size() const { return texts_.size(); }

  private:
    std::set<std::string> texts_, declared_;
    std::string body_;
};

/// Machine instructions of a cubin by opcode, the low 12 bits of each 16 bytes of its .text section. ELF:
/// section headers at the offset in byte 40, 64 bytes each; flags at 8 (4: executable), offset at 24, size
/// at 32.
std::map<unsigned, unsigned> opcodes_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
    const auto at = [&bytes](std::size_t offset, std::size_t size) {
        std::uint64_t value = 0;
        if (offset + size <= bytes.size()) std::memcpy(&value, bytes.data() + offset, size);
        return value;
    };
    std::map<unsigned, unsigned> counts;
    const std::uint64_t headers = at(40, 8), count = at(60, 2);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t header = headers + 64 * i;
        if ((at(header + 8, 8) & 4) == 0) continue;
        for (std::uint64_t place = 0; place < at(header + 32, 8); place += 16)
            ++counts[static_cast<unsigned>(at(at(header + 24, 8) + place, 2) & 0xfff)];
    }
    return counts;
}

}  // namespace

TEST_CASE("ptxas accepts every micro-benchmark") {
    const std::string ptxas = find_assembler(HEDDLE_PTXAS_FOUND);
    if (ptxas.empty()) {
        std::cout << "skipped: no ptxas found\n";
        return;
    }
    std::string help, output;
    run_command("'" + ptxas + "' --help", help);
    const Folder folder;
    std::size_t checked = 0;
    for (const unsigned capability : {70u, 75u, 80u, 86u, 89u, 90u}) {
        const std::string target = "sm_" + std::to_string(capability) + (capability == 90 ? "a" : "");
        if (help.find("'" + target + "'") == std::string::npos) continue;
        Module module;
        for (const Benchmark& benchmark : microbenchmarks()) {
            if (!benchmark.runs_on(capability)) continue;
            for (const auto& kernel : benchmark.texts(capability)) module.add(kernel);
        }
        const std::string file = (folder / (target + ".ptx")).string();
        std::ofstream(file) << module.text(target);
        const int status = run_command("'" + ptxas + "' -arch=compute_" + target.substr(3) + " -o '" +
                                           (folder / "out").string() + "' '" + file + "'",
                                       output);
        INFO(target << ": " << output.substr(0, 3000));
        CHECK(status == 0);
        checked += module.size();
    }
    std::cout << "ptxas: " << checked << " texts of micro-benchmarks accepted\n";
    CHECK(checked > 500);
}

TEST_CASE("the assembler neither drops nor merges what is measured") {
    const std::string ptxas = find_assembler(HEDDLE_PTXAS_FOUND);
    std::string help;
    if (!ptxas.empty()) run_command("'" + ptxas + "' --help", help);
    if (help.find("'sm_90a'") == std::string::npos) {
        std::cout << "skipped: no ptxas found that knows sm_90a\n";
        return;
    }
    const Folder folder;
    // Loops of 64 and 128 links (32 and 64 of mma.sync and ldmatrix, 8 and 16 of wgmma); one machine
    // instruction each, which is the most frequent of its kernel but for moves of registers.
    const std::map<std::string, unsigned> expected{
        {"latency/ffma", 192},          {"latency/fadd", 192},
        {"latency/imad", 192},          {"latency/iadd3", 192},
        {"latency/lop3", 192},          {"latency/shf", 192},
        {"latency/popc", 192},          {"latency/dfma", 192},
        {"latency/ex2", 192},           {"latency/rsqrt", 192},
        {"latency/shfl", 192},          {"latency/match_any", 192},
        {"latency/shared", 192},        {"latency/mma/m16n8k16_bf16_f32", 96},
        {"latency/ldmatrix_x4", 96},    {"latency/atomic/global_add_u32", 192},
        {"latency/mma/m8n8k4_f64", 96}, {"throughput/wgmma/bf16_f32/n=8/a=shared/warpgroups=2", 24},
    };
    for (const Benchmark& benchmark : microbenchmarks()) {
        const auto wanted = expected.find(benchmark.id);
        if (wanted == expected.end()) continue;
        INFO(benchmark.id);
        std::ofstream(folder / "k.ptx") << benchmark.texts(90).front().text;
        std::string output;
        const std::string target = benchmark.only_capability != 0 ? "sm_90a" : "sm_90";
        const int status =
            run_command("'" + ptxas + "' -arch=" + target + " -o '" + (folder / "k.cubin").string() + "' '" +
                            (folder / "k.ptx").string() + "'",
                        output);
        INFO(output);
        REQUIRE(status == 0);
        bool found = false;
        for (const auto& [opcode, count] : opcodes_of((folder / "k.cubin").string()))
            found = found || count == wanted->second || count == wanted->second + 2;
        CHECK(found);
    }
}
