#include "workloads/kernels/elementwise.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "isa/common/error.h"
#include "workloads/kernels/elementwise_parts.h"

namespace heddle::kernels {
namespace {

std::string form_name(const ElementwiseSpec& spec) {
    switch (spec.form) {
        case ElementwiseForm::in_turn:
            return "_in_turn";
        case ElementwiseForm::casting:
            return "_casting";
        case ElementwiseForm::chunks:
            return "_chunks" + std::to_string(spec.chunk_elements);
        default:
            return "";
    }
}

std::string name_for(const ElementwiseSpec& spec) {
    std::uint32_t hash = 2166136261u;
    for (const char c : expression::to_text(spec.expression))
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    char tag[16];
    std::snprintf(tag, sizeof tag, "%08x", hash);
    std::string name = spec.vector_width > 1 ? "vectorized_elementwise" : "elementwise";
    name += std::string("_") + tag;
    for (const ElementType type : spec.outputs) name += "_y" + name_of(type);
    for (const ElementwiseInput& input : spec.inputs) {
        static constexpr const char* kAccess[] = {"", "scalar", "column", "row", "strided"};
        name += "_x" + name_of(input.type) + kAccess[static_cast<int>(input.access)];
    }
    return name + "_v" + std::to_string(spec.vector_width) + "_n" + std::to_string(spec.elements_per_thread) +
           "_t" + std::to_string(spec.threads) + "_d" + std::to_string(spec.dimensions) +
           (spec.grid_stride ? "_loop" : "") + form_name(spec);
}

void check(const ElementwiseSpec& spec) {
    const SourceLocation where{.key = expression::to_text(spec.expression)};
    if (spec.inputs.size() < spec.expression.input_count ||
        spec.outputs.size() != spec.expression.outputs.size()) {
        throw Error("an expression of " + std::to_string(spec.expression.input_count) + " inputs and " +
                        std::to_string(spec.expression.outputs.size()) + " outputs was given " +
                        std::to_string(spec.inputs.size()) + " and " + std::to_string(spec.outputs.size()) +
                        " operands",
                    where);
    }
    const unsigned v = spec.vector_width;
    if ((v != 1 && v != 2 && v != 4 && v != 8) || spec.elements_per_thread == 0 ||
        spec.elements_per_thread % v != 0) {
        throw Error("elements per thread must be a multiple of a vector width of 1, 2, 4 or 8", where);
    }
    if (spec.dimensions < 1 || spec.dimensions > 5)
        throw Error("offset calculators have 1 to 5 dimensions", where);
    if (v > 1 && has_access(spec, AccessPattern::strided)) {
        throw Error("strided operands cannot be accessed in vectors", where, "set vector_width to 1");
    }
    if (spec.threads == 0 || spec.threads > 1024 || spec.threads % 32 != 0) {
        throw Error("a CTA has a multiple of 32 and at most 1024 threads", where);
    }
    const bool plain = std::all_of(spec.inputs.begin(), spec.inputs.end(), [](const ElementwiseInput& input) {
        return input.access == AccessPattern::contiguous || input.access == AccessPattern::scalar;
    });
    if ((spec.form == ElementwiseForm::casting || spec.form == ElementwiseForm::chunks) && !plain)
        throw Error("casting kernels and kernels of chunks take contiguous operands and scalars", where);
    if (spec.form == ElementwiseForm::casting && v != 1)
        throw Error("casting kernels access single elements", where, "set vector_width to 1");
    if (spec.form == ElementwiseForm::chunks &&
        (spec.chunk_elements == 0 || spec.chunk_elements % (spec.threads * spec.elements_per_thread) != 0))
        throw Error("a chunk is a whole number of turns of the CTA", where);
    if (spec.grid_stride && spec.form != ElementwiseForm::together)
        throw Error("only kernels that do their elements together loop over the tensor", where);
}

/// Everything that stays the same while a thread works through its vectors.
class ElementwiseWriter {
  public:
    ElementwiseWriter(PtxWriter& w, const ElementwiseSpec& spec)
        : w_(w), spec_(spec), compute_(elementwise_compute_type(spec)) {
        for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
            outputs_.push_back(w.pointer_parameter("y" + std::to_string(i)));
        }
        for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
            inputs_.push_back(w.pointer_parameter("x" + std::to_string(i)));
        }
        elements_ = w.b32_parameter("elements");
        std::vector<Reg> scalars;
        for (unsigned i = 0; i < spec.expression.scalar_count; ++i) {
            const std::string name = "s" + std::to_string(i);
            scalars.push_back(compute_ == ComputeType::f32 ? w.f32_parameter(name) : w.f64_parameter(name));
        }
        if (has_access(spec, AccessPattern::per_column) || has_access(spec, AccessPattern::per_row)) {
            columns_ = w.divider_parameter("columns");
        }
        if (has_access(spec, AccessPattern::strided)) {
            for (unsigned d = 0; d + (counts_dimensions(spec) ? 0 : 1) < spec.dimensions; ++d) {
                sizes_.push_back(w.divider_parameter("size" + std::to_string(d)));
            }
        }
        if (counts_dimensions(spec)) dimensions_ = w.b32_parameter("dimensions");
        strides_.resize(spec.inputs.size());
        for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
            if (spec.inputs[i].access != AccessPattern::strided) continue;
            for (unsigned d = 0; d < spec.dimensions; ++d) {
                strides_[i].push_back(
                    w.b32_parameter("x" + std::to_string(i) + "_stride" + std::to_string(d)));
            }
        }
        output_strides_.resize(spec.outputs.size());
        for (std::size_t o = 0; o < spec.outputs.size() && counts_dimensions(spec); ++o) {
            for (unsigned d = 0; d < spec.dimensions; ++d)
                output_strides_[o].push_back(
                    w.b32_parameter("y" + std::to_string(o) + "_stride" + std::to_string(d)));
        }
        if (spec.form == ElementwiseForm::casting) {
            for (std::size_t i = 0; i < spec.inputs.size(); ++i)
                add_type_parameters("x" + std::to_string(i), input_types_);
            for (std::size_t i = 0; i < spec.outputs.size(); ++i)
                add_type_parameters("y" + std::to_string(i), output_types_);
        }
        needed_.resize(spec.inputs.size());
        for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
            needed_[i] = ExpressionCode::reads_input(spec.expression, static_cast<unsigned>(i));
        }
        code_.emplace(w, spec.expression, compute_, scalars);
    }

    const Reg& elements() const { return elements_; }
    /// Whether anything but contiguous addresses depends on an element's index.
    bool needs_index() const {
        return !columns_.divisor.empty() || has_access(spec_, AccessPattern::strided) ||
               ExpressionCode::uses_element(spec_.expression);
    }

    /// Loads that do not depend on the element.
    void load_scalars() {
        scalar_values_.resize(inputs_.size());
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            if (!needed_[i] || spec_.inputs[i].access != AccessPattern::scalar) continue;
            scalar_values_[i] =
                load_elements(w_, "ld.global", spec_.inputs[i].type, 1, inputs_[i], 0, compute_)[0];
        }
    }

    /// One vector: `first` is the index of its first element. The base addresses (index `anchor`, a constant
    /// distance `distance` below `first`) let contiguous operands use constant offsets.
    struct Vector {
        Reg first, guard;
        std::vector<RawVector> raw;
        std::vector<Reg> offsets;  ///< of inputs and outputs, where the number of dimensions is counted
    };

    void set_anchor(const Reg& anchor) {
        anchors_in_.clear();
        anchors_out_.clear();
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const bool direct = needed_[i] && spec_.inputs[i].access == AccessPattern::contiguous;
            anchors_in_.push_back(
                direct ? w_.element_address(inputs_[i], anchor, bytes_of(spec_.inputs[i].type)) : Reg{});
        }
        for (std::size_t i = 0; i < outputs_.size(); ++i) {
            anchors_out_.push_back(w_.element_address(outputs_[i], anchor, bytes_of(spec_.outputs[i])));
        }
    }

    void load(Vector& vector, unsigned distance) {
        Reg row, column;
        if (!columns_.divisor.empty()) {
            row = w_.divide_fast(vector.first, columns_);
            column = w_.remainder_fast(vector.first, row, columns_);
        }
        const std::vector<Reg> index =
            counts_dimensions(spec_) ? std::vector<Reg>() : split_index(vector.first);
        if (counts_dimensions(spec_)) calculate_offsets(vector);
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const ElementwiseInput& input = spec_.inputs[i];
            const unsigned size = bytes_of(input.type);
            vector.raw.emplace_back();
            if (!needed_[i] || input.access == AccessPattern::scalar) continue;
            std::string address = anchors_in_[i];
            std::int64_t offset = 0;
            unsigned width = spec_.vector_width;
            switch (input.access) {
                case AccessPattern::contiguous:
                    offset = std::int64_t{distance} * size;
                    break;
                case AccessPattern::per_column:
                    address = w_.element_address(inputs_[i], column, size);
                    break;
                case AccessPattern::per_row:
                    address = w_.element_address(inputs_[i], row, size);
                    width = 1;
                    break;
                default:
                    address = w_.element_address(
                        inputs_[i],
                        counts_dimensions(spec_) ? vector.offsets[i] : offset_of(index, strides_[i]), size);
            }
            vector.raw.back() = load_raw(w_, "ld.global", input.type, width, address, offset, vector.guard);
        }
    }

    void compute_and_store(Vector& vector, unsigned distance) {
        std::vector<std::vector<Reg>> values(inputs_.size());
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            if (!needed_[i]) continue;
            if (spec_.inputs[i].access == AccessPattern::scalar) {
                values[i] = {scalar_values_[i]};
            } else {
                values[i] = convert_raw(w_, vector.raw[i], compute_);
            }
        }
        const bool random = ExpressionCode::uses_element(spec_.expression);
        std::vector<std::vector<Reg>> results(outputs_.size());
        for (unsigned e = 0; e < spec_.vector_width; ++e) {
            std::vector<Reg> element_inputs(inputs_.size());
            for (std::size_t i = 0; i < inputs_.size(); ++i) {
                if (needed_[i]) element_inputs[i] = values[i][values[i].size() == 1 ? 0 : e];
            }
            Reg element;
            if (random) element = e == 0 ? vector.first : w_.make_b32("add.u32", vector.first, e);
            const std::vector<Reg> outputs = code_->emit(element_inputs, element);
            for (std::size_t o = 0; o < outputs.size(); ++o) results[o].push_back(outputs[o]);
        }
        for (std::size_t o = 0; o < outputs_.size(); ++o) {
            const unsigned size = bytes_of(spec_.outputs[o]);
            const bool own = counts_dimensions(spec_);
            store_elements(w_, "st.global", spec_.outputs[o], results[o],
                           own ? w_.element_address(outputs_[o], vector.offsets[inputs_.size() + o], size)
                               : anchors_out_[o],
                           own ? 0 : std::int64_t{distance} * size, compute_, vector.guard);
        }
    }

    /// Of a casting kernel: values[i] of element `index`, which lies in the tensor.
    void load_casting(const Reg& index, const std::vector<Reg>& values) {
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            if (!needed_[i] || spec_.inputs[i].access == AccessPattern::scalar) continue;
            const Reg address = address_of(inputs_[i], index, input_types_[i]);
            emit_by_type(w_, input_types_[i].number, [&](ElementType type) {
                // What needs no conversion is loaded into place, and nobody waits for it here.
                const bool f32 = type == ElementType::f32 && compute_ == ComputeType::f32;
                const bool f64 = type == ElementType::f64 && compute_ == ComputeType::f64;
                if ((f32 || f64) && type == functor_type(type)) {
                    w_.op(f32 ? "ld.global.f32" : "ld.global.f64", values[i], "[" + address + "]");
                    return;
                }
                const Reg value = load_elements(w_, "ld.global", type, 1, address, 0, compute_)[0];
                w_.op(compute_ == ComputeType::f32 ? "mov.f32" : "mov.f64", values[i], value);
            });
        }
    }
    std::vector<Reg> new_values() {
        std::vector<Reg> values;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            if (spec_.inputs[i].access == AccessPattern::scalar && needed_[i]) {
                values.push_back(scalar_values_[i]);
                continue;
            }
            values.push_back(compute_ == ComputeType::f32 ? w_.constant_f32(0)
                                                          : w_.make_f64("mov.f64", f64_immediate(0)));
        }
        return values;
    }
    std::vector<Reg> compute(const std::vector<Reg>& values, const Reg& index) {
        return code_->emit(values, index);
    }
    void store_casting(const Reg& index, const std::vector<Reg>& results) {
        for (std::size_t o = 0; o < outputs_.size(); ++o) {
            const Reg address = address_of(outputs_[o], index, output_types_[o]);
            emit_by_type(w_, output_types_[o].number, [&](ElementType type) {
                if (type == ElementType::bf16 && !w_.generation().has_bf16) return;
                store_elements(w_, "st.global", type, {results[o]}, address, 0, compute_);
            });
        }
    }

  private:
    /// The type in which a casting kernel's functor takes an operand of `type`: a copy that of its result,
    /// everything else the widest, which is what kernels here compute in.
    ElementType functor_type(ElementType type) const {
        return expression::to_text(spec_.expression) == "y0 = x0" ? spec_.outputs[0] : type;
    }

    /// Of a casting kernel: what it is told of an operand's type.
    struct TypeParameters {
        Reg number, bytes;
    };
    void add_type_parameters(const std::string& operand, std::vector<TypeParameters>& types) {
        TypeParameters one;
        one.number = w_.b32_parameter(operand + "_type");
        one.bytes = w_.b32_parameter(operand + "_bytes");
        types.push_back(std::move(one));
    }
    Reg address_of(const Reg& base, const Reg& index, const TypeParameters& type) {
        return w_.element_address(base, w_.make_b32("mul.lo.u32", index, type.bytes), 1);
    }

    /// PyTorch's OffsetCalculator: written for many dimensions, it leaves when it has done those that there
    /// are.
    void calculate_offsets(Vector& vector) {
        std::vector<const std::vector<Reg>*> strides;
        for (const std::vector<Reg>& each : strides_) strides.push_back(&each);
        for (const std::vector<Reg>& each : output_strides_) strides.push_back(&each);
        for (std::size_t k = 0; k < strides.size(); ++k) vector.offsets.push_back(w_.constant_b32(0));
        const std::string done = w_.new_label("offsets");
        Reg rest = vector.first;
        for (unsigned d = 0; d < spec_.dimensions; ++d) {
            const Reg quotient = w_.divide_fast(rest, sizes_[d]);
            const Reg index = w_.remainder_fast(rest, quotient, sizes_[d]);
            for (std::size_t k = 0; k < strides.size(); ++k) {
                if (strides[k]->empty()) continue;
                w_.op("mad.lo.u32", vector.offsets[k], index, (*strides[k])[d], vector.offsets[k]);
            }
            if (d + 1 < spec_.dimensions)
                w_.jump_if(w_.make_predicate("setp.eq.u32", dimensions_, d + 1), done);
            rest = quotient;
        }
        w_.place(done);
    }

    /// Index along each dimension, innermost first.
    std::vector<Reg> split_index(const Reg& linear) {
        std::vector<Reg> index;
        if (!has_access(spec_, AccessPattern::strided)) return index;
        Reg rest = linear;
        for (const PtxWriter::Divider& size : sizes_) {
            const Reg quotient = w_.divide_fast(rest, size);
            index.push_back(w_.remainder_fast(rest, quotient, size));
            rest = quotient;
        }
        index.push_back(rest);
        return index;
    }

    Reg offset_of(const std::vector<Reg>& index, const std::vector<Reg>& strides) {
        Reg offset = w_.make_b32("mul.lo.u32", index[0], strides[0]);
        for (std::size_t d = 1; d < index.size(); ++d) {
            offset = w_.make_b32("mad.lo.u32", index[d], strides[d], offset);
        }
        return offset;
    }

    PtxWriter& w_;
    const ElementwiseSpec& spec_;
    ComputeType compute_;
    std::vector<Reg> outputs_, inputs_, anchors_in_, anchors_out_, scalar_values_;
    std::vector<TypeParameters> input_types_, output_types_;
    Reg elements_, dimensions_;
    PtxWriter::Divider columns_;
    std::vector<PtxWriter::Divider> sizes_;
    std::vector<std::vector<Reg>> strides_, output_strides_;
    std::vector<bool> needed_;
    std::optional<ExpressionCode> code_;
};

}  // namespace

