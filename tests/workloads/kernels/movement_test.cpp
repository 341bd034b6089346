// Data movement, and rows by index.
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "launcher.h"
#include "workloads/kernels/data_movement.h"
#include "workloads/kernels/embedding_sums.h"
#include "workloads/kernels/rows_by_index.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

TEST_CASE("Fill writes every element and nothing beyond") {
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::i64, ElementType::u8}) {
        for (const std::uint32_t elements : {4u, 1000u, 9000u}) {
            FillSpec spec;
            spec.type = type;
            spec.vector_width = 4;
            Device device;
            const std::vector<double> before(elements + 8, 9);
            const std::uint32_t y = device.add(type, before);
            device.run(generate_fill(spec), fill_grid(spec, elements),
                       {pointer_argument("y", y), integer_argument("elements", elements),
                        type == ElementType::i64 ? f64_argument("value", 5) : f32_argument("value", 5)});
            std::vector<double> reference(elements, 5);
            reference.resize(elements + 8, 9);
            check_equal(device.read(y), reference);
        }
    }
}

TEST_CASE("Rows are copied between strides, as bits or with a cast") {
    for (const ElementType to : {ElementType::f32, ElementType::f16, ElementType::f64}) {
        for (const unsigned width : {1u, 4u}) {
            const std::uint32_t rows = 31, columns = 44, x_stride = 60, y_stride = 48;
            CopyRowsSpec spec;
            spec.y = to;
            spec.vector_width = width;
            const std::vector<double> x = random_reals(ElementType::f32, rows * x_stride, -9, 9, 4);
            Device device;
            const std::uint32_t y = device.add(to, std::vector<double>(rows * y_stride + 4, -1));
            std::vector<KernelArgument> arguments{
                pointer_argument("y", y, 4 * bytes_of(to)),
                pointer_argument("x", device.add(ElementType::f32, x), 16), integer_argument("rows", rows),
                integer_argument("x_stride", x_stride), integer_argument("y_stride", y_stride)};
            add_divider_arguments(arguments, "row_vectors", columns / width);
            device.run(generate_copy_rows(spec), copy_rows_grid(spec, rows, columns), arguments);
            std::vector<double> reference(rows * y_stride + 4, -1);
            for (std::uint32_t r = 0; r < rows; ++r) {
                for (std::uint32_t c = 0; c < columns; ++c) {
                    reference[4 + r * y_stride + c] = rounded(to, x[4 + r * x_stride + c]);
                }
            }
            check_equal(device.read(y), reference);
        }
    }
}

TEST_CASE("Transpose moves every element of every batch entry") {
    for (const ElementType type : {ElementType::bf16, ElementType::f32, ElementType::f64}) {
        for (const auto& [rows, columns] : {std::pair{1u, 1u}, {33u, 70u}, {64u, 32u}, {5u, 200u}}) {
            const TransposeSpec spec{80, type};
            const std::vector<double> x = random_integers(3 * rows * columns, -120, 120, rows);
            Device device;
            const std::uint32_t y = device.add_untouched(type, x.size());
            device.run(generate_transpose(spec), transpose_grid(spec, rows, columns, 3),
                       {pointer_argument("y", y), pointer_argument("x", device.add(type, x)),
                        integer_argument("rows", rows), integer_argument("columns", columns)});
            std::vector<double> reference(x.size());
            for (std::uint32_t b = 0; b < 3; ++b) {
                for (std::uint32_t r = 0; r < rows; ++r) {
                    for (std::uint32_t c = 0; c < columns; ++c) {
                        reference[(b * columns + c) * rows + r] = x[(b * rows + r) * columns + c];
                    }
                }
            }
            check_equal(device.read(y), reference);
        }
    }
}

TEST_CASE("Rows by index: gather, scatter, scatter and add") {
    const std::uint32_t rows = 23, limit = 11, columns = 20, x_stride = 24, y_stride = 28;
    for (const RowMove move : {RowMove::gather, RowMove::scatter, RowMove::scatter_add}) {
        for (const ElementType index_type : {ElementType::i32, ElementType::i64}) {
            for (const unsigned width : {1u, 4u}) {
                const bool gather = move == RowMove::gather;
                std::vector<double> index = random_integers(rows, 0, limit - 1, 5);
                if (move == RowMove::scatter) {
                    // Each row once, so that the result does not depend on the order.
                    for (std::uint32_t r = 0; r < rows; ++r) index[r] = r < limit ? (r * 3) % limit : -1;
                }
                index[2] = -1;
                index[3] = limit;
                RowsByIndexSpec spec;
                spec.move = move;
                spec.index = index_type;
                spec.vector_width = width;
                const std::vector<double> x = random_integers((gather ? limit : rows) * x_stride, -50, 50, 6);
                std::vector<double> reference((gather ? rows : limit) * y_stride, 1000);
                Device device;
                const std::uint32_t y = device.add(ElementType::f32, reference);
                std::vector<KernelArgument> arguments{
                    pointer_argument("y", y),
                    pointer_argument("x", device.add(ElementType::f32, x)),
                    pointer_argument("index", device.add(index_type, index)),
                    integer_argument("rows", rows),
                    integer_argument("limit", limit),
                    integer_argument("x_stride", x_stride),
                    integer_argument("y_stride", y_stride)};
                add_divider_arguments(arguments, "row_vectors", columns / width);
                device.run(generate_rows_by_index(spec), rows_by_index_grid(spec, rows, columns), arguments);
                for (std::uint32_t r = 0; r < rows; ++r) {
                    const bool known = index[r] >= 0 && index[r] < limit;
                    const auto chosen = static_cast<std::size_t>(known ? index[r] : 0);
                    for (std::uint32_t c = 0; c < columns; ++c) {
                        if (gather) {
                            reference[r * y_stride + c] = known ? x[chosen * x_stride + c] : 0;
                        } else if (known && move == RowMove::scatter) {
                            reference[chosen * y_stride + c] = x[r * x_stride + c];
                        } else if (known) {
                            reference[chosen * y_stride + c] += x[r * x_stride + c];
                        }
                    }
                }
                check_equal(device.read(y), reference);
            }
        }
    }
    RowsByIndexSpec spec;
    spec.move = RowMove::scatter_add;
    spec.y = ElementType::bf16;
    CHECK_THROWS_AS(generate_rows_by_index(spec), heddle::Error);  // compute capability 8.0
}

