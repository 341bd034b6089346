// Text form of TPU programs.
//
//     # comment
//     program two_layers
//     kernel bias_relu inputs 2 scalars 0 {
//       0 = input 0
//       1 = input 1
//       2 = add 0 1
//       3 = constant 0
//       4 = maximum 2 3
//       output 4                       # or: output 4 lanes_sum accumulate
//     }
//     core {
//       dma.load vmem 0x0 hbm 0x200 rows 128 row_bytes 512 vmem_stride 512 hbm_stride 4096 signals 0
//       push unit 0 vmem 0x0 rows 128 columns 128 stride 512 type fp32 after 0
//       repeat 4 {
//         matmul unit 0 vmem 0x20000+0x10000*i rows 128 depth 128 columns 128 stride 512 type fp32
//         accumulator 0
//       }
//       vector bias_relu rows 128 columns 128 in fp32@0x0:512 in fp32@0x30000:0 out bf16@0x40000:256 after
//       1:2 signals 3 wait 3 halt
//     }
//
// Addresses are numbers plus steps of the enclosing repeats i, j, k (outermost first). Tiles of vector
// instructions are type@address:row_stride, with :broadcast behind when the first element of each row stands
// for all columns. `after flag[:count]` waits, `signals [core.]flag` signals. `wait` and `signal` on their
// own are the sequencer's.
#pragma once

#include <string>

#include "isa/tpu/program.h"

namespace heddle::tpu {

/// Throws heddle::Error with `file` and the line. The program still has to pass validate().
Program assemble(const std::string& text, const std::string& file = "");

/// The assembly text of a program; assemble(disassemble(p)) == p.
std::string disassemble(const Program& program);
/// The text of one instruction, without a line end.
std::string disassemble(const Instruction& instruction);

}  // namespace heddle::tpu
