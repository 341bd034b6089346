// Tensor copies against a reference that looks at one element after the other.
#include "async_launch.h"

namespace heddle::ptx::test {

TEST_CASE("A box of a matrix, clipped and swizzled", "[ptx][tensor]") {
    AsyncRun run;
    run.threads = 128;
    std::vector<std::uint32_t> values(1024);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i + 1);
    run.in = bytes_from(values);
    // 20 columns of 24 in memory, 30 rows; a box of 8 x 16 at (15, -3).
    run.map = [](std::uint64_t in, std::uint64_t) {
        TensorMap map;
        map.type = TensorMapType::uint32;
        map.rank = 2;
        map.address = in;
        map.sizes = {20, 30};
        map.strides = {96};
        map.box = {8, 16};
        map.swizzle = TensorMapSwizzle::bytes_32;
        return map;
    };
    const AsyncOutcome outcome =
        run.run(kInitialize +
                "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
                "@%p cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], "
                "[%map, {15, -3}], [bar];\n" +
                kWait + "mad.lo.u32 %w, %t, 4, %b; ld.shared.b32 %v, [%w];" + kStoreV);
    CHECK(outcome.error == "");
    for (unsigned word = 0; word < 128; ++word) {
        const unsigned address = word * 4, linear = address ^ (address >> 7 & 1) << 4;
        const int x = 15 + static_cast<int>(linear / 4 % 8), y = -3 + static_cast<int>(linear / 32);
        const std::uint32_t expected = x < 20 && y >= 0 ? static_cast<std::uint32_t>(y * 24 + x + 1) : 0;
        CHECK(outcome.at<std::uint32_t>(word) == expected);
    }
}

}  // namespace heddle::ptx::test
