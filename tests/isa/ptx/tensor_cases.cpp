#include "tensor_cases.h"

#include <algorithm>

namespace heddle::ptx::test {

bool contains(const std::string& text, const std::string& part) {
    INFO(text);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

unsigned element_size(TensorMapType type) {
    static constexpr unsigned kSizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return kSizes[static_cast<unsigned>(type)];
}

std::vector<Element> elements_of(const TensorMap& map, const std::vector<int>& start) {
    std::vector<Element> elements;
    const std::size_t size = element_size(map.type);
    std::vector<std::size_t> index(map.rank, 0), counts(map.rank);
    for (unsigned d = 0; d < map.rank; ++d) {
        const std::size_t step = d == 0 ? 1 : map.element_strides[d];
        counts[d] = (map.box[d] + step - 1) / step;
    }
    for (std::size_t linear = 0;; ++linear) {
        Element element;
        const std::size_t byte = linear * size, row = byte / 128, chunk = byte / 16 % 8;
        const std::size_t mask = map.swizzle == TensorMapSwizzle::bytes_128  ? 7
                                 : map.swizzle == TensorMapSwizzle::bytes_64 ? 3
                                 : map.swizzle == TensorMapSwizzle::bytes_32 ? 1
                                                                             : 0;
        element.shared = row * 128 + (chunk ^ (row & mask)) * 16 + byte % 16;
        std::size_t place = 0;
        bool inside = true;
        for (unsigned d = 0; d < map.rank; ++d) {
            const long c = start[d] + static_cast<long>(index[d] * (d == 0 ? 1 : map.element_strides[d]));
            inside = inside && c >= 0 && c < static_cast<long>(map.sizes[d]);
            if (inside) place += static_cast<std::size_t>(c) * (d == 0 ? size : map.strides[d - 1]);
        }
        if (inside) element.global = place;
        elements.push_back(element);
        unsigned d = 0;
        while (d < map.rank && ++index[d] == counts[d]) index[d++] = 0;
        if (d == map.rank) return elements;
    }
}

Case random_case(std::mt19937& random, unsigned rank, TensorMapType type, TensorMapSwizzle swizzle) {
    const auto pick = [&](unsigned low, unsigned high) {
        return low + static_cast<unsigned>(random() % (high - low + 1));
    };
    const unsigned size = element_size(type);
    for (;;) {
        Case c;
        TensorMap& map = c.map;
        map.type = type;
        map.rank = static_cast<std::uint8_t>(rank);
        map.swizzle = swizzle;
        const unsigned width =
            swizzle == TensorMapSwizzle::none ? 256u : 16u << static_cast<unsigned>(swizzle);
        map.box[0] = pick(1, std::min(width, 256 * size) / 16) * 16 / size;
        map.sizes[0] = pick(1, 400 / size);
        std::uint64_t stride = (map.sizes[0] * size + 15) / 16 * 16 + 16 * pick(0, 2);
        std::uint64_t box = std::uint64_t{map.box[0]} * size;
        for (unsigned d = 1; d < rank; ++d) {
            map.sizes[d] = pick(1, 9);
            map.box[d] = pick(1, 8);
            map.element_strides[d] = random() % 3 == 0 ? pick(2, 4) : 1;
            map.strides[d - 1] = stride;
            stride *= map.sizes[d];
            stride += 16 * pick(0, 1);
            box *= (map.box[d] + map.element_strides[d] - 1) / map.element_strides[d];
        }
        if (stride > kBytes || box > kBytes) continue;
        for (unsigned d = 0; d < rank; ++d) {
            const int reach = static_cast<int>(map.box[d]);
            c.start.push_back(static_cast<int>(random() % (map.sizes[d] + map.box[d] + 1)) - reach);
            if (random() % 4 == 0) c.start.back() = 0;
            c.coordinates += (d == 0 ? "" : ", ") + std::to_string(c.start.back());
        }
        c.coordinates = "{" + c.coordinates + "}";
        c.box_bytes = box;
        return c;
    }
}

std::vector<std::byte> random_bytes(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

std::string dimension(const Case& c) {
    return std::to_string(c.map.rank) + "d";
}

std::string describe(const Case& c) {
    return dimension(c) + " type " + std::to_string(static_cast<int>(c.map.type)) + " swizzle " +
           std::to_string(static_cast<int>(c.map.swizzle)) + " at " + c.coordinates;
}

std::string load_text(const Case& c, const std::string& suffix, const std::string& operand) {
    return kPaint + kInitialize + "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " +
           std::to_string(c.box_bytes) + ";\n@%p cp.async.bulk.tensor." + dimension(c) +
           ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" + suffix + " [box], [%map, " +
           c.coordinates + "], [bar]" + operand + ";\n" + kWait + kDump;
}

AsyncRun load_run(const Case& c) {
    AsyncRun run;
    run.threads = 128;
    run.in = random_bytes(kBytes, 7);
    run.out.resize(kBytes);
    run.map = [=](std::uint64_t in, std::uint64_t) {
        TensorMap map = c.map;
        map.address = in;
        return map;
    };
    return run;
}

std::vector<std::byte> expected_load(const Case& c, const std::vector<std::byte>& in) {
    std::vector<std::byte> expected(kBytes, std::byte{0xAB});
    const std::size_t size = element_size(c.map.type);
    for (const Element& element : elements_of(c.map, c.start)) {
        for (std::size_t k = 0; k < size; ++k)
            expected[element.shared + k] = element.global ? in[*element.global + k] : std::byte{0};
    }
    return expected;
}

}  // namespace heddle::ptx::test