ComputeType elementwise_compute_type(const ElementwiseSpec& spec) {
    bool wide = false, integers = false;
    const auto look = [&](ElementType type) {
        wide |= type == ElementType::f64;
        integers |= type == ElementType::i32 || type == ElementType::i64;
    };
    for (const ElementwiseInput& input : spec.inputs) look(input.type);
    for (const ElementType type : spec.outputs) look(type);
    if (wide) return ComputeType::f64;
    return integers && !ExpressionCode::uses_transcendental(spec.expression) ? ComputeType::f64
                                                                             : ComputeType::f32;
}

namespace {

/// One element after the other, each in a block of its own.
void write_in_turn(PtxWriter& w, const ElementwiseSpec& spec, ElementwiseWriter& writer, const Reg& anchor) {
    const std::string done = w.new_label("done");
    for (unsigned first = 0; first < spec.elements_per_thread; first += spec.vector_width) {
        ElementwiseWriter::Vector vector;
        vector.first = first == 0 ? anchor : w.make_b32("add.u32", anchor, first * spec.threads);
        w.jump_if(w.make_predicate("setp.ge.u32", vector.first, writer.elements()), done);
        writer.load(vector, first * spec.threads);
        writer.compute_and_store(vector, first * spec.threads);
    }
    w.place(done);
}

void write_casting(PtxWriter& w, const ElementwiseSpec& spec, ElementwiseWriter& writer, const Reg& anchor) {
    std::vector<Reg> indices;
    std::vector<std::vector<Reg>> values, results;
    for (unsigned i = 0; i < spec.elements_per_thread; ++i) {
        indices.push_back(i == 0 ? anchor : w.make_b32("add.u32", anchor, i * spec.threads));
        values.push_back(writer.new_values());
    }
    const auto each = [&](const std::string& stem, const auto& body) {
        const std::string done = w.new_label(stem);
        for (unsigned i = 0; i < spec.elements_per_thread; ++i) {
            w.jump_if(w.make_predicate("setp.ge.u32", indices[i], writer.elements()), done);
            body(i);
        }
        w.place(done);
    };
    each("loaded", [&](unsigned i) { writer.load_casting(indices[i], values[i]); });
    for (unsigned i = 0; i < spec.elements_per_thread; ++i)
        results.push_back(writer.compute(values[i], indices[i]));
    each("stored", [&](unsigned i) { writer.store_casting(indices[i], results[i]); });
}

}  // namespace

