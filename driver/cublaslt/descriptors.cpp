// What a program says of its products: descriptors of cublasLt and their attributes.
#include "driver/cublaslt/descriptors.h"

#include <cstdlib>
#include <type_traits>

using namespace heddle::driver;

namespace {

/// Where an attribute lies, and how many bytes it has; nothing: there is no such attribute.
struct Place {
    void* at = nullptr;
    std::size_t bytes = 0;
};
template <class Member>
Place place(Member& member) {
    return {&member, sizeof member};
}

Place find(Layout& layout, int attribute) {
    switch (attribute) {
        case 0:
            return place(layout.type);
        case 1:
            return place(layout.order);
        case 2:
            return place(layout.rows);
        case 3:
            return place(layout.columns);
        case 4:
            return place(layout.leading);
        case 5:
            return place(layout.batch);
        case 6:
            return place(layout.stride);
        default:
            return {};
    }
}

Place find(MatmulDescription& description, int attribute) {
    switch (attribute) {
        case 0:
            return place(description.compute_type);
        case 1:
            return place(description.scale_type);
        case 2:
            return place(description.pointer_mode);
        case 3:
            return place(description.transa);
        case 4:
            return place(description.transb);
        case 5:
            return place(description.transc);
        case 6:
            return place(description.fill_mode);
        case 7:
            return place(description.epilogue);
        case 8:
            return place(description.bias);
        case 10:
            return place(description.bias_stride);
        case 11:
            return place(description.auxiliary);
        case 12:
            return place(description.auxiliary_leading);
        case 13:
            return place(description.auxiliary_stride);
        case 15:
            return place(description.sm_target);
        case 17:
            return place(description.scale_a);
        case 18:
            return place(description.scale_b);
        case 19:
            return place(description.scale_c);
        case 20:
            return place(description.scale_d);
        case 21:
            return place(description.largest_d);
        case 22:
            return place(description.auxiliary_type);
        case 23:
            return place(description.auxiliary_scale);
        case 24:
            return place(description.auxiliary_largest);
        case 25:
            return {&description.fast_accumulation, 1};
        case 26:
            return place(description.bias_type);
        default:
            return {};
    }
}

Place find(TransformDescription& description, int attribute) {
    switch (attribute) {
        case 0:
            return place(description.scale_type);
        case 1:
            return place(description.pointer_mode);
        case 2:
            return place(description.transa);
        case 3:
            return place(description.transb);
        default:
            return {};
    }
}

/// Of preferences the workspace is kept; the others choose among algorithms, of which there is one.
Place find(Preference& preference, int attribute) {
    static std::uint64_t ignored = 0;
    return attribute == 1 ? place(preference.workspace_bytes) : Place{&ignored, sizeof ignored};
}

template <class Description>
cublasStatus_t set(Description* description, int attribute, const void* value, std::size_t bytes) {
    if (description == nullptr || value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    const Place place = find(*description, attribute);
    // Modes of scales: 0, one number of 32 bits for a matrix, is what there is.
    const bool scale_mode = std::is_same_v<Description, MatmulDescription> && attribute >= 31 && attribute <= 36;
    if (scale_mode && bytes == 4 && static_cast<const int*>(value)[0] == 0) return CUBLAS_STATUS_SUCCESS;
    if (place.at == nullptr) {
        heddle_missing("an attribute of a cublasLt descriptor that is not there");
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (bytes > place.bytes) return CUBLAS_STATUS_INVALID_VALUE;
    std::memset(place.at, 0, place.bytes);
    std::memcpy(place.at, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

template <class Description>
cublasStatus_t get(Description* description, int attribute, void* value, std::size_t bytes, std::size_t* written) {
    if (description == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    const Place place = find(*description, attribute);
    if (place.at == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (written != nullptr) *written = place.bytes;
    if (bytes == 0) return CUBLAS_STATUS_SUCCESS;
    if (value == nullptr || bytes < place.bytes) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(value, place.at, place.bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/// Descriptors that are created have all that is reserved for them.
template <class Description>
Description* make(std::size_t reserved) {
    return static_cast<Description*>(std::calloc(1, reserved));
}
template <class Description>
cublasStatus_t destroy(Description* description) {
    std::free(description);
    return CUBLAS_STATUS_SUCCESS;
}

constexpr int kEpilogueDefault = 1;

cublasStatus_t init(Layout* layout, std::size_t size, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
    if (layout == nullptr || size < sizeof(Layout)) return CUBLAS_STATUS_INVALID_VALUE;
    *layout = {rows, columns, leading, 0, type, 0, 1};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t init(MatmulDescription* description, std::size_t size, int compute_type, int scale_type) {
    if (description == nullptr || size < sizeof(MatmulDescription)) return CUBLAS_STATUS_INVALID_VALUE;
    *description = {};
    description->compute_type = compute_type;
    description->scale_type = scale_type;
    description->epilogue = kEpilogueDefault;
    description->bias_type = description->auxiliary_type = -1;  // that of D
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t init(TransformDescription* description, std::size_t size, int scale_type) {
    if (description == nullptr || size < sizeof(TransformDescription)) return CUBLAS_STATUS_INVALID_VALUE;
    *description = {scale_type, 0, 0, 0};
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

HEDDLE_API cublasStatus_t cublasLtMatrixLayoutInit_internal(Layout* layout, std::size_t size, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
    return init(layout, size, type, rows, columns, leading);
}
HEDDLE_API cublasStatus_t cublasLtMatrixLayoutCreate(Layout** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
    *layout = make<Layout>(64);
    return *layout == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : init(*layout, 64, type, rows, columns, leading);
}
HEDDLE_API cublasStatus_t cublasLtMatmulDescInit_internal(MatmulDescription* description, std::size_t size, int compute_type, int scale_type) {
    return init(description, size, compute_type, scale_type);
}
HEDDLE_API cublasStatus_t cublasLtMatmulDescCreate(MatmulDescription** description, int compute_type, int scale_type) {
    *description = make<MatmulDescription>(256);
    return *description == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : init(*description, 256, compute_type, scale_type);
}
HEDDLE_API cublasStatus_t cublasLtMatrixTransformDescInit_internal(TransformDescription* description, std::size_t size, int scale_type) { return init(description, size, scale_type); }
HEDDLE_API cublasStatus_t cublasLtMatrixTransformDescCreate(TransformDescription** description, int scale_type) {
    *description = make<TransformDescription>(64);
    return *description == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : init(*description, 64, scale_type);
}
HEDDLE_API cublasStatus_t cublasLtMatmulPreferenceInit_internal(Preference* preference, std::size_t size) {
    if (preference == nullptr || size < sizeof(Preference)) return CUBLAS_STATUS_INVALID_VALUE;
    *preference = {};
    return CUBLAS_STATUS_SUCCESS;
}
HEDDLE_API cublasStatus_t cublasLtMatmulPreferenceCreate(Preference** preference) {
    *preference = make<Preference>(64);
    return *preference == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

// Arguments of these macros are types and names, which parentheses would spoil.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HEDDLE_ATTRIBUTES(Type, name)                                                                                                                    \
    HEDDLE_API cublasStatus_t cublasLt##name##Destroy(Type* description) { return destroy(description); }                                                \
    HEDDLE_API cublasStatus_t cublasLt##name##SetAttribute(Type* description, int attribute, const void* value, std::size_t bytes) {                     \
        return set(description, attribute, value, bytes);                                                                                                \
    }                                                                                                                                                    \
    HEDDLE_API cublasStatus_t cublasLt##name##GetAttribute(Type* description, int attribute, void* value, std::size_t bytes, std::size_t* written) {     \
        return get(description, attribute, value, bytes, written);                                                                                       \
    }
HEDDLE_ATTRIBUTES(Layout, MatrixLayout)
HEDDLE_ATTRIBUTES(MatmulDescription, MatmulDesc)
HEDDLE_ATTRIBUTES(TransformDescription, MatrixTransformDesc)
HEDDLE_ATTRIBUTES(Preference, MatmulPreference)
#undef HEDDLE_ATTRIBUTES
// NOLINTEND(bugprone-macro-parentheses)
