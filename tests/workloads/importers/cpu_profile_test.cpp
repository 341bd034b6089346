// Profiles of a host alone: calls with shapes, no kernels, no results. Every call is an op, or explained by
// what it calls, or listed as not understood.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "isa/common/error.h"
#include "workloads/importers/import_recording.h"
#include "workloads/importers/kineto.h"
#include "workloads/trace_files/byte_stream.h"

using namespace heddle;
using trace::OpKind;
using trace::Trace;

namespace {

/// Events as PyTorch 2 writes them; calls nest by time.
class Profile {
  public:
    /// `arguments`: extents of a tensor ("[4, 8]") or a number as Python writes it ("=2", "=[0, 1]", "=").
    void begin(const std::string& name, const std::vector<std::string>& arguments = {},
               const std::string& category = "cpu_op") {
        Open call{name, category, "", now_++};
        std::string dims, types, numbers;
        for (const std::string& argument : arguments) {
            const bool number = argument[0] == '=';
            const std::string comma = dims.empty() ? "" : ", ";
            dims += comma + (number ? "[]" : argument);
            types += comma + (number ? R"("Scalar")" : R"("float")");
            numbers += comma + '"' + (number ? argument.substr(1) : "") + '"';
        }
        if (!arguments.empty())
            call.arguments = R"(, "Input Dims": [)" + dims + R"(], "Input type": [)" + types +
                             R"(], "Concrete Inputs": [)" + numbers + "]";
        open_.push_back(call);
    }
    void end() {
        const Open call = open_.back();
        open_.pop_back();
        events_ += std::string(events_.empty() ? "" : ",\n") + R"({"ph": "X", "cat": ")" + call.category +
                   R"(", "name": ")" + call.name + R"(", "pid": 1, "tid": 1, "ts": )" +
                   std::to_string(call.start) + R"(, "dur": )" + std::to_string(now_++ - call.start) +
                   R"(, "args": {"External id": )" + std::to_string(++ids_) + call.arguments + "}}";
    }
    /// A call, and within it calls by name alone.
    void call(const std::string& name, const std::vector<std::string>& arguments = {},
              const std::vector<std::string>& within = {}) {
        begin(name, arguments);
        for (const std::string& inner : within) call(inner);
        end();
    }
    Trace import() const {
        return importers::import_recording(
            importers::read_kineto(*trace::memory_stream("{\"traceEvents\": [" + events_ + "]}"), "cpu.json"),
            "cpu");
    }

  private:
    struct Open {
        std::string name, category, arguments;
        int start;
    };
    std::vector<Open> open_;
    std::string events_;
    int now_ = 100, ids_ = 0;
};

/// How many ops of each name there are that are not understood.
std::map<std::string, int> unknown(const Trace& trace) {
    std::map<std::string, int> names;
    for (const trace::Op& op : trace.ops)
        if (op.kind == OpKind::unknown) {
            CHECK_FALSE(op.get(keys::any.reason).empty());
            ++names[op.name];
        }
    return names;
}

int understood(const Trace& trace) {
    return static_cast<int>(std::count_if(trace.ops.begin(), trace.ops.end(),
                                          [](const trace::Op& op) { return op.kind != OpKind::unknown; }));
}

const std::string kHeads = "[4, 4, 16, 16]", kRows = "[64, 100]", kTokens = "[4, 16, 64]";

}  // namespace

