#include "workloads/kernels/elementwise.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "isa/numerics/philox.h"
#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;
namespace expression = heddle::expression;

namespace {

/// Runs an expression over contiguous inputs of one type and returns y0.
std::vector<double> run_contiguous(ElementwiseSpec spec, const std::vector<std::vector<double>>& inputs,
                                   const std::vector<float>& scalars, unsigned sm_count = 0) {
    Device device(spec.compute_capability);
    const std::size_t elements = inputs[0].size();
    std::vector<KernelArgument> arguments{integer_argument("elements", elements)};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        arguments.push_back(
            pointer_argument("x" + std::to_string(i), device.add(spec.inputs[i].type, inputs[i])));
    }
    std::vector<std::uint32_t> outputs;
    for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
        outputs.push_back(device.add_untouched(spec.outputs[i], elements));
        arguments.push_back(pointer_argument("y" + std::to_string(i), outputs.back()));
    }
    for (std::size_t i = 0; i < scalars.size(); ++i) {
        arguments.push_back(elementwise_compute_type(spec) == ComputeType::f32
                                ? f32_argument("s" + std::to_string(i), scalars[i])
                                : f64_argument("s" + std::to_string(i), scalars[i]));
    }
    if (spec.form == ElementwiseForm::casting) add_type_arguments(arguments, spec);
    device.run(generate_elementwise(spec), elementwise_grid(spec, elements, sm_count), arguments);
    std::vector<double> all;
    for (const std::uint32_t output : outputs) {
        const std::vector<double> values = device.read(output);
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

std::vector<double> run_function(const std::string& text, const std::vector<double>& x) {
    ElementwiseSpec spec;
    spec.expression = expression::parse(text);
    spec.inputs = {{ElementType::f32}};
    spec.outputs = {ElementType::f32};
    return run_contiguous(spec, {x}, {});
}

/// Largest error in units of the last place of f32 over `x`; results below 2^-126 are left out.
double worst_ulp(const std::string& text, const std::vector<double>& x, double (*exact)(double)) {
    const std::vector<double> values = run_function(text, x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double reference = exact(x[i]);
        if (std::fabs(reference) < 0x1p-126) continue;
        const double ulp = std::ldexp(1.0, std::ilogb(reference) - 23);
        worst = std::max(worst, std::fabs(values[i] - reference) / ulp);
    }
    return worst;
}

double worst_absolute(const std::string& text, const std::vector<double>& x, double (*exact)(double)) {
    const std::vector<double> values = run_function(text, x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::fabs(values[i] - exact(x[i])));
    return worst;
}

}  // namespace

TEST_CASE("Elementwise kernels: every width, tail and loop") {
    ElementwiseSpec spec;
    spec.expression = expression::parse("y0 = s1 * x0 + x1; y1 = x2 - s0 * y0");
    spec.inputs.assign(3, {ElementType::f32});
    spec.outputs.assign(2, ElementType::f32);
    for (const unsigned width : {1u, 2u, 4u, 8u}) {
        for (const std::uint32_t vectors : {1u, 127u, 300u, 1024u}) {
            for (const bool loop : {false, true}) {
                spec.vector_width = width;
                spec.elements_per_thread = 8;
                spec.grid_stride = loop;
                const std::size_t elements = vectors * width;
                std::vector<std::vector<double>> inputs;
                for (unsigned i = 0; i < 3; ++i) inputs.push_back(random_integers(elements, -50, 50, i));
                const std::vector<double> values = run_contiguous(spec, inputs, {0.5f, 2}, 1);
                std::vector<double> reference(2 * elements);
                for (std::size_t i = 0; i < elements; ++i) {
                    reference[i] = 2 * inputs[0][i] + inputs[1][i];
                    reference[elements + i] = inputs[2][i] - 0.5 * reference[i];
                }
                INFO("width " << width << " elements " << elements);
                check_equal(values, reference);
            }
        }
    }
}

