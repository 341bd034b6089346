// Sizes from grid, block and the numbers in names. Facts of PyTorch's launches (ATen/native/cuda: CUDALoops.cuh,
// Loops.cuh, thread_constants.h, PersistentSoftmax.cuh): a thread block of a pointwise kernel takes block times
// elements-a-thread elements, `char*` arrays count its operands, the result included.
#include "workloads/importers/inferred_ops.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace heddle::importers {
namespace {

std::int64_t product_of(const std::vector<std::int64_t>& extents) {
    std::int64_t product = 1;
    for (const std::int64_t extent : extents) {
        // Launches of more threads than this have been refused by the readers; grids of copies may be larger.
        if (extent <= 0 || product > (std::int64_t{1} << 40) / extent) return 0;
        product *= extent;
    }
    return product;
}

std::int64_t extent(const std::vector<std::int64_t>& extents, std::size_t axis) {
    return axis < extents.size() ? extents[axis] : 1;
}

/// The first type of elements that a name contains as a word.
std::optional<ElementType> type_in(const std::string& text) {
    static constexpr std::pair<const char*, ElementType> words[] = {
        {"float", ElementType::f32}, {"Half", ElementType::f16},     {"__half", ElementType::f16},
        {"half", ElementType::f16},  {"BFloat16", ElementType::bf16}, {"__nv_bfloat16", ElementType::bf16},
        {"long", ElementType::i64},  {"int", ElementType::i32},       {"bool", ElementType::boolean}};
    std::string word;
    for (const char letter : text + " ") {
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_') {
            word += letter;
            continue;
        }
        for (const auto& [name, type] : words)
            if (word == name) return type;
        word.clear();
    }
    return std::nullopt;
}

/// "at::detail::Array<char*, 3>", "std::array<char*, 3ul>": how many operands a pointwise kernel has; 0 where
/// the name does not say it.
std::int64_t operands_in(const std::string& name) {
    for (const char* array : {"Array", "array"}) {
        const std::vector<std::string> arguments = template_arguments(name, array);
        if (arguments.size() == 2 && arguments[0].rfind("char*", 0) == 0)
            return integer_argument(arguments[1]).value_or(0);
    }
    return 0;
}

struct PointwiseSize {
    std::int64_t elements = 0, a_block = 0, a_thread = 0;
};

/// How many elements a pointwise kernel of PyTorch has room for; nothing for other kernels.
std::optional<PointwiseSize> pointwise_size(const Call& kernel, const KernelName& name) {
    if (kernel.grid.empty() || kernel.block.empty()) return std::nullopt;
    const std::int64_t blocks = product_of(kernel.grid), threads = product_of(kernel.block);
    if (blocks == 0 || threads == 0) return std::nullopt;
    PointwiseSize size;
    if (name.function == "vectorized_elementwise_kernel") {
        size.a_thread = std::max<std::int64_t>(4, name.integer(0).value_or(4));
    } else if (name.function == "unrolled_elementwise_kernel") {
        size.a_thread = 4;
    } else if (name.function == "elementwise_kernel" || name.function == "index_elementwise_kernel") {
        size.a_thread = name.integer(1).value_or(0);
    }
    if (size.a_thread < 1 || size.a_thread > 64) return std::nullopt;
    size.a_block = threads * size.a_thread;
    if (blocks > (std::int64_t{1} << 36) / size.a_block) return std::nullopt;
    size.elements = blocks * size.a_block;
    return size;
}

