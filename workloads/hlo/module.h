// A program of XLA as it is printed: HLO text, or StableHLO text as JAX prints it. Both become one Module, in
// HLO's words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::hlo {

/// The shape and element type of a value.
struct Shape {
    trace::ElementType type = trace::ElementType::f32;
    std::vector<std::int64_t> dimensions;
    std::vector<std::int64_t> layout;  ///< axes, the one that changes fastest first; empty: row-major
    bool is_unsigned = false;          ///< an integer without a sign, whatever `type` is
    bool tuple = false;
    std::vector<Shape> elements;  ///< of a tuple
};

/// One instruction of a computation.
struct Instruction {
    std::string name;
    std::string opcode;                             ///< "dot", "broadcast", "add", ...
    Shape shape;                                    ///< of its result
    std::vector<std::string> operands;              ///< names of earlier instructions
    std::map<std::string, std::string> attributes;  ///< lists without braces: "0,2"
    std::string literal;                            ///< constant: its text; parameter: its number
    unsigned line = 0;
};

/// A function, a fused computation, or a region of StableHLO (which also sees the values around it).
struct Computation {
    std::vector<Instruction> instructions;
    std::vector<std::string> results;  ///< the root, or what `return` names
};

/// A whole program: computations by name.
struct Module {
    std::string name, file;
    std::map<std::string, Computation> computations;
    std::string entry;
};

/// Returns whether the text looks like one of the two forms.
bool is_hlo_text(const std::string& text);
bool is_stablehlo_text(const std::string& text);

/// Parse the text. They throw heddle::Error with file, line and what was expected.
Module parse_hlo(const std::string& text, const std::string& file);
Module parse_stablehlo(const std::string& text, const std::string& file);

/// Converts a program to a Trace. Elementwise chains become one op, or the epilogue of the product before
/// them, where no other instruction reads the values in between; broadcasts, transposes, slices and reshapes
/// become views; loops are unrolled. An operation that is not understood becomes OpKind::unknown, whose name
/// gives the reason. Throws heddle::Error for a program that is not consistent.
trace::Trace to_trace(const Module& module);

/// The place of a value of the program: strides and offset in elements of the tensor's storage.
struct Placed {
    trace::TensorId tensor = 0;
    std::vector<std::int64_t> shape, strides;
    std::int64_t offset = 0;
};

/// A converted program with the places of its arguments and results, with tuples flattened.
struct Program {
    trace::Trace trace;
    std::vector<Placed> arguments, results;
};
Program to_program(const Module& module);

}  // namespace heddle::hlo