TEST_CASE("Elementwise kernels convert every type") {
    for (const ElementType from :
         {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16, ElementType::i64,
          ElementType::i32, ElementType::i8, ElementType::u8, ElementType::boolean}) {
        for (const ElementType to :
             {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16, ElementType::i64,
              ElementType::i32, ElementType::i8, ElementType::u8, ElementType::boolean}) {
            for (const unsigned width : {1u, 2u, 4u, 8u}) {
                ElementwiseSpec spec;
                spec.expression = expression::parse("y0 = x0");
                spec.inputs = {{from}};
                spec.outputs = {to};
                spec.vector_width = spec.elements_per_thread = width;
                const bool is_signed =
                    from != ElementType::u8 && from != ElementType::boolean && to != ElementType::u8;
                const int high = from == ElementType::boolean ? 1 : 100;
                std::vector<double> x = random_integers(64, is_signed ? -100 : 0, high, 7);
                const bool fractions = !is_integer(from);
                for (double& value : x) value = rounded(from, fractions ? value * 0.37 : value);
                std::vector<double> reference;
                for (const double value : x) {
                    reference.push_back(to == ElementType::boolean ? value != 0
                                        : is_integer(to)           ? std::trunc(value)
                                                                   : rounded(to, value));
                }
                INFO(name_of(from) << " to " << name_of(to) << " width " << width);
                check_equal(run_contiguous(spec, {x}, {}), reference);
            }
        }
    }
    // Integers that only f64 holds exactly.
    ElementwiseSpec spec;
    spec.expression = expression::parse("y0 = x0 + 1");
    spec.inputs = {{ElementType::i64}};
    spec.outputs = {ElementType::i64};
    check_equal(run_contiguous(spec, {{9007199254740000.0, -16777217.0}}, {}),
                {9007199254740001.0, -16777216.0});
}

TEST_CASE("Elementwise kernels convert from and to 8-bit floats, which saturate") {
    for (const ElementType type : {ElementType::e4m3, ElementType::e5m2}) {
        for (const unsigned width : {1u, 2u, 4u, 8u}) {
            ElementwiseSpec spec;
            spec.compute_capability = 90;
            spec.vector_width = spec.elements_per_thread = width;
            spec.inputs = {{ElementType::f32}};
            spec.outputs = {type};
            spec.expression = expression::parse("y0 = x0 * 3");
            std::vector<double> x, narrowed;
            for (int i = -64; i < 64; ++i) x.push_back(std::ldexp(1 + 0.07 * (i & 7), i / 4));
            for (const double value : x) narrowed.push_back(rounded(type, static_cast<float>(value) * 3.0f));
            INFO(name_of(type) << " width " << width);
            check_equal(run_contiguous(spec, {x}, {}), narrowed);
            std::swap(spec.inputs[0].type, spec.outputs[0]);
            spec.expression = expression::parse("y0 = -x0");
            for (double& value : x) value = rounded(type, value);
            for (std::size_t i = 0; i < x.size(); ++i) narrowed[i] = -x[i];
            check_equal(run_contiguous(spec, {x}, {}), narrowed);
            spec.compute_capability = 80;
            CHECK_THROWS_AS(generate_elementwise(spec), heddle::Error);
        }
    }
}

TEST_CASE("Functions of elementwise kernels are as precise as documented") {
    std::vector<double> wide, narrow, positive;
    for (int i = -4000; i <= 4000; ++i) wide.push_back(rounded(ElementType::f32, i * 0.0217));
    for (int i = -4000; i <= 4000; ++i) narrow.push_back(rounded(ElementType::f32, i * 0.00137));
    for (int i = 1; i <= 8000; ++i)
        positive.push_back(rounded(ElementType::f32, std::exp((i - 4000) * 0.02)));
    CHECK(worst_ulp("y0 = exp(x0)", wide, [](double x) { return std::exp(x); }) <= 2);
    CHECK(worst_ulp("y0 = sigmoid(x0)", wide, [](double x) { return 1 / (1 + std::exp(-x)); }) <= 4);
    CHECK(worst_ulp("y0 = tanh(x0)", narrow, [](double x) { return std::tanh(x); }) <= 4);
    CHECK(worst_absolute("y0 = erf(x0)", narrow, [](double x) { return std::erf(x); }) <= 3e-7);
    CHECK(worst_ulp("y0 = rsqrt(x0)", positive, [](double x) { return 1 / std::sqrt(x); }) <= 2);
    CHECK(worst_ulp("y0 = sqrt(x0)", positive, [](double x) { return std::sqrt(x); }) <= 0.5);
    CHECK(worst_ulp("y0 = reciprocal(x0)", positive, [](double x) { return 1 / x; }) <= 0.5);
    CHECK(worst_absolute("y0 = log(x0)", {0.51, 0.7, 0.99, 1.0, 1.01, 1.4, 1.99},
                         [](double x) { return std::log(x); }) <= 0x1p-21);
    std::vector<double> far;
    for (const double x : positive) {
        if (x < 0.5 || x > 2) far.push_back(x);
    }
    CHECK(worst_ulp("y0 = log(x0)", far, [](double x) { return std::log(x); }) <= 3);
}