/// The elements of the nearest pointwise kernel of the same stream whose size is a multiple of `unit` and at
/// least `least`: among the next and the last few kernels, those that come after first. 0 where there is none.
std::int64_t neighbour_elements(const Launch& launch, std::int64_t unit, std::int64_t least) {
    constexpr std::ptrdiff_t kReach = 6;
    const std::vector<std::size_t>& kernels = launch.recording.kernels();
    const auto here = std::lower_bound(kernels.begin(), kernels.end(), launch.kernel.position);
    if (here == kernels.end() || *here != launch.kernel.position || unit <= 0) return 0;
    for (std::ptrdiff_t distance = 1; distance <= kReach; ++distance) {
        for (const bool after : {true, false}) {
            if (after ? kernels.end() - here <= distance : here - kernels.begin() < distance) continue;
            const Call& other = launch.recording.call(*(after ? here + distance : here - distance));
            if (other.stream != launch.kernel.stream) continue;
            const auto size = pointwise_size(other, parse_kernel_name(other.full_name));
            if (!size || size->elements < least || size->elements % unit != 0) continue;
            // A few thread blocks do not determine a size.
            if (product_of(other.grid) >= 16) return size->elements;
        }
    }
    return 0;
}

class InferredKernel {
  public:
    InferredKernel(Builder& builder, const Launch& launch)
        : builder_(builder), launch_(launch), name_(launch.name), kernel_(launch.kernel) {}

    bool run() {
        if (kernel_.full_name.find("nccl") == 0) return collective();
        if (kernel_.full_name.find("Mem") == 0) return memory();
        if (kernel_.grid.empty() || kernel_.block.empty()) return false;
        return pointwise() || batch_norm() || layout_change() || warp_softmax() || row_norm() || pooling() ||
               winograd() || reduction() || triton() || radix_sort() || scan() || reduce_by_key() ||
               pooled_lookup();
    }

  private:
    bool has(const char* part) const { return name_.contains(part); }

    void finish(Op op, const std::string& how) {
        const std::string call = op.get(keys::any.assumed);
        op.set(keys::any.assumed, kInferred + how + (call.empty() ? "" : "; " + call));
        builder_.add(std::move(op), launch_, nullptr);
    }
    /// An op that no lowering carries out: its operands, whose bytes it takes to move.
    bool estimated(const std::string& what, ElementType type, const std::vector<std::int64_t>& reads,
                   const std::vector<std::int64_t>& writes, const std::string& how) {
        Op op;
        op.kind = OpKind::unknown;
        op.set(keys::any.reason, what + " has no lowering without its operands");
        for (std::size_t i = 0; i < reads.size(); ++i)
            builder_.input(op, builder_.of_ring(type, {reads[i]}, i + 1));
        for (const std::int64_t elements : writes) builder_.output(op, builder_.of_ring(type, {elements}));
        finish(std::move(op), how);
        return true;
    }
    /// "12544 x 128 threads"
    std::string launch_text() const {
        return std::to_string(product_of(kernel_.grid)) + " blocks of " +
               std::to_string(product_of(kernel_.block)) + " threads";
    }

    bool collective() {
        static constexpr std::pair<const char*, const char*> kinds[] = {
            {"AllReduce", "all_reduce"}, {"ReduceScatter", "reduce_scatter"}, {"AllGather", "all_gather"},
            {"Broadcast", "broadcast"},  {"Reduce", "reduce"},                {"SendRecv", "send_receive"},
            {"AllToAll", "all_to_all"}};
        for (const auto& [part, kind] : kinds) {
            if (!has(part)) continue;
            Op op;
            op.kind = OpKind::collective;
            op.set(keys::collective.collective, std::string(kind));
            if (const std::int64_t blocks = product_of(kernel_.grid); blocks > 0 && !kernel_.grid.empty())
                op.set(keys::collective.thread_blocks, blocks);
            if (kernel_.ranks > 1) op.set(keys::collective.ranks, kernel_.ranks);
            finish(std::move(op), "the collective from the kernel's name; its size was not recorded");
            return true;
        }
        return false;
    }

