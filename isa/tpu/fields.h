// The operands of each instruction by name, once for the assembler and the disassembler. A visitor has
// number(), affine(), type(), part() and mark(); every field has a default that the text may leave out,
// except where `required` is given.
#pragma once

#include <type_traits>

#include "isa/tpu/instruction.h"

namespace heddle::tpu {

inline constexpr bool kRequired = true;

/// A visitor that reads text is given the instruction to fill, one that prints a constant one.
template <class Given, class Wanted>
concept IsA = std::is_same_v<std::remove_const_t<Given>, Wanted>;

/// Each overload calls the visitor once for each operand of its operation, with the name that assembly text
/// uses.
template <class Visitor, class Operation>
requires IsA<Operation, Dma>
void visit_fields(Operation& dma, Visitor& visitor) {
    visitor.affine("vmem", dma.vmem, kRequired);
    visitor.affine("hbm", dma.hbm, kRequired);
    visitor.number("rows", dma.rows, kRequired);
    visitor.number("row_bytes", dma.row_bytes, kRequired);
    visitor.number("vmem_stride", dma.vmem_stride);
    visitor.number("hbm_stride", dma.hbm_stride);
    const bool indexed = dma.kind != DmaKind::load && dma.kind != DmaKind::store;
    visitor.affine("indices", dma.indices, indexed);
    visitor.number("table_rows", dma.table_rows, indexed);
    visitor.mark("host", dma.host);
}

/// The same for PushWeights.
template <class Visitor, class Operation>
requires IsA<Operation, PushWeights>
void visit_fields(Operation& push, Visitor& visitor) {
    visitor.number("unit", push.unit, kRequired);
    visitor.affine("vmem", push.vmem, kRequired);
    visitor.number("rows", push.rows, kRequired);
    visitor.number("columns", push.columns, kRequired);
    visitor.number("stride", push.stride);
    visitor.type("type", push.type);
    visitor.part("part", push.part);
    visitor.mark("transposed", push.transposed);
}

/// The same for Matmul.
template <class Visitor, class Operation>
requires IsA<Operation, Matmul>
void visit_fields(Operation& matmul, Visitor& visitor) {
    visitor.number("unit", matmul.unit, kRequired);
    visitor.affine("vmem", matmul.vmem, kRequired);
    visitor.number("rows", matmul.rows, kRequired);
    visitor.number("depth", matmul.depth, kRequired);
    visitor.number("columns", matmul.columns, kRequired);
    visitor.number("stride", matmul.stride);
    visitor.type("type", matmul.type);
    visitor.part("part", matmul.part);
    visitor.number("accumulator", matmul.accumulator);
    visitor.mark("accumulate", matmul.accumulate);
    bool keep_weights = !matmul.next_weights;
    visitor.mark("keep_weights", keep_weights);
    if constexpr (!std::is_const_v<Operation>) matmul.next_weights = !keep_weights;
}

/// The same for Pop.
template <class Visitor, class Operation>
requires IsA<Operation, Pop>
void visit_fields(Operation& pop, Visitor& visitor) {
    visitor.number("unit", pop.unit, kRequired);
    visitor.affine("vmem", pop.vmem, kRequired);
    visitor.number("rows", pop.rows, kRequired);
    visitor.number("columns", pop.columns, kRequired);
    visitor.number("stride", pop.stride);
    visitor.type("type", pop.type);
    visitor.number("accumulator", pop.accumulator);
}

/// The same for Vector.
template <class Visitor, class Operation>
requires IsA<Operation, Vector>
void visit_fields(Operation& vector, Visitor& visitor) {
    visitor.number("rows", vector.rows, kRequired);
    visitor.number("columns", vector.columns, kRequired);
    visitor.operands("in", vector.inputs);
    visitor.operands("out", vector.outputs);
    visitor.reals("scalar", vector.scalars);
    visitor.affine("row_origin", vector.row_origin);
    visitor.affine("column_origin", vector.column_origin);
    visitor.number("element_stride", vector.element_stride);
}

/// The same for Transpose.
template <class Visitor, class Operation>
requires IsA<Operation, Transpose>
void visit_fields(Operation& transpose, Visitor& visitor) {
    visitor.affine("source", transpose.source, kRequired);
    visitor.affine("destination", transpose.destination, kRequired);
    visitor.number("rows", transpose.rows, kRequired);
    visitor.number("columns", transpose.columns, kRequired);
    visitor.number("source_stride", transpose.source_stride);
    visitor.number("destination_stride", transpose.destination_stride);
    visitor.type("type", transpose.type);
}

/// Operations without operands.
template <class Visitor, class Operation>
requires(std::is_empty_v<Operation>) void visit_fields(Operation&, Visitor&) {}

/// The same for Repeat.
template <class Visitor, class Operation>
requires IsA<Operation, Repeat>
void visit_fields(Operation&, Visitor&) {}

}  // namespace heddle::tpu
