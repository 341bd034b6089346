#include "workloads/kernels/reduction.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "launcher.h"
#include "workloads/kernels/torch_reduce.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

double reduce(Reduction reduction, const std::vector<double>& values) {
    double result = reduction == Reduction::maximum ? -INFINITY : 0;
    for (const double value : values) {
        if (reduction == Reduction::maximum) result = std::max(result, value);
        if (reduction == Reduction::sum) result += value;
        if (reduction == Reduction::sum_of_squares) result += value * value;
    }
    return result;
}

constexpr Reduction kAll[] = {Reduction::sum, Reduction::maximum, Reduction::sum_of_squares};

}  // namespace

TEST_CASE("Rows reduce exactly") {
    for (const Reduction reduction : kAll) {
        for (const bool warp : {false, true}) {
            for (const unsigned width : {1u, 4u}) {
                for (const std::uint32_t columns : {4u, 132u, 3000u}) {
                    const std::uint32_t rows = 5, stride = columns + 8;
                    ReduceRowsSpec spec;
                    spec.reduction = reduction;
                    spec.input = ElementType::f16;
                    spec.vector_width = width;
                    spec.warp_per_row = warp;
                    const std::vector<double> x = random_integers(rows * stride, -20, 20, columns);
                    Device device;
                    const std::uint32_t y = device.add_untouched(ElementType::f32, rows);
                    device.run(
                        generate_reduce_rows(spec), reduce_rows_grid(spec, rows),
                        {pointer_argument("y", y), pointer_argument("x", device.add(ElementType::f16, x)),
                         integer_argument("rows", rows), integer_argument("columns", columns),
                         integer_argument("row_stride", stride), integer_argument("elements", rows * stride),
                         f32_argument("scale", 0.5f)});
                    std::vector<double> reference;
                    for (std::uint32_t r = 0; r < rows; ++r) {
                        const double total =
                            reduce(reduction, {x.begin() + r * stride, x.begin() + r * stride + columns});
                        reference.push_back(reduction == Reduction::maximum ? total : 0.5 * total);
                    }
                    INFO(columns << " columns, width " << width << (warp ? ", warps" : ", CTAs"));
                    check_equal(device.read(y), reference);
                }
            }
        }
    }
}

TEST_CASE("Everything reduces in two launches") {
    const std::uint32_t elements = 10007, chunk = 2048, chunks = 5;
    ReduceRowsSpec spec;
    const std::vector<double> x = random_integers(elements, -20, 20, 3);
    Device device;
    const std::uint32_t partial = device.add_untouched(ElementType::f32, chunks),
                        y = device.add_untouched(ElementType::f32, 1);
    device.run(generate_reduce_rows(spec), reduce_rows_grid(spec, chunks),
               {pointer_argument("y", partial), pointer_argument("x", device.add(ElementType::f32, x)),
                integer_argument("rows", chunks), integer_argument("columns", chunk),
                integer_argument("row_stride", chunk), integer_argument("elements", elements),
                f32_argument("scale", 1)});
    device.run(generate_reduce_rows(spec), reduce_rows_grid(spec, 1),
               {pointer_argument("y", y), pointer_argument("x", partial), integer_argument("rows", 1),
                integer_argument("columns", chunks), integer_argument("row_stride", chunks),
                integer_argument("elements", chunks), f32_argument("scale", 1)});
    check_equal(device.read(y), {reduce(Reduction::sum, x)});
}

