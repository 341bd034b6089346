#include "isa/ptx/register_words.h"

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

std::vector<std::uint8_t> register_words(const LoadedKernel& kernel) {
    const std::vector<Register>& registers = kernel.implementation().kernel.registers;
    std::vector<std::uint8_t> words(kernel.scoreboard_size(), 0);
    for (std::size_t r = 0; r < registers.size(); ++r) {
        if (registers[r].type != Type::pred)
            words[r] = static_cast<std::uint8_t>((bits_of(registers[r].type) + 31) / 32);
    }
    std::vector<bool> computed(words.size(), false);  // written by something else than a load of a parameter
    std::vector<bool> loaded(words.size(), false);
    for (const InstructionInfo& info : kernel.instructions()) {
        for (const std::uint16_t r : info.writes) {
            (info.parameter_offset >= 0 ? loaded : computed)[r] = true;
        }
    }
    for (std::size_t r = 0; r < words.size(); ++r) {
        if (loaded[r] && !computed[r]) words[r] = 0;
    }
    return words;
}

}  // namespace heddle::ptx
