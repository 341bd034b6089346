// A table of recorded GEMM times beside the model: errors by size, the worst rows with what bounds them, and
// beside them what a roofline and a closed form say of the same rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/gemm/gemm_timer.h"
#include "sim/machine/hardware.h"

namespace heddle::validation {

struct GemmRow {
    std::uint32_t m = 0, n = 0, k = 0, batch = 1;
    double recorded = 0;             ///< microseconds, this and the others; of several recordings the median
    std::vector<double> recordings;  ///< those that `recorded` is the median of, in the order of the columns
    double roofline = 0;             ///< launch + max(work / rate, bytes / bandwidth)
    double estimated = 0;            ///< closed form, of the kernel that was chosen (gemm_estimate.h)
    /// What the table's other columns of microseconds say, in their order (other_gemm_columns()); 0: nothing.
    std::vector<double> others;
    double recorded_watts = 0;   ///< mean while the product is repeated; 0: the table has none
    double estimated_watts = 0;  ///< by the closed form
    std::optional<sim::GemmAnswer> simulated;
    std::string failure;  ///< why it could not be simulated
    double simulated_us() const { return simulated->seconds * 1e6; }
};

/// Lines of m,n,k and figures under a heading that names them; `batch` may be a column too. Rows without a
/// figure in `column` are left out. Throws heddle::Error for a damaged file and for a column that it lacks.
std::vector<GemmRow> read_gemm_table(const std::filesystem::path& file, const std::string& column);
/// The same with several columns: recordings of the same products (versions of a software, boards). A row's
/// `recorded` is the median of those that have a figure; rows in which none has are left out.
std::vector<GemmRow> read_gemm_table(const std::filesystem::path& file,
                                     const std::vector<std::string>& columns);

/// The columns beside `columns` in which the table has times of the same products, by other software: those
/// whose names end with "_us".
std::vector<std::string> other_gemm_columns(const std::filesystem::path& file,
                                            const std::vector<std::string>& columns);

/// Rows of one of two halves of all (n, k): 0 or 1. By a hash, so that what was learnt from one half can be
/// tried on shapes of weights that nobody looked at.
std::vector<GemmRow> half_of(const std::vector<GemmRow>& rows, unsigned half);
/// `count` rows by a generator that is the same everywhere; all of them when there are no more.
std::vector<GemmRow> sample_of(std::vector<GemmRow> rows, std::size_t count, std::uint64_t seed);

struct GemmTableOptions {
    trace::ElementType type = trace::ElementType::bf16;
    bool quantise = false;  ///< A comes as bf16; for 8-bit floats
    kernels::GemmSurroundings surroundings;
    unsigned workers = 0;   ///< 0: one for each core
    bool simulate = true;   ///< else the closed forms alone
    bool sample = true;     ///< of each kernel as much as it takes to settle
    bool cache = true;      ///< answers on disk
    unsigned autotune = 1;  ///< candidates that are simulated; the fastest counts
    std::function<void(double fraction, const std::string& what)> progress = [](double, const std::string&) {
    };
};
/// Fills in every row. Each answer is independent of the others and of the worker. Where watts were recorded the
/// board is held to its limit at any time (power.allowance is 0).
void time_gemm_table(std::vector<GemmRow>& rows, const sim::Hardware& hardware,
                     const GemmTableOptions& options);

/// Errors |x / recorded - 1| of one column of figures.
struct GemmErrors {
    std::size_t n = 0;
    double mape = 0, median = 0, p90 = 0, bias = 0;
    double r = 0;  ///< Pearson's, of the logarithms
};
enum class GemmFigure : std::uint8_t { simulated, estimated, roofline };
GemmErrors errors_of(const std::vector<const GemmRow*>& rows, GemmFigure figure);

/// How far single recordings lie from the median of their row, on average, as a fraction; 0 where no row has
/// several.
double spread_of(const std::vector<const GemmRow*>& rows);

struct GemmClass {
    const char* name;
    double from, to;  ///< microseconds; of gemm_classes_of_m() rows of A
};
const std::vector<GemmClass>& gemm_classes();
std::vector<const GemmRow*> rows_of(const std::vector<GemmRow>& rows, const GemmClass& size);
/// Classes of m, and the rows of one of them.
const std::vector<GemmClass>& gemm_classes_of_m();
std::vector<const GemmRow*> rows_of_m(const std::vector<GemmRow>& rows, const GemmClass& extent);

/// Furthest from what was recorded first.
std::vector<const GemmRow*> worst_of(const std::vector<GemmRow>& rows, GemmFigure figure,
                                     std::size_t count = 10);

/// How far two columns of a table are apart, |other / recorded - 1|, over the rows that have both; `other` is a
/// place in GemmRow::others.
GemmErrors disagreement_of(const std::vector<const GemmRow*>& rows, std::size_t other);
/// Errors of watts over the rows that have them; `simulated` or by the closed form.
GemmErrors watt_errors_of(const std::vector<const GemmRow*>& rows, bool simulated);

/// `others` names the columns of GemmRow::others.
std::string format_gemm_table(const std::vector<GemmRow>& rows, const std::string& heading, bool simulated,
                              const std::vector<std::string>& others = {});
/// n, unfinished, mape, median, p90, bias, r, roofline_mape, closed_form_mape, closed_form_bias, spread,
/// classes, classes_of_m, worst, rows; errors as fractions. `stacks` where there are `others`, `watts` where the
/// table has them.
std::string gemm_table_json(const std::vector<GemmRow>& rows, bool simulated,
                            const std::vector<std::string>& others = {});

}  // namespace heddle::validation
