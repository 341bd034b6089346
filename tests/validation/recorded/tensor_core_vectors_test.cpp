#include "validation/recorded/tensor_core_vectors.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::numerics;
using namespace heddle::validation;

namespace {

/// Empty, with a line on the standard output, where the recordings are not.
std::filesystem::path recordings() {
    const char* variable = std::getenv("HEDDLE_DATA");
    const std::filesystem::path data =
        variable != nullptr ? std::filesystem::path(variable)
                            : std::filesystem::path(HEDDLE_SOURCE_DIR) / ".." / "shared" / "data";
    const std::filesystem::path folder = tensor_core_folder(data);
    if (folder.empty()) std::cout << "skipped: no tensor core recordings under " << data << "\n";
    return folder;
}

const TensorCoreSeries& series_named(const std::string& name) {
    for (const TensorCoreSeries& series : tensor_core_series())
        if (series.name() == name) return series;
    throw std::logic_error("no series " + name);
}

TensorCoreModel model_of(const DotProductParameters& parameters) {
    return [parameters](auto a, auto b, auto c) { return dot_product(parameters, a, b, c); };
}

double per_cent(std::size_t equal, const TensorCoreVectors& vectors) {
    return 100.0 * static_cast<double>(equal) / static_cast<double>(vectors.rows());
}

}  // namespace

TEST_CASE("every recorded row of every series comes out of the definition") {
    const std::filesystem::path folder = recordings();
    if (folder.empty()) return;
    for (const TensorCoreSeries& series : tensor_core_series()) {
        const TensorCoreVectors vectors = read_tensor_core_vectors(folder, series);
        INFO(series.name());
        CHECK(vectors.rows() == 5000);
        CHECK(count_equal(vectors, model_of(series.parameters())) == 5000);
    }
}