    bool memory() {
        const std::int64_t bytes = kernel_.copied_bytes;
        if (bytes <= 0) return false;
        const bool words = bytes % 4 == 0;
        const ElementType type = words ? ElementType::f32 : ElementType::u8;
        const Shape shape{words ? bytes / 4 : bytes};
        const bool to_device = has("HtoD"), to_host = has("DtoH");
        Op op;
        if (kernel_.full_name.find("Memset") == 0) {
            op.kind = OpKind::fill;
            op.set(keys::fill.value, 0.0);
        } else if (to_device || to_host) {
            op.kind = OpKind::host_copy;
            op.set(keys::host_copy.direction, to_device ? "host_to_device" : "device_to_host");
            op.set(keys::host_copy.host_memory, has("Pinned") ? "pinned" : "pageable");
        } else {
            op.kind = OpKind::copy;
        }
        if (op.kind == OpKind::copy || to_host) builder_.input(op, builder_.of_ring(type, shape, 1));
        if (!to_host) builder_.output(op, builder_.of_ring(type, shape));
        finish(std::move(op), "recorded bytes, in memory of its own");
        return true;
    }

    /// What a pointwise kernel computes, where its name says it; else a sum of its operands.
    std::string expression_of(std::int64_t inputs) const {
        static constexpr std::pair<const char*, const char*> single[] = {
            {"gelu", "y0 = 0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))"},
            {"Gelu", "y0 = 0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))"},
            {"silu", "y0 = x0 * sigmoid(x0)"},
            {"tanh", "y0 = tanh(x0)"},
            {"sigmoid", "y0 = sigmoid(x0)"},
            {"rsqrt", "y0 = rsqrt(x0)"},
            {"sqrt", "y0 = sqrt(x0)"},
            {"exp_kernel", "y0 = exp(x0)"},
            {"log_kernel", "y0 = log(x0)"},
            {"sin_kernel", "y0 = tanh(x0)"},
            {"cos_kernel", "y0 = tanh(x0)"}};
        if (inputs == 1) {
            for (const auto& [part, text] : single)
                if (has(part)) return text;
            return "y0 = max(x0, 0)";
        }
        if (inputs == 2 && has("threshold")) return "y0 = x1 > 0 ? x0 : 0";
        if (inputs == 2 && has("DivFunctor")) return "y0 = x0 / x1";
        if (inputs == 2 && has("MulFunctor")) return "y0 = x0 * x1";
        std::string text = "y0 = x0";
        for (std::int64_t i = 1; i < inputs; ++i) text += " + x" + std::to_string(i);
        return text;
    }

    bool pointwise() {
        const auto size = pointwise_size(kernel_, name_);
        if (!size) return false;
        std::string how = std::to_string(size->elements) + " elements from " + launch_text() + " with " +
                          std::to_string(size->a_thread) + " a thread";
        std::int64_t operands = operands_in(kernel_.full_name);
        if (operands == 0) {
            const bool two = has("BinaryFunctor") || has("CUDAFunctor_add") || has("index_kernel");
            operands = has("FillFunctor") ? 1 : two ? 3 : 2;
            how += ", " + std::to_string(operands) + " operands from the functor";
        }
        if (operands < 1 || operands > 8) return false;
        // The lambda of a kernel names its types last, functors theirs first.
        const auto type = type_in(kernel_.full_name.text());
        if (!type) how += ", elements taken to be f32";
        const ElementType element = type.value_or(ElementType::f32);
        if (name_.function == "index_elementwise_kernel")
            return estimated("indexing", element, {size->elements}, {size->elements}, how);
        Op op;
        const Shape shape{size->elements};
        if (operands == 1) {
            op.kind = OpKind::fill;
            op.set(keys::fill.value, 0.0);
        } else if (operands == 2 && has("direct_copy_kernel")) {
            op.kind = OpKind::copy;
        } else {
            op.kind = OpKind::elementwise;
            op.set(keys::elementwise.expression, expression_of(operands - 1));
        }
        for (std::int64_t i = 1; i < operands; ++i)
            builder_.input(op, builder_.of_ring(element, shape, static_cast<std::size_t>(i)));
        // "aten::relu_" writes where it reads.
        const Call* call = launch_.recording.parent(kernel_);
        const bool in_place = operands > 1 && call != nullptr && call->full_name.ends_with("_");
        builder_.output(op, builder_.of_ring(element, shape, in_place ? 1 : 0));
        describe_access(op, name_);
        if (name_.function != "vectorized_elementwise_kernel") op.set(keys::any.strided, 0);
        finish(std::move(op), how);
        return true;
    }