TEST_CASE("Functions of elementwise kernels at the ends of the range") {
    const double inf = INFINITY, nan = NAN;
    const std::vector<double> x{inf, -inf, nan, 0.0, 200.0, -200.0, 88.7, -103.0};
    const auto at_ends = [&](const std::string& text) { return run_function(text, x); };
    const std::vector<double> e = at_ends("y0 = exp(x0)");
    CHECK(e[0] == inf);
    CHECK(e[1] == 0);
    CHECK(std::isnan(e[2]));
    CHECK(e[3] == 1);
    CHECK(e[4] == inf);
    CHECK(e[5] == 0);
    CHECK(e[6] == Approx(std::exp(88.7f)).epsilon(1e-6));
    CHECK(e[7] == Approx(std::exp(-103.0)).margin(0x1p-149));
    const std::vector<double> t = at_ends("y0 = tanh(x0)");
    CHECK(t[0] == 1);
    CHECK(t[1] == -1);
    CHECK(std::isnan(t[2]));
    CHECK(t[3] == 0);
    const std::vector<double> s = at_ends("y0 = sigmoid(x0)");
    CHECK(s[0] == 1);
    CHECK(s[1] == 0);
    CHECK(std::isnan(s[2]));
    CHECK(s[3] == 0.5);
    const std::vector<double> f = at_ends("y0 = erf(x0)");
    CHECK(f[0] == 1);
    CHECK(f[1] == -1);
    CHECK(std::isnan(f[2]));
    CHECK(f[3] == 0);
}

TEST_CASE("Elementwise kernels give the same random numbers as the reference") {
    for (const unsigned width : {1u, 4u}) {
        ElementwiseSpec spec;
        spec.expression = expression::parse("y0 = random(5) + 0 * x0");
        spec.inputs = {{ElementType::f32}};
        spec.outputs = {ElementType::f32};
        spec.vector_width = width;
        const std::vector<double> values = run_contiguous(spec, {std::vector<double>(3000, 1)}, {});
        std::vector<double> reference;
        for (std::uint64_t i = 0; i < 3000; ++i) reference.push_back(expression::random_uniform(5, i));
        check_equal(values, reference);
    }
}

TEST_CASE("Elementwise kernels broadcast rows, columns and scalars") {
    for (const unsigned width : {1u, 4u}) {
        const std::uint32_t rows = 37, columns = 52;
        ElementwiseSpec spec;
        spec.expression = expression::parse("y0 = x0 + 100 * x1 + 10000 * x2 - x3");
        spec.inputs = {{ElementType::f32},
                       {ElementType::bf16, AccessPattern::per_column},
                       {ElementType::f32, AccessPattern::per_row},
                       {ElementType::i8, AccessPattern::scalar}};
        spec.outputs = {ElementType::f32};
        spec.vector_width = width;
        const std::vector<double> x0 = random_integers(rows * columns, 0, 9, 1),
                                  x1 = random_integers(columns, 0, 99, 2),
                                  x2 = random_integers(rows, 0, 99, 3);
        Device device;
        const std::uint32_t y = device.add_untouched(ElementType::f32, x0.size());
        std::vector<KernelArgument> arguments{pointer_argument("y0", y),
                                              pointer_argument("x0", device.add(ElementType::f32, x0)),
                                              pointer_argument("x1", device.add(ElementType::bf16, x1)),
                                              pointer_argument("x2", device.add(ElementType::f32, x2)),
                                              pointer_argument("x3", device.add(ElementType::i8, {-7})),
                                              integer_argument("elements", x0.size())};
        add_divider_arguments(arguments, "columns", columns);
        device.run(generate_elementwise(spec), elementwise_grid(spec, x0.size()), arguments);
        std::vector<double> reference;
        for (std::uint32_t r = 0; r < rows; ++r) {
            for (std::uint32_t c = 0; c < columns; ++c) {
                reference.push_back(x0[r * columns + c] + 100 * x1[c] + 10000 * x2[r] + 7);
            }
        }
        check_equal(device.read(y), reference);
    }
}

