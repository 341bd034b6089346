#include "validation/capture/blas.h"

#include <charconv>
#include <stdexcept>

namespace heddle::capture {
namespace {

struct TypeFacts {
    Type type;
    const char* name;
    unsigned bytes;
};
constexpr TypeFacts kTypes[] = {{Type::f64, "f64", 8},   {Type::f32, "f32", 4},   {Type::f16, "f16", 2},
                                {Type::bf16, "bf16", 2}, {Type::e4m3, "e4m3", 1}, {Type::e5m2, "e5m2", 1},
                                {Type::i8, "i8", 1},     {Type::i32, "i32", 4}};

const TypeFacts& facts_of(Type type) {
    for (const TypeFacts& facts : kTypes)
        if (facts.type == type) return facts;
    throw std::invalid_argument("no such type of a matrix");
}

std::string shortest(double value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

bool adds_bias(Epilogue epilogue) {
    return epilogue == Epilogue::bias || epilogue == Epilogue::relu_bias || epilogue == Epilogue::gelu_bias;
}

}  // namespace

unsigned bytes_of(Type type) {
    return facts_of(type).bytes;
}

const char* name_of(Type type) {
    return facts_of(type).name;
}

Type type_of(const std::string& name) {
    for (const TypeFacts& facts : kTypes)
        if (name == facts.name) return facts.type;
    throw std::invalid_argument("`" + name + "` is no type of a matrix");
}

const char* name_of(Compute compute) {
    switch (compute) {
        case Compute::f64:
            return "f64";
        case Compute::f32:
            return "f32";
        case Compute::f32_pedantic:
            return "f32-pedantic";
        case Compute::tf32:
            return "tf32";
        case Compute::f16:
            return "f16";
        case Compute::i32:
            return "i32";
    }
    throw std::invalid_argument("no such type of computation");
}

const char* name_of(Epilogue epilogue) {
    switch (epilogue) {
        case Epilogue::none:
            return "none";
        case Epilogue::bias:
            return "bias";
        case Epilogue::relu:
            return "relu";
        case Epilogue::relu_bias:
            return "relu-bias";
        case Epilogue::gelu:
            return "gelu";
        case Epilogue::gelu_bias:
            return "gelu-bias";
    }
    throw std::invalid_argument("no such epilogue");
}

std::string GemmProblem::name() const {
    std::string text = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    if (batch != 1) text += " batch=" + std::to_string(batch);
    text += std::string(" ") + name_of(a) + " " + name_of(b) + "->" + name_of(d) + " ";
    text += transpose_a ? 't' : 'n';
    text += transpose_b ? 't' : 'n';
    text += std::string(" ") + name_of(compute);
    if (c != d) text += std::string(" c=") + name_of(c);
    if (epilogue != Epilogue::none) text += std::string(" ") + name_of(epilogue);
    if (adds_bias(epilogue) && bias != d) text += std::string(" bias=") + name_of(bias);
    if (alpha != 1) text += " alpha=" + shortest(alpha);
    if (beta != 0) text += " beta=" + shortest(beta);
    if (fast_accumulation) text += " fast";
    if (in_place) text += " in-place";
    if (row_a() != (transpose_a ? m : k)) text += " lda=" + std::to_string(lda);
    if (row_b() != (transpose_b ? k : n)) text += " ldb=" + std::to_string(ldb);
    if (row_c() != n) text += " ldc=" + std::to_string(ldc);
    if (row_d() != n) text += " ldd=" + std::to_string(ldd);
    if (workspace_bytes != GemmProblem{}.workspace_bytes)
        text += " workspace=" + std::to_string(workspace_bytes);
    if (!allow_split_k) text += " no-split-k";
    return text;
}

}  // namespace heddle::capture
