#include "validation/capture/sections/matrix_probe.h"

#include <algorithm>

namespace heddle::capture {
namespace {

using Kind = MatrixInstruction::Kind;

// Shared memory of wgmma: A, then B, as matrix_fragments.h says. 32 bytes of k in each row.
constexpr unsigned kTileBytesA = 64 * 32, kTileBytesB = 8 * 32;

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

std::string register_list(const std::string& prefix, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + prefix + number(i);
    return text + "}";
}

struct Register {
    const char* type;    // of the declaration
    const char* access;  // of loads and stores
    unsigned words;
};
Register register_of(Element element) {
    if (element == Element::f64) return {".f64", ".f64", 2};
    if (element == Element::f32) return {".f32", ".f32", 1};
    return {".b32", ".b32", 1};
}

std::string header(const MatrixInstruction& instruction) {
    return std::string(".version ") + instruction.ptx_version + "\n.target " + instruction.target +
           "\n.address_size 64\n\n.visible .entry probe(.param .u64 a, .param .u64 b, .param .u64 c, "
           ".param .u64 d, .param .u64 e)\n{\n"
           "    .reg .pred %p<3>;\n    .reg .b32 %x<12>;\n    .reg .b64 %y<12>, %pa, %pb, %pc, %pd, %pe;\n"
           "    mov.u32 %x0, %tid.x;\n    mov.u32 %x1, %ctaid.x;\n";
}

// %pointer = parameter + (cta * threads + tid) * words * 4
std::string pointer(const char* name, const char* parameter_name, unsigned threads, unsigned words) {
    const std::string p = std::string("%p") + name;
    return "    ld.param.u64 " + p + ", [" + parameter_name + "];\n    cvta.to.global.u64 " + p + ", " + p +
           ";\n    mad.lo.u32 %x2, %x1, " + number(threads) + ", %x0;\n    mul.wide.u32 %y0, %x2, " +
           number(4 * words) + ";\n    add.u64 " + p + ", " + p + ", %y0;\n";
}

std::string line(const std::string& opcode, const std::string& operands) {
    return "    " + opcode + " " + operands + ";\n";
}

std::string at(const std::string& base, unsigned offset) {
    return "[" + base + "+" + number(offset) + "]";
}

std::string load(const std::string& prefix, const std::string& from, const Register& type, unsigned words,
                 unsigned offset_words = 0) {
    const std::string opcode = std::string("ld.global") + type.access;
    std::string text;
    for (unsigned i = 0; i < words / type.words; ++i)
        text += line(opcode, prefix + number(i) + ", " + at(from, 4 * (offset_words + i * type.words)));
    return text;
}

std::string store(const std::string& prefix, const std::string& to, const Register& type, unsigned words) {
    const std::string opcode = std::string("st.global") + type.access;
    std::string text;
    for (unsigned i = 0; i < words / type.words; ++i)
        text += line(opcode, at(to, 4 * i * type.words) + ", " + prefix + number(i));
    return text;
}

std::string declare(const std::string& prefix, const Register& type, unsigned words) {
    return "    .reg " + std::string(type.type) + " " + prefix + "<" + number(words / type.words) + ">;\n";
}

std::string warp_ptx(const MatrixInstruction& instruction, unsigned steps) {
    const FragmentSizes sizes = fragment_sizes(instruction);
    const bool sparse = instruction.kind == Kind::sparse;
    const Register a = register_of(instruction.a), b = register_of(instruction.b),
                   sum = register_of(instruction.sum);
    // A and B of 32 bits are .b32 in PTX, tf32 too.
    std::string text = header(instruction) + declare("%a", a, sizes.a_words) +
                       declare("%b", b, sizes.b_words) + declare("%d", sum, sizes.sum_words) +
                       "    .reg .b32 %e0;\n" + pointer("c", "c", sizes.threads, sizes.sum_words) +
                       pointer("d", "d", sizes.threads, sizes.sum_words) +
                       load("%d", "%pc", sum, sizes.sum_words);
    // Images are [tile][step][lane][word].
    const auto step_pointer = [&](const char* name, unsigned words) {
        return "    mul.lo.u32 %x1, %x1, " + number(steps) + ";\n" +
               pointer(name, name, sizes.threads, words) + "    mov.u32 %x1, %ctaid.x;\n";
    };
    text += step_pointer("a", sizes.a_words) + step_pointer("b", sizes.b_words);
    if (sparse) text += step_pointer("e", 1);
    const std::string d = register_list("%d", sizes.sum_words / sum.words);
    const std::string multiply =
        line(instruction.mnemonic(), d + ", " + register_list("%a", sizes.a_words / a.words) + ", " +
                                         register_list("%b", sizes.b_words / b.words) + ", " + d +
                                         (sparse ? ", %e0, 0x0" : ""));
    for (unsigned step = 0; step < steps; ++step) {
        text += load("%a", "%pa", a, sizes.a_words, step * sizes.threads * sizes.a_words) +
                load("%b", "%pb", b, sizes.b_words, step * sizes.threads * sizes.b_words);
        if (sparse) text += load("%e", "%pe", {".b32", ".b32", 1}, 1, step * sizes.threads);
        text += multiply;
    }
    return text + store("%d", "%pd", sum, sizes.sum_words) + "    ret;\n}\n";
}

// Copies `bytes` from %pointer (already at the CTA's first word) to the shared address in %x3, all threads.
std::string copy_to_shared(const std::string& from, unsigned shared_offset, unsigned bytes) {
    std::string text;
    for (unsigned done = 0; done < bytes; done += 512) {
        const bool part = bytes - done < 512;
        const std::string guard = part ? "@%p1 " : "";
        if (part) text += "    setp.lt.u32 %p1, %x0, " + number((bytes - done) / 4) + ";\n";
        text += line(guard + "ld.global.b32", "%x4, " + at(from, done));
        text += line(guard + "st.shared.b32", at("%x3", shared_offset + done) + ", %x4");
    }
    return text;
}

// %y<result> = descriptor of a matrix at tile + offset: no swizzle, leading dimension 128 bytes, stride 256.
std::string descriptor(const std::string& result, unsigned offset) {
    return "    add.u32 %x5, %x6, " + number(offset) +
           ";\n    shr.u32 %x5, %x5, 4;\n    and.b32 %x5, %x5, 0x3FFF;\n    cvt.u64.u32 " + result +
           ", %x5;\n    or.b64 " + result + ", " + result + ", " +
           number(std::uint64_t{128 / 16} << 16 | std::uint64_t{256 / 16} << 32) + ";\n";
}

std::string warpgroup_ptx(const MatrixInstruction& instruction, unsigned steps) {
    const FragmentSizes sizes = fragment_sizes(instruction);
    const Register sum = register_of(instruction.sum);
    const unsigned tile_bytes = kTileBytesA + kTileBytesB;
    std::string text =
        header(instruction) + "    .shared .align 1024 .b8 tile[" + number(steps * tile_bytes) + "];\n" +
        declare("%d", sum, sizes.sum_words) + pointer("c", "c", sizes.threads, sizes.sum_words) +
        pointer("d", "d", sizes.threads, sizes.sum_words) + load("%d", "%pc", sum, sizes.sum_words) +
        "    mov.u32 %x6, tile;\n    mad.lo.u32 %x3, %x0, 4, %x6;\n";
    const auto cta_pointer = [&](const char* name, unsigned bytes) {
        const std::string p = std::string("%p") + name;
        return "    ld.param.u64 " + p + ", [" + name + "];\n    cvta.to.global.u64 " + p + ", " + p +
               ";\n    mul.wide.u32 %y0, %x1, " + number(bytes) + ";\n    add.u64 " + p + ", " + p +
               ", %y0;\n    mul.wide.u32 %y0, %x0, 4;\n    add.u64 " + p + ", " + p + ", %y0;\n";
    };
    text += cta_pointer("a", steps * kTileBytesA) + cta_pointer("b", steps * kTileBytesB);
    text += copy_to_shared("%pa", 0, steps * kTileBytesA) +
            copy_to_shared("%pb", steps * kTileBytesA, steps * kTileBytesB);
    // Generic writes become visible to the asynchronous proxy, for all threads.
    text +=
        "    fence.proxy.async;\n    bar.sync 0;\n    setp.eq.u32 %p0, %x0, %x0;\n"
        "    wgmma.fence.sync.aligned;\n";
    const bool integer = instruction.sum == Element::s32;
    const bool transposable = instruction.a == Element::f16 || instruction.a == Element::bf16;
    const std::string accumulators = register_list("%d", sizes.sum_words);
    const char* const modifiers = integer ? "" : transposable ? ", 1, 1, 0, 0" : ", 1, 1";
    const auto a = [](unsigned step) { return "%y" + number(1 + 2 * step); };
    const auto b = [](unsigned step) { return "%y" + number(2 + 2 * step); };
    for (unsigned step = 0; step < steps; ++step) {
        text += descriptor(a(step), step * kTileBytesA) +
                descriptor(b(step), steps * kTileBytesA + step * kTileBytesB);
        text += line(instruction.mnemonic(),
                     accumulators + ", " + a(step) + ", " + b(step) + ", %p0" + modifiers);
    }
    return text + "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n" +
           store("%d", "%pd", sum, sizes.sum_words) + "    ret;\n}\n";
}

// [tile][step][rows][columns] for quads, whose four products lie in one image: [4 tiles][...] of one step.
std::span<const std::byte> bytes_of_words(const std::vector<std::uint32_t>& words) {
    return std::as_bytes(std::span(words));
}

}  // namespace

std::string matrix_probe_ptx(const MatrixInstruction& instruction, unsigned steps) {
    return instruction.kind == Kind::wgmma ? warpgroup_ptx(instruction, steps) : warp_ptx(instruction, steps);
}

void DotProducts::add(std::span<const std::uint64_t> a_elements, std::span<const std::uint64_t> b_elements,
                      std::uint64_t c_element) {
    if (a_elements.size() != k || b_elements.size() != k)
        throw std::invalid_argument("dot product of " + std::to_string(a_elements.size()) +
                                    " elements, not " + std::to_string(k));
    a.insert(a.end(), a_elements.begin(), a_elements.end());
    b.insert(b.end(), b_elements.begin(), b_elements.end());
    c.push_back(c_element);
}

KernelHandle LoadedProbes::load(Device& device, const std::string& ptx) {
    const auto known = kernels_.find(ptx);
    if (known != kernels_.end()) return known->second;
    const KernelHandle kernel = device.load(ptx, "probe");
    kernels_.emplace(ptx, kernel);
    return kernel;
}

MatrixProbe::MatrixProbe(Device& device, const MatrixInstruction& instruction, unsigned steps,
                         LoadedProbes* loaded)
    : device_(&device), instruction_(instruction), steps_(steps) {
    if (steps == 0 || (instruction.kind == Kind::quad && steps != 1))
        throw std::invalid_argument("a probe of m8n8k4 has one step");
    const std::string ptx = matrix_probe_ptx(instruction, steps);
    kernel_ = loaded != nullptr ? loaded->load(device, ptx) : device.load(ptx, "probe");
}

std::vector<std::uint64_t> MatrixProbe::tiles(std::span<const std::uint64_t> a,
                                              std::span<const std::uint64_t> b,
                                              std::span<const std::uint64_t> c,
                                              std::span<const SparseRow> rows) const {
    const FragmentSizes sizes = fragment_sizes(instruction_);
    const std::size_t ctas = c.size() / (std::size_t{sizes.products} * instruction_.m * instruction_.n);
    const std::vector<std::uint32_t> images[3] = {pack(instruction_, FragmentOperand::a, a),
                                                  pack(instruction_, FragmentOperand::b, b),
                                                  pack(instruction_, FragmentOperand::sum, c)};
    std::vector<std::uint32_t> metadata;
    for (std::size_t i = 0; i + 16 <= rows.size(); i += 16) {
        const auto words = pack_metadata(instruction_, rows.subspan(i, 16));
        metadata.insert(metadata.end(), words.begin(), words.end());
    }
    metadata.resize(std::max<std::size_t>(metadata.size(), 1));
    const DeviceBuffer a_buffer(*device_, bytes_of_words(images[0])),
        b_buffer(*device_, bytes_of_words(images[1])), c_buffer(*device_, bytes_of_words(images[2])),
        d_buffer(*device_, images[2].size() * 4), e_buffer(*device_, bytes_of_words(metadata));
    Launch launch;
    launch.kernel = kernel_;
    launch.grid = {static_cast<std::uint32_t>(ctas), 1, 1};
    launch.block = {sizes.threads, 1, 1};
    for (const DeviceBuffer* buffer : {&a_buffer, &b_buffer, &c_buffer, &d_buffer, &e_buffer})
        launch.parameters.push_back(parameter(buffer->address()));
    device_->fill(d_buffer.address(), 0xFF, d_buffer.bytes());
    device_->launch(launch);
    std::vector<std::uint32_t> result(images[2].size());
    device_->read(d_buffer.address(), std::as_writable_bytes(std::span(result)));
    return unpack_sum(instruction_, result);
}

std::vector<std::uint64_t> MatrixProbe::run(const DotProducts& products) const {
    const MatrixInstruction& i = instruction_;
    if (i.kind == Kind::sparse || products.k != i.k * steps_)
        throw std::invalid_argument("these dot products are not for " + i.mnemonic());
    const std::size_t per_cta = 8 * fragment_sizes(i).products;
    const std::size_t count = products.count(), ctas = (count + per_cta - 1) / per_cta,
                      tiles_count = ctas * per_cta / 8;
    std::vector<std::uint64_t> a(tiles_count * steps_ * i.m * i.k), b(tiles_count * steps_ * i.n * i.k),
        c(tiles_count * i.m * i.n);
    const auto row_of = [&](std::size_t n) { return n % 8 + 8 * (n / 8 % (i.m / 8)); };
    const auto sum_place = [&](std::size_t n) { return (n / 8 * i.m + row_of(n)) * i.n + n % 8; };
    for (std::size_t n = 0; n < count; ++n) {
        for (unsigned k = 0; k < products.k; ++k) {
            const std::size_t tile_step = n / 8 * steps_ + k / i.k;
            a[(tile_step * i.m + row_of(n)) * i.k + k % i.k] = products.a[n * products.k + k];
            b[(tile_step * i.n + n % 8) * i.k + k % i.k] = products.b[n * products.k + k];
        }
        c[sum_place(n)] = products.c[n];
    }
    const std::vector<std::uint64_t> d = tiles(a, b, c);
    std::vector<std::uint64_t> results(count);
    for (std::size_t n = 0; n < count; ++n) results[n] = d[sum_place(n)];
    return results;
}

}  // namespace heddle::capture
