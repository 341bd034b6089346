#include "workloads/lowering/cpu/builder.h"

#include <algorithm>
#include <bit>

namespace heddle::lowering::on_cpu {
namespace {

ElementType memory_type(trace::ElementType type) {
    switch (type) {
        case trace::ElementType::f32:
        case trace::ElementType::tf32: return ElementType::f32;
        case trace::ElementType::bf16: return ElementType::bf16;
        case trace::ElementType::f16: return ElementType::f16;
        case trace::ElementType::i64: return ElementType::i64;
        case trace::ElementType::i32: return ElementType::i32;
        case trace::ElementType::i16: return ElementType::i16;
        case trace::ElementType::i8: return ElementType::i8;
        case trace::ElementType::u8:
        case trace::ElementType::boolean: return ElementType::u8;
        default: throw Unsupported{"vectors of " + trace::name_of(type)};
    }
}

bool is_integer(ElementType type) {
    return type == ElementType::i64 || type == ElementType::i32 || type == ElementType::i16 || type == ElementType::i8 || type == ElementType::u8;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    return strides;
}

}  // namespace

std::int64_t View::elements() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : shape) product *= extent;
    return product;
}

Affine View::at(const std::vector<Affine>& indices) const {
    Affine place(0);
    for (std::size_t i = 0; i < indices.size(); ++i) place = place + indices[i] * strides.at(i);
    return place;
}

bool View::dense() const {
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] != 1 && strides[i] != stride) return false;
        stride *= shape[i];
    }
    return true;
}

View reshaped(const View& view, std::vector<std::int64_t> shape) {
    if (!view.dense()) throw Unsupported{"an operand with gaps or in another order"};
    View other = view;
    other.strides = dense_strides(shape);
    other.shape = std::move(shape);
    return other;
}

View broadcast(const View& view, const std::vector<std::int64_t>& shape) {
    View other = view;
    other.shape = shape;
    other.strides.assign(shape.size(), 0);
    if (view.shape.size() > shape.size()) {
        // Leading axes of one.
        if (view.elements() != 1 && view.shape.size() != shape.size()) throw Unsupported{"an operand of more axes than its result"};
        return other;
    }
    const std::size_t lead = shape.size() - view.shape.size();
    for (std::size_t i = 0; i < view.shape.size(); ++i) other.strides[lead + i] = view.shape[i] == 1 ? 0 : view.strides[i];
    return other;
}

Register::~Register() {
    builder_.registers_[static_cast<std::size_t>(number_)] = false;
}

Builder::Builder(const trace::Trace& trace, const trace::Op& op, const CpuTarget& target)
    : trace_(trace), op_(op), target_(target), lanes_(target.lanes), registers_(cpu::kVectorRegisters, false) {
    lowered_.program.name = trace::name_of(op.kind);
    lowered_.program.lanes = target.lanes;
}

View Builder::view_of(trace::TensorId id, const std::string& operand) {
    const trace::Tensor& tensor = trace_.tensor(id);
    View view;
    view.type = memory_type(tensor.type);
    view.shape = tensor.shape;
    view.strides = op_.strides(operand);
    if (view.strides.empty()) view.strides = dense_strides(view.shape);
    view.offset = op_.offset(operand);
    const std::uint64_t storage = cpu_storage(trace_, id);
    const auto [place, added] = buffers_.try_emplace(storage, static_cast<std::uint16_t>(lowered_.program.buffers.size()));
    if (added) {
        // Scratch comes behind all tensors.
        if (scratches_ != 0) throw Unsupported{"an operand that is looked at late"};
        lowered_.program.buffers.push_back({"t" + std::to_string(lowered_.program.buffers.size()), 0, false});
        lowered_.tensors.push_back(id);
    }
    view.buffer = place->second;
    std::int64_t last = view.offset;
    for (std::size_t i = 0; i < view.shape.size(); ++i) last += std::max<std::int64_t>(0, (view.shape[i] - 1) * view.strides[i]);
    cpu::Buffer& buffer = lowered_.program.buffers[view.buffer];
    buffer.bytes = std::max({buffer.bytes, static_cast<std::uint64_t>(last + 1) * cpu::bytes_of(view.type), tensor.bytes()});
    return view;
}

View Builder::in(std::size_t i) {
    return view_of(op_.inputs.at(i), "input" + std::to_string(i));
}

View Builder::out(std::size_t i) {
    return view_of(op_.outputs.at(i), "output" + std::to_string(i));
}

View Builder::dense_in(std::size_t i) {
    const View view = in(i);
    return reshaped(view, view.shape);
}

View Builder::dense_out(std::size_t i) {
    const View view = out(i);
    return reshaped(view, view.shape);
}