    /// cuDNN's batch norm has one thread block for each channel ("1C11"); the size of the tensor is that of a
    /// pointwise kernel beside it.
    bool batch_norm() {
        const bool backward = has("bn_bw_1C11");
        if (!backward && !has("bn_fw_tr_1C11")) return false;
        const std::int64_t channels = product_of(kernel_.grid);
        const std::int64_t elements = neighbour_elements(launch_, channels, channels * 16);
        if (elements == 0) return false;
        const std::string how = std::to_string(channels) + " channels from the grid, " +
                                std::to_string(elements) + " elements as the pointwise kernel beside it";
        // Kernels that do not keep a channel in registers read it twice.
        const bool once = has("singleread");
        const std::vector<std::int64_t> reads(static_cast<std::size_t>((backward ? 2 : 1) * (once ? 1 : 2)),
                                              elements);
        return estimated("a batch norm", ElementType::f32, reads, {elements}, how);
    }

    /// cuDNN's changes of layout: tiles of 32 positions by 32 channels, one picture in z. Pictures are square.
    bool layout_change() {
        if (!has("nchwToNhwcKernel") && !has("nhwcToNchwKernel")) return false;
        constexpr std::int64_t kTile = 32;
        const std::int64_t tiles = extent(kernel_.grid, 0), pictures = extent(kernel_.grid, 2);
        std::int64_t channels = extent(kernel_.grid, 1) * kTile;
        if (tiles > (1 << 24) || product_of(kernel_.grid) == 0) return false;
        std::int64_t positions = 0;
        // The largest square that needs as many tiles; a window of 3 by 3 where one tile is enough.
        const std::int64_t most = tiles * kTile, side = static_cast<std::int64_t>(std::sqrt(double(most)));
        positions = tiles == 1 ? 9 : side * side > most - kTile ? side * side : most;
        if (tiles == 2) positions = 49;
        // No layer works on so many positions but the first one, whose pictures have three channels.
        constexpr std::int64_t kOfPicture = 150 * 150;
        if (channels == kTile && positions >= kOfPicture) channels = 3;
        const auto type = type_in(kernel_.full_name.text());
        const std::int64_t elements = positions * channels * pictures;
        Op op;
        op.kind = OpKind::copy;
        op.set(keys::any.vector_width, 1);
        const Shape shape{elements};
        builder_.input(op, builder_.of_ring(type.value_or(ElementType::f32), shape, 1));
        builder_.output(op, builder_.of_ring(type.value_or(ElementType::f32), shape));
        finish(std::move(op), std::to_string(pictures) + " pictures of " + std::to_string(channels) +
                                  " channels and " + std::to_string(positions) +
                                  " positions from tiles of 32 by 32");
        return true;
    }

    /// softmax_warp_forward<in, out, accumulator, log2 of the columns, ...>: a warp takes one row, or two of up
    /// to 128 columns.
    bool warp_softmax() {
        const bool forward = name_.function == "softmax_warp_forward";
        if (!forward && name_.function != "softmax_warp_backward") return false;
        const auto power = name_.integer(3);
        if (!power || *power < 0 || *power > 10) return false;
        const std::int64_t columns = std::int64_t{1} << *power;
        const std::int64_t rows =
            extent(kernel_.grid, 0) * extent(kernel_.block, 1) * (columns <= 128 ? 2 : 1);
        const auto type = type_in(kernel_.full_name.text()).value_or(ElementType::f32);
        const std::string how = std::to_string(rows) + " rows from the grid, at most " +
                                std::to_string(columns) + " columns from the name";
        const Shape shape{rows, columns};
        Op op;
        op.kind = forward ? OpKind::softmax : OpKind::softmax_grad;
        builder_.input(op, builder_.of_ring(type, shape, 1));
        if (!forward) builder_.input(op, builder_.of_ring(type, shape, 2));
        builder_.output(op, builder_.of_ring(type, shape));
        finish(std::move(op), how);
        return true;
    }

