#include "validation/capture/sections/numerics_items.h"

#include <cstdio>
#include <iterator>
#include <map>
#include <set>

namespace heddle::capture {
namespace {

using numerics::Distribution;

constexpr const char* kLayouts[] = {"nn", "nt", "tn", "tt"};

/// The shortest usual text of a factor: "1", "0.333333".
std::string factor_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
    return (value + to - 1) / to * to;
}

class ItemList {
  public:
    explicit ItemList(bool small) : small_(small) {}

    /// The problem of a kind, in the layout of a linear layer; sizes are rounded up where the kind asks for
    /// it.
    GemmProblem problem(const GemmKind& kind, std::uint64_t m, std::uint64_t n, std::uint64_t k) const {
        if (small_) {
            m = (m + 3) / 4;
            n = (n + 3) / 4;
            k = k <= 256 ? k : 256 + k % 264;
        }
        GemmProblem p;
        const std::uint64_t grain = kind.linear_layout_only ? 16 : 1;
        p.m = round_up(m, grain);
        p.n = round_up(n, grain);
        p.k = round_up(k, grain);
        p.transpose_b = true;
        p.a = kind.input_a;
        p.b = kind.input_b;
        p.c = kind.c;
        p.d = kind.d;
        p.bias = kind.bias;
        p.compute = kind.compute;
        p.fast_accumulation = kind.fast_accumulation;
        return p;
    }

    void add(const char* family, const GemmKind& kind, const GemmProblem& problem,
             const std::string& detail = "", unsigned algorithms = 1, GemmInputs inputs = {}) {
        NumericsItem item;
        const char* layout = kLayouts[(problem.transpose_a ? 2 : 0) + (problem.transpose_b ? 1 : 0)];
        item.id = std::string(family) + "/" + kind.name + "/" + std::to_string(problem.m) + "x" +
                  std::to_string(problem.n) + "x" + std::to_string(problem.k) + " " + layout;
        if (!detail.empty()) item.id += " " + detail;
        if (!seen_.insert(item.id).second) return;  // sizes rounded up to the same
        item.family = family;
        item.problem = problem;
        item.inputs = inputs;
        item.inputs.seed = numerics::stream_seed(kSeed, items.size());
        item.algorithms = algorithms;
        items.push_back(item);
    }

    std::vector<NumericsItem> items;

