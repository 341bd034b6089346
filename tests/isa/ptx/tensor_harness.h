// A warpgroup that executes one tcgen05 instruction: its text, its launch, and where the manual puts the elements. Shared memory and tensor
// memory are filled before it and tensor memory is read after it.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "launch.h"
#include "matrix_layouts.h"

namespace heddle::ptx::test {

inline constexpr std::uint32_t kTensorShared = 96 * 1024;

inline std::string vector_of(const std::string& prefix, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + prefix + std::to_string(i);
    return text + "}";
}

/// What a CTA of 128 threads is given and gives back. Registers for the instruction: %ta the address of tensor memory, %da and %db 64 bits,
/// %id the instruction descriptor, %p enable-input-d, %l the thread, 32-bit %x0 to %x7, 64-bit %m.
struct TensorCta {
    std::vector<std::uint32_t> tensor = std::vector<std::uint32_t>(512 * 128);  ///< [lane][column]
    std::vector<std::uint8_t> shared = std::vector<std::uint8_t>(kTensorShared);
    std::uint64_t a = 0, b = 0, mask = 0;
    std::uint32_t descriptor = 0, enable = 1;
    unsigned ctas = 1;  ///< 2: a pair, which both have the same shared memory but for what `second` says
    std::vector<std::uint8_t> second;
    std::string target = "sm_100a";

    std::string text(const std::string& instruction) const {
        const std::string group = ctas == 2 ? "cta_group::2" : "cta_group::1";
        std::string t = ".version 9.0\n.target " + target + "\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"
                        ".shared .align 8 .b64 bar; .shared .b32 slot;\n"
                        ".visible .entry test(.param .u64 out, .param .u64 image, .param .u64 tensor, .param .u64 a, .param .u64 b, .param .u32 d, .param .u32 e, .param .u64 mask)\n{\n"
                        ".reg .b32 %v<32>, %x<8>, %ta, %tb, %id, %t, %l, %s, %z, %r; .reg .b64 %da, %db, %m, %out, %in, %o, %i; .reg .pred %p, %q, %first, %w0;\n"
                        "mov.u32 %t, %tid.x; mov.u32 %l, %t; ld.param.u64 %da, [a]; ld.param.u64 %db, [b]; ld.param.u32 %id, [d]; ld.param.u64 %m, [mask];\n"
                        "mov.u32 %s, tile; shr.u32 %s, %s, 4; cvt.u64.u32 %o, %s; add.u64 %da, %da, %o; add.u64 %db, %db, %o;\n"
                        "ld.param.u32 %z, [e]; setp.ne.u32 %p, %z, 0; setp.eq.u32 %first, %t, 0; setp.lt.u32 %w0, %t, 32; mov.u32 %r, %cluster_ctarank;\n"
                        "ld.param.u64 %i, [image]; mul.wide.u32 %o, %r, " + std::to_string(kTensorShared) + "; add.u64 %i, %i, %o; mul.wide.u32 %o, %t, 4; add.u64 %i, %i, %o; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s; mov.u32 %z, 0;\n"
                        "copy: ld.global.u32 %v0, [%i]; st.shared.u32 [%s], %v0; add.u64 %i, %i, 512; add.u32 %s, %s, 512; add.u32 %z, %z, 512; setp.lt.u32 %q, %z, " +
                        std::to_string(kTensorShared) + "; @%q bra copy;\n"
                        "@%first mbarrier.init.shared::cta.b64 [bar], 1;\n"
                        "@!%w0 bra allocated;\ntcgen05.alloc." + group + ".sync.aligned.shared::cta.b32 [slot], 512;\n"
                        "tcgen05.relinquish_alloc_permit." + group + ".sync.aligned;\nallocated: bar.sync 0; ld.shared.b32 %ta, [slot];\n"
                        "shr.u32 %tb, %t, 5; shl.b32 %tb, %tb, 21; add.u32 %tb, %tb, %ta;\n"
                        "ld.param.u64 %in, [tensor]; ld.param.u64 %out, [out]; mul.wide.u32 %o, %r, 262144; add.u64 %in, %in, %o; add.u64 %out, %out, %o; mul.wide.u32 %o, %t, 2048; add.u64 %in, %in, %o; add.u64 %out, %out, %o;\n";
        for (unsigned chunk = 0; chunk < 16; ++chunk) {
            for (unsigned r = 0; r < 32; ++r) t += "ld.global.b32 %v" + std::to_string(r) + ", [%in+" + std::to_string(chunk * 128 + r * 4) + "];\n";
            t += "tcgen05.st.sync.aligned.32x32b.x32.b32 [%tb+" + std::to_string(chunk * 32) + "], " + vector_of("%v", 32) + ";\n";
        }
        t += "tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;\n";
        t += ctas == 2 ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" : "bar.sync 0;\n";
        t += "tcgen05.fence::after_thread_sync;\n";
        const std::string leader = ctas == 2 ? "setp.eq.and.u32 %q, %r, 0, %first;\n@!%q bra issued;\n" : "@!%first bra issued;\n";
        t += leader + instruction + "\n";
        t += ctas == 2 ? "mov.b32 %x0, bar; mov.b16 %h, 3; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%x0], %h;\n"
                       : "mov.b32 %x0, bar; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%x0];\n";
        t += "issued: \nwait: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra wait;\ntcgen05.fence::after_thread_sync;\n";
        for (unsigned chunk = 0; chunk < 16; ++chunk) {
            t += "tcgen05.ld.sync.aligned.32x32b.x32.b32 " + vector_of("%v", 32) + ", [%tb+" + std::to_string(chunk * 32) + "];\ntcgen05.wait::ld.sync.aligned;\n";
            for (unsigned r = 0; r < 32; ++r) t += "st.global.b32 [%out+" + std::to_string(chunk * 128 + r * 4) + "], %v" + std::to_string(r) + ";\n";
        }
        t += ctas == 2 ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" : "bar.sync 0;\n";
        t += "@!%w0 bra freed;\ntcgen05.dealloc." + group + ".sync.aligned.b32 %ta, 512;\nfreed: ret;\n}\n";
        const std::size_t at = t.find(".reg .pred");
        t.insert(at, ".reg .b16 %h; ");
        return t;
    }