    /// Layer norms of eager mode: a thread block for each row.
    bool row_norm() {
        const bool forward = name_.function == "vectorized_layer_norm_kernel";
        if (!forward && name_.function != "layer_norm_grad_input_kernel" &&
            name_.function != "layer_norm_grad_input_kernel_vectorized")
            return false;
        const std::int64_t rows = extent(kernel_.grid, 0);
        const std::int64_t elements = neighbour_elements(launch_, rows, rows * 32);
        if (elements == 0) return false;
        const auto type = type_in(kernel_.full_name.text()).value_or(ElementType::f32);
        return estimated("a layer norm", type,
                         std::vector<std::int64_t>(forward ? 1 : 2, elements), {elements},
                         std::to_string(rows) + " rows from the grid, " + std::to_string(elements) +
                             " elements as the pointwise kernel beside it");
    }

    /// A thread for each result forward; backward one for each input. Windows of stride 2, the usual ones.
    bool pooling() {
        const bool forward = has("max_pool_forward_nchw"), backward = has("max_pool_backward_nchw");
        if (!forward && !backward) return false;
        const std::int64_t threads = product_of(kernel_.grid) * product_of(kernel_.block);
        if (threads <= 0 || threads > (std::int64_t{1} << 36)) return false;
        const std::string how = launch_text() + ", one element each; stride 2 is assumed";
        const auto type = type_in(kernel_.full_name.text()).value_or(ElementType::f32);
        // Positions of the maxima are of 8 bytes: two elements of f32 each.
        if (forward)
            return estimated("a pooling", type, {4 * threads}, {threads, 2 * threads}, how);
        return estimated("the gradient of a pooling", type, {threads / 4, threads / 2}, {threads}, how);
    }

    /// cuDNN's separate Winograd transforms: a thread for each tile of 4x4 results, whose transform has 36.
    bool winograd() {
        if (!has("winograd_nonfused::")) return false;
        const std::int64_t threads = product_of(kernel_.grid) * product_of(kernel_.block);
        if (threads <= 0 || threads > (std::int64_t{1} << 32)) return false;
        const bool filter = has("ForwardFilter") || has("WgradOutput"), output = has("ForwardOutput");
        const std::int64_t plain = (filter ? 9 : 16) * threads, transformed = 36 * threads;
        const bool back = output || has("WgradOutput");
        return estimated("a Winograd transform", ElementType::f32, {back ? transformed : plain},
                         {back ? plain : transformed}, launch_text() + ", one tile each");
    }

    /// reduce_kernel<threads, width, ReduceOp<...>>: thread blocks tell how many results there are, a pointwise
    /// kernel beside it over how many elements.
    bool reduction() {
        if (name_.function != "reduce_kernel") return false;
        const std::int64_t blocks = extent(kernel_.grid, 0);
        const std::int64_t elements = neighbour_elements(launch_, 1, blocks * 64);
        if (elements == 0) return false;
        const auto type = type_in(kernel_.full_name.text()).value_or(ElementType::f32);
        return estimated("a reduction", type, {elements}, {blocks},
                         std::to_string(elements) + " elements as the pointwise kernel beside it");
    }

