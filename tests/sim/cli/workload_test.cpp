#include "sim/cli/workload.h"

#include <catch2/catch.hpp>
#include <set>

#include "isa/common/error.h"

using namespace heddle::cli;

TEST_CASE("a file's workload is named without folders and endings") {
    CHECK(workload_name_of_file("a/b/gpt_step.tar.gz") == "gpt_step");
    CHECK(workload_name_of_file("step.et") == "step");
    CHECK(workload_name_of_file("step.v2.json.gz") == "step.v2");
    CHECK(workload_name_of_file(".et") == ".et");
}

TEST_CASE("model options are names and values, each once") {
    std::map<std::string, std::string> options;
    add_model_option(options, "widths=4,5");
    add_model_option(options, "expression=a=b");
    CHECK(options.at("widths") == "4,5");
    CHECK(options.at("expression") == "a=b");
    CHECK_THROWS_WITH(add_model_option(options, "widths=6"), Catch::Contains("twice"));
    CHECK_THROWS_WITH(add_model_option(options, "batch"), Catch::Contains("`batch` sets nothing"));
    CHECK_THROWS_AS(add_model_option(options, "=3"), heddle::Error);
}

TEST_CASE("an MLP has the parameters of the textbook") {
    // in x out weights and out biases per layer.
    const Workload workload = open_workload("mlp", {{"batch", "8"}, {"widths", "20,30,5"}});
    CHECK(workload.name == "mlp");
    std::int64_t parameters = 0;
    std::set<std::uint64_t> counted;  // an update writes where the parameter lies
    for (const auto& tensor : workload.trace.tensors) {
        const bool parameter = tensor.role == heddle::trace::TensorRole::parameter;
        if (parameter && (tensor.storage == 0 || counted.insert(tensor.storage).second))
            parameters += tensor.elements();
    }
    CHECK(parameters == 20 * 30 + 30 + 30 * 5 + 5);
}

TEST_CASE("what is neither a model nor a file is told as what it looks like") {
    CHECK_THROWS_WITH(open_workload("mpl", {}), Catch::Contains("mlp"));
    CHECK_THROWS_WITH(open_workload("no/such.et", {}), Catch::Contains("no/such.et"));
    CHECK_THROWS_WITH(open_workload("no/such.et", {{"batch", "3"}}), Catch::Contains("no option `batch`"));
}
