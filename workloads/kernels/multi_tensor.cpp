#include "workloads/kernels/multi_tensor.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "isa/common/error.h"
#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

std::string tensor_name(unsigned tensor, const std::string& operand) {
    return "t" + std::to_string(tensor) + "_" + operand;
}

void check_chunks(unsigned tensors, unsigned vector, unsigned threads, unsigned elements_per_thread,
                  std::uint32_t chunk) {
    if (tensors == 0 || tensors > kMostListedTensors)
        throw Error("a launch over " + std::to_string(tensors) + " tensors", {},
                    "1 to " + std::to_string(kMostListedTensors) + "; divide the list");
    if ((vector != 1 && vector != 2 && vector != 4) || elements_per_thread == 0 ||
        elements_per_thread % vector != 0 || threads == 0 || threads > 1024 || threads % 32 != 0 ||
        chunk == 0 || chunk % (threads * elements_per_thread) != 0)
        throw Error(
            "a chunk is a whole number of turns of a thread block, by accesses of 1, 2 or 4 elements");
}

/// The chunk of this thread block: operands of its tensor, the chunk's first element and its end.
class ListedChunk {
  public:
    /// `operands`: names without the tensor, all pointers.
    ListedChunk(PtxWriter& w, unsigned tensors, const std::vector<std::string>& operands,
                std::uint32_t chunk) {
        const Reg elements = w.b32(), first_chunk = w.b32();
        const Reg cta = w.cta_x();
        for (std::size_t i = 0; i < operands.size(); ++i) pointers.push_back(w.b64());
        for (unsigned t = 0; t < tensors; ++t) {
            std::vector<Reg> own;
            own.reserve(operands.size());
            for (const std::string& operand : operands)
                own.push_back(w.pointer_parameter(tensor_name(t, operand)));
            const Reg count = w.b32_parameter(tensor_name(t, "elements"));
            const Reg first = w.b32_parameter(tensor_name(t, "first"));
            // The last tensor that begins at this chunk or before it.
            const Reg later = w.make_predicate("setp.ge.u32", cta, first);
            const auto take = [&](const char* opcode, const Reg& to, const Reg& from) {
                if (t == 0) return w.op(opcode, to, from);
                w.op_if(later, opcode, to, from);
            };
            for (std::size_t i = 0; i < operands.size(); ++i) take("mov.u64", pointers[i], own[i]);
            take("mov.u32", elements, count);
            take("mov.u32", first_chunk, first);
        }
        begin = w.make_b32("mul.lo.u32", w.make_b32("sub.u32", cta, first_chunk), chunk);
        end = w.make_b32("min.u32", w.make_b32("add.u32", begin, chunk), elements);
    }
    std::vector<Reg> pointers;
    Reg begin, end;
};

/// body(first element of a vector, its guard) for the vectors of one turn, all loads of which should come
/// first: `body` is given all of them.
template <class Body>
void for_each_turn(PtxWriter& w, const ListedChunk& chunk, const Reg& tid, unsigned threads, unsigned vector,
                   unsigned elements_per_thread, Body body) {
    const Reg index = w.make_b32("mad.lo.u32", tid, vector, chunk.begin);
    const std::string loop = w.new_label("turn"), done = w.new_label("chunk_done");
    w.place(loop);
    w.jump_if(w.make_predicate("setp.ge.u32", index, chunk.end), done);
    std::vector<std::pair<Reg, Reg>> vectors;
    for (unsigned i = 0; i < elements_per_thread / vector; ++i) {
        const Reg own = i == 0 ? index : w.make_b32("add.u32", index, i * threads * vector);
        vectors.emplace_back(own, w.make_predicate("setp.lt.u32", own, chunk.end));
    }
    body(vectors);
    w.op("add.u32", index, index, threads * elements_per_thread);
    w.jump(loop);
    w.place(done);
}

std::string name_for(const MultiTensorSpec& spec) {
    std::uint32_t hash = 2166136261u;
    for (const char c : expression::to_text(spec.expression))
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    char tag[16];
    std::snprintf(tag, sizeof tag, "%08x", hash);
    std::string name = std::string("multi_tensor_") + tag;
    for (const ElementType type : spec.outputs) name += "_y" + name_of(type);
    for (std::size_t i = 0; i < spec.inputs.size(); ++i)
        name += "_x" + name_of(spec.inputs[i]) + (spec.input_is_scalar[i] ? "scalar" : "");
    return name + "_v" + std::to_string(spec.vector_width) + "_n" + std::to_string(spec.elements_per_thread) +
           "_t" + std::to_string(spec.threads) + "_of" + std::to_string(spec.tensors) + "_chunks" +
           std::to_string(spec.chunk_elements);
}

void check(const MultiTensorSpec& spec) {
    check_chunks(spec.tensors, spec.vector_width, spec.threads, spec.elements_per_thread,
                 spec.chunk_elements);
    if (spec.inputs.size() < spec.expression.input_count ||
        spec.outputs.size() != spec.expression.outputs.size() ||
        spec.input_is_scalar.size() != spec.inputs.size())
        throw Error("an expression over lists of tensors was given other operands than it has",
                    {.key = expression::to_text(spec.expression)});
    if (ExpressionCode::uses_element(spec.expression))
        throw Error("kernels over lists of tensors have no random numbers and no positions",
                    {.key = expression::to_text(spec.expression)});
}

}  // namespace