GeneratedKernel generate_elementwise(const ElementwiseSpec& spec) {
    check(spec);
    PtxWriter w(name_for(spec), spec.compute_capability);
    ElementwiseWriter writer(w, spec);
    const unsigned vectors = spec.elements_per_thread / spec.vector_width;
    const unsigned pass = spec.threads * spec.vector_width;  // elements between a thread's vectors
    const bool chunks = spec.form == ElementwiseForm::chunks, loops = chunks || spec.grid_stride;
    const unsigned per_cta = chunks ? spec.chunk_elements : spec.threads * spec.elements_per_thread;
    writer.load_scalars();
    const Reg cta_first = w.make_b32("mul.lo.u32", w.cta_x(), per_cta);
    const Reg anchor = w.make_b32("mad.lo.u32", w.tid(), spec.vector_width, cta_first);
    if (spec.form == ElementwiseForm::casting) {
        write_casting(w, spec, writer, anchor);
        return w.finish({spec.threads, 1, 1});
    }
    std::string loop;
    Reg step, end = writer.elements();
    if (chunks) end = w.make_b32("min.u32", w.make_b32("add.u32", cta_first, per_cta), end);
    if (loops) {
        step = chunks ? w.constant_b32(spec.threads * spec.elements_per_thread)
                      : w.make_b32("mul.lo.u32", w.make_b32("mov.u32", "%nctaid.x"),
                                   spec.threads * spec.elements_per_thread);
        loop = w.new_label("loop");
        w.place(loop);
    }
    writer.set_anchor(anchor);
    if (spec.form == ElementwiseForm::in_turn) {
        write_in_turn(w, spec, writer, anchor);
        return w.finish({spec.threads, 1, 1});
    }
    const auto body = [&](bool guarded) {
        // All loads first, so that their latencies overlap.
        std::vector<ElementwiseWriter::Vector> work(vectors);
        for (unsigned i = 0; i < vectors; ++i) {
            work[i].first = i == 0 || (!guarded && !writer.needs_index())
                                ? anchor
                                : w.make_b32("add.u32", anchor, i * pass);
            if (guarded) work[i].guard = w.make_predicate("setp.lt.u32", work[i].first, end);
            writer.load(work[i], i * pass);
        }
        for (unsigned i = 0; i < vectors; ++i) writer.compute_and_store(work[i], i * pass);
    };
    if (!loops) {
        // Only the last CTA needs to look where the tensor ends.
        const std::string tail = w.new_label("tail");
        const Reg cta_end = w.make_b32("add.u32", cta_first, spec.threads * spec.elements_per_thread);
        w.jump_if(w.make_predicate("setp.gt.u32", cta_end, writer.elements()), tail);
        body(false);
        w.op("ret");
        w.place(tail);
    }
    body(true);
    if (loops) {
        w.op("add.u32", anchor, anchor, step);
        w.jump_if(w.make_predicate("setp.lt.u32", anchor, end), loop);
    }
    return w.finish({spec.threads, 1, 1});
}

}  // namespace heddle::kernels