TEST_CASE("Elementwise kernels follow strides in up to five dimensions") {
    const std::vector<std::uint32_t> shape{3, 2, 5, 4, 7};
    for (unsigned dimensions = 1; dimensions <= 5; ++dimensions) {
        const std::vector<std::uint32_t> own(shape.begin(), shape.begin() + dimensions);
        std::uint32_t elements = 1;
        for (const std::uint32_t size : own) elements *= size;
        // x0 with its dimensions reversed in memory, x1 broadcast along the first dimension.
        std::vector<std::uint32_t> reversed(dimensions), broadcast(dimensions);
        std::uint32_t stride = 1;
        for (unsigned d = 0; d < dimensions; ++d) {
            reversed[d] = stride;
            stride *= own[d];
        }
        stride = 1;
        for (unsigned d = dimensions; d-- > 0;) {
            broadcast[d] = d == 0 ? 0 : stride;
            if (d != 0) stride *= own[d];
        }
        const std::vector<double> x0 = random_integers(elements, -999, 999, 1),
                                  x1 = random_integers(elements, -999, 999, 2);
        ElementwiseSpec spec;
        spec.expression = expression::parse("y0 = x0 - x1");
        spec.inputs = {{ElementType::f32, AccessPattern::strided},
                       {ElementType::f32, AccessPattern::strided}};
        spec.outputs = {ElementType::f32};
        spec.dimensions = dimensions;
        Device device;
        const std::uint32_t y = device.add_untouched(ElementType::f32, elements);
        std::vector<KernelArgument> arguments{
            pointer_argument("y0", y), pointer_argument("x0", device.add(ElementType::f32, x0)),
            pointer_argument("x1", device.add(ElementType::f32, x1)), integer_argument("elements", elements)};
        add_offset_arguments(arguments, spec, own, {reversed, broadcast});
        device.run(generate_elementwise(spec), elementwise_grid(spec, elements), arguments);
        std::vector<double> reference;
        for (std::uint32_t i = 0; i < elements; ++i) {
            std::uint32_t rest = i, a = 0, b = 0;
            for (unsigned d = dimensions; d-- > 0;) {
                a += rest % own[d] * reversed[d];
                b += rest % own[d] * broadcast[d];
                rest /= own[d];
            }
            reference.push_back(x0[a] - x1[b]);
        }
        INFO(dimensions << " dimensions");
        check_equal(device.read(y), reference);
    }
}