    /// Loops of TorchInductor: "triton_poi_fused_add_mul_0". Where the call recorded its operands the last one
    /// is taken for the result; otherwise sizes come from eight elements a thread, of its usual configurations.
    bool triton() {
        const std::string& full = kernel_.full_name;
        if (full.find("triton_") == std::string::npos || full.find("_fused_") == std::string::npos)
            return false;
        const bool loop = full.find("triton_poi_") != std::string::npos;
        for (const Call* call : launch_.recording.enclosing(kernel_)) {
            if (call->name.find("_fused_") == std::string::npos) continue;
            std::vector<RecordedTensor> tensors;
            for (std::size_t i = 0; i < call->inputs.size(); ++i)
                if (const RecordedTensor* tensor = call->gpu_tensor(i)) tensors.push_back(*tensor);
            if (tensors.size() < 2) continue;
            Op op;
            op.kind = OpKind::unknown;
            op.set(keys::any.reason, "the meaning of " + call->name + " is not certain");
            op.set(keys::any.fused, call->name.text());
            for (std::size_t i = 0; i + 1 < tensors.size(); ++i) builder_.input(op, tensors[i]);
            builder_.output(op, tensors.back());
            finish(std::move(op), "recorded operands, the last of them taken for the result");
            return true;
        }
        if (!loop) return false;
        constexpr std::int64_t kElementsPerThread = 8;
        const std::int64_t blocks = product_of(kernel_.grid), threads = product_of(kernel_.block);
        if (blocks <= 0 || threads <= 0 || blocks > (std::int64_t{1} << 36) / (threads * kElementsPerThread))
            return false;
        const std::int64_t elements = blocks * threads * kElementsPerThread;
        // One operand, and one more for each op of two that the name lists.
        std::int64_t inputs = 1;
        for (const char* word : {"_add", "_mul", "_sub", "_div", "_where"})
            if (full.find(word) != std::string::npos) ++inputs;
        return estimated("a fused loop", ElementType::f32,
                         std::vector<std::int64_t>(static_cast<std::size_t>(inputs), elements), {elements},
                         std::to_string(elements) + " elements from " + launch_text() +
                             " with 8 a thread, operands from the ops in the name, f32 assumed");
    }

    /// Elements of a kernel whose threads take `a_thread` each; 0 where that is no size.
    std::int64_t elements_of_grid(std::int64_t a_thread) const {
        const std::int64_t blocks = product_of(kernel_.grid), threads = product_of(kernel_.block);
        if (blocks <= 0 || threads <= 0 || a_thread <= 0 || a_thread > 1024 ||
            blocks > (std::int64_t{1} << 36) / (threads * a_thread))
            return 0;
        return blocks * threads * a_thread;
    }

    /// One pass of CUB's radix sort reads and writes keys and values once. A thread takes 21 keys of four bytes
    /// on compute capability 8.0 and later, fewer of larger ones (Policy800, RegBoundScaling).
    bool radix_sort() {
        if (!has("DeviceRadixSortOnesweepKernel") || !has("Policy800")) return false;
        // "<DeviceRadixSortPolicy<...>::Policy800, descending, key, value, ...>"
        if (name_.arguments.size() < 4) return false;
        const auto key = type_in(name_.arguments[2]);
        if (!key) return false;
        const auto value = type_in(name_.arguments[3]);
        const auto key_bytes = static_cast<std::int64_t>(bytes_of(*key));
        constexpr std::int64_t kKeysOfFourBytes = 21;
        const std::int64_t a_thread = std::min(kKeysOfFourBytes, std::max<std::int64_t>(1, kKeysOfFourBytes * 4 / key_bytes)),
                           elements = elements_of_grid(a_thread);
        if (elements == 0) return false;
        const std::int64_t bytes =
            elements * (key_bytes + (value ? static_cast<std::int64_t>(bytes_of(*value)) : 0));
        return estimated("a pass of a radix sort", ElementType::u8, {bytes}, {bytes},
                         std::to_string(elements) + " keys from " + launch_text() + " with " +
                             std::to_string(a_thread) + " a thread");
    }

    /// CUB's scan: "AgentScanPolicy<threads, elements a thread, type, ...>".
    bool scan() {
        if (!has("DeviceScanKernel")) return false;
        const std::vector<std::string> policy = template_arguments(kernel_.full_name, "AgentScanPolicy");
        if (policy.size() < 3) return false;
        const std::int64_t a_thread = integer_argument(policy[1]).value_or(0), elements = elements_of_grid(a_thread);
        if (elements == 0) return false;
        return estimated("a scan", type_in(policy[2]).value_or(ElementType::i32), {elements}, {elements},
                         std::to_string(elements) + " elements from " + launch_text() + " with " +
                             std::to_string(a_thread) + " a thread, as the name says");
    }

