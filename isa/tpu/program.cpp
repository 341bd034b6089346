#include "isa/tpu/program.h"

namespace heddle::tpu {

ProgramCursor::ProgramCursor(const CoreProgram& program) : program_(&program) {
    settle();
}

void ProgramCursor::advance() {
    ++position_;
    settle();
}

void ProgramCursor::settle() {
    const std::vector<Instruction>& list = program_->instructions;
    while (position_ < list.size()) {
        const Operation& operation = list[position_].operation;
        if (const auto* repeat = std::get_if<Repeat>(&operation)) {
            levels_[depth_] = {position_ + 1, repeat->count};
            counters_[depth_] = 0;
            ++depth_;
            ++position_;
        } else if (std::holds_alternative<EndRepeat>(operation)) {
            const std::size_t level = depth_ - 1;
            if (++counters_[level] < levels_[level].count) {
                position_ = levels_[level].begin;
            } else {
                counters_[level] = 0;
                depth_ = level;
                ++position_;
            }
        } else {
            current_ = &list[position_];
            return;
        }
    }
    current_ = nullptr;
}

}  // namespace heddle::tpu