TEST_CASE("Elementwise kernels mean what the expression means") {
    const std::vector<std::string> texts{
        "y0 = max(x0 + x1, 0)",
        "y0 = x1 > 0 ? x0 : 0",
        "y0 = x0 * x1 + x2 * x0 - x1 * 3",
        "y0 = 5 - 2 * x0; y1 = x0 * x1 - 2",
        "t0 = x0 * x1; y0 = t0 + x2; y1 = t0 - x2",
        "y0 = (x0 >= x1) + (x0 < x2) * 2 + (x0 == x1) * 4 + (x0 != x2) * 8 + (x1 <= x2) * 16",
        "y0 = -abs(x0) + floor(x1 / 4) - min(x0, x2)",
        "y0 = x0 ? x1 : x2",
        "y0 = s0 - s1 * x0; y1 = x1 - x0 * s0",
        "y0 = 3",
    };
    for (const std::string& text : texts) {
        ElementwiseSpec spec;
        spec.expression = expression::parse(text);
        spec.inputs.assign(3, {ElementType::f32});
        spec.outputs.assign(spec.expression.outputs.size(), ElementType::f32);
        std::vector<std::vector<double>> inputs;
        for (unsigned i = 0; i < 3; ++i) inputs.push_back(random_integers(100, -3, 3, i + 1));
        const std::vector<double> scalars{0.25, 4};
        std::vector<float> passed;
        for (unsigned i = 0; i < spec.expression.scalar_count; ++i)
            passed.push_back(static_cast<float>(scalars[i]));
        const std::vector<double> values = run_contiguous(spec, inputs, passed);
        std::vector<double> reference(values.size());
        for (std::size_t i = 0; i < 100; ++i) {
            std::vector<double> x{inputs[0][i], inputs[1][i], inputs[2][i]}, y(spec.outputs.size());
            expression::evaluate(spec.expression, x, scalars, i, y);
            for (std::size_t o = 0; o < y.size(); ++o) reference[o * 100 + i] = y[o];
        }
        INFO(text);
        check_equal(values, reference);
    }
}

TEST_CASE("A step of Adam, with weights in two precisions") {
    // x0 weight, x1 gradient (bf16), x2 and x3 moments; y3 is the weight that the forward pass reads.
    ElementwiseSpec spec;
    spec.expression = expression::parse(
        "y1 = s1 * x2 + (1 - s1) * x1; y2 = s2 * x3 + (1 - s2) * x1 * x1; "
        "y0 = x0 - s0 * (y1 * s3) / (sqrt(y2 * s4) + s5); y3 = y0");
    spec.inputs = {{ElementType::f32}, {ElementType::bf16}, {ElementType::f32}, {ElementType::f32}};
    spec.outputs = {ElementType::f32, ElementType::f32, ElementType::f32, ElementType::bf16};
    spec.vector_width = 4;
    const std::size_t elements = 1000;
    const std::vector<std::vector<double>> inputs{random_reals(ElementType::f32, elements, -1, 1, 1),
                                                  random_reals(ElementType::bf16, elements, -1, 1, 2),
                                                  random_reals(ElementType::f32, elements, -0.1, 0.1, 3),
                                                  random_reals(ElementType::f32, elements, 0, 0.1, 4)};
    const std::vector<float> scalars{1e-3f, 0.9f, 0.999f, 1.25f, 3.5f, 1e-8f};
    const std::vector<double> values = run_contiguous(spec, inputs, scalars);
    const std::vector<double> exact(scalars.begin(), scalars.end());
    std::vector<std::vector<double>> reference(4);
    for (std::size_t i = 0; i < elements; ++i) {
        std::vector<double> x, y(4);
        for (const auto& input : inputs) x.push_back(input[i]);
        expression::evaluate(spec.expression, x, exact, i, y);
        for (unsigned o = 0; o < 4; ++o) reference[o].push_back(y[o]);
    }
    for (unsigned o = 0; o < 4; ++o) {
        const std::vector<double> output(values.begin() + o * elements, values.begin() + (o + 1) * elements);
        check_close(output, reference[o], 4 * 0x1p-24 + (o == 3 ? 0x1p-8 : 0), 1e-8);
    }
}

TEST_CASE("Elementwise kernels refuse what they cannot do") {
    ElementwiseSpec spec;
    spec.expression = expression::parse("y0 = exp(x0)");
    spec.inputs = {{ElementType::f64}};
    spec.outputs = {ElementType::f64};
    CHECK_THROWS_AS(generate_elementwise(spec), heddle::Error);
    spec.inputs = {};
    CHECK_THROWS_AS(generate_elementwise(spec), heddle::Error);
    spec.inputs = {{ElementType::f32, AccessPattern::strided}};
    spec.outputs = {ElementType::f32};
    spec.vector_width = 4;
    CHECK_THROWS_AS(generate_elementwise(spec), heddle::Error);
    spec.inputs = {{ElementType::f32}};
    spec.outputs = {ElementType::bf16};
    spec.compute_capability = 75;
    CHECK_THROWS_AS(generate_elementwise(spec), heddle::Error);
    CHECK_THROWS_AS(elementwise_grid(spec, 1ull << 31), heddle::Error);
}

