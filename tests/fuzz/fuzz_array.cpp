// libFuzzer: any bytes as a .npy file of a buffer; the first byte chooses the buffer's type.
#include <cstdlib>

#include "folder.h"
#include "sim/kernel/files.h"

using heddle::kernel::ElementType;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr ElementType kTypes[] = {ElementType::f32,  ElementType::f16, ElementType::bf16,
                                      ElementType::f64,  ElementType::s32, ElementType::u8,
                                      ElementType::e4m3, ElementType::u64};
    if (size == 0) return 0;
    const ElementType type = kTypes[data[0] % std::size(kTypes)];
    const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    heddle::test::refuse_or_read([&] {
        const auto values = heddle::kernel::parse_npy(bytes, "fuzz.npy", type);
        // What was read has as many elements as it says, and is written as the same.
        std::uint64_t elements = 1;
        for (const std::uint64_t extent : values.shape) elements *= extent;
        if (elements * heddle::kernel::bytes_of(type) != values.values.size()) std::abort();
        const std::string again = heddle::kernel::npy_text(type, values.shape, values.values);
        if (heddle::kernel::parse_npy(again, "again.npy", type).shape != values.shape) std::abort();
    });
    return 0;
}