  private:
    static constexpr std::uint64_t kSeed = 0x4865646C65;
    bool small_;
    std::set<std::string> seen_;
};

struct ItemSize {
    std::uint64_t m, n, k;
};

/// Kinds that are not principal take every other item of a long list.
bool takes(const GemmKind& kind, std::size_t index) {
    return kind.principal || index % 2 == 0;
}

void add_sizes(ItemList& list) {
    constexpr ItemSize kSizes[] = {{128, 128, 128}, {256, 384, 512},  {64, 64, 4096},   {512, 512, 1024},
                               {16, 16, 16384}, {128, 4096, 512}, {2048, 128, 256}, {1024, 1024, 1024}};
    for (const ItemSize& s : kSizes)
        for (const GemmKind& kind : gemm_kinds())
            list.add("size", kind, list.problem(kind, s.m, s.n, s.k), "", 3);
}

void add_layouts(ItemList& list) {
    for (const GemmKind& kind : gemm_kinds())
        for (int layout = 0; layout < 4; ++layout) {
            GemmProblem p = list.problem(kind, 192, 160, 448);
            p.transpose_a = layout >= 2;
            p.transpose_b = (layout & 1) != 0;
            list.add("layout", kind, p, "", 2);
        }
}

void add_factors(ItemList& list) {
    struct Factors {
        double alpha, beta;
        bool in_place;
    };
    constexpr Factors kFactors[] = {{1, 1, false},   {1.0 / 3, 0, false}, {1.0 / 3, 1.0 / 3, false},
                                    {-2, 0.5, true}, {0, 1, false},       {1.5, -1, false},
                                    {1, 1, true}};
    for (const GemmKind& kind : gemm_kinds())
        for (const Factors& f : kFactors) {
            const bool whole = kind.compute == Compute::i32 && kind.d == Type::i32;  // integer factors
            if (whole && (f.alpha != static_cast<int>(f.alpha) || f.beta != static_cast<int>(f.beta)))
                continue;
            GemmProblem p = list.problem(kind, 128, 112, 256);
            p.alpha = f.alpha;
            p.beta = f.beta;
            p.in_place = f.in_place && p.c == p.d;
            list.add("factors", kind, p,
                     "alpha " + factor_text(p.alpha) + " beta " + factor_text(p.beta) +
                         (p.in_place ? " in place" : ""));
        }
}

void add_odd_sizes(ItemList& list) {
    constexpr ItemSize kSizes[] = {{1, 8, 11528}, {17, 33, 65},    {127, 129, 255}, {1, 1000, 1000},
                               {3, 5, 7},     {65, 1023, 513}, {1000, 1, 77},   {100, 100, 100},
                               {1, 1, 1},     {2, 4, 9999}};
    for (std::size_t i = 0; i < std::size(kSizes); ++i)
        for (const GemmKind& kind : gemm_kinds())
            if (takes(kind, i))
                list.add("odd", kind, list.problem(kind, kSizes[i].m, kSizes[i].n, kSizes[i].k), "", 2);
}

void add_depths(ItemList& list) {
    constexpr std::uint64_t kDepths[] = {64,   8,    65,   24,   128,  32,   63,    40,    256,
                                         72,   100,  136,  200,  16,   320,  384,   520,   127,
                                         1000, 1024, 1032, 3000, 4096, 8192, 16384, 32768, 65536};
    for (std::size_t i = 0; i < std::size(kDepths); ++i)
        for (const GemmKind& kind : gemm_kinds()) {
            if (!takes(kind, i)) continue;
            const bool deep = kDepths[i] > 4096;
            list.add("depth", kind, list.problem(kind, deep ? 16 : 64, deep ? 8 : 80, kDepths[i]), "",
                     kDepths[i] >= 1024 ? 2 : 1);
        }
}

void add_distributions(ItemList& list) {
    struct Pair {
        Distribution a, b;
    };
    using D = Distribution;
    constexpr Pair kPairs[] = {{D::uniform, D::uniform},    {D::wide, D::wide},
                               {D::cancellation, D::pairs}, {D::integers, D::integers},
                               {D::subnormal, D::wide},     {D::subnormal, D::subnormal},
                               {D::ones, D::ones},          {D::specials, D::normal},
                               {D::wide, D::normal},        {D::ones, D::wide}};
    for (std::size_t i = 0; i < std::size(kPairs); ++i)
        for (const GemmKind& kind : gemm_kinds())
            for (const ItemSize& s : {ItemSize{64, 96, 256}, ItemSize{32, 32, 4096}}) {
                if (s.k > 256 && !takes(kind, i + 1)) continue;
                const Pair& pair = kPairs[i];
                GemmInputs inputs;
                inputs.a = pair.a;
                inputs.b = pair.b;
                list.add("distribution", kind, list.problem(kind, s.m, s.n, s.k),
                         std::string(name_of(pair.a)) + " by " + name_of(pair.b), 1, inputs);
            }
    for (const GemmKind& kind : gemm_kinds()) {
        if (kind.compute != Compute::tf32) continue;
        for (const ItemSize& s : {ItemSize{128, 128, 128}, ItemSize{64, 64, 4096}}) {
            GemmInputs inputs;
            inputs.tf32_numbers = true;
            list.add("distribution", kind, list.problem(kind, s.m, s.n, s.k), "tf32 numbers", 2, inputs);
        }
    }
}

void add_epilogues(ItemList& list) {
    for (const GemmKind& kind : gemm_kinds()) {
        if (kind.compute == Compute::f64 || kind.compute == Compute::i32) continue;
        for (const Epilogue epilogue :
             {Epilogue::bias, Epilogue::relu, Epilogue::relu_bias, Epilogue::gelu, Epilogue::gelu_bias}) {
            GemmProblem p = list.problem(kind, 128, 192, 256);
            p.epilogue = epilogue;
            list.add("epilogue", kind, p, name_of(epilogue), 2);
            p.beta = 1;
            p.alpha = 0.5;
            if (epilogue == Epilogue::relu_bias) list.add("epilogue", kind, p, "relu_bias with C");
        }
    }
}

void add_splits(ItemList& list) {
    for (const GemmKind& kind : gemm_kinds())
        for (const ItemSize& s :
             {ItemSize{64, 64, 16384}, ItemSize{256, 64, 4096}, ItemSize{1, 8, 11528}, ItemSize{96, 32, 5000}}) {
            if (!kind.principal && s.k > 8192) continue;
            GemmProblem p = list.problem(kind, s.m, s.n, s.k);
            list.add("split", kind, p, "allowed", 3);
            p.allow_split_k = false;
            list.add("split", kind, p, "excluded", 2);
            p.allow_split_k = true;
            p.workspace_bytes = 0;
            list.add("split", kind, p, "without workspace");
        }
}

void add_batches(ItemList& list) {
    for (const GemmKind& kind : gemm_kinds())
        for (const std::uint64_t batch : {3u, 16u}) {
            GemmProblem p = list.problem(kind, 96, 80, 128);
            p.batch = batch;
            list.add("batch", kind, p, "batch " + std::to_string(batch), 2);
        }
}

void add_leading_dimensions(ItemList& list) {
    for (const GemmKind& kind : gemm_kinds())
        for (const std::uint64_t pad : {1u, 2u, 4u, 8u, 16u}) {
            if (kind.linear_layout_only && pad < 16) continue;
            GemmProblem p = list.problem(kind, 128, 96, 320);
            p.lda = p.row_a() + pad;
            p.ldb = p.row_b() + pad;
            p.ldc = p.row_c() + pad;
            p.ldd = p.row_d() + pad;
            list.add("leading dimension", kind, p, "rows " + std::to_string(pad) + " longer");
        }
}

/// The products of a GPT block and of an MLP: forward, gradient of the input, gradient of the weight.
void add_training(ItemList& list) {
    struct Layer {
        std::uint64_t tokens, inputs, outputs;
    };
    constexpr Layer kLayers[] = {
        {256, 784, 512}, {256, 512, 10}, {512, 256, 768}, {512, 1024, 256}, {512, 256, 4096}};
    for (const GemmKind& kind : gemm_kinds())
        for (const Layer& l : kLayers) {
            if (!kind.principal) continue;
            list.add("training", kind, list.problem(kind, l.tokens, l.outputs, l.inputs), "forward");
            GemmProblem p = list.problem(kind, l.tokens, l.inputs, l.outputs);
            p.transpose_b = kind.linear_layout_only;
            list.add("training", kind, p, "gradient of the input");
            p = list.problem(kind, l.outputs, l.inputs, l.tokens);
            p.transpose_a = !kind.linear_layout_only;
            p.transpose_b = kind.linear_layout_only;
            list.add("training", kind, p, "gradient of the weight");
        }
}

void add_large(ItemList& list) {
    for (const GemmKind& kind : gemm_kinds()) {
        if (!kind.principal) continue;
        const bool slow = kind.compute == Compute::f64 || kind.compute == Compute::f32 ||
                          kind.compute == Compute::f32_pedantic;
        list.add("large", kind, list.problem(kind, 2048, 2048, 2048), "", 2);
        if (!slow || bytes_of(kind.input_a) < 4)
            list.add("large", kind, list.problem(kind, 4096, 3072, 4096));
    }
}

}  // namespace

