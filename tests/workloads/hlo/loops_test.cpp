// Loops of XLA's programs: nothing of them is lost. What a loop does, counted through the ops and the turns
// that they stand for, against what its own formula says.
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "workloads/hlo/module.h"
#include "workloads/trace/turns.h"

using namespace heddle;

namespace {

/// One product [8, 8] by [8, 8].
constexpr double kProduct = 2.0 * 8 * 8 * 8;

/// How often the products are done, all turns of all loops counted.
double products(const trace::Trace& trace) {
    double sum = 0;
    for (const trace::Op& op : trace.ops)
        sum += trace::turns_of(op) * trace::floating_point_operations(trace, op) *
               (op.kind == trace::OpKind::matmul ? 1 / kProduct : 0);
    return sum;
}

std::vector<std::string> unknown_ops(const trace::Trace& trace) {
    std::vector<std::string> names;
    for (const trace::Op& op : trace.ops)
        if (op.kind == trace::OpKind::unknown) names.push_back(op.name);
    return names;
}

trace::Trace trace_of(const std::string& text) {
    trace::Trace trace = hlo::to_trace(hlo::parse_hlo("HloModule m\n" + text, "m.hlo"));
    trace.check();
    // Whatever a program loops, reading it ends, and what was read is bounded.
    CHECK(trace.ops.size() <= 300'000);
    return trace;
}

const std::string kProductLine =
    " = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";

/// `while (i COMPARED TO bound) { x = x x; i = i ADDED step }` over integers of a type.
struct Counted {
    std::string type = "s32", first = "0", step = "1", bound = "10", compared = "LT", changed = "add";
    /// Lines of the body that make y of x, i and one.
    std::string work = "  y" + kProductLine;
    std::string more = {};  ///< computations that the work calls

    std::string text() const {
        const std::string state = "(" + type + "[], f32[8,8])";
        const std::string head =
            " {\n  s = " + state + " parameter(0)\n  i = " + type + "[] get-tuple-element(s), index=0\n";
        return more + "body" + head + "  x = f32[8,8] get-tuple-element(s), index=1\n  one = " + type +
               "[] constant(" + step + ")\n  j = " + type + "[] " + changed + "(i, one)\n" + work +
               "  ROOT r = " + state + " tuple(j, y)\n}\ncond" + head + "  n = " + type + "[] constant(" +
               bound + ")\n  ROOT p = pred[] compare(i, n), direction=" + compared +
               "\n}\nENTRY e {\n  x = f32[8,8] parameter(0)\n  z = " + type + "[] constant(" + first +
               ")\n  t = " + state + " tuple(z, x)\n  w = " + state +
               " while(t), condition=cond, body=body\n  ROOT r = f32[8,8] get-tuple-element(w), index=1\n}\n";
    }
    trace::Trace read() const { return trace_of(text()); }
};

}  // namespace

TEST_CASE("a loop's turns are all counted, however many they are") {
    const auto loops = [](double turns) {
        Counted loop;
        loop.bound = std::to_string(static_cast<std::int64_t>(turns));
        const trace::Trace trace = loop.read();
        CHECK(products(trace) == turns);
        CHECK(unknown_ops(trace).empty());
        return trace.ops.size();
    };
    for (const double turns : {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 64.0, 65.0, 1000.0}) {
        INFO(turns << " turns");
        CHECK(static_cast<double>(loops(turns)) == turns);  // each is an op
    }
    // A product of matrices of 8 in each turn: six ops are enough to say so.
    for (const double turns : {65'535.0, 65'536.0, 65'537.0, 100'000.0, 2e9, 2147483647.0}) {
        INFO(turns << " turns");
        CHECK(loops(turns) <= 6);
    }
    Counted none;
    none.bound = "-5";
    CHECK(none.read().ops.empty());
}

TEST_CASE("counters go any way, and wrap around as integers do") {
    const auto check = [](const Counted& loop, double turns) {
        INFO(loop.text());
        const trace::Trace trace = loop.read();
        CHECK(products(trace) == turns);
        CHECK(unknown_ops(trace).empty());
    };
    check({.first = "1000000", .bound = "0", .compared = "GT", .changed = "subtract"}, 1e6);
    check({.step = "-3", .bound = "-300000", .compared = "NE"}, 1e5);
    check({.step = "7", .bound = "1000000", .compared = "LE"}, 142'858);
    check({.type = "s64", .bound = "5000000000", .compared = "LT"}, 5e9);
    check({.type = "u32", .bound = "4294967295", .compared = "NE"}, 4294967295.0);
    // Twice as large each turn: 2^0 to 2^29 are below 10^9.
    check({.first = "1", .step = "2", .bound = "1000000000", .changed = "multiply"}, 30);
    // From 1 on until the sign changes: past 2^31 - 1 comes -2^31, past 127 -128, past 255 0.
    check({.first = "1", .bound = "0", .compared = "GT"}, 2147483647.0);
    check({.type = "s8", .first = "1", .bound = "0", .compared = "GT"}, 127);
    check({.type = "u8", .first = "1", .bound = "0", .compared = "GT"}, 255);
    check({.type = "s16", .first = "1", .step = "3", .bound = "0", .compared = "GT"}, 10'923);
    // x 3 in 32 bits: 3^20 = 3,486,784,401 is negative.
    check({.first = "1", .step = "3", .bound = "0", .compared = "GT", .changed = "multiply"}, 20);
}

TEST_CASE("loops that nobody can count are told, with the turns that are missing") {
    const auto told = [](const Counted& loop, const char* what) {
        const trace::Trace trace = loop.read();
        REQUIRE(unknown_ops(trace).size() == 1);
        CHECK_THAT(unknown_ops(trace)[0], Catch::Contains("while w") && Catch::Contains(what));
        return products(trace);
    };
    CHECK(told({.type = "s64", .bound = "9223372036854775807"}, "too many") > 0);
    CHECK(told({.step = "0"}, "never ends") > 0);
    CHECK(told({.step = "0", .bound = "0", .compared = "GE"}, "never ends") > 0);
    // A branch that goes to and fro: i - 2 (i / 2) is 0 and 1 in turns.
    Counted odd;
    odd.bound = "100000";
    odd.more = "yes {\n  x = f32[8,8] parameter(0)\n  ROOT y" + kProductLine +
               "}\nno {\n  ROOT x = f32[8,8] parameter(0)\n}\n";
    odd.work =
        "  two = s32[] constant(2)\n  k = s32[] remainder(i, two)\n  zero = s32[] constant(0)\n"
        "  c = pred[] compare(k, zero), direction=EQ\n"
        "  y = f32[8,8] conditional(c, x, x), true_computation=yes, false_computation=no\n";
    // Each turn evaluates 22 instructions of at most 750,000.
    CHECK(told(odd, "turns 45456 to 100000 are missing") == 45'456 / 2);
    odd.bound = "40000";
    CHECK(products(odd.read()) == 20'000);
    CHECK(unknown_ops(odd.read()).empty());
    // How often it loops is in its input.
    Counted data;
    std::string text = data.text();
    text.replace(text.find("constant(0)"), 11, "parameter(1)");
    const trace::Trace trace = trace_of(text);
    REQUIRE(unknown_ops(trace).size() == 1);
    CHECK_THAT(unknown_ops(trace)[0],
               Catch::Contains("turns from 1 on are missing") && Catch::Contains("depends on data"));
}

TEST_CASE("branches of a long loop are taken as often as its counter says") {
    Counted loop;
    loop.bound = "1000000";
    // Two products where the branch is taken, one where it is not.
    loop.more = "yes {\n  x = f32[8,8] parameter(0)\n  a" + kProductLine +
                "  ROOT b = f32[8,8] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\nno {\n"
                "  x = f32[8,8] parameter(0)\n  ROOT a" +
                kProductLine + "}\n";
    const auto counted = [&](const std::string& at, const char* compared) {
        loop.work = "  at = s32[] constant(" + at + ")\n  c = pred[] compare(i, at), direction=" + compared +
                    "\n  y = f32[8,8] conditional(c, x, x), true_computation=yes, false_computation=no\n";
        const trace::Trace trace = loop.read();
        CHECK(unknown_ops(trace).empty());
        return products(trace);
    };
    CHECK(counted("300000", "LT") == 1'300'000);
    CHECK(counted("300000", "GE") == 1'700'000);
    CHECK(counted("300000", "LE") == 1'300'001);
    CHECK(counted("500000", "EQ") == 1'000'001);
    CHECK(counted("0", "EQ") == 1'000'001);
    CHECK(counted("999999", "EQ") == 1'000'001);
    CHECK(counted("500000", "NE") == 1'999'999);
    CHECK(counted("-1", "EQ") == 1'000'000);
}

namespace {

/// for i < outer: for j < INNER: x = x x. INNER is a number, or `i`.
std::string nested(const std::string& outer, const std::string& inner) {
    const std::string state = "(s32[], s32[], f32[8,8])";
    const std::string head = " {\n  s = " + state +
                             " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
                             "  j = s32[] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
                             "  zero = s32[] constant(0)\n";
    const std::string x = "  x = f32[8,8] get-tuple-element(s), index=2\n";
    const std::string bound = inner == "i" ? "" : "  n = s32[] constant(" + inner + ")\n";
    const char* const most = inner == "i" ? "i" : "n";
    return "inner_body" + head + x + "  k = s32[] add(j, one)\n  y" + kProductLine + "  ROOT r = " + state +
           " tuple(i, k, y)\n}\ninner_cond" + head + bound + "  ROOT p = pred[] compare(j, " + most +
           "), direction=LT\n}\nouter_body" + head + x + "  t = " + state +
           " tuple(i, zero, x)\n  w = " + state +
           " while(t), condition=inner_cond, body=inner_body\n  y = f32[8,8] get-tuple-element(w), index=2\n"
           "  k = s32[] add(i, one)\n  ROOT r = " +
           state + " tuple(k, zero, y)\n}\nouter_cond" + head + "  n = s32[] constant(" + outer +
           ")\n  ROOT p = pred[] compare(i, n), direction=LT\n}\nENTRY e {\n  x = f32[8,8] parameter(0)\n"
           "  z = s32[] constant(0)\n  t = " +
           state + " tuple(z, z, x)\n  w = " + state +
           " while(t), condition=outer_cond, body=outer_body\n  ROOT r = f32[8,8] get-tuple-element(w), "
           "index=2\n}\n";
}

}  // namespace

TEST_CASE("loops within loops are counted as often as all of them together") {
    const auto counted = [](const char* outer, const char* inner, double expected) {
        INFO(outer << " times " << inner);
        const trace::Trace trace = trace_of(nested(outer, inner));
        CHECK(products(trace) == expected);
        CHECK(unknown_ops(trace).empty());
        return trace.ops.size();
    };
    CHECK(counted("30", "20", 600) == 600);
    counted("1000", "1000", 1e6);
    counted("100000", "3", 3e5);
    counted("3", "100000", 3e5);
    CHECK(counted("100000", "100000", 1e10) < 100);
    counted("100000", "70", 7e6);
    counted("2000000", "2000000000", 4e15);
    // As many turns as the outer counter says: 0 + 1 + ... + 1999.
    counted("2000", "i", 1999.0 * 2000 / 2);
}

TEST_CASE("one loop after the other: their turns are all counted, and a trace has an end") {
    std::string text = Counted{.bound = "60000"}.text();
    const std::string call = "  w = (s32[], f32[8,8]) while(t), condition=cond, body=body\n";
    std::string calls = call;
    // Each begins with what the one before it made.
    for (int i = 1; i < 200; ++i) {
        const std::string n = std::to_string(i), before = i == 1 ? "w" : "w" + std::to_string(i - 1);
        calls += "  x" + n + " = f32[8,8] get-tuple-element(" + before + "), index=1\n  t" + n +
                 " = (s32[], f32[8,8]) tuple(z, x" + n + ")\n  w" + n + " = (s32[], f32[8,8]) while(t" + n +
                 "), condition=cond, body=body\n";
    }
    text.replace(text.find(call), call.size(), calls);
    text.replace(text.rfind("(w), index=1"), 12, "(w199), index=1");
    const trace::Trace trace = trace_of(text);
    CHECK(products(trace) == 200 * 60'000.0);
    CHECK(unknown_ops(trace).empty());
}

TEST_CASE("what a turn hands to the next is read and written in each of them") {
    // As lax.scan has it: row i of a table comes in, row i of another goes out; beside it the rows' sum, a
    // power of a number, and the result of the turn before.
    const trace::Trace trace = trace_of(R"(
body {
  s = (s32[], f32[100000,8], f32[100000,8], f32[8], f32[], f32[1,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  in = f32[100000,8] get-tuple-element(s), index=1
  out = f32[100000,8] get-tuple-element(s), index=2
  sum = f32[8] get-tuple-element(s), index=3
  power = f32[] get-tuple-element(s), index=4
  last = f32[1,8] get-tuple-element(s), index=5
  zero = s32[] constant(0)
  one = s32[] constant(1)
  n = s32[] constant(100000)
  below = pred[] compare(i, zero), direction=LT
  around = s32[] add(i, n)
  at = s32[] select(below, around, i)
  row = f32[1,8] dynamic-slice(in, at, zero), dynamic_slice_sizes={1,8}
  rate = f32[] constant(0.9)
  less = f32[] multiply(power, rate)
  spread = f32[1,8] broadcast(less), dimensions={}
  scaled = f32[1,8] multiply(row, spread)
  both = f32[1,8] add(scaled, last)
  flat = f32[8] reshape(both)
  more = f32[8] add(sum, flat)
  put = f32[100000,8] dynamic-update-slice(out, both, at, zero)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[100000,8], f32[100000,8], f32[8], f32[], f32[1,8]) tuple(j, in, put, more, less, scaled)
}
cond {
  s = (s32[], f32[100000,8], f32[100000,8], f32[8], f32[], f32[1,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(100000)
  ROOT p = pred[] compare(i, n), direction=LT
}
ENTRY e {
  in = f32[100000,8] parameter(0)
  first = f32[1,8] parameter(1)
  z = s32[] constant(0)
  f = f32[] constant(0)
  p = f32[] constant(1)
  out = f32[100000,8] broadcast(f), dimensions={}
  sum = f32[8] broadcast(f), dimensions={}
  t = (s32[], f32[100000,8], f32[100000,8], f32[8], f32[], f32[1,8]) tuple(z, in, out, sum, p, first)
  w = (s32[], f32[100000,8], f32[100000,8], f32[8], f32[], f32[1,8]) while(t), condition=cond, body=body
  ROOT r = f32[100000,8] get-tuple-element(w), index=2
}
)");
    CHECK(unknown_ops(trace).empty());
    CHECK(trace.ops.size() < 40);
    double rows = 0;  // written to the table
    for (const trace::Op& op : trace.ops)
        if (op.has_strides("output0") || op.has_offset("output0")) rows += trace::turns_of(op);
    // The first turn writes row 0, which begins where the table does.
    CHECK(rows >= 99'999);
    CHECK(rows <= 100'000);
    double steps = 0;  // of the power, a number in memory as soon as the loop is known to be long
    for (const trace::Op& op : trace.ops)
        if (op.outputs.size() == 1 && trace.tensor(op.outputs[0]).elements() == 1 &&
            op.kind == trace::OpKind::elementwise)
            steps += trace::turns_of(op);
    CHECK(steps >= 99'990);
    CHECK(steps <= 100'000);
}

TEST_CASE("former contents that a later turn reads are copied in every turn") {
    // b gets a row, and what b was before is added up in the turn after that.
    const trace::Trace trace = trace_of(R"(
body {
  s = (s32[], f32[8,8], f32[8,8], f32[8,8], f32[1,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  b = f32[8,8] get-tuple-element(s), index=1
  before = f32[8,8] get-tuple-element(s), index=2
  sum = f32[8,8] get-tuple-element(s), index=3
  row = f32[1,8] get-tuple-element(s), index=4
  zero = s32[] constant(0)
  one = s32[] constant(1)
  c = f32[8,8] dynamic-update-slice(b, row, zero, zero)
  more = f32[8,8] add(sum, before)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[8,8], f32[8,8], f32[8,8], f32[1,8]) tuple(j, c, b, more, row)
}
cond {
  s = (s32[], f32[8,8], f32[8,8], f32[8,8], f32[1,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(100000)
  ROOT p = pred[] compare(i, n), direction=LT
}
ENTRY e {
  a = f32[8,8] parameter(0)
  row = f32[1,8] parameter(1)
  b = f32[8,8] add(a, a)
  z = s32[] constant(0)
  t = (s32[], f32[8,8], f32[8,8], f32[8,8], f32[1,8]) tuple(z, b, a, a, row)
  w = (s32[], f32[8,8], f32[8,8], f32[8,8], f32[1,8]) while(t), condition=cond, body=body
  ROOT r = f32[8,8] get-tuple-element(w), index=3
}
)");
    CHECK(unknown_ops(trace).empty());
    double copies = 0;
    for (const trace::Op& op : trace.ops)
        if (op.name.find("(copy)") != std::string::npos) copies += trace::turns_of(op);
    // What the last turn leaves behind is read by none.
    CHECK(copies >= 99'997);
    CHECK(copies <= 100'000);
}

TEST_CASE("a long loop of StableHLO, and what an unknown loop reads") {
    const std::string text = R"(module @f {
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %arg0) : tensor<i32>, tensor<8x8xf32>
    cond {
      %c_2 = stablehlo.constant dense<3000000> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.dot_general %iterArg_1, %arg1, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<8x8xf32>
    }
    return %0#1 : tensor<8x8xf32>
  }
}
)";
    CHECK(products(hlo::to_trace(hlo::parse_stablehlo(text, "m.mlir"))) == 3e6);
    // HLO's loops carry one tuple: all that is in it is read.
    std::string unknown = Counted{}.text();
    unknown.replace(unknown.find("constant(0)"), 11, "parameter(1)");
    const trace::Trace trace = trace_of(unknown);
    REQUIRE(trace.ops.size() == 1);
    CHECK(trace.ops[0].inputs.size() == 2);
    CHECK(trace.ops[0].outputs.size() == 2);
}

TEST_CASE("turns are checked in traces of any origin") {
    trace::Trace trace = Counted{.bound = "100000"}.read();
    std::vector<trace::HeldTurn> held = trace::held_turns(trace);
    std::erase_if(held, [](const trace::HeldTurn& turn) { return turn.turns == 1; });
    REQUIRE(held.size() == 1);
    CHECK(held[0].last == held[0].first + 1);
    CHECK(held[0].turns + static_cast<double>(trace.ops.size()) - 1 == 100'000);
    const auto message = [&](std::vector<std::int64_t> turns, std::size_t op) {
        trace::Trace other = trace;
        other.ops[op].set(keys::any.turns, std::move(turns));
        try {
            other.check();
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    const std::size_t last = trace.ops.size() - 1;
    CHECK_THAT(message({1}, last), Catch::Contains("without how many") && Catch::Contains("pairs"));
    CHECK_THAT(message({9, 0}, last), Catch::Contains("no number of turns"));
    CHECK_THAT(message({9, -3}, last), Catch::Contains("no number of turns"));
    CHECK_THAT(message({9, std::int64_t{1} << 60}, last), Catch::Contains("no number of turns"));
    CHECK(message({9, 3, 10, 5}, last) == "no error");
    REQUIRE(held[0].first > 0);
    // The same number with another count, and the same turn a second time.
    CHECK_THAT(message({1, 77}, held[0].first - 1), Catch::Contains("not one behind the other"));
    if (last > held[0].last)
        CHECK_THAT(message({1, static_cast<std::int64_t>(held[0].turns)}, last),
                   Catch::Contains("not one behind the other"));
}