TEST_CASE("Fast dividers divide") {
    for (const std::uint32_t divisor : {1u, 2u, 3u, 7u, 10u, 641u, 65535u, 65536u, 1000003u, 0x7fffffffu}) {
        const FastDivider f = make_fast_divider(divisor);
        for (const std::uint64_t n :
             {0ull, 1ull, 2ull, 999ull, 65536ull, 0x3fffffffull, 0x7ffffffeull, 0x7fffffffull}) {
            const std::uint32_t high = static_cast<std::uint32_t>(n * f.multiplier >> 32);
            CHECK((high + static_cast<std::uint32_t>(n)) >> f.shift == n / divisor);
        }
    }
    CHECK_THROWS_AS(make_fast_divider(0), heddle::Error);
}

TEST_CASE("Elements in turn, in chunks, and of types that are known at launch only") {
    using Form = ElementwiseForm;
    for (const Form form : {Form::in_turn, Form::casting, Form::chunks}) {
        for (const std::uint32_t elements : {1u, 127u, 4096u, 9001u}) {
            for (const unsigned width : {1u, 4u}) {
                if (width == 4 && (elements % 4 != 0 || form == Form::casting)) continue;
                ElementwiseSpec spec;
                spec.form = form;
                spec.expression = expression::parse("y0 = 2 * x0 + x1; y1 = x0 - s0 * x1");
                spec.inputs = {{ElementType::f32}, {ElementType::bf16}};
                spec.outputs = {ElementType::f32, ElementType::f16};
                spec.vector_width = width;
                spec.chunk_elements = 2048;
                std::vector<std::vector<double>> inputs{random_integers(elements, -50, 50, 1),
                                                        random_integers(elements, -50, 50, 2)};
                std::vector<double> expected;
                for (std::size_t i = 0; i < elements; ++i)
                    expected.push_back(2 * inputs[0][i] + inputs[1][i]);
                for (std::size_t i = 0; i < elements; ++i)
                    expected.push_back(inputs[0][i] - 0.5 * inputs[1][i]);
                INFO(elements << " elements, form " << static_cast<int>(form) << ", width " << width);
                check_equal(run_contiguous(spec, inputs, {0.5f}), expected);
            }
        }
    }
}

TEST_CASE("Casting kernels convert between every two types") {
    const std::vector<ElementType> types{ElementType::f32, ElementType::f16, ElementType::bf16,
                                         ElementType::f64, ElementType::i64, ElementType::i32,
                                         ElementType::i8,  ElementType::u8};
    for (const ElementType from : types) {
        for (const ElementType to : types) {
            ElementwiseSpec spec;
            spec.form = ElementwiseForm::casting;
            spec.expression = expression::parse("y0 = x0");
            spec.inputs = {{from}};
            spec.outputs = {to};
            const std::vector<double> x = random_integers(700, 0, 100, 3);
            INFO(name_of(from) << " to " << name_of(to));
            check_equal(run_contiguous(spec, {x}, {}), x);
        }
    }
}

TEST_CASE("Philox in an expression: a counter for each element") {
    ElementwiseSpec spec;
    spec.expression = expression::parse("y0 = philox(9) + 0 * x0");
    CHECK(expression::to_text(spec.expression).find("philox(9)") != std::string::npos);
    spec.inputs = {{ElementType::f32}};
    spec.outputs = {ElementType::f32};
    spec.vector_width = 4;
    std::vector<double> expected;
    for (std::uint64_t i = 0; i < 1204; ++i)
        expected.push_back(
            static_cast<float>(
                heddle::numerics::philox({static_cast<std::uint32_t>(i), 0, 0, 0}, {9, 0})[0] >> 8) *
            0x1p-24);
    check_equal(run_contiguous(spec, {std::vector<double>(1204, 1.0)}, {}), expected);
}
