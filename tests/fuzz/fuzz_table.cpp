// libFuzzer: any bytes as each of the tables that `heddle validate` reads.
#include "folder.h"
#include "validation/compare/attention_table.h"
#include "validation/compare/collective_table.h"
#include "validation/compare/gemm_table.h"
#include "validation/compare/training_table.h"
#include "validation/recorded/row_table.h"
#include "validation/recorded/tpu_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const heddle::test::Folder folder("table");
    const std::filesystem::path file = folder.write("table.csv", {reinterpret_cast<const char*>(data), size});
    namespace validation = heddle::validation;
    using heddle::test::refuse_or_read;
    refuse_or_read([&] { validation::read_attention_table(file); });
    refuse_or_read([&] { validation::read_collective_table(file); });
    refuse_or_read([&] { validation::read_gemm_table(file, "us"); });
    refuse_or_read([&] { validation::read_training_table(file); });
    refuse_or_read([&] { validation::read_products(file); });
    refuse_or_read([&] { validation::read_array_runs(file); });
    refuse_or_read([&] { validation::read_rows(file, 2); });
    return 0;
}
