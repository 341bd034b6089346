// Fat binaries: what nvcc puts into a program for its device, PTX and machine code of several architectures, compressed or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::driver {

/// One image in a fat binary, or the only one of what cuModuleLoadData() was given. It refers to the bytes that it was read from.
struct Image {
    bool is_ptx = false;              ///< else machine code
    unsigned compute_capability = 0;  ///< times ten; of PTX given by itself 0
    std::string_view stored;          ///< as it lies there
    std::uint64_t flags = 0;          ///< how it is compressed
    std::uint64_t bytes = 0;          ///< when it is not

    /// PTX without the zeros at its end, or an ELF file. Throws heddle::Error when it does not decompress.
    std::string content() const;
};

/// The images of a fat binary (header 0xBA55ED50), of PTX text, or of an ELF file. Throws heddle::Error for bytes that are none of these, or
/// that are cut off.
std::vector<Image> read_images(std::string_view bytes);

/// The newest PTX that the device may run; nullptr: there is none.
const Image* choose_ptx(const std::vector<Image>& images, unsigned compute_capability);
/// The newest machine code that the device may run, which is that of its own generation and not newer; nullptr: there is none.
const Image* choose_machine_code(const std::vector<Image>& images, unsigned compute_capability);
/// Says which option of nvcc adds what the device may run, where images have neither.
[[noreturn]] void report_no_image(const std::vector<Image>& images, unsigned compute_capability);

}  // namespace heddle::driver
