// Fat binaries: what nvcc puts into a program for its device, PTX and machine code of several architectures, compressed or not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::driver {

/// One image in a fat binary, or the only one of what cuModuleLoadData() was given.
struct Image {
    bool is_ptx = false;                  ///< else machine code
    unsigned compute_capability = 0;      ///< times ten
    std::string text;                     ///< of PTX, decompressed
};

/// The images of a fat binary (header 0xBA55ED50), of PTX text, or of an ELF file. Throws heddle::Error for bytes that are none of these, that
/// are cut off, or that do not decompress.
std::vector<Image> read_images(std::string_view bytes);

/// The newest PTX that the device may run. Throws heddle::Error that says which option of nvcc adds one when there is none.
const Image& choose_image(const std::vector<Image>& images, unsigned compute_capability);

}  // namespace heddle::driver
