#include "bench.h"

#include <stdexcept>

#include "../launch.h"

namespace heddle::ptx::test {

Matrix make_matrix(unsigned rows, unsigned columns, const std::function<std::uint64_t()>& element) {
    Matrix matrix(rows, std::vector<std::uint64_t>(columns));
    for (auto& row : matrix)
        for (std::uint64_t& x : row) x = element();
    return matrix;
}

// One case per shape and width, as the manual has one section each.
Place a_place(unsigned m, unsigned k, unsigned bits, unsigned lane, unsigned i) {
    const unsigned group = lane >> 2, t = lane % 4;
    if (m == 8) {
        switch (bits) {
            case 64:  // m8n8k4
                return {group, t};
            case 8:  // m8n8k16
                return {group, t * 4 + i};
            case 4:  // m8n8k32
                return {group, t * 8 + i};
            case 1:  // m8n8k128
                return {group, t * 32 + i};
        }
    }
    if (bits == 64) {
        if (k == 4) return {i == 0 ? group : group + 8, t};
        if (k == 8) return {i == 0 || i == 2 ? group : group + 8, i < 2 ? t : t + 4};
        if (k == 16) return {i % 2 == 0 ? group : group + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t};
    }
    if (bits == 32) {
        if (k == 4) return {i == 0 ? group : group + 8, t};
        if (k == 8) return {i == 0 || i == 2 ? group : group + 8, i < 2 ? t : t + 4};
    }
    if (bits == 16) {
        if (k == 8) return {i < 2 ? group : group + 8, t * 2 + (i & 1)};
        if (k == 16)
            return {i < 2 || (4 <= i && i < 6) ? group : group + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
    }
    if (bits == 8) {
        if (k == 16) return {i < 4 ? group : group + 8, t * 4 + (i & 3)};
        if (k == 32)
            return {i < 4 || (8 <= i && i < 12) ? group : group + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
    }
    if (bits == 4) {
        if (k == 32) return {i < 8 ? group : group + 8, t * 8 + (i & 7)};
        if (k == 64)
            return {i < 8 || (16 <= i && i < 24) ? group : group + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32)};
    }
    if (bits == 1) {
        if (k == 128) return {i < 32 ? group : group + 8, t * 32 + (i & 31)};
        if (k == 256)
            return {i < 32 || (64 <= i && i < 96) ? group : group + 8,
                    t * 32 + (i & 31) + (i < 64 ? 0 : 128)};
    }
    throw std::logic_error("no such A");
}

Place b_place(unsigned k, unsigned bits, unsigned lane, unsigned i) {
    const unsigned group = lane >> 2, t = lane % 4;
    switch (bits) {
        case 64:  // k4, k8, k16
            return {t + i * 4, group};
        case 32:  // k4, k8; mma.sp k16: as for f64
            return {t + i * 4, group};
        case 16:  // k8, k16; mma.sp k32
            return {t * 2 + (i & 1) + (i / 2) * 8, group};
        case 8:  // k16, k32; mma.sp k64
            return {t * 4 + (i & 3) + (i / 4) * 16, group};
        case 4:  // k32, k64; mma.sp k128
            return {t * 8 + (i & 7) + (i / 8) * 32, group};
        case 1:  // k128, k256
            return {t * 32 + (i & 31) + (i < 32 ? 0 : k / 2), group};
    }
    throw std::logic_error("no such B");
}

Place c_place(unsigned m, unsigned lane, unsigned i) {
    if (m == 8) return {lane >> 2, (lane % 4) * 2 + i};
    return {i < 2 ? lane >> 2 : (lane >> 2) + 8, (lane % 4) * 2 + (i & 1)};
}

std::vector<std::uint32_t> run_warp(const std::string& lines, unsigned words, unsigned results,
                                    const std::vector<std::uint32_t>& input, unsigned compute_capability) {
    std::string body = ".reg .b32 %r<" + std::to_string(words) + ">, %t; .reg .b32 %d<" +
                       std::to_string(results) +
                       ">; .reg .b64 %x, %y, %o; .reg .f32 %f<8>; .reg .f64 %q<32>, %e<8>;\nmov.u32 %t, "
                       "%tid.x; ld.param.u64 %x, [x]; ld.param.u64 %y, [y];\nmul.wide.u32 %o, %t, " +
                       std::to_string(4 * words) + "; add.u64 %x, %x, %o;\n";
    for (unsigned w = 0; w < words; ++w)
        body += "ld.global.b32 %r" + std::to_string(w) + ", [%x+" + std::to_string(4 * w) + "];\n";
    body += lines + "\nmul.wide.u32 %o, %t, " + std::to_string(4 * results) + "; add.u64 %y, %y, %o;\n";
    for (unsigned w = 0; w < results; ++w)
        body += "st.global.b32 [%y+" + std::to_string(4 * w) + "], %d" + std::to_string(w) + ";\n";
    const Program program(module_text(".param .u64 x, .param .u64 y", body + "ret;"), "test");
    Device device;
    const auto x = device.upload("x", input),
               y = device.upload("y", std::vector<std::uint32_t>(32 * results));
    LaunchContext launch = program.launch(device, {1}, {32}, {argument(x), argument(y)});
    launch.compute_capability = compute_capability;
    run_functionally(launch);
    return device.download<std::uint32_t>(y, 32 * results);
}

std::string list(const std::string& prefix, unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + prefix + std::to_string(first + i);
    return text + "}";
}

void pack(const Fragment& fragment, const ElementAt& element, unsigned first_word, unsigned words_per_lane,
          std::vector<std::uint32_t>& input) {
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned i = 0; i < fragment.elements; ++i) {
            const std::uint64_t value = element(lane, i);
            const unsigned bit = i * fragment.bits;
            std::uint32_t* word = &input[lane * words_per_lane + first_word + bit / 32];
            *word |= static_cast<std::uint32_t>(value) << bit % 32;
            if (fragment.bits == 64) word[1] |= static_cast<std::uint32_t>(value >> 32);
        }
    }
}

