#include <string>

#include "isa/common/error.h"
#include "sim/cli/commands.h"

namespace heddle::cli {

void add_series_options(CLI::App& command, models::gpu::SeriesSettings& series) {
    CLI::Option* const interval =
        command
            .add_option(
                "--series", series.interval,
                "record what SMs, L2 and memory do in every so many cycles, rounded up to a multiple of 16: "
                "counters in the timeline")
            ->check(CLI::Range(models::Cycle{64}, models::Cycle{1} << 40))
            ->type_name("CYCLES");
    command
        .add_option_function<std::string>(
            "--series-of",
            [&series](const std::string& text) {
                if (text != "gpc" && text != "sm") {
                    throw Error("`" + text + "` is neither gpc nor sm", {"--series-of", 0, ""},
                                "sm makes a set of counters for each SM: large files");
                }
                series.by_sm = text == "sm";
            },
            "whose counters: of each GPC, or of each SM (default: gpc)")
        ->type_name("gpc|sm")
        ->needs(interval);
}

}  // namespace heddle::cli