View Builder::scratch(std::vector<std::int64_t> shape, ElementType type, bool per_thread) {
    // All operands come first.
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) in(i);
    for (std::size_t i = 0; i < op_.outputs.size(); ++i) out(i);
    View view;
    view.buffer = static_cast<std::uint16_t>(lowered_.program.buffers.size());
    view.type = type;
    view.strides = dense_strides(shape);
    view.shape = std::move(shape);
    lowered_.program.buffers.push_back({"scratch" + std::to_string(scratches_++), static_cast<std::uint64_t>(view.elements()) * cpu::bytes_of(type), per_thread});
    return view;
}

void Builder::parallel(const std::string& name, const std::vector<std::int64_t>& counts, std::int64_t work,
                       const std::function<void(const std::vector<Affine>&)>& body) {
    cpu::Region region;
    region.name = name;
    region.counts = counts;
    if (work != 0) region.most_threads = static_cast<std::uint32_t>(std::clamp<std::int64_t>(work / 32768, 1, target_.threads));
    if (region.iterations() == 0) return;
    bodies_ = {&region.body};
    std::vector<Affine> counters;
    counters_ = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counters.push_back(counts[i] == 1 ? Affine(0) : Affine().add(static_cast<unsigned>(i), 1));
        counters_ |= 1u << i;
    }
    body(counters);
    bodies_.clear();
    lowered_.program.regions.push_back(std::move(region));
}

void Builder::add_loop(std::int64_t count, bool bounded, const Affine& limit, const std::function<void(const Affine&)>& body) {
    const unsigned counter = static_cast<unsigned>(std::countr_one(counters_));
    if (counter >= cpu::kMostLoops) throw Unsupported{"loops nested too deeply"};
    cpu::Loop made;
    made.counter = static_cast<std::uint8_t>(counter);
    made.count = count;
    made.bounded = bounded;
    if (bounded) made.limit = limit;
    counters_ |= 1u << counter;
    bodies_.push_back(&made.body);
    body(Affine().add(counter, 1));
    bodies_.pop_back();
    counters_ &= ~(1u << counter);
    bodies_.back()->emplace_back(std::move(made));
}

void Builder::loop(std::int64_t count, const std::function<void(const Affine&)>& body) {
    if (count <= 0) return;
    if (count == 1) return body(Affine(0));
    add_loop(count, false, 0, body);
}

void Builder::loop_limited(std::int64_t count, const Affine& limit, const std::function<void(const Affine&)>& body) {
    if (limit.terms.empty()) return loop(std::min(count, limit.constant), body);
    add_loop(count, true, limit, body);
}

void Builder::vectors(std::int64_t length, const std::function<void(const Affine&, const std::vector<Mask>&)>& body) {
    loop(length / lanes_, [&](const Affine& i) { body(i * lanes_, {}); });
    if (length % lanes_ != 0) {
        Mask mask;
        mask.lane_stride = 1;
        mask.limit = length % lanes_;
        body(length / lanes_ * lanes_, {mask});
    }
}

Value Builder::fresh() {
    for (std::size_t i = 0; i < registers_.size(); ++i) {
        if (registers_[i]) continue;
        registers_[i] = true;
        return std::make_shared<Register>(*this, static_cast<std::int8_t>(i));
    }
    throw Unsupported{"more values at once than there are registers"};
}

cpu::Instruction& Builder::emit(Opcode opcode) {
    bodies_.back()->emplace_back(cpu::Instruction{});
    auto& one = std::get<cpu::Instruction>(bodies_.back()->back());
    one.opcode = opcode;
    return one;
}

void Builder::memory(cpu::Instruction& one, const View& view, const Affine& element, std::int64_t step, const std::vector<Mask>& masks) {
    const auto bytes = static_cast<std::int64_t>(cpu::bytes_of(view.type));
    one.type = view.type;
    one.buffer = view.buffer;
    one.offset = (element + Affine(view.offset)) * bytes;
    one.lane_bytes = step * bytes;
    one.masks = masks;
}

Value Builder::load(const View& view, const Affine& element, std::int64_t step, const std::vector<Mask>& masks) {
    Value value = fresh();
    cpu::Instruction& one = emit(Opcode::op_load);
    one.d = value->number();
    memory(one, view, element, step, masks);
    if (is_integer(view.type)) apply_into(value, Opcode::op_to_float, value);
    return value;
}

Value Builder::load_raw(const View& view, const Affine& element, std::int64_t step) {
    Value value = fresh();
    cpu::Instruction& one = emit(Opcode::op_load);
    one.d = value->number();
    memory(one, view, element, step, {});
    one.type = ElementType::raw32;
    return value;
}

