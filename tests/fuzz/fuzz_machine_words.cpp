// libFuzzer: any words as machine code of each generation. What the decoder reads it writes again as text, which says the same
// instruction; and the translation takes it, or refuses it by its text.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "folder.h"
#include "isa/sass/decode_table.h"
#include "isa/sass/machine_instruction.h"
#include "isa/sass/translate/translate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heddle::sass;
    static constexpr std::array kCapabilities = {75u, 80u, 86u, 89u, 90u, 100u, 120u};
    if (size == 0) return 0;
    const unsigned capability = kCapabilities[data[0] % kCapabilities.size()];
    for (std::size_t at = 1; at + 16 <= size; at += 16) {
        std::array<std::uint64_t, 2> word{};
        std::memcpy(word.data(), data + at, 16);
        Instruction one;
        if (!decode_by_table(word, capability, at - 1, one)) continue;
        heddle::test::refuse_or_read([&] {
            const std::string text = text_of(one), again = text_of(parse_instruction(text));
            if (text != again) {
                std::fprintf(stderr, "sm_%u: `%s` is read as `%s`\n", capability, text.c_str(), again.c_str());
                std::abort();
            }
            why_untranslatable(one, capability);
        });
    }
    return 0;
}