    /// Tensor memory afterwards, [cta][lane][column].
    std::vector<std::uint32_t> run(const std::string& instruction, unsigned capability = 100) const {
        const Program program(text(instruction), "test");
        Device device;
        std::vector<std::uint8_t> image = shared;
        if (ctas == 2) image.insert(image.end(), second.begin(), second.end());
        std::vector<std::uint32_t> before = tensor;
        if (ctas == 2 && before.size() == 512 * 128) before.insert(before.end(), tensor.begin(), tensor.end());
        const std::vector<std::uint32_t> result(ctas * 512 * 128);
        const std::uint64_t out = device.upload("out", result), in = device.upload("image", image), tm = device.upload("tensor", before);
        LaunchContext context = program.launch(device, {ctas}, {128}, {argument(out), argument(in), argument(tm), argument(a), argument(b), argument(descriptor), argument(enable), argument(mask)},
                                               Mode::functional, kTensorShared);
        context.cluster = {ctas};
        context.compute_capability = capability;
        run_functionally(context);
        return device.download<std::uint32_t>(out, result.size());
    }
};

/// A descriptor of shared memory for tcgen05; `bits` of the swizzle as in canonical_address().
inline std::uint64_t tensor_descriptor(std::uint32_t start, std::uint32_t leading, std::uint32_t stride, unsigned bits) {
    constexpr std::uint64_t kSwizzle[] = {0, 6, 4, 2};
    return (encode_descriptor(start, leading, stride, 0) & 0x3FFFFFFFFFFFFFFFu) | std::uint64_t{1} << 46 | kSwizzle[bits] << 61;
}

}  // namespace heddle::ptx::test
