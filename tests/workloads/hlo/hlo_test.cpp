// Training steps as XLA and JAX print them: what they compute, against the same step written out in C++.
//
// The two files were written by hand after the documented syntax of HLO and StableHLO text; they hold one
// step of an MLP of 32 - 16 - 4 with ReLU, mean squared error and SGD at 0.1, on 8 rows. jax_test.cpp reads
// what JAX printed.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "isa/common/error.h"
#include "models/tpu/tpu_config.h"
#include "workloads/hlo/module.h"
#include "workloads/importers/open_trace.h"
#include "workloads/lowering/tpu/tpu_lowering.h"
#include "workloads/reference/execute.h"

using namespace heddle;

namespace {

using Matrix = std::vector<double>;

std::string path_of(const char* name) {
    return std::string(HEDDLE_SOURCE_DIR) + "/tests/workloads/hlo/" + name;
}
std::string text_of(const char* name) {
    std::ifstream file(path_of(name));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// c[m, n] = sum over k of a(i, k) b(k, j).
template <class A, class B>
Matrix product(int m, int n, int k, A a, B b) {
    Matrix c(static_cast<std::size_t>(m * n));
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
            for (int l = 0; l < k; ++l) c[static_cast<std::size_t>(i * n + j)] += a(i, l) * b(l, j);
    return c;
}

/// w1, b1, w2, b2 after the step, and the loss.
std::vector<Matrix> step(const std::vector<Matrix>& in) {
    const Matrix &w1 = in[0], &b1 = in[1], &w2 = in[2], &b2 = in[3], &x = in[4], &t = in[5];
    const auto at = [](const Matrix& m, int columns) {
        return [&m, columns](int i, int j) { return m[static_cast<std::size_t>(i * columns + j)]; };
    };
    const auto turned = [](const Matrix& m, int columns) {
        return [&m, columns](int i, int j) { return m[static_cast<std::size_t>(j * columns + i)]; };
    };
    Matrix h = product(8, 16, 32, at(x, 32), turned(w1, 32));
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = std::max(h[i] + b1[i % 16], 0.0);
    Matrix d = product(8, 4, 16, at(h, 16), at(w2, 4));
    double loss = 0;
    for (std::size_t i = 0; i < d.size(); ++i) {
        d[i] += b2[i % 4] - t[i];
        loss += d[i] * d[i] / 32;
    }
    Matrix g = d;
    for (double& value : g) value /= 16;
    const Matrix dw2 = product(16, 4, 8, turned(h, 16), at(g, 4));
    Matrix dh = product(8, 16, 4, at(g, 4), turned(w2, 4));
    for (std::size_t i = 0; i < dh.size(); ++i)
        if (h[i] <= 0) dh[i] = 0;
    const Matrix dw1 = product(16, 32, 8, turned(dh, 16), at(x, 32));
    std::vector<Matrix> out{w1, b1, w2, b2, {loss}};
    for (std::size_t i = 0; i < w1.size(); ++i) out[0][i] -= 0.1 * dw1[i];
    for (std::size_t i = 0; i < dh.size(); ++i) out[1][i % 16] -= 0.1 * dh[i];
    for (std::size_t i = 0; i < w2.size(); ++i) out[2][i] -= 0.1 * dw2[i];
    for (std::size_t i = 0; i < g.size(); ++i) out[3][i % 4] -= 0.1 * g[i];
    return out;
}

/// The last tensor of each size that an op wrote: the step's results have sizes of their own.
Matrix result_of(const trace::Trace& trace, reference::TensorValues& values, std::size_t elements) {
    for (std::size_t op = trace.ops.size(); op-- > 0;) {
        for (const trace::TensorId id : trace.ops[op].outputs) {
            if (static_cast<std::size_t>(trace.tensor(id).elements()) == elements)
                return {values.storage(id).begin(),
                        values.storage(id).begin() + static_cast<std::ptrdiff_t>(elements)};
        }
    }
    return {};
}

void check_step(const trace::Trace& trace) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<Matrix> in;
    reference::TensorValues values(trace);
    // Parameters come first, in the order of the arguments.
    for (trace::TensorId id = 0; id < 6; ++id) {
        REQUIRE(trace.tensor(id).role == trace::TensorRole::input);
        Matrix numbers(static_cast<std::size_t>(trace.tensor(id).elements()));
        for (double& number : numbers) number = uniform(random);
        std::copy(numbers.begin(), numbers.end(), values.storage(id).begin());
        in.push_back(std::move(numbers));
    }
    reference::execute(trace, values);
    for (const Matrix& expected : step(in)) {
        if (expected.size() == 16 || expected.size() == 64) continue;  // as many as other tensors have
        const Matrix found = result_of(trace, values, expected.size());
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            CHECK(found[i] == Approx(expected[i]).epsilon(1e-12).margin(1e-12));
    }
}

double operations(const trace::Trace& trace) {
    double sum = 0;
    for (const trace::Op& op : trace.ops)
        if (op.kind == trace::OpKind::matmul) sum += trace::floating_point_operations(trace, op);
    return sum;
}

}  // namespace

