// Small recordings of PyTorch in JSON, written by hand after the formats of its profiler.
#pragma once

#include <string>
#include <vector>

namespace heddle::test {

/// One product [32, 64] x [64, 128] and a ReLU, launched on one thread: addmm at 100..140 us, relu at
/// 150..170. `external` 1: kernels name their calls (PyTorch 2); 0: they repeat their correlation.
inline std::string kineto(bool external, const std::string& operator_category,
                          const std::string& kernel_category, const std::string& launch_category) {
    const auto category = [](const std::string& name) {
        return name.empty() ? std::string() : "\"cat\": \"" + name + "\", ";
    };
    const std::string call = "{\"ph\": \"X\", " + category(operator_category),
                      launch = "{\"ph\": \"X\", " + category(launch_category),
                      kernel = "{\"ph\": \"X\", " + category(kernel_category);
    const auto id = [&](int op, int correlation) { return std::to_string(external ? op : correlation); };
    return "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA "
           "A100-SXM4-40GB\"}],\n"
           "\"traceEvents\": [\n" +
           kernel +
           "\"name\": \"ampere_sgemm_64x64_nn\", \"pid\": 0, \"tid\": 7, \"ts\": 200, \"dur\": 12, \"args\": "
           "{\"External id\": " +
           id(2, 71) +
           ", \"device\": 0, \"stream\": 7, \"correlation\": 71, "
           "\"grid\": [2, 1, 1], \"block\": [128, 1, 1]}},\n" +
           kernel +
           "\"name\": \"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
           "launch_clamp_scalar(at::TensorIteratorBase&)>(int)\", \"pid\": 0, \"tid\": 7, \"ts\": 215.5, "
           "\"dur\": 2.5, "
           "\"args\": {\"External id\": " +
           id(3, 72) + ", \"device\": 0, \"stream\": 7, \"correlation\": 72}},\n" + call +
           "\"name\": \"aten::linear\", \"pid\": 1, \"tid\": 1, \"ts\": 90, \"dur\": 55, \"args\": "
           "{\"External id\": 1, "
           "\"Record function id\": 11, \"Ev Idx\": 0, "
           "\"Input Dims\": [[32, 64], [128, 64], [128]], \"Input type\": [\"float\", \"float\", "
           "\"float\"]}},\n" +
           call +
           "\"name\": \"aten::addmm\", \"pid\": 1, \"tid\": 1, \"ts\": 100, \"dur\": 40, \"args\": "
           "{\"External id\": 2, "
           "\"Record function id\": 12, \"Sequence number\": 5, \"Ev Idx\": 1, \"Input Dims\": [[128], [32, "
           "64], [64, 128], [], []], "
           "\"Input type\": [\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\"], "
           "\"Concrete Inputs\": [\"\", \"\", \"\", \"1\", \"1\"]}},\n" +
           launch +
           "\"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": 120, \"dur\": 8, \"args\": "
           "{\"External id\": 71, \"cbid\": 211, \"correlation\": 71}},\n" +
           call +
           "\"name\": \"aten::relu\", \"pid\": 1, \"tid\": 1, \"ts\": 150, \"dur\": 20, \"args\": "
           "{\"External id\": 3, "
           "\"Record function id\": 13, \"Ev Idx\": 2, \"Input Dims\": [[32, 128]], \"Input type\": "
           "[\"float\"]}},\n" +
           launch +
           "\"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": 160, \"dur\": 5, \"args\": "
           "{\"External id\": 72, \"cbid\": 211, \"correlation\": 72, \"memory bandwidth (GB/s)\": "
           "inf}}\n]}\n";
}

/// The same two calls as an execution trace; `schema` "1.0.1" has flat nodes.
inline std::string execution_trace(const std::string& schema) {
    struct Node {
        int id, caller, number;
        std::string name, inputs, shapes, types, output, shape;
    };
    const std::string x = "[10, 20, 0, 2048, 4, \"cuda:0\"]", w = "[11, 21, 0, 8192, 4, \"cuda:0\"]",
                      b = "[12, 22, 0, 128, 4, \"cuda:0\"]", t = "[13, 21, 0, 8192, 4, \"cuda:0\"]",
                      y = "[14, 23, 0, 4096, 4, \"cuda:0\"]", z = "[15, 24, 0, 4096, 4, \"cuda:0\"]";
    const std::string f = "\"Tensor(float)\"";
    const std::vector<Node> nodes{
        {4, 3, 11, "aten::linear", "[" + x + ", " + w + ", " + b + "]", "[[32, 64], [128, 64], [128]]",
         "[" + f + ", " + f + ", " + f + "]", y, "[32, 128]"},
        {5, 4, 14, "aten::t", "[" + w + "]", "[[128, 64]]", "[" + f + "]", t, "[64, 128]"},
        {6, 5, 15, "aten::as_strided", "[" + w + ", [64, 128], [1, 64], 0]",
         "[[128, 64], [[], []], [[], []], []]",
         "[" + f + ", \"GenericList[Int,Int]\", \"GenericList[Int,Int]\", \"Int\"]", t, "[64, 128]"},
        {7, 4, 12, "aten::addmm", "[" + b + ", " + x + ", " + t + ", 1, 1]",
         "[[128], [32, 64], [64, 128], [], []]", "[" + f + ", " + f + ", " + f + ", \"Int\", \"Int\"]", y,
         "[32, 128]"},
        {8, 3, 13, "aten::relu", "[" + y + "]", "[[32, 128]]", "[" + f + "]", z, "[32, 128]"}};
    std::string text = "{\"schema\": \"" + schema +
                       "\", \"pid\": 1, \"nodes\": [\n"
                       "{\"id\": 3, \"name\": \"[pytorch|profiler|execution_trace|thread]\", \"ctrl_deps\": "
                       "1, \"parent\": 1, "
                       "\"inputs\": [], \"outputs\": []}";
    for (const Node& node : nodes) {
        const std::string id = std::to_string(node.id), caller = std::to_string(node.caller),
                          number = std::to_string(node.number);
        text += ",\n{\"id\": " + id + ", \"name\": \"" + node.name + "\", ";
        if (schema == "1.0.1") {
            text += "\"rf_id\": " + number + ", \"parent\": " + caller +
                    ", \"fw_parent\": 0, \"seq_id\": -1, \"scope\": 0, "
                    "\"tid\": 1, \"fw_tid\": 0, \"op_schema\": \"\", \"inputs\": " +
                    node.inputs + ", \"input_shapes\": " + node.shapes + ", \"input_types\": " + node.types +
                    ", \"outputs\": [" + node.output + "], \"output_shapes\": [" + node.shape +
                    "], \"output_types\": [" + f + "]}";
        } else {
            text += "\"ctrl_deps\": " + caller + ", \"inputs\": {\"values\": " + node.inputs +
                    ", \"shapes\": " + node.shapes + ", \"types\": " + node.types +
                    "}, \"outputs\": {\"values\": [" + node.output + "], \"shapes\": [" + node.shape +
                    "], \"types\": [" + f +
                    "]}, \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", "
                    "\"value\": " +
                    number + "}, {\"name\": \"seq_id\", \"type\": \"int64\", \"value\": -1}]}";
        }
    }
    return text + "\n]}\n";
}

}  // namespace heddle::test