TEST_CASE("Rows are gathered element by element, by CTAs that loop") {
    const std::uint32_t rows = 70, limit = 9, columns = 41;
    for (const ElementType type : {ElementType::f16, ElementType::f32}) {
        ElementsByIndexSpec spec;
        spec.type = type;
        spec.index = type == ElementType::f16 ? ElementType::i64 : ElementType::i32;
        std::vector<double> index = random_integers(rows, 0, limit - 1, 7);
        index[3] = -1;  // outside: zeros
        index[4] = limit;
        const std::vector<double> x = random_integers(limit * columns, -50, 50, 8);
        std::vector<double> reference(rows * columns, 0);
        for (std::uint32_t r = 0; r < rows; ++r) {
            if (index[r] < 0 || index[r] >= limit) continue;
            for (std::uint32_t c = 0; c < columns; ++c)
                reference[r * columns + c] = x[static_cast<std::size_t>(index[r]) * columns + c];
        }
        Device device;
        const std::uint32_t y = device.add_untouched(type, rows * columns);
        // Two SMs: 16 CTAs of 128 threads, so that most threads take two elements.
        device.run(generate_elements_by_index(spec), elements_by_index_grid(rows * columns, 2),
                   {pointer_argument("y", y), pointer_argument("x", device.add(type, x)),
                    pointer_argument("index", device.add(spec.index, index)),
                    integer_argument("elements", rows * columns), integer_argument("columns", columns),
                    integer_argument("limit", limit)});
        check_equal(device.read(y), reference);
    }
}

TEST_CASE("Gradients of an embedding add up in shared memory, whatever rows share an index") {
    const std::uint32_t limit = 50, columns = 45;
    for (const std::uint32_t rows : {1u, 33u, 1100u}) {
        for (const ElementType type : {ElementType::f32, ElementType::f16}) {
            EmbeddingSumsSpec spec;
            spec.x = spec.y = type;
            spec.index = rows == 33 ? ElementType::i32 : ElementType::i64;
            // Whole numbers up to 10 + 1100 * 1: exact in f16, whatever the order.
            std::vector<double> reference(limit * columns, 10);
            std::vector<double> index = random_integers(rows, 0, limit - 1, 7);
            for (std::uint32_t r = 0; r < rows / 3; ++r) index[r] = 7;  // many of one turn
            const std::vector<double> x = random_integers(rows * columns, -1, 1, 8);
            Device device;
            const std::uint32_t y = device.add(type, reference);
            device.run(generate_embedding_sums(spec), embedding_sums_grid(columns),
                       {pointer_argument("y", y), pointer_argument("x", device.add(type, x)),
                        pointer_argument("index", device.add(spec.index, index)),
                        integer_argument("rows", rows), integer_argument("columns", columns)});
            for (std::uint32_t r = 0; r < rows; ++r) {
                for (std::uint32_t c = 0; c < columns; ++c)
                    reference[static_cast<std::size_t>(index[r]) * columns + c] += x[r * columns + c];
            }
            INFO(rows << " rows of " << name_of(type));
            check_equal(device.read(y), reference);
        }
    }
    EmbeddingSumsSpec spec;
    spec.index = ElementType::f32;
    CHECK_THROWS_AS(generate_embedding_sums(spec), heddle::Error);
}

TEST_CASE("Rows are added to 16-bit rows by atomics, alone and in pairs") {
    const std::uint32_t rows = 29, limit = 5;
    for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
        for (const unsigned width : {1u, 2u, 8u}) {
            const std::uint32_t columns = width * 3;
            RowsByIndexSpec spec;
            spec.compute_capability = 90;
            spec.move = RowMove::scatter_add;
            spec.index = ElementType::i32;
            spec.x = ElementType::f32;
            spec.y = type;
            spec.vector_width = width;
            // Whole numbers up to 10 + 29 * 4: exact in bf16, whatever the order.
            std::vector<double> reference(limit * columns, 10);
            const std::vector<double> index = random_integers(rows, 0, limit - 1, 7),
                                      x = random_integers(rows * columns, -4, 4, 8);
            Device device(90);
            const std::uint32_t y = device.add(type, reference);
            std::vector<KernelArgument> arguments{
                pointer_argument("y", y),
                pointer_argument("x", device.add(ElementType::f32, x)),
                pointer_argument("index", device.add(ElementType::i32, index)),
                integer_argument("rows", rows),
                integer_argument("limit", limit),
                integer_argument("x_stride", columns),
                integer_argument("y_stride", columns)};
            add_divider_arguments(arguments, "row_vectors", columns / width);
            device.run(generate_rows_by_index(spec), rows_by_index_grid(spec, rows, columns), arguments);
            for (std::uint32_t r = 0; r < rows; ++r) {
                for (std::uint32_t c = 0; c < columns; ++c)
                    reference[static_cast<std::size_t>(index[r]) * columns + c] += x[r * columns + c];
            }
            check_equal(device.read(y), reference);
        }
    }
}