TEST_CASE("an MLP's step in HLO and in StableHLO text computes what the formulas say") {
    for (const char* name : {"mlp_step.hlo", "mlp_step.mlir"}) {
        INFO(name);
        const trace::Trace trace = importers::open_trace(path_of(name));
        check_step(trace);
        // Five products; two of 2 * 8 * 16 * 32 and three of 2 * 8 * 16 * 4 operations.
        CHECK(operations(trace) == 2 * 2 * 8 * 16 * 32 + 3 * 2 * 8 * 16 * 4);
        target::TpuTarget target;
        for (trace::OpId op = 0; op < trace.ops.size(); ++op) {
            const lowering::LoweredOp lowered = lowering::lower(trace, op, target);
            INFO(trace.ops[op].name << ": " << lowered.reason_if_not);
            CHECK(lowered.supported);
        }
        // Bias and ReLU ride on the first product, weight updates on the last ones: no op of their own.
        CHECK(trace.ops.size() <= 12);
    }
}

TEST_CASE("batched products, views and lookups of HLO") {
    const trace::Trace trace = hlo::to_trace(hlo::parse_hlo(R"(HloModule jit_f
ENTRY main.9 {
  table.1 = bf16[100,64]{1,0} parameter(0)
  ids.2 = s32[8,16]{1,0} parameter(1)
  ids.3 = s32[8,16,1]{2,1,0} reshape(ids.2)
  x.4 = bf16[8,16,64]{2,1,0} gather(table.1, ids.3), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,64}
  q.5 = bf16[8,16,4,16]{3,2,1,0} reshape(x.4)
  t.6 = bf16[8,4,16,16]{3,1,2,0} transpose(q.5), dimensions={0,2,1,3}
  s.7 = bf16[8,4,16,16]{3,2,1,0} dot(t.6, t.6), lhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_batch_dims={0,1}, rhs_contracting_dims={3}
  c.8 = bf16[8,4,16,8]{3,2,1,0} slice(s.7), slice={[0:8], [0:4], [0:16], [4:12]}
  ROOT e.9 = bf16[8,4,16,8]{3,2,1,0} exponential(c.8)
}
)",
                                                            "f.hlo"));
    // Heads are copied side by side once, for both operands.
    REQUIRE(trace.ops.size() == 4);
    CHECK(trace.ops[0].kind == trace::OpKind::embedding);
    CHECK(trace.ops[1].kind == trace::OpKind::elementwise);
    CHECK(trace.ops[2].kind == trace::OpKind::matmul);
    CHECK(trace::floating_point_operations(trace, trace.ops[2]) == 2.0 * 8 * 4 * 16 * 16 * 16);
    CHECK(trace.ops[3].kind == trace::OpKind::elementwise);
    for (trace::OpId op = 0; op < 4; ++op) {
        const lowering::LoweredOp lowered = lowering::lower(trace, op, target::TpuTarget{});
        INFO(lowered.reason_if_not);
        CHECK(lowered.supported);
    }
}

