// Recorded training steps: tables are read by their headings, and published rows hold.
#include "validation/compare/training_table.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "isa/common/error.h"
#include "sim/distributed/plan_search.h"

using namespace heddle;

namespace {

std::filesystem::path write(const std::string& text) {
    const auto path =
        std::filesystem::temp_directory_path() / ("heddle-training-" + std::to_string(getpid()) + ".csv");
    std::ofstream(path) << text;
    return path;
}

}  // namespace

TEST_CASE("Megatron-LM's published throughput on A100 holds within 12 per cent") {
    // Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters" (SC 2021), table 1:
    // 137, 142, 135 and 138 TFLOP/s per GPU; seconds by the paper's formula for the operations of a step with
    // full recomputation.
    const auto file = write(
        "model,heads,hidden,layers,tp,pp,dp,gpus,global_batch,micro_batch,layers_per_virtual_stage,seq,vocab,"
        "derived_iter_s\n"
        "1.7B,24,2304,24,1,1,32,32,512,16,0,2048,51200,3.528\n"
        "7.5B,32,4096,36,4,1,32,128,512,16,0,2048,51200,3.696\n"
        "18B,48,6144,40,8,1,32,256,1024,8,0,2048,51200,9.399\n"
        "39B,64,8192,48,8,2,32,512,1536,4,0,2048,51200,14.453\n");
    std::vector<validation::TrainingRow> rows = validation::read_training_table(file);
    REQUIRE(rows.size() == 4);
    CHECK(rows[3].plan.pipeline == 2);
    CHECK(rows[3].plan.micro_batches == 12);
    CHECK(rows[3].plan.recompute == parallel::Recomputation::full);
    validation::TrainingTableOptions options;
    options.workers = 1;
    validation::time_training_table(rows, "dgx-a100", options);
    for (const validation::TrainingRow& row : rows) {
        INFO(row.model << " " << row.failure);
        CHECK(row.failure.empty());
        CHECK(std::abs(row.error()) <= 0.12);
    }
}

TEST_CASE("What is wrong in a table of steps is told with its line") {
    const auto bad = [](const std::string& text, const std::string& part) {
        try {
            validation::read_training_table(write(text));
            FAIL("was read");
        } catch (const Error& error) {
            CHECK(std::string(error.what()).find(part) != std::string::npos);
        }
    };
    bad("a,b\n1,2\n", "no column");
    const std::string heading =
        "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor "
        "parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n";
    bad(heading + "2,16,8,1024,16,24,1024,1,1,2,fast\n", "fast");
    bad(heading + "2,15,8,1024,16,24,1024,1,1,2,372\n", "multiple");
    bad(heading, "no rows");
}

TEST_CASE("Models too large for a device's memory recompute, in every row") {
    const auto file = write(
        "Parameters (billion),# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence "
        "length,tensor "
        "parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n"
        "3.6,64,512,2,3072,32,30,2048,1,64,1,3700.5\n"
        "0.3,8,32,2,1024,16,16,1024,4,2,1,457.7\n");
    std::vector<validation::TrainingRow> rows = validation::read_training_table(file);
    validation::decide_recomputation(rows, "dgx-a100", {});
    CHECK(rows[0].plan.recompute == parallel::Recomputation::full);
    CHECK(rows[1].plan.recompute == parallel::Recomputation::none);
}

TEST_CASE("The search returns plans that fit, the quickest first, and no better one is left out") {
    const sim::ClusterModel cluster = sim::cluster_for("dgx-a100", 1);
    const sim::Hardware hardware = sim::load_hardware(cluster.hardware);
    sim::ClosedForm times(hardware);
    sim::PlanQuestion question;
    question.model = "gpt2-small";
    question.options = {{"layers", "4"}, {"sequence", "256"}};
    question.devices = 8;
    question.batch = 16;
    const auto answers = sim::search_plans(question, cluster, hardware, times);
    REQUIRE(answers.size() > 4);
    for (std::size_t i = 1; i < answers.size(); ++i)
        CHECK(answers[i - 1].result.seconds <= answers[i].result.seconds);
    for (const sim::PlanAnswer& answer : answers) {
        CHECK(answer.plan.devices() == 8);
        CHECK(answer.plan.batch() == 16);
        CHECK(answer.result.fits());
    }
    // A plan by hand.
    parallel::ParallelPlan plan;
    plan.data = 8;
    plan.micro_batch = 2;
    plan.zero = 1;
    const auto own =
        sim::simulate_distributed(question.model, question.options, plan, cluster, hardware, times, {});
    CHECK(answers.front().result.seconds <= own.seconds);
}