void Builder::store(const View& view, const Affine& element, const Value& value, std::int64_t step, const std::vector<Mask>& masks) {
    Value stored = value;
    if (is_integer(view.type)) stored = apply(Opcode::op_to_int, value);
    cpu::Instruction& one = emit(Opcode::op_store);
    one.a = stored->number();
    memory(one, view, element, step, masks);
}

void Builder::store_raw(const View& view, const Affine& element, const Value& value, std::int64_t step) {
    cpu::Instruction& one = emit(Opcode::op_store);
    one.a = value->number();
    memory(one, view, element, step, {});
    one.type = ElementType::raw32;
}

void Builder::store_first(const View& view, const Affine& element, const Value& value) {
    Mask mask;
    mask.lane_stride = 1;
    mask.limit = 1;
    store(view, element, value, 1, {mask});
}

Value Builder::gather_row(const View& view, const Affine& element, const Value& index, std::int64_t row_elements, std::int64_t step,
                          const std::vector<Mask>& masks) {
    Value value = fresh();
    cpu::Instruction& one = emit(Opcode::op_gather);
    one.d = value->number();
    one.a = index->number();
    memory(one, view, element, step, masks);
    one.scale = row_elements * cpu::bytes_of(view.type);
    one.uniform = true;
    return value;
}

void Builder::scatter_row(const View& view, const Affine& element, const Value& index, std::int64_t row_elements, const Value& value,
                          const std::vector<Mask>& masks) {
    cpu::Instruction& one = emit(Opcode::op_scatter);
    one.a = index->number();
    one.b = value->number();
    memory(one, view, element, 1, masks);
    one.scale = row_elements * cpu::bytes_of(view.type);
    one.uniform = true;
}

Value Builder::constant(float value) {
    return bits(std::bit_cast<std::uint32_t>(value));
}

Value Builder::bits(std::uint32_t bits) {
    Value value = fresh();
    cpu::Instruction& one = emit(Opcode::op_set);
    one.d = value->number();
    one.immediate = bits;
    return value;
}

Value Builder::index(const Affine& first, std::int64_t step) {
    Value value = fresh();
    cpu::Instruction& one = emit(Opcode::op_index);
    one.d = value->number();
    one.offset = first;
    one.lane_bytes = step;
    return value;
}

Value Builder::apply(Opcode opcode, const Value& a, const Value& b, const Value& c) {
    Value d = fresh();
    apply_into(d, opcode, a, b, c);
    return d;
}

void Builder::apply_into(const Value& d, Opcode opcode, const Value& a, const Value& b, const Value& c) {
    cpu::Instruction& one = emit(opcode);
    one.d = d->number();
    one.a = a->number();
    if (b) one.b = b->number();
    if (c) one.c = c->number();
}

void Builder::set_into(const Value& d, float value) {
    cpu::Instruction& one = emit(Opcode::op_set);
    one.d = d->number();
    one.immediate = std::bit_cast<std::uint32_t>(value);
}

Value Builder::shift_right(const Value& a, unsigned distance) {
    Value d = fresh();
    cpu::Instruction& one = emit(Opcode::op_shr);
    one.d = d->number();
    one.a = a->number();
    one.immediate = distance;
    return d;
}

Value Builder::masked(const Value& value, const std::vector<Mask>& masks, float fill) {
    Value kept = value;
    for (const Mask& mask : masks) {
        // Masks of vectors(): lanes below the limit.
        const Value lane = apply(Opcode::op_to_float, index(mask.value, mask.lane_stride));
        const Value active = apply(Opcode::op_gt, constant(static_cast<float>(mask.limit)), lane);
        kept = apply(Opcode::op_select, active, kept, constant(fill));
    }
    return kept;
}

void Builder::tile(Opcode opcode, int d, int a, int b) {
    cpu::Instruction& one = emit(opcode);
    one.d = static_cast<std::int8_t>(d);
    one.a = static_cast<std::int8_t>(a);
    one.b = static_cast<std::int8_t>(b);
}

void Builder::tile_memory(Opcode opcode, int tile, const View& view, const Affine& element, std::int64_t row_elements) {
    cpu::Instruction& one = emit(opcode);
    (opcode == Opcode::op_tile_load ? one.d : one.a) = static_cast<std::int8_t>(tile);
    memory(one, view, element, row_elements, {});
    one.type = ElementType::f32;
}

CpuLoweredOp Builder::finish() {
    cpu::validate(lowered_.program);
    lowered_.supported = true;
    return std::move(lowered_);
}

}  // namespace heddle::lowering::on_cpu
