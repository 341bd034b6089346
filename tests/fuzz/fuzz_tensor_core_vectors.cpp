// libFuzzer: any bytes as the four files of a recorded series of a tensor core (A, B, C and D, lines of `---`
// between). The first letter chooses the series.
#include "folder.h"
#include "validation/recorded/tensor_core_vectors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const heddle::test::Folder folder("vectors");
    namespace validation = heddle::validation;
    if (size == 0) return 0;
    std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    std::string_view parts[4];
    for (std::string_view& part : parts) part = heddle::test::next_part(rest);
    static const validation::TensorCoreSeries all[] = {
        validation::tensor_core_series("H100", "fp16", "fp32"),
        validation::tensor_core_series("H100", "fp16", "fp16"),
        validation::tensor_core_series("A100", "tf32", "fp32"),
        validation::tensor_core_series("B200", "E4M3", "fp16"),
        validation::tensor_core_series("H200", "E5M2", "fp32")};
    const validation::TensorCoreSeries& series = all[data[0] % std::size(all)];
    const std::string here = series.device + "/" + series.folder;
    const std::string middle = "_" + series.device + "_";
    std::filesystem::create_directories(folder.path() / here);
    folder.write(here + "/a" + middle + series.folder + ".txt", parts[0]);
    folder.write(here + "/b" + middle + series.folder + ".txt", parts[1]);
    folder.write(here + "/c" + middle + "fp32.txt", parts[2]);
    folder.write(here + "/d" + middle + heddle::numerics::traits(series.output).name + ".txt", parts[3]);
    heddle::test::refuse_or_read([&] { validation::read_tensor_core_vectors(folder.path(), series); });
    return 0;
}
