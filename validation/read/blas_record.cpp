#include "validation/read/blas_record.h"

#include <stdexcept>

namespace heddle::validation {
namespace {

using nlohmann::json;

// Above what a GPU can be asked for in a capture, and low enough that rows fit in memory and counts in 64
// bits.
constexpr std::uint64_t kLargestExtent = std::uint64_t{1} << 22;
constexpr double kMostProducts = 0x1p60;
constexpr int kMostSplits = 1 << 16;

/// The members of one object of a record.
class Members {
  public:
    Members(const CapturedRecord& record, const json& object, std::string key)
        : record_(record), object_(object), key_(std::move(key)) {
        if (!object.is_object()) record.fail(key_, "is no object");
    }

    template <typename T>
    T get(const char* name) const {
        const auto member = object_.find(name);
        if (member == object_.end()) fail(name, "is missing");
        if (!is_kind<T>(*member)) fail(name, "is of another kind than expected");
        try {
            return member->template get<T>();
        } catch (const json::exception&) {
            fail(name, "is of another kind than expected");
        }
    }
    template <typename T>
    T get(const char* name, T otherwise) const {
        return object_.contains(name) ? get<T>(name) : otherwise;
    }
    std::uint64_t hexadecimal(const char* name) const {
        const std::string text = get<std::string>(name);
        std::size_t used = 0;
        try {
            const std::uint64_t value = std::stoull(text, &used, 16);
            if (used == text.size() && text[0] != '-') return value;
        } catch (const std::logic_error&) {  // told below
        }
        fail(name, "is no hexadecimal number");
    }
    /// A name that `parse` knows; it throws std::invalid_argument for others.
    template <typename Parse>
    auto named(const char* name, Parse parse) const {
        try {
            return parse(get<std::string>(name));
        } catch (const std::invalid_argument&) {
            fail(name, "has a name that is not known");
        }
    }
    capture::Type type(const char* name) const { return named(name, capture::type_of); }

    [[noreturn]] void fail(const char* name, const char* problem) const {
        record_.fail(key_ + "." + name, problem);
    }

  private:
    const CapturedRecord& record_;
    const json& object_;
    std::string key_;
};

capture::Compute compute_of(const std::string& name) {
    using C = capture::Compute;
    for (const C compute : {C::f64, C::f32, C::f32_pedantic, C::tf32, C::f16, C::i32})
        if (name == capture::name_of(compute)) return compute;
    throw std::invalid_argument(name);
}

capture::Epilogue epilogue_of(const std::string& name) {
    using E = capture::Epilogue;
    for (const E epilogue : {E::none, E::bias, E::relu, E::relu_bias, E::gelu, E::gelu_bias})
        if (name == capture::name_of(epilogue)) return epilogue;
    throw std::invalid_argument(name);
}

void read_extent(const Members& members, const char* name, std::uint32_t (&extent)[3]) {
    const auto values = members.get<std::vector<std::uint32_t>>(name, {0, 0, 0});
    if (values.size() != 3) members.fail(name, "is no list of three numbers");
    for (std::size_t i = 0; i < 3; ++i) extent[i] = values[i];
}

}  // namespace

capture::GemmProblem problem_of(const CapturedRecord& record, const json& object, const std::string& key) {
    const Members members(record, object, key);
    capture::GemmProblem p;
    const auto extent = [&](const char* name, std::uint64_t otherwise, bool required) {
        const auto value =
            required ? members.get<std::uint64_t>(name) : members.get<std::uint64_t>(name, otherwise);
        if (value == 0 || value > kLargestExtent) members.fail(name, "is no extent of a matrix");
        return value;
    };
    p.m = extent("m", 1, true);
    p.n = extent("n", 1, true);
    p.k = extent("k", 1, true);
    p.batch = extent("batch", 1, false);
    if (static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
            static_cast<double>(p.batch) >
        kMostProducts)
        members.fail("m", "makes with n, k and batch a product that no GPU computes");
    p.transpose_a = members.get("transpose_a", false);
    p.transpose_b = members.get("transpose_b", false);
    p.a = members.type("a");
    p.b = members.type("b");
    p.c = members.type("c");
    p.d = members.type("d");
    p.compute = members.named("compute", compute_of);
    if (object.contains("epilogue")) {
        p.epilogue = members.named("epilogue", epilogue_of);
        p.bias = members.type("bias");
    }
    p.alpha = members.get("alpha", 1.0);
    p.beta = members.get("beta", 0.0);
    p.fast_accumulation = members.get("fast_accumulation", false);
    p.in_place = members.get("in_place", false);
    p.lda = members.get<std::uint64_t>("lda", 0);
    p.ldb = members.get<std::uint64_t>("ldb", 0);
    p.ldc = members.get<std::uint64_t>("ldc", 0);
    p.ldd = members.get<std::uint64_t>("ldd", 0);
    p.workspace_bytes = members.get("workspace_bytes", p.workspace_bytes);
    p.allow_split_k = members.get("allow_split_k", true);
    return p;
}

capture::GemmAlgorithm algorithm_of(const CapturedRecord& record, const json& object,
                                    const std::string& key) {
    const Members members(record, object, key);
    capture::GemmAlgorithm a;
    a.id = members.get<int>("id");
    a.tile = members.get("tile", -1);
    a.stages = members.get("stages", -1);
    a.split_k = members.get("split_k", -1);
    if (a.split_k > kMostSplits) members.fail("split_k", "is more parts than any library makes of K");
    a.reduction_scheme = members.get("reduction_scheme", -1);
    a.swizzle = members.get("swizzle", -1);
    a.custom_option = members.get("custom_option", -1);
    a.inner_shape = members.get("inner_shape", -1);
    a.cluster_shape = members.get("cluster_shape", -1);
    if (object.contains("numerical_flags")) a.numerical_flags = members.hexadecimal("numerical_flags");
    a.workspace_bytes = members.get<std::uint64_t>("workspace_bytes", 0);
    if (object.contains("waves") && object["waves"].is_number()) a.waves = members.get<double>("waves");
    a.blob = members.get<std::string>("blob", "");
    a.kernels = members.get<std::string>("kernels", "");
    read_extent(members, "grid", a.grid);
    read_extent(members, "block", a.block);
    a.shared_bytes = members.get<std::uint32_t>("shared_bytes", 0);
    return a;
}

capture::GemmInputs inputs_of(const CapturedRecord& record, const json& object, const std::string& key) {
    const Members members(record, object, key);
    if (members.get<int>("generator") != capture::kInputGenerator)
        members.fail("generator", "is not the one that this program has: the inputs cannot be made again");
    capture::GemmInputs inputs;
    inputs.seed = members.hexadecimal("seed");
    inputs.a = members.named("a", numerics::distribution_of);
    inputs.b = members.named("b", numerics::distribution_of);
    inputs.c = members.named("c", numerics::distribution_of);
    inputs.tf32_numbers = members.get("tf32_numbers", false);
    return inputs;
}

std::string tree_of(const CapturedRecord& record) {
    std::string text = record.get_or<std::string>("tree", "");
    if (text.empty() && record.values.contains("tree_length"))
        text.assign(reinterpret_cast<const char*>(record.binary.data()), record.binary.size());
    return text;
}

}  // namespace heddle::validation