GeneratedKernel generate_multi_tensor(const MultiTensorSpec& spec) {
    check(spec);
    PtxWriter w(name_for(spec), spec.compute_capability);
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < spec.outputs.size(); ++i) operands.push_back("y" + std::to_string(i));
    for (std::size_t i = 0; i < spec.inputs.size(); ++i)
        if (!spec.input_is_scalar[i]) operands.push_back("x" + std::to_string(i));
    const ListedChunk chunk(w, spec.tensors, operands, spec.chunk_elements);
    std::vector<std::vector<Reg>> values(spec.inputs.size());
    std::vector<Reg> bases(spec.inputs.size());
    for (std::size_t i = 0, listed = spec.outputs.size(); i < spec.inputs.size(); ++i) {
        if (!spec.input_is_scalar[i]) {
            bases[i] = chunk.pointers[listed++];
            continue;
        }
        const Reg pointer = w.pointer_parameter("x" + std::to_string(i));
        values[i] = load_elements(w, "ld.global", spec.inputs[i], 1, pointer, 0, ComputeType::f32);
    }
    std::vector<Reg> scalars;
    for (unsigned i = 0; i < spec.expression.scalar_count; ++i)
        scalars.push_back(w.f32_parameter("s" + std::to_string(i)));
    ExpressionCode code(w, spec.expression, ComputeType::f32, scalars);
    const unsigned width = spec.vector_width;
    const auto turn = [&](const std::vector<std::pair<Reg, Reg>>& vectors) {
        std::vector<std::vector<RawVector>> raw(vectors.size());
        for (std::size_t v = 0; v < vectors.size(); ++v) {
            for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
                raw[v].emplace_back();
                if (spec.input_is_scalar[i]) continue;
                const Reg address = w.element_address(bases[i], vectors[v].first, bytes_of(spec.inputs[i]));
                raw[v].back() =
                    load_raw(w, "ld.global", spec.inputs[i], width, address, 0, vectors[v].second);
            }
        }
        for (std::size_t v = 0; v < vectors.size(); ++v) {
            for (std::size_t i = 0; i < spec.inputs.size(); ++i)
                if (!spec.input_is_scalar[i]) values[i] = convert_raw(w, raw[v][i], ComputeType::f32);
            std::vector<std::vector<Reg>> results(spec.outputs.size());
            for (unsigned e = 0; e < width; ++e) {
                std::vector<Reg> inputs;
                inputs.reserve(values.size());
                for (const std::vector<Reg>& value : values)
                    inputs.push_back(value[value.size() == 1 ? 0 : e]);
                const std::vector<Reg> outputs = code.emit(inputs);
                for (std::size_t o = 0; o < outputs.size(); ++o) results[o].push_back(outputs[o]);
            }
            for (std::size_t o = 0; o < results.size(); ++o) {
                const Reg address =
                    w.element_address(chunk.pointers[o], vectors[v].first, bytes_of(spec.outputs[o]));
                store_elements(w, "st.global", spec.outputs[o], results[o], address, 0, ComputeType::f32,
                               vectors[v].second);
            }
        }
    };
    for_each_turn(w, chunk, w.tid(), spec.threads, width, spec.elements_per_thread, turn);
    return w.finish({spec.threads, 1, 1});
}

GeneratedKernel generate_multi_tensor_norm(const MultiTensorNormSpec& spec) {
    check_chunks(spec.tensors, spec.vector_width, spec.threads, spec.elements_per_thread,
                 spec.chunk_elements);
    PtxWriter w("multi_tensor_norm_" + name_of(spec.input) + "_v" + std::to_string(spec.vector_width) + "_n" +
                    std::to_string(spec.elements_per_thread) + "_t" + std::to_string(spec.threads) + "_of" +
                    std::to_string(spec.tensors) + "_chunks" + std::to_string(spec.chunk_elements),
                spec.compute_capability);
    const ListedChunk chunk(w, spec.tensors, {"x0"}, spec.chunk_elements);
    const Reg sums = w.pointer_parameter("sums");
    const Reg tid = w.tid();
    // One sum for each element of a turn, as PyTorch's functor has them; then over the threads.
    std::vector<Reg> partial;
    for (unsigned i = 0; i < spec.elements_per_thread; ++i) partial.push_back(w.constant_f32(0));
    const auto turn = [&](const std::vector<std::pair<Reg, Reg>>& vectors) {
        std::vector<RawVector> raw;
        raw.reserve(vectors.size());
        for (const auto& [index, guard] : vectors)
            raw.push_back(load_raw(w, "ld.global", spec.input, spec.vector_width,
                                   w.element_address(chunk.pointers[0], index, bytes_of(spec.input)), 0,
                                   guard));
        for (std::size_t v = 0; v < raw.size(); ++v) {
            const std::vector<Reg> values = convert_raw(w, raw[v], ComputeType::f32);
            for (unsigned e = 0; e < spec.vector_width; ++e) {
                const Reg& sum = partial[v * spec.vector_width + e];
                w.op("fma.rn.f32", sum, values[e], values[e], sum);
            }
        }
    };
    for_each_turn(w, chunk, tid, spec.threads, spec.vector_width, spec.elements_per_thread, turn);
    const Reg sum = partial[0];
    for (std::size_t i = 1; i < partial.size(); ++i) w.op("add.rn.f32", sum, sum, partial[i]);
    emit_cta_reduce(w, Combine::add, {sum}, tid, spec.threads, w.shared("partial", 4 * 32));
    w.op_if(w.make_predicate("setp.eq.u32", tid, 0), "st.global.f32",
            at(w.element_address(sums, w.cta_x(), 4)), sum);
    return w.finish({spec.threads, 1, 1});
}