TEST_CASE("Columns reduce exactly, in one launch or two") {
    for (const Reduction reduction : kAll) {
        for (const unsigned width : {1u, 2u}) {
            for (const std::uint32_t rows : {1u, 7u, 8u, 100u}) {
                const std::uint32_t columns = 102, stride = 110, splits = 3,
                                    per_cta = divide_up(rows, splits);
                ReduceColumnsSpec spec;
                spec.reduction = reduction;
                spec.input = ElementType::bf16;
                spec.vector_width = width;
                const std::vector<double> x = random_integers(rows * stride, -20, 20, rows);
                Device device;
                const std::uint32_t source = device.add(ElementType::bf16, x);
                const std::uint32_t whole = device.add_untouched(ElementType::f32, columns);
                device.run(generate_reduce_columns(spec), reduce_columns_grid(spec, columns, 1),
                           {pointer_argument("y", whole), pointer_argument("x", source),
                            integer_argument("rows", rows), integer_argument("columns", columns),
                            integer_argument("row_stride", stride), integer_argument("rows_per_cta", rows),
                            f32_argument("scale", 2)});
                std::vector<double> reference;
                for (std::uint32_t c = 0; c < columns; ++c) {
                    std::vector<double> column;
                    for (std::uint32_t r = 0; r < rows; ++r) column.push_back(x[r * stride + c]);
                    const double total = reduce(reduction, column);
                    reference.push_back(reduction == Reduction::maximum ? total : 2 * total);
                }
                check_equal(device.read(whole), reference);
                // Two launches: partial results, then their sum (or maximum).
                const std::uint32_t partial = device.add_untouched(ElementType::f32, columns * splits);
                device.run(generate_reduce_columns(spec), reduce_columns_grid(spec, columns, splits),
                           {pointer_argument("y", partial), pointer_argument("x", source),
                            integer_argument("rows", rows), integer_argument("columns", columns),
                            integer_argument("row_stride", stride), integer_argument("rows_per_cta", per_cta),
                            f32_argument("scale", 2)});
                ReduceColumnsSpec second = spec;
                second.input = ElementType::f32;
                if (reduction == Reduction::sum_of_squares) second.reduction = Reduction::sum;
                const std::uint32_t y = device.add_untouched(ElementType::f32, columns);
                device.run(generate_reduce_columns(second), reduce_columns_grid(second, columns, 1),
                           {pointer_argument("y", y), pointer_argument("x", partial),
                            integer_argument("rows", splits), integer_argument("columns", columns),
                            integer_argument("row_stride", columns), integer_argument("rows_per_cta", splits),
                            f32_argument("scale", 1)});
                check_equal(device.read(y), reference);
            }
        }
    }
}

TEST_CASE("Reductions refuse types that would lose digits") {
    ReduceRowsSpec rows;
    rows.input = ElementType::f64;
    CHECK_THROWS_AS(generate_reduce_rows(rows), heddle::Error);
    ReduceColumnsSpec columns;
    columns.vector_width = 8;
    CHECK_THROWS_AS(generate_reduce_columns(columns), heddle::Error);
}

TEST_CASE("Positions of extrema: the first of equals, NaN before all") {
    for (const bool maximum : {true, false}) {
        for (const std::uint32_t columns : {1u, 37u, 2049u, 5003u}) {
            const std::uint32_t rows = 3;
            ExtremumSpec spec;
            spec.compute_capability = maximum ? 70 : 90;
            spec.maximum = maximum;
            spec.input = maximum ? ElementType::f16 : ElementType::f32;
            std::vector<double> x = random_integers(rows * columns, -40, 40, columns);
            if (columns > 40) x[columns + 33] = NAN, x[columns + 38] = NAN;
            Device device(spec.compute_capability);
            const std::uint32_t value = device.add_untouched(spec.value, rows),
                                index = device.add_untouched(spec.index, rows);
            device.run(generate_extremum(spec), {rows, 1, 1},
                       {pointer_argument("value", value), pointer_argument("index", index),
                        pointer_argument("x", device.add(spec.input, x)), integer_argument("rows", rows),
                        integer_argument("columns", columns), integer_argument("row_stride", columns)});
            const std::vector<double> values = device.read(value), indices = device.read(index);
            for (std::uint32_t r = 0; r < rows; ++r) {
                std::size_t best = 0;
                for (std::size_t c = 1; c < columns; ++c) {
                    const double now = x[r * columns + best], next = x[r * columns + c];
                    if (std::isnan(now)) break;
                    if (std::isnan(next) || (maximum ? next > now : next < now)) best = c;
                }
                INFO("row " << r << " of " << columns << (maximum ? ", maximum" : ", minimum"));
                CHECK(indices[r] == best);
                const double expected = x[r * columns + best];
                CHECK((std::isnan(expected) ? std::isnan(values[r]) : values[r] == expected));
            }
        }
    }
}