    /// CUB's run lengths: six elements a thread; how many runs there are is not recorded, and counts little
    /// where runs are long.
    bool reduce_by_key() {
        if (!has("DeviceReduceByKeyKernel")) return false;
        constexpr std::int64_t kElementsPerThread = 6;
        const std::int64_t elements = elements_of_grid(kElementsPerThread);
        if (elements == 0) return false;
        return estimated("run lengths", type_in(kernel_.full_name).value_or(ElementType::i64), {elements},
                         {std::max<std::int64_t>(1, elements / 100)},
                         std::to_string(elements) + " keys from " + launch_text() +
                             " with 6 a thread; a hundred equal keys are assumed to follow each other");
    }

    /// FBGEMM's pooled lookups: a warp for each bag (batch times tables). Declared: indices are spread evenly
    /// over tables, so that each reads a row of the mean width, and none is found in L2.
    bool pooled_lookup() {
        if (name_.function.rfind("split_embedding_codegen_forward", 0) != 0) return false;
        const Call* lookup = nullptr;
        for (const Call* call : launch_.recording.enclosing(kernel_))
            if (lookup == nullptr && call->name.find("split_embedding_codegen_lookup") != std::string::npos)
                lookup = call;
        if (lookup == nullptr) return false;
        // The longest list of integers are the indices; the offsets of dimensions, of 32 bits, count the tables.
        std::int64_t indices = 0, tables = 0;
        for (std::size_t i = 0; i < lookup->inputs.size(); ++i) {
            const RecordedTensor* tensor = lookup->gpu_tensor(i);
            if (tensor == nullptr || tensor->shape.size() != 1) continue;
            if (tensor->type == ElementType::i64) indices = std::max(indices, tensor->elements());
            if (tensor->type == ElementType::i32) tables = std::max(tables, tensor->elements() - 1);
        }
        const std::int64_t bags = product_of(kernel_.grid) * extent(kernel_.block, 1);
        if (indices <= 0 || tables <= 0 || bags <= 0 || bags % tables != 0) return false;
        const std::int64_t rows = bags / tables;
        // The result is not recorded; its gradient is, [rows, columns of all tables].
        std::int64_t columns = 0;
        const std::size_t calls = launch_.recording.calls().size();
        for (std::size_t position = kernel_.position; position < calls && columns == 0; ++position) {
            const Call& call = launch_.recording.call(position);
            if (call.name.find("SplitLookupFunction") == std::string::npos) continue;
            const RecordedTensor* gradient = call.gpu_tensor(0);
            // Several lookups may have as many rows; columns are at least one for each table.
            if (gradient != nullptr && gradient->shape.size() == 2 && gradient->shape[0] == rows &&
                gradient->shape[1] % 4 == 0 && gradient->shape[1] >= 4 * tables &&
                gradient->shape[1] <= 512 * tables)
                columns = gradient->shape[1];
        }
        if (columns == 0 || indices > (std::int64_t{1} << 40) / columns) return false;
        return estimated("a pooled lookup", ElementType::f32, {indices * columns / tables, 2 * indices},
                         {rows * columns},
                         std::to_string(indices) + " indices of rows of " + std::to_string(columns) + "/" +
                             std::to_string(tables) +
                             " columns in the mean; an even distribution over tables is declared");
    }

    Builder& builder_;
    const Launch& launch_;
    const KernelName& name_;
    const Call& kernel_;
};

}  // namespace

bool infer_op(Builder& builder, const Launch& launch) {
    try {
        return launch.kernel.on_gpu && InferredKernel(builder, launch).run();
    } catch (const NotUnderstood&) {
        return false;  // the reason of the rule says more
    }
}

}  // namespace heddle::importers