namespace {

/// The sum of sums[index], sums[index + kClipThreads] ... below `end`, over the thread block.
Reg emit_sum_of_sums(PtxWriter& w, const Reg& tid, const Reg& sums, const Reg& index, const Reg& end) {
    Reg sum = w.constant_f32(0);
    const std::string loop = w.new_label("sums"), done = w.new_label("summed");
    w.place(loop);
    w.jump_if(w.make_predicate("setp.ge.u32", index, end), done);
    w.op("add.rn.f32", sum, sum, w.make_f32("ld.global.f32", at(w.element_address(sums, index, 4))));
    w.op("add.u32", index, index, kClipThreads);
    w.jump(loop);
    w.place(done);
    emit_cta_reduce(w, Combine::add, {sum}, tid, kClipThreads, w.shared("partial", 4 * 32));
    return sum;
}

}  // namespace

GeneratedKernel generate_multi_tensor_sums(unsigned compute_capability, unsigned tensors) {
    if (tensors == 0 || tensors > kMostListedTensors)
        throw Error("a launch over " + std::to_string(tensors) + " tensors", {},
                    "1 to " + std::to_string(kMostListedTensors) + "; divide the list");
    PtxWriter w("multi_tensor_sums_of" + std::to_string(tensors), compute_capability);
    const Reg sums = w.pointer_parameter("sums"), cta = w.cta_x();
    const Reg result = w.b64(), first = w.b32(), count = w.b32();
    for (unsigned t = 0; t < tensors; ++t) {
        const Reg own = w.make_predicate("setp.eq.u32", cta, t);
        w.op_if(own, "mov.u64", result, w.pointer_parameter(tensor_name(t, "y0")));
        w.op_if(own, "mov.u32", first, w.b32_parameter(tensor_name(t, "first")));
        w.op_if(own, "mov.u32", count, w.b32_parameter(tensor_name(t, "count")));
    }
    const Reg tid = w.tid();
    const Reg sum = emit_sum_of_sums(w, tid, sums, w.make_b32("add.u32", first, tid),
                                     w.make_b32("add.u32", first, count));
    w.op_if(w.make_predicate("setp.eq.u32", tid, 0), "st.global.f32", at(result), sum);
    return w.finish({kClipThreads, 1, 1});
}

GeneratedKernel generate_clip_coefficient(unsigned compute_capability) {
    PtxWriter w("clip_coefficient", compute_capability);
    const Reg total = w.pointer_parameter("total"), coefficient = w.pointer_parameter("coefficient"),
              sums = w.pointer_parameter("sums"), count = w.b32_parameter("count"),
              limit = w.f32_parameter("limit");
    const Reg tid = w.tid();
    const std::string end = w.new_label("end");
    const Reg sum = emit_sum_of_sums(w, tid, sums, w.make_b32("mov.u32", tid), count);
    w.jump_if(w.make_predicate("setp.ne.u32", tid, 0), end);
    const Reg norm = w.make_f32("sqrt.rn.f32", sum);
    w.op("st.global.f32", at(total), norm);
    const Reg ratio = w.make_f32("div.rn.f32", limit,
                                 w.make_f32("add.rn.f32", norm, f32_immediate(static_cast<float>(1e-6))));
    w.op("st.global.f32", at(coefficient), w.make_f32("min.f32", ratio, f32_immediate(1)));
    w.place(end);
    return w.finish({kClipThreads, 1, 1});
}

MultiTensorLaunch multi_tensor_launch(const std::vector<std::uint64_t>& elements,
                                      std::uint32_t chunk_elements) {
    MultiTensorLaunch launch;
    std::uint32_t chunks = 0;
    for (std::size_t t = 0; t < elements.size(); ++t) {
        if (elements[t] == 0 || elements[t] > 0x7fffffffull)
            throw Error("a tensor of " + std::to_string(elements[t]) + " elements in a list", {},
                        "1 to 2^31 - 1");
        const auto tensor = static_cast<unsigned>(t);
        launch.arguments.push_back(integer_argument(tensor_name(tensor, "elements"), elements[t]));
        launch.arguments.push_back(integer_argument(tensor_name(tensor, "first"), chunks));
        chunks += divide_up(elements[t], chunk_elements);
    }
    launch.grid[0] = std::max(1u, chunks);
    return launch;
}

}  // namespace heddle::kernels