std::uint64_t unpack(const Fragment& fragment, const std::vector<std::uint32_t>& output, unsigned lane,
                     unsigned i) {
    const unsigned bit = i * fragment.bits;
    const std::uint32_t* word = &output[lane * fragment.words() + bit / 32];
    if (fragment.bits == 64) return word[0] | static_cast<std::uint64_t>(word[1]) << 32;
    const std::uint64_t mask = (std::uint64_t{1} << fragment.bits) - 1;
    return *word >> bit % 32 & mask;
}

namespace {

// Registers of an operand, and the lines that make 64-bit ones of the words.
std::string operand(const Fragment& fragment, unsigned first_word, unsigned& next_double,
                    std::string& before) {
    if (fragment.bits != 64) return list("%r", first_word, fragment.words());
    const unsigned first = next_double;
    for (unsigned i = 0; i < fragment.elements; ++i) {
        before +=
            "mov.b64 %q" + std::to_string(next_double++) + ", " + list("%r", first_word + 2 * i, 2) + ";\n";
    }
    return list("%q", first, fragment.elements);
}

}  // namespace

Matrix multiply(const Product& p, const Matrix& a, const Matrix& b, const Matrix& c,
                unsigned compute_capability, const std::vector<std::uint32_t>& metadata, unsigned selector) {
    const unsigned a_depth = p.a_depth != 0 ? p.a_depth : p.k;
    const Fragment fa{p.m * a_depth / 32, p.input_bits}, fb{p.n * p.k / 32, p.input_bits},
        fc{p.m * p.n / 32, p.sum_bits};
    const unsigned b_word = fa.words(), c_word = b_word + fb.words(), e_word = c_word + fc.words();
    const unsigned words = e_word + (metadata.empty() ? 0 : 1);
    std::vector<std::uint32_t> input(32 * words);
    const auto at_a = [&](unsigned lane, unsigned i) {
        const Place place = a_place(p.m, a_depth, p.input_bits, lane, i);
        return a[place.row][place.column];
    };
    const auto at_b = [&](unsigned lane, unsigned i) {
        const Place place = b_place(p.k, p.input_bits, lane, i);
        return b[place.column][place.row];
    };
    const auto at_c = [&](unsigned lane, unsigned i) {
        const Place place = c_place(p.m, lane, i);
        return c[place.row][place.column];
    };
    pack(fa, at_a, 0, words, input);
    pack(fb, at_b, b_word, words, input);
    pack(fc, at_c, c_word, words, input);
    unsigned next_double = 0;
    std::string before, after;
    const std::string ra = operand(fa, 0, next_double, before), rb = operand(fb, b_word, next_double, before),
                      rc = operand(fc, c_word, next_double, before);
    std::string rd = list("%d", 0, fc.words());
    if (p.sum_bits == 64) {
        rd = list("%e", 0, fc.elements);
        for (unsigned i = 0; i < fc.elements; ++i)
            after += "mov.b64 " + list("%d", 2 * i, 2) + ", %e" + std::to_string(i) + ";\n";
    }
    std::string lines = before + "mma." + p.suffix + " " + rd + ", " + ra + ", " + rb + ", " + rc;
    if (!metadata.empty()) {
        for (unsigned lane = 0; lane < 32; ++lane) input[lane * words + e_word] = metadata[lane];
        lines += ", %r" + std::to_string(e_word) + ", " + std::to_string(selector);
    }
    const auto output = run_warp(lines + ";\n" + after, words, fc.words(), input, compute_capability);
    Matrix d(p.m, std::vector<std::uint64_t>(p.n));
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned i = 0; i < fc.elements; ++i) {
            const Place place = c_place(p.m, lane, i);
            d[place.row][place.column] = unpack(fc, output, lane, i);
        }
    }
    return d;
}

}  // namespace heddle::ptx::test
