// The instruction table: control and synchronisation. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kControlForms[] = {
    {bra, "uni?", "label", P::branch},
    {brx, "idx uni?", "u32 label", P::branch, 4},
    {ret, "uni?", "", P::branch},
    {exit, "", "", P::branch},
    {trap, "", "", P::branch},
    {brkpt, "", "", P::branch},
    {pmevent, "mask?", "imm", P::branch},
    {griddepcontrol, "launch_dependents|wait", "", P::branch},
    {setmaxnreg, "inc|dec sync aligned u32", "imm", P::branch},
    {alloca, "u32|u64", "=0 0 imm?", P::integer, 3},
    {stacksave, "u32|u64", "=0"},
    {stackrestore, "u32|u64", "0"},
    {call, "uni?", "", P::branch, 2},  // with the return address; through a pointer: loaded_kernel.cpp
    {nanosleep, "u32", "u32", P::branch},
    {bar, "cta? sync", "u32 u32?", P::barrier},
    {bar, "cta? arrive", "u32 u32", P::barrier},
    {bar, "cta? red popc u32", "=u32 u32 !pred", P::barrier, 2},
    {bar, "cta? red popc u32", "=u32 u32 u32 !pred", P::barrier, 2},
    {bar, "cta? red and|or pred", "=pred u32 !pred", P::barrier, 2},
    {bar, "cta? red and|or pred", "=pred u32 u32 !pred", P::barrier, 2},
    {bar, "warp sync", "b32", P::branch},
    {barrier, "cta? sync aligned?", "u32 u32?", P::barrier},
    {barrier, "cta? arrive aligned?", "u32 u32", P::barrier},
    {barrier, "cta? red popc aligned? u32", "=u32 u32 !pred", P::barrier, 2},
    {barrier, "cta? red popc aligned? u32", "=u32 u32 u32 !pred", P::barrier, 2},
    {barrier, "cta? red and|or aligned? pred", "=pred u32 !pred", P::barrier, 2},
    {barrier, "cta? red and|or aligned? pred", "=pred u32 u32 !pred", P::barrier, 2},
    {barrier, "cluster arrive release|relaxed? aligned?", "", P::barrier},
    {barrier, "cluster wait acquire? aligned?", "", P::barrier},
    {membar, "cta", "", P::barrier},
    {membar, "gl|gpu|sys", "", P::barrier, 3},
    {membar, "proxy alias", "", P::barrier, 3},
    {fence, "proxy async global|shared::cta?", "", P::barrier},
    {fence, "sc|acq_rel|acquire|release? cta", "", P::barrier},
    {fence, "sc|acq_rel|acquire|release? cluster|gpu|sys", "", P::barrier, 3},
};
// clang-format on

}  // namespace heddle::ptx::forms
