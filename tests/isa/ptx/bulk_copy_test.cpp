// cp.async.bulk and its relatives against plain C++.
#include "async_launch.h"

namespace heddle::ptx::test {
namespace {

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u + 12345u);
    return values;
}

}  // namespace

TEST_CASE("A bulk copy from global to shared memory", "[ptx][bulk]") {
    AsyncRun run;
    run.threads = 64;
    run.in = bytes_from(numbers(1024));
    const AsyncOutcome outcome =
        run.run(kInitialize +
                "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n"
                "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [box + 64], [%in + "
                "32], 256, [bar];\n" +
                kWait + "mad.lo.u32 %w, %t, 4, %b; ld.shared.b32 %v, [%w + 64];" + kStoreV);
    CHECK(outcome.error == "");
    for (unsigned t = 0; t < 64; ++t) CHECK(outcome.at<std::uint32_t>(t) == numbers(1024)[8 + t]);
}

}  // namespace heddle::ptx::test