TEST_CASE("what is not understood stays visible, and bad text is told by line") {
    const trace::Trace trace =
        hlo::to_trace(hlo::parse_hlo("HloModule m\nENTRY e {\n  p = f32[8]{0} parameter(0)\n  ROOT s = "
                                     "f32[8]{0} sort(p), dimensions={0}\n}\n",
                                     "m.hlo"));
    REQUIRE(trace.ops.size() == 1);
    CHECK(trace.ops[0].kind == trace::OpKind::unknown);
    const auto message = [](const std::string& text) {
        try {
            hlo::to_trace(hlo::parse_hlo(text, "m.hlo"));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    CHECK_THAT(message("HloModule m\nENTRY e {\n  p = f33[8]{0} parameter(0)\n}\n"),
               Catch::Contains("m.hlo:3") && Catch::Contains("f33"));
    CHECK_THAT(message("HloModule m\nENTRY e {\n  ROOT a = f32[8]{0} add(p, p)\n}\n"),
               Catch::Contains("m.hlo:3") && Catch::Contains("`p`"));
    CHECK_THAT(message("HloModule m\nENTRY e {\n  p = f32[8]{0} parameter(0)\n"),
               Catch::Contains("not closed"));
    CHECK_THAT(message("HloModule m\n"), Catch::Contains("ENTRY"));
}

TEST_CASE("a program that lies, nests or never ends is one error at the line that does it") {
    const auto message = [](const std::string& text) {
        try {
            if (hlo::is_stablehlo_text(text)) {
                hlo::to_trace(hlo::parse_stablehlo(text, "m"));
            } else {
                hlo::to_trace(hlo::parse_hlo("HloModule m\n" + text, "m"));
            }
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    const auto entry = [&](const std::string& lines) { return message("ENTRY e {\n" + lines + "}\n"); };
    const auto told = [](const std::string& said, const char* place, const char* what) {
        CHECK_THAT(said, Catch::StartsWith(place) && Catch::Contains(what));
    };
    const std::string p = "  p = f32[8,4]{1,0} parameter(0)\n", q = "  q = f32[4,9]{1,0} parameter(1)\n";
    // Shapes that are not what the operation gives.
    told(entry(p + "  ROOT s = f32[8,5]{1,0} add(p, p)\n"), "m:4:", "[8, 4]");
    told(entry(p + "  ROOT s = f32[8,4]{1,0} transpose(p), dimensions={1,0}\n"), "m:4:", "[4, 8]");
    told(entry(p + "  ROOT s = f32[9,4,8]{2,1,0} broadcast(p), dimensions={1,2}\n"), "m:4:", "another size");
    told(entry(p + "  ROOT s = f32[15,4]{1,0} concatenate(p, p), dimensions={0}\n"), "m:4:", "[16, 4]");
    told(entry(p + "  z = f32[] constant(0)\n  ROOT s = f32[9,9]{1,0} pad(p, z), padding=1_0x1_0\n"),
         "m:5:", "dimension 1");
    told(message("r {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
                 "ENTRY e {\n" +
                 p +
                 "  z = f32[] constant(0)\n"
                 "  ROOT s = f32[8]{0} reduce(p, z), dimensions={0}, to_apply=r\n}\n"),
         "m:10:", "leaves [4]");
    told(entry(p + q +
               "  ROOT s = f32[8,8]{1,0} dot(p, q), lhs_contracting_dims={1}, "
               "rhs_contracting_dims={0}\n"),
         "m:5:", "another size");
    const std::string convolved =
        "  p = f32[1,8,8,3]{3,2,1,0} parameter(0)\n"
        "  q = f32[3,3,3,5]{3,2,1,0} parameter(1)\n  ROOT s = f32[1,";
    told(entry(convolved + "80,8,5]{3,2,1,0} convolution(p, q), window={size=3x3 pad=1_1x1_1}, "
                           "dim_labels=b01f_01io->b01f\n"),
         "m:5:", "8 positions");
    told(entry(convolved + "8,8,5]{3,2,1,0} convolution(p, q), window={size=3x3 pad=1_1x1_1 "
                           "stride=0x0}, dim_labels=b01f_01io->b01f\n"),
         "m:5:", "stride");
    // Sizes that no address counts.
    for (const char* size : {"9223372036854775807", "99999999999999999999999", "4294967296,4294967296", "-8"})
        told(entry("  p = f32[" + std::string(size) + "] parameter(0)\n  ROOT s = f32[8] add(p, p)\n"),
             "m:3:", "expected");
    told(entry("  p = f32[8,4]{5,9} parameter(0)\n  ROOT s = f32[8,4] add(p, p)\n"), "m:3:", "{5,9}");
    // Names and numbers that stand twice.
    told(entry(p + "  p = f32[8,4]{1,0} negate(p)\n"), "m:4:", "another instruction");
    told(entry(p + "  q = f32[8,4]{1,0} parameter(0)\n"), "m:4:", "another parameter");
    // Circles, and calls of calls: 2^40 instructions, and 300 deep.
    const std::string head = " {\n  p = f32[8] parameter(0)\n", tail = "}\n";
    told(message("f" + head + "  ROOT c = f32[8] call(p), to_apply=g\n}\ng" + head +
                 "  ROOT c = f32[8] call(p), to_apply=f\n}\nENTRY e" + head +
                 "  ROOT c = f32[8] call(p), to_apply=f\n}\n"),
         "m:3:", "circle");
    const auto tower = [&](int floors, bool twice) {
        std::string text = "f0" + head + "  ROOT c = f32[8] negate(p)\n" + tail;
        for (int i = 1; i <= floors; ++i) {
            const std::string below = "call(p), to_apply=f" + std::to_string(i - 1) + "\n";
            text += (i == floors ? "ENTRY e" : "f" + std::to_string(i)) + head;
            if (twice) text += "  q = f32[8] " + below;
            text += "  ROOT c = f32[8] " + below + tail;
        }
        return message(text);
    };
    // Counted before anything is evaluated: the entry's first call is one too many.
    told(tower(40, true), "m:203:", "a million instructions");
    CHECK_THAT(tower(300, false), Catch::Contains("200 deep"));
    // Types and regions within one another.
    told(entry("  p = " + std::string(100'000, '(') + "f32[8]"), "m:3:", "nested");
    const std::string opening = "    %0 = stablehlo.while(%i = %arg0) : tensor<8xf32> cond {\n";
    std::string regions = "module @m {\n  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {\n";
    for (int i = 0; i < 20'000; ++i) regions += opening;
    CHECK_THAT(message(regions), Catch::Contains("nested"));
    // Text of MLIR without one operation is still told as such.
    CHECK_THAT(message("module @m {\n"), Catch::Contains("cut off"));
}

TEST_CASE("extents of indices, rows and updates that do not agree are told by line") {
    // The text of jnp.take_along_axis's gradient as JAX prints it, with other extents.
    const auto message = [](const std::string& table, const std::string& indices,
                            const std::string& updates) {
        const std::string text =
            "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, "
            "b)\n}\nENTRY e {\n  zero = f32[] constant(0)\n  t = f32[" +
            table + "] broadcast(zero), dimensions={}\n  i = s32[" + indices +
            ",1] parameter(0)\n  u = f32[" + updates + "] parameter(1)\n  ROOT s = f32[" + table +
            "] scatter(t, i, u), update_window_dims={}, inserted_window_dims={1}, "
            "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, "
            "index_vector_dim=2, to_apply=add\n}\n";
        try {
            hlo::to_trace(hlo::parse_hlo(text, "m.hlo")).check();
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(message("16,10", "16,1", "16,1").empty());
    CHECK_THAT(message("6,10", "16,1", "16,1"),
               Catch::Contains("m.hlo:12") && Catch::Contains("16 indices for 6 rows"));
    CHECK_THAT(message("16,10", "16,1", "15,1"),
               Catch::Contains("m.hlo:12") && Catch::Contains("15 updates for 16 indices"));
}

TEST_CASE("a slice's starts are single numbers, and it is no larger than its source") {
    const auto message = [](const std::string& start, const std::string& size) {
        const std::string text = "HloModule m\nENTRY e {\n  t = f32[6,8] parameter(0)\n  i = s32[" + start +
                                 "] parameter(1)\n  z = s32[] constant(0)\n  ROOT s = f32[" + size +
                                 ",8] dynamic-slice(t, i, z), dynamic_slice_sizes={" + size + ",8}\n}\n";
        try {
            hlo::to_trace(hlo::parse_hlo(text, "m.hlo")).check();
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(message("", "1").empty());
    CHECK_THAT(message("6,8", "1"), Catch::Contains("m.hlo:6") && Catch::Contains("not a single number"));
    CHECK_THAT(message("", "7"), Catch::Contains("m.hlo:6") && Catch::Contains("7 of 6"));
}

TEST_CASE("cut text gives a trace or an error, never a crash") {
    for (const char* name : {"mlp_step.hlo", "mlp_step.mlir"}) {
        const std::string text = text_of(name);
        for (std::size_t length = 0; length < text.size(); length += 13) {
            try {
                const std::string cut = text.substr(0, length);
                hlo::to_trace(name[9] == 'h' ? hlo::parse_hlo(cut, name) : hlo::parse_stablehlo(cut, name));
            } catch (const Error&) {
            }
        }
    }
    SUCCEED();
}

TEST_CASE("an error at the end of the text says so") {
    try {
        hlo::parse_hlo("HloModule m\nENTRY e {\n  ROOT a = f32[4]{0} add(", "cut.hlo");
        FAIL("no error");
    } catch (const Error& error) {
        CHECK_THAT(std::string(error.what()), Catch::Contains("cut.hlo") && !Catch::Contains("``"));
    }
}

TEST_CASE("sine and cosine, also of angles of many turns") {
    const trace::Trace trace = hlo::to_trace(hlo::parse_hlo(R"(HloModule m
ENTRY e {
  a = f32[7]{0} parameter(0)
  s = f32[7]{0} sine(a)
  c = f32[7]{0} cosine(a)
  ROOT r = (f32[7]{0}, f32[7]{0}) tuple(s, c)
}
)",
                                                            "m.hlo"));
    const std::vector<double> angles{0, 0.5, -1.5707963267948966, 3.0, -3.1, 100, 2047};
    for (const bool cosine : {false, true}) {
        reference::TensorValues held(trace);
        for (const trace::Op& op : trace.ops) REQUIRE(op.kind == trace::OpKind::elementwise);
        std::copy(angles.begin(), angles.end(), held.storage(trace.ops[0].inputs[0]).begin());
        reference::execute(trace, held);
        std::vector<std::vector<double>> results;
        for (const trace::Op& op : trace.ops) {
            const auto values = held[op.outputs[0]];
            results.emplace_back(values.begin(), values.end());
        }
        std::size_t found = 0;
        for (const auto& result : results) {
            bool same = true;
            for (std::size_t i = 0; i < angles.size(); ++i)
                same =
                    same && std::abs(result[i] - (cosine ? std::cos(angles[i]) : std::sin(angles[i]))) < 1e-9;
            found += same ? 1 : 0;
        }
        CHECK(found == 1);
    }
}

TEST_CASE("sizes that wrap around are told, not taken for small ones") {
    const auto message = [](const std::string& lines) {
        try {
            hlo::to_trace(
                hlo::parse_hlo("HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] "
                               "parameter(1)\n  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  p = "
                               "f32[8,4] parameter(0)\n  z = f32[] constant(0)\n" +
                                   lines + "\n}\n",
                               "m.hlo"));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    // 7 times this is 1 in 64 bits, 3 times the next one 2: sizes that fit, if nobody looks.
    CHECK_THAT(message("  ROOT s = f32[9,4] pad(p, z), padding=0_0_7905747460161236407x0_0"),
               Catch::Contains("m.hlo:10") && Catch::Contains("dimension 0"));
    CHECK_THAT(message("  q = f32[1,8,8,2] parameter(1)\n  k = f32[3,3,3,5] parameter(2)\n  ROOT s = "
                       "f32[1,8,8,5] convolution(q, k), window={size=3x3 pad=1_1x1_1}, "
                       "feature_group_count=6148914691236517206, dim_labels=b01f_01io->b01f"),
               Catch::Contains("m.hlo:12") && Catch::Contains("3 channels in each group"));
    // 2^44 elements, dilated by 2^24.
    CHECK_THAT(message("  q = f32[1,17592186044416,1,1] parameter(1)\n  k = f32[1,1,1,1] parameter(2)\n  "
                       "ROOT s = f32[1,17592186044416,1,1] convolution(q, k), window={size=1x1 "
                       "lhs_dilate=16777216x1}, dim_labels=b01f_01io->b01f"),
               Catch::Contains("m.hlo:12") && Catch::Contains("dilation"));
    CHECK_THAT(message("  q = f32[17592186044416,1] parameter(1)\n  ROOT s = f32[1] reduce(q, z), "
                       "dimensions={0,0,0,0}, to_apply=add"),
               Catch::Contains("m.hlo:11") && Catch::Contains("twice"));
    // Steps beyond the end take one element.
    CHECK(message("  ROOT s = f32[1,4] slice(p), slice={[7:8:9223372036854775807], [0:4]}") == "no error");
    CHECK_THAT(message("  q = f32[17592186044417] parameter(1)\n  ROOT s = f32[8,4] negate(p)"),
               Catch::Contains("m.hlo:10") && Catch::Contains("at most 17592186044416 elements"));
}

TEST_CASE("operations in two halves are there once, and nothing of a collective is lost") {
    const trace::Trace trace = hlo::to_trace(hlo::parse_hlo(R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
twice {
  a = f32[64] parameter(0)
  ROOT c = f32[64] add(a, a)
}
ENTRY e {
  x = f32[64] parameter(0)
  y = f32[32] parameter(1)
  t = token[] after-all()
  ar = (f32[64], f32[32]) all-reduce(x, y), replica_groups={}, to_apply=add
  s = f32[64] all-reduce-start(x), replica_groups={}, to_apply=add
  d = f32[64] all-reduce-done(s)
  g = (f32[64], f32[128]) all-gather-start(x), dimensions={0}
  h = f32[128] all-gather-done(g)
  cs = (f32[64], f32[64], u32[]) copy-start(x)
  cd = f32[64] copy-done(cs)
  cp = (f32[64], f32[64], u32[], u32[]) collective-permute-start(cd), source_target_pairs={{0,1}}
  q = f32[64] collective-permute-done(cp)
  as = ((f32[64]), f32[64], u32[]) async-start(q), calls=twice
  ad = f32[64] async-done(as)
  me = u32[] partition-id()
  n = s32[] get-dimension-size(x), dimensions={0}
  ROOT r = (f32[64], f32[128], f32[64], s32[]) tuple(d, h, ad, n)
}
)",
                                                            "m.hlo"));
    std::vector<std::string> collectives;
    std::int64_t bytes = 0;
    for (const trace::Op& op : trace.ops) {
        CHECK(op.kind != trace::OpKind::unknown);
        if (op.kind != trace::OpKind::collective) continue;
        collectives.push_back(op.get(keys::collective.collective));
        bytes += op.get(keys::collective.bytes);
    }
    CHECK(collectives ==
          std::vector<std::string>{"all_reduce", "all_reduce", "all_gather", "collective_permute"});
    CHECK(bytes == (64 + 32 + 64 + 64 + 64) * 4);
    // The last result is a number; one op adds, one writes the number.
    CHECK(trace.ops.size() == 4 + 2);
}