TEST_CASE("a step recorded on a host: what has no recorded result is listed, not lost") {
    Profile profile;
    profile.begin("ProfilerStep#1", {}, "user_annotation");
    profile.call("aten::sin", {"[16, 32]"});
    profile.call("aten::cos", {"[16, 32]"});
    // Attention on a CPU allocates and looks at its operands in other orders; the calls around are composed
    // of it.
    profile.begin("aten::scaled_dot_product_attention", {kHeads, kHeads, kHeads, "=", "=0.", "=True"});
    profile.call("aten::_scaled_dot_product_flash_attention_for_cpu",
                 {kHeads, kHeads, kHeads, "=0.", "=True", "=", "="},
                 {"aten::transpose", "aten::empty_like", "aten::empty", "aten::transpose"});
    profile.end();
    profile.begin("aten::cross_entropy_loss", {kRows, "[64]"});
    profile.call("aten::log_softmax", {kRows}, {});
    profile.end();
    profile.begin("autograd::engine::evaluate_function: NllLossBackward0");
    profile.begin("NllLossBackward0", {"[]"});
    profile.begin("aten::nll_loss_backward", {"[]", kRows, "[64]"});
    profile.call("aten::zero_", {kRows});
    profile.end();
    profile.end();
    profile.end();
    profile.begin("aten::embedding_backward", {kTokens, "[4, 16]", "=100", "=-1", "=False", "=False"});
    profile.begin("aten::embedding_dense_backward", {kTokens, "[4, 16]", "=100", "=-1", "=False"});
    profile.begin("aten::zeros");
    profile.call("aten::empty");
    profile.call("aten::zero_", {"[100, 64]"});
    profile.end();
    profile.call("aten::view", {kTokens, "=[64, 64]"});
    profile.end();
    profile.end();
    profile.call("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                 {kHeads, kHeads, kHeads, kHeads, kHeads, "[4, 4, 16]", "=0.", "=True"},
                 {"aten::transpose", "aten::zeros", "aten::empty"});
    profile.end();
    const Trace trace = profile.import();
    CHECK(unknown(trace) ==
          std::map<std::string, int>{{"aten::sin", 1},
                                     {"aten::cos", 1},
                                     {"aten::_scaled_dot_product_flash_attention_for_cpu", 1},
                                     {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", 1},
                                     {"aten::log_softmax", 1},
                                     {"aten::nll_loss_backward", 1},
                                     {"aten::embedding_dense_backward", 1},
                                     {"aten::zeros", 1}});  // nothing says how many
    CHECK(understood(trace) == 2);                          // the two fills
    // What the ops read is known.
    for (const trace::Op& op : trace.ops)
        if (op.name == "aten::nll_loss_backward") CHECK(op.inputs.size() == 3);
}

TEST_CASE("calls that hand on their operand, views and questions are no ops") {
    Profile profile;
    profile.call("aten::relu", {"[4, 8]"});
    profile.call("aten::to", {"[4, 8]", "=6", "=False"});
    profile.call("aten::dropout", {"[4, 8]", "=0.", "=False"});
    profile.call("aten::expand_as", {"[1, 8]", "[4, 8]"}, {"aten::expand"});
    profile.call("aten::my_reshape", {"[4, 8]", "=[32]"}, {"aten::view"});  // put together of views
    profile.call("aten::is_nonzero", {"[1]"});
    profile.call("aten::empty", {"=[4, 8]"});
    profile.call("aten::result_type", {"[4, 8]", "=1"});
    profile.begin("somebody::names a stretch of time", {}, "user_annotation");
    profile.end();
    profile.call("torch.distributed.ddp.reducer::copy_bucket_to_grad", {"[4, 8]", "[4, 8]"},
                 {"aten::detach"});
    profile.call("profiler::_record_function_enter_new");
    const Trace trace = profile.import();
    CHECK(unknown(trace).empty());
    CHECK(understood(trace) == 1);
}

TEST_CASE("an op that fills or copies before it computes is more than the fill") {
    Profile profile;
    profile.call("aten::relu", {"[4, 8]"});
    // The copy within brings operands to one type.
    profile.begin("aten::add", {"[4, 8]", "[3, 5]", "=1"});  // shapes that do not fit
    profile.begin("aten::to", {"[3, 5]", "=6"});
    profile.begin("aten::_to_copy", {"[3, 5]", "=6"});
    profile.call("aten::copy_", {"[3, 5]", "[3, 5]", "=False"});
    profile.end();
    profile.end();
    profile.end();
    profile.begin("aten::histc", {"[32]", "=10"});  // no rule
    profile.call("aten::zero_", {"[10]"});
    profile.end();
    profile.call("aten::allocates_and_looks", {"[4, 8]"}, {"aten::empty", "aten::transpose"});
    // Composed: what it calls does the work.
    profile.begin("aten::composed", {"[4, 8]"});
    profile.call("aten::relu", {"[4, 8]"});
    profile.end();
    profile.begin("aten::new_full", {"[1]", "=[4, 8]", "=2"});
    profile.call("aten::fill_", {"[4, 8]", "=2"});
    profile.end();
    const Trace trace = profile.import();
    CHECK(unknown(trace) ==
          std::map<std::string, int>{{"aten::add", 1}, {"aten::histc", 1}, {"aten::allocates_and_looks", 1}});
    std::map<OpKind, int> kinds;
    for (const trace::Op& op : trace.ops) ++kinds[op.kind];
    CHECK(kinds[OpKind::elementwise] == 2);
    CHECK(kinds[OpKind::copy] == 1);
    CHECK(kinds[OpKind::fill] == 2);
}

TEST_CASE("calls that record no tensors are listed: they may have made one") {
    Profile profile;
    profile.call("aten::relu", {"[4, 8]"});
    profile.begin("aten::arange", {"=16", "=6"});
    profile.call("aten::empty", {"=[0]"});
    profile.call("aten::arange", {"=0", "=16", "=1", "="}, {"aten::resize_"});
    profile.end();
    profile.call("aten::randperm", {"=16"});
    const Trace trace = profile.import();
    CHECK(unknown(trace) == std::map<std::string, int>{{"aten::arange", 1}, {"aten::randperm", 1}});
    // Without any shape nothing can be said of any of them.
    Profile bare;
    bare.call("aten::relu");
    CHECK_THROWS_WITH(bare.import(), Catch::Contains("neither kernels nor ops on tensors"));
}

TEST_CASE("a sum whose shapes do not fit becomes an unknown op, and the import goes on") {
    for (const char* axes :
         {"=[5]", "=[0, 0]", "=[-7]", "=[4611686018427387904]", "=nan", "=0.5", "=1e300"}) {
        CAPTURE(axes);
        Profile profile;
        profile.call("aten::relu", {"[4, 8]"});
        profile.begin("aten::sum", {"[4, 8]", axes, "=True", "="});
        profile.call("aten::fill_", {"[1, 8]", "=0"});
        profile.end();
        profile.call("aten::cumsum", {"[4, 8]", axes});
        profile.call("aten::relu", {"[4, 8]"});
        const Trace trace = profile.import();
        CHECK_NOTHROW(trace.check());
        REQUIRE(trace.ops.size() >= 4);
        CHECK(trace.ops.front().kind == OpKind::elementwise);
        CHECK(trace.ops.back().kind == OpKind::elementwise);
    }
    Profile profile;
    profile.call("aten::sum", {"[4, 8]", "=[5]", "=True", "="});
    CHECK(unknown(profile.import()) == std::map<std::string, int>{{"aten::sum", 1}});
}

TEST_CASE("a convolution's bias has a gradient where its extents say so") {
    const auto ops_with_bias = [](const char* bias) {
        Profile profile;
        profile.call("aten::convolution_backward",
                     {"[2, 8, 16, 16]", "[2, 4, 16, 16]", "[8, 4, 3, 3]", bias, "=[1, 1]", "=[1, 1]",
                      "=[1, 1]", "=False", "=[0, 0]", "=1", "=[True, True, True]"});
        return profile.import();
    };
    const Trace with = ops_with_bias("=[8]"), without = ops_with_bias("=[0]");
    CHECK(unknown(with).empty());
    REQUIRE(with.ops.size() == 3);
    CHECK(with.ops[2].kind == OpKind::reduce);
    CHECK(with.tensor(with.ops[2].outputs[0]).shape == std::vector<std::int64_t>{8});
    CHECK(unknown(without).empty());
}
