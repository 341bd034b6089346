// Builds a LibraryKernel: buffers and arguments by name.
#pragma once

#include <string>
#include <vector>

#include "isa/target/generation.h"
#include "workloads/kernels/library.h"

namespace heddle::kernels {

/// Assembles one sample.
class SampleBuilder {
  public:
    using Content = SampleBuffer::Content;

    SampleBuilder(std::string name, GeneratedKernel kernel, Extent3 grid) {
        sample_.name = std::move(name);
        sample_.kernel = std::move(kernel);
        sample_.grid = grid;
    }
    SampleBuilder& buffer(const std::string& name, ElementType type, std::uint64_t elements, Content content,
                          std::uint64_t limit = 0) {
        arguments_.push_back(pointer_argument(name, static_cast<std::uint32_t>(sample_.buffers.size())));
        sample_.buffers.push_back({name, elements * bytes_of(type), type, content, limit});
        return *this;
    }
    SampleBuilder& input(const std::string& name, ElementType type, std::uint64_t elements) {
        return buffer(name, type, elements, Content::random);
    }
    SampleBuilder& output(const std::string& name, ElementType type, std::uint64_t elements) {
        return buffer(name, type, elements, Content::zeros);
    }
    SampleBuilder& index(const std::string& name, ElementType type, std::uint64_t elements,
                         std::uint64_t limit) {
        return buffer(name, type, elements, Content::index, limit);
    }
    SampleBuilder& integer(const std::string& name, std::uint64_t value) {
        arguments_.push_back(integer_argument(name, value));
        return *this;
    }
    SampleBuilder& real(const std::string& name, float value) {
        arguments_.push_back(f32_argument(name, value));
        return *this;
    }
    SampleBuilder& real64(const std::string& name, double value) {
        arguments_.push_back(f64_argument(name, value));
        return *this;
    }
    SampleBuilder& divider(const std::string& prefix, std::uint32_t divisor) {
        add_divider_arguments(arguments_, prefix, divisor);
        return *this;
    }
    std::vector<KernelArgument>& arguments() { return arguments_; }
    LibraryKernel finish() {
        sample_.arguments = order_arguments(sample_.kernel, arguments_);
        return std::move(sample_);
    }

  private:
    LibraryKernel sample_;
    std::vector<KernelArgument> arguments_;
};

/// These functions append the samples of one family that a device of this compute capability can run.
void add_gemm_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability);
void add_elementwise_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability);
void add_row_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability);
void add_torch_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability);
void add_convolution_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability);
void add_attention_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability);
/// Products by mma.sync of types other than 16 bits.
void add_gemm_type_samples(std::vector<LibraryKernel>& samples, unsigned compute_capability);

}  // namespace heddle::kernels
