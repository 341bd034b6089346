// libFuzzer: any text as the options of `heddle explore`, a line an option: what is set, varied, linked and
// constrained of a device; and the designs that they ask for.
#include "folder.h"
#include "sim/explore/space.h"

namespace {

constexpr std::size_t kMostLines = 8;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> set, vary, link, constraint;
    for (std::size_t lines = 0; !text.empty() && lines < kMostLines; ++lines) {
        const std::string line(text.substr(0, text.find('\n')));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        for (auto [name, list] :
             {std::pair("set ", &set), {"vary ", &vary}, {"link ", &link}, {"constraint ", &constraint}})
            if (line.starts_with(name)) list->push_back(line.substr(std::string_view(name).size()));
    }
    heddle::test::refuse_or_read([&] {
        const heddle::explore::Space space("tpu-v1", set, vary, link, constraint);
        space.design(space.base_position());
        space.design(space.grid_size() != 0 ? space.grid_position(space.grid_size() - 1)
                                            : heddle::explore::Position(space.dimensions(), 0.5));
    });
    return 0;
}
