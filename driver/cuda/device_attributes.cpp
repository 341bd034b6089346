// What a device has (cuDeviceGetAttribute): what the hardware file says, and where it is silent what all devices of its compute capability have.
#include "driver/cuda/state.h"

namespace heddle::driver {
namespace {

/// Limits of textures and surfaces, which are the same for all devices that there are; 0: it is none of them.
int texture_limit(int attribute) {
    switch (attribute) {
        case 21: case 22: case 56: case 70: return 131072;                    // widths in one and two dimensions, also of surfaces and linear memory
        case 23: case 57: return 65536;                                      // heights
        case 71: return 65000;                                               // of linear memory
        case 72: return 2097120;                                             // its pitch
        case 24: case 25: case 26: case 47: case 48: case 49: case 58: case 59: case 60: return 16384;  // three dimensions
        case 27: case 28: case 42: case 45: case 46: case 52: case 53: case 55: case 61: case 63: case 64: case 66: case 67: case 73: case 74: case 77: return 32768;
        case 29: case 43: case 62: case 65: return 2048;                     // layers
        case 54: case 68: return 2046;                                       // of cubes
        case 69: return 1 << 28;                                             // elements of linear memory
        default: return 0;
    }
}

}  // namespace

CUresult device_attribute(int* value, int attribute, CUdevice device) {
    if (device < 0 || static_cast<std::size_t>(device) >= Client::get().devices().size()) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const DeviceDescription& d = Client::get().devices()[static_cast<std::size_t>(device)];
    const unsigned capability = d.compute_capability;
    switch (attribute) {
        case 1: case 2: case 3: *value = 1024; break;
        case 4: *value = 64; break;
        case 5: *value = 0x7fffffff; break;
        case 6: case 7: *value = 65535; break;
        case 8: *value = static_cast<int>(d.shared_per_block); break;
        case 9: *value = 65536; break;
        case 10: *value = 32; break;
        case 11: *value = 0x7fffffff; break;
        case 12: case 82: *value = static_cast<int>(d.registers_per_sm); break;
        case 13: *value = static_cast<int>(d.clock_khz); break;
        case 14: case 30: *value = 512; break;
        case 51: *value = 32; break;
        case 16: *value = static_cast<int>(d.sms); break;
        case 33: *value = device + 1; break;
        case 36: *value = static_cast<int>(d.memory_clock_khz); break;
        case 37: *value = static_cast<int>(d.memory_bus_bits); break;
        case 38: *value = static_cast<int>(d.l2_bytes); break;
        case 39: *value = static_cast<int>(d.threads_per_sm); break;
        case 40: *value = 3; break;
        case 75: *value = static_cast<int>(capability / 10); break;
        case 76: *value = static_cast<int>(capability % 10); break;
        case 81: *value = static_cast<int>(d.shared_per_sm); break;
        case 87: *value = capability == 70 || capability == 80 || capability == 90 || capability == 100 ? 2 : 64; break;
        case 97: *value = static_cast<int>(d.shared_per_block_opt_in); break;
        case 106: *value = static_cast<int>(d.blocks_per_sm); break;
        case 108: *value = static_cast<int>(d.l2_bytes * 5 / 8); break;
        case 109: *value = 128 << 20; break;
        case 111: *value = static_cast<int>(d.shared_reserved); break;
        case 126: *value = 1; break;  // memory is one domain
        // What there is: asynchronous copies, mapped and managed memory, unified addresses, concurrent kernels, priorities, caches, cooperative launches, memory of
        // the host that is registered and reached at its own address, virtual memory, pools, streams that wait for values in memory.
        case 15: case 19: case 31: case 41: case 44: case 78: case 79: case 80: case 83: case 89: case 90: case 91: case 92: case 93: case 94: case 95: case 99: case 101: case 102: case 115: case 122: case 123: *value = 1; break;
        case 120: case 127: *value = capability >= 90 ? 1 : 0; break;
        case 130: *value = 0; break;
        case 131: case 134: *value = -1; break;
        // What there is not: a limit of time, an integrated GPU, modes of computing, ECC, numbers of the board, TCC, several GPUs of a board, atomics of the host, pageable
        // memory, cooperative launches on several devices, handles for other processes and other interfaces, compression, RDMA, sparse
        // arrays, NUMA, multicast, MPS.
        case 17: case 18: case 20: case 32: case 34: case 35: case 50: case 84: case 85: case 86: case 88: case 96: case 98: case 100:
        case 103: case 104: case 105: case 107: case 110: case 112: case 113: case 114: case 116: case 117: case 118: case 119: case 121: case 124: case 125: case 128: case 129: case 132: case 133: case 135: case 136: case 137: case 138: case 139: case 140: case 141: case 142: case 143:
        case 144: case 145: case 146: case 147:
            *value = 0;
            break;
        default:
            *value = texture_limit(attribute);
            if (*value == 0) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

}  // namespace heddle::driver