TEST_CASE("Sums over leading axes: a CTA for each column, and two matrices at once") {
    const std::uint32_t rows = 2333, columns = 53;
    const std::vector<double> x = random_integers(rows * columns, -9, 9, 1),
                              other = random_integers(rows * columns, -9, 9, 2);
    std::vector<double> sums(columns, 0.0), other_sums(columns, 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) sums[i % columns] += x[i], other_sums[i % columns] += other[i];
    for (const unsigned capability : {70u, 80u, 90u}) {
        Device device(capability);
        ReduceColumnAloneSpec alone;
        alone.compute_capability = capability;
        alone.input = ElementType::f16;
        const std::uint32_t y = device.add_untouched(alone.output, columns);
        device.run(
            generate_reduce_column_alone(alone), {columns, 1, 1},
            {pointer_argument("y", y), pointer_argument("x", device.add(alone.input, x)),
             integer_argument("rows", rows), integer_argument("columns", columns), f32_argument("scale", 1)});
        check_equal(device.read(y), sums);

        ReduceColumnsSpec pair;
        pair.compute_capability = capability;
        pair.row_lanes = 32;
        pair.pair = true;
        const std::uint32_t y0 = device.add_untouched(pair.output, columns),
                            y1 = device.add_untouched(pair.output, columns);
        device.run(generate_reduce_columns(pair), reduce_columns_grid(pair, columns, 1),
                   {pointer_argument("y", y0), pointer_argument("x", device.add(pair.input, x)),
                    pointer_argument("y1", y1), pointer_argument("x1", device.add(pair.input, other)),
                    integer_argument("rows", rows), integer_argument("columns", columns),
                    integer_argument("row_stride", columns), integer_argument("rows_per_cta", rows),
                    f32_argument("scale", 1)});
        check_equal(device.read(y0), sums);
        check_equal(device.read(y1), other_sums);
    }
}

TEST_CASE("PyTorch's sums of columns are exact in one launch, however CTAs share columns") {
    struct Case {
        std::uint32_t rows, columns;
        unsigned threads, width;
        std::uint32_t column_lanes, row_lanes, wide, deep;  ///< by Reduce.cuh's setReduceConfig, done by hand
    };
    // 108 SMs of 2048 threads. 1024 x 100: 25 vectors make 16 lanes, 8 below each other, 128 rows each. 1024
    // x 256: 4 lanes below each other, 256 rows each, so that 16 CTAs share columns. 7 x 33: too few rows to
    // share.
    for (const Case& c : {Case{1024, 100, 128, 4, 16, 8, 2, 1}, Case{1024, 256, 128, 4, 32, 4, 2, 16},
                          Case{7, 33, 512, 1, 128, 1, 1, 1}, Case{5000, 6, 256, 2, 2, 128, 2, 1},
                          Case{20000, 40, 512, 1, 32, 16, 2, 79}, Case{3, 1, 512, 1, 2, 16, 1, 1}}) {
        INFO(c.rows << " x " << c.columns);
        const TorchReducePlan plan = torch_reduce_columns_plan(c.rows, c.columns, c.threads, c.width, 108);
        CHECK(plan.column_lanes == c.column_lanes);
        CHECK(plan.row_lanes == c.row_lanes);
        CHECK(plan.ctas_wide == c.wide);
        CHECK(plan.ctas_deep == c.deep);
        for (const Reduction reduction : kAll) {
            TorchReduceColumnsSpec spec;
            spec.reduction = reduction;
            spec.vector_width = c.width;
            spec.column_lanes = plan.column_lanes;
            spec.row_lanes = plan.row_lanes;
            spec.shared_columns = plan.ctas_deep > 1;
            const std::vector<double> x = random_integers(c.rows * c.columns, -5, 5, c.rows);
            Device device;
            const std::uint32_t source = device.add(ElementType::f32, x),
                                y = device.add_untouched(ElementType::f32, c.columns),
                                semaphores =
                                    device.add(ElementType::i32, std::vector<double>(plan.ctas_wide));
            const std::size_t slots =
                std::size_t{plan.ctas_wide} * plan.ctas_deep * plan.column_lanes * c.width;
            const std::uint32_t partial = device.add_untouched(ElementType::f32, slots);
            std::vector<KernelArgument> arguments{pointer_argument("y", y), pointer_argument("x", source)};
            if (spec.shared_columns) {
                arguments.push_back(pointer_argument("partial", partial));
                arguments.push_back(pointer_argument("semaphores", semaphores));
            }
            for (const KernelArgument& argument :
                 {integer_argument("rows", c.rows), integer_argument("columns", c.columns),
                  integer_argument("row_stride", c.columns), f32_argument("scale", 2)})
                arguments.push_back(argument);
            std::vector<double> reference;
            for (std::uint32_t column = 0; column < c.columns; ++column) {
                std::vector<double> values;
                for (std::uint32_t row = 0; row < c.rows; ++row)
                    values.push_back(x[row * c.columns + column]);
                const bool sum = reduction == Reduction::sum || reduction == Reduction::sum_of_squares;
                reference.push_back((sum ? 2 : 1) * reduce(reduction, values));
            }
            // Twice: the semaphores are zero again afterwards.
            for (int run = 0; run < 2; ++run) {
                device.run(generate_torch_reduce_columns(spec), {plan.ctas_wide, plan.ctas_deep, 1},
                           arguments);
                check_equal(device.read(y), reference);
            }
        }
    }
}