const std::vector<GemmKind>& gemm_kinds() {
    using T = Type;
    using C = Compute;
    static const std::vector<GemmKind> kinds = {
        {"bf16 f32", T::bf16, T::bf16, T::f32, T::f32, C::f32, T::f32},
        {"f16 f32", T::f16, T::f16, T::f32, T::f32, C::f32, T::f32},
        {"bf16", T::bf16, T::bf16, T::bf16, T::bf16, C::f32, T::bf16},
        {"f16", T::f16, T::f16, T::f16, T::f16, C::f32, T::f16, false, false, false},
        {"tf32", T::f32, T::f32, T::f32, T::f32, C::tf32, T::f32},
        {"f32", T::f32, T::f32, T::f32, T::f32, C::f32, T::f32},
        {"e4m3 f32", T::e4m3, T::e4m3, T::f32, T::f32, C::f32, T::bf16, false, true},
        {"e4m3 f32 fast", T::e4m3, T::e4m3, T::f32, T::f32, C::f32, T::bf16, true, true},
        {"e4m3 bf16", T::e4m3, T::e4m3, T::bf16, T::bf16, C::f32, T::bf16, false, true, false},
        {"e4m3 f16 fast", T::e4m3, T::e4m3, T::f16, T::f16, C::f32, T::f16, true, true, false},
        {"e4m3 e5m2 f32", T::e4m3, T::e5m2, T::f32, T::f32, C::f32, T::bf16, false, true, false},
        {"e5m2 e4m3 bf16 fast", T::e5m2, T::e4m3, T::bf16, T::bf16, C::f32, T::bf16, true, true, false},
        {"i8 i32", T::i8, T::i8, T::i32, T::i32, C::i32, T::i32, false, true},
        {"f64", T::f64, T::f64, T::f64, T::f64, C::f64, T::f64},
        {"f16 in f16", T::f16, T::f16, T::f16, T::f16, C::f16, T::f16, false, false, false},
        {"f32 pedantic", T::f32, T::f32, T::f32, T::f32, C::f32_pedantic, T::f32, false, false, false},
    };
    return kinds;
}

std::vector<NumericsItem> numerics_items(bool quick) {
    ItemList list(quick);
    add_sizes(list);
    add_depths(list);
    add_layouts(list);
    add_odd_sizes(list);
    add_splits(list);
    add_factors(list);
    add_distributions(list);
    add_epilogues(list);
    add_batches(list);
    add_leading_dimensions(list);
    add_training(list);
    add_large(list);
    if (!quick) return std::move(list.items);
    std::map<std::string, int> taken;
    std::vector<NumericsItem> few;
    for (NumericsItem& item : list.items) {
        const GemmProblem& p = item.problem;
        if (p.batch * p.m * p.n * p.k > 1'000'000 || item.family == "large") continue;
        const std::string kind = item.id.substr(0, item.id.rfind('/'));
        if (++taken[kind] > (item.family == "epilogue" || item.family == "layout" ? 6 : 2)) continue;
        few.push_back(std::move(item));
    }
    return few;
}

}  // namespace heddle::capture
