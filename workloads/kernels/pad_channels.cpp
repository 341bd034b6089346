#include "workloads/kernels/pad_channels.h"

#include <algorithm>

#include "isa/common/error.h"
#include "workloads/kernels/memory_access.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kPadChannelsThreads = 256;

}  // namespace

GeneratedKernel generate_pad_channels(const PadChannelsSpec& spec) {
    const unsigned wide = std::max(spec.from, spec.to), narrow = std::min(spec.from, spec.to),
                   bytes = bytes_of(spec.type);
    if ((wide != 2 && wide != 4 && wide != 8) || wide * bytes > 16 || narrow == 0)
        throw Error("channels are padded to 2, 4 or 8 of at most 16 bytes", {.key = "pad_channels"});
    PtxWriter w("pad_channels_" + name_of(spec.type) + "_" + std::to_string(spec.from) + "_to_" +
                    std::to_string(spec.to),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x"), rows = w.b32_parameter("rows");
    const Reg row = w.make_b32("mad.lo.u32", w.cta_x(), kPadChannelsThreads, w.tid());
    w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    const Reg from = w.element_address(x, w.multiply_by(row, spec.from), bytes),
              to = w.element_address(y, w.multiply_by(row, spec.to), bytes);
    std::vector<Reg> values;
    if (spec.from == wide) {
        values = load_elements(w, "ld.global.nc", spec.type, wide, from, 0, ComputeType::f32);
    } else {
        std::vector<RawVector> raw;
        for (unsigned c = 0; c < narrow; ++c)
            raw.push_back(load_raw(w, "ld.global.nc", spec.type, 1, from, std::int64_t{c} * bytes));
        for (const RawVector& one : raw) values.push_back(convert_raw(w, one, ComputeType::f32)[0]);
    }
    if (spec.to == wide) {
        while (values.size() < wide) values.push_back(w.constant_f32(0));
        store_elements(w, "st.global", spec.type, values, to, 0, ComputeType::f32);
    } else {
        for (unsigned c = 0; c < narrow; ++c)
            store_elements(w, "st.global", spec.type, {values[c]}, to, std::int64_t{c} * bytes,
                           ComputeType::f32);
    }
    return w.finish({kPadChannelsThreads, 1, 1});
}

Extent3 pad_channels_grid(std::uint32_t rows) {
    return {divide_up(rows, kPadChannelsThreads), 1, 1};
}

}  // namespace heddle::kernels
