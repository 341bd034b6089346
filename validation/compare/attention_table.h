// A table of recorded attention times beside the model.
//
// Such tables are made by TensorRT-LLM's attention operator on Hopper, captured in a CUDA graph that is
// replayed back to back (NVIDIA aiconfigurator, collector/trtllm/collect_attn.py). A row's time is that of a
// replay: a kernel that adds up sequence lengths and clears the counter of tiles; with heads of 64, which
// have attention sinks there, one more; one that turns queries and keys by their positions (RoPE) and writes
// keys and values into the cache; and the fused kernel (fmha_v2, warp-specialised).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/machine/hardware.h"

namespace heddle::validation {

/// Of a time, what each part took; seconds.
struct AttentionAnswer {
    double preparation = 0, attention = 0, replay = 0;
    double clock = 0;      ///< hertz
    double simulated = 1;  ///< part of the tiles that were simulated; the rest goes on at the same rate
    double power = 0;      ///< watts, mean over a replay
    double seconds() const { return preparation + attention + replay; }
};

struct AttentionRow {
    std::uint32_t batch = 1, sequence = 1, heads = 1, kv_heads = 1, head_dim = 64;
    double recorded = 0;  ///< microseconds
    double recorded_watts = 0;  ///< mean while it is repeated; 0: the table has none
    /// The same launches, and max(work / 750 TFLOP/s, bytes / 2.7 TB/s) (an H100; the same parts elsewhere).
    double roofline = 0;
    std::optional<AttentionAnswer> simulated;
    std::string failure;  ///< why it could not be simulated
    double simulated_us() const { return simulated->seconds() * 1e6; }
};

/// Lines of batch, sequence, heads, kv_heads, head_dim and latency_us under a heading that names them; `watts` may be a column
/// too. Throws
/// heddle::Error for a damaged file.
std::vector<AttentionRow> read_attention_table(const std::filesystem::path& file);
/// `count` rows by a generator that is the same everywhere; all of them when there are no more.
std::vector<AttentionRow> sample_of(std::vector<AttentionRow> rows, std::size_t count, std::uint64_t seed);

struct AttentionTableOptions {
    unsigned workers = 0;  ///< 0: one for each core
    std::function<void(double fraction, const std::string& what)> progress = [](double, const std::string&) {
    };
};
/// Fills in every row. Each answer is independent of the others and of the worker.
void time_attention_table(std::vector<AttentionRow>& rows, const sim::Hardware& hardware,
                          const AttentionTableOptions& options);

/// A series of rows: by head dimension and size.
struct AttentionErrors {
    std::string name;
    std::size_t n = 0;
    double mape = 0, median = 0, p90 = 0, bias = 0, roofline_mape = 0;
};
std::vector<AttentionErrors> errors_of(const std::vector<AttentionRow>& rows);

/// Mean, median and 90 % of the errors of watts, of rows of at least `from` microseconds.
AttentionErrors watt_errors_of(const std::vector<AttentionRow>& rows, double from);

std::string format_attention_table(const std::vector<AttentionRow>& rows, const std::string& heading);
/// n, mape, median, p90, bias, roofline_mape, series, worst; errors as fractions.
std::string attention_table_json(const std::vector<AttentionRow>& rows);

}  // namespace heddle::validation
