// Every sample of the library runs on the virtual GPU and writes its outputs.
#include "workloads/kernels/library.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "isa/common/error.h"
#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

std::size_t elements_of(const SampleBuffer& buffer) {
    return buffer.bytes / bytes_of(buffer.type);
}

std::uint32_t add_sample_buffer(Device& device, const SampleBuffer& buffer, unsigned seed) {
    switch (buffer.content) {
        case SampleBuffer::Content::zeros:
            return device.add(buffer.type, std::vector<double>(elements_of(buffer), 0));
        case SampleBuffer::Content::index:
            return device.add(buffer.type, random_integers(elements_of(buffer), 0,
                                                           static_cast<int>(buffer.limit) - 1, seed));
        case SampleBuffer::Content::random:
            break;
    }
    if (is_integer(buffer.type))
        return device.add(buffer.type, random_integers(elements_of(buffer), 0, 1, seed));
    return device.add(buffer.type, random_reals(buffer.type, elements_of(buffer), 0.25, 1, seed));
}

}  // namespace

TEST_CASE("Every sample of the library runs and writes") {
    std::set<std::string> names;
    for (const LibraryKernel& sample : library_samples(80)) {
        INFO(sample.name);
        CHECK(names.insert(sample.name).second);
        REQUIRE(sample.arguments.size() == sample.kernel.parameters.size());
        Device device;
        std::vector<std::uint32_t> buffers;
        for (const SampleBuffer& buffer : sample.buffers) {
            buffers.push_back(add_sample_buffer(device, buffer, static_cast<unsigned>(buffers.size())));
        }
        std::vector<KernelArgument> arguments = sample.arguments;
        for (KernelArgument& argument : arguments) {
            if (argument.pointer && argument.buffer != kNoBuffer) argument.buffer = buffers[argument.buffer];
        }
        CHECK(device.run(sample.kernel, sample.grid, arguments) > 0);
        // At least nine tenths of every output's elements are no longer zero (a scatter reaches only its
        // rows).
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            if (sample.buffers[i].content != SampleBuffer::Content::zeros) continue;
            const std::vector<double> values = device.read(buffers[i]);
            std::size_t written = 0;
            for (const double value : values) written += value != 0;
            INFO(sample.buffers[i].name << ": " << written << " of " << values.size());
            CHECK(written * 3 > values.size());
        }
    }
}

TEST_CASE("Only indices steer the kernels of the library") {
    // In timing mode nothing but indices has values; the same instructions run all the same.
    for (const unsigned capability : {90u, 100u}) for (const LibraryKernel& sample : library_samples(capability)) {
        INFO(sample.name);
        Device functional(capability), timing(capability);
        std::vector<std::uint32_t> buffers;
        for (const SampleBuffer& buffer : sample.buffers) {
            const auto seed = static_cast<unsigned>(buffers.size());
            buffers.push_back(add_sample_buffer(functional, buffer, seed));
            if (buffer.content == SampleBuffer::Content::index) {
                add_sample_buffer(timing, buffer, seed);
            } else {
                timing.add_unbacked(buffer.bytes);
            }
        }
        CHECK(functional.run(sample.kernel, sample.grid, sample.arguments) ==
              timing.run_timing(sample.kernel, sample.grid, sample.arguments));
    }
}

TEST_CASE("Arguments are put in order by name") {
    const LibraryKernel sample = library_samples(80).front();
    CHECK_THROWS_AS(order_arguments(sample.kernel, {integer_argument("no_such_parameter", 1)}),
                    heddle::Error);
    CHECK_THROWS_AS(order_arguments(sample.kernel, {integer_argument("a", 1)}), heddle::Error);
    CHECK_THROWS_AS(order_arguments(sample.kernel, {integer_argument("m", 1), integer_argument("m", 2)}),
                    heddle::Error);
    const std::vector<KernelArgument> ordered = order_arguments(sample.kernel, {integer_argument("n", 5)});
    CHECK(ordered.size() == sample.kernel.parameters.size());
    CHECK(ordered[0].buffer == kNoBuffer);
}

TEST_CASE("Scheduling changes no bit of what the kernels of the library compute") {
    std::size_t shorter = 0;
    for (const unsigned capability : {80u, 90u, 100u}) {
        for (const LibraryKernel& sample : library_samples(capability)) {
            INFO(sample.name);
            Device written(capability), scheduled(capability, heddle::ptx::Assembly::scheduled);
            std::vector<std::uint32_t> buffers;
            for (const SampleBuffer& buffer : sample.buffers) {
                const auto seed = static_cast<unsigned>(buffers.size());
                buffers.push_back(add_sample_buffer(written, buffer, seed));
                add_sample_buffer(scheduled, buffer, seed);
            }
            const std::uint64_t before = written.run(sample.kernel, sample.grid, sample.arguments);
            const std::uint64_t after = scheduled.run(sample.kernel, sample.grid, sample.arguments);
            shorter += after < before ? 1 : 0;
            for (const std::uint32_t buffer : buffers) {
                const std::vector<double> x = written.read(buffer), y = scheduled.read(buffer);
                CHECK(std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0);
            }
        }
    }
    CHECK(shorter > 80);  // the pass has done something
}
