#include "sim/config/this_host.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/config/file_chain.h"

namespace heddle::sim {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream stream(path);
    std::string line;
    std::getline(stream, line);
    return line;
}

/// The value of a key in /proc/cpuinfo, of its first processor.
std::string cpuinfo(const std::string& key) {
    std::ifstream stream("/proc/cpuinfo");
    for (std::string line; std::getline(stream, line);) {
        if (line.rfind(key, 0) != 0) continue;
        const std::size_t colon = line.find(": ");
        return colon == std::string::npos ? "" : line.substr(colon + 2);
    }
    return "";
}

void set(HardwareText& text, const std::string& path, const std::string& value, const std::string& source, const std::string& file) {
    const auto at = std::find_if(text.settings.begin(), text.settings.end(), [&](const Setting& one) { return one.path == path; });
    const Setting setting{path, value, "source: " + source, {file, 0, path}};
    if (at != text.settings.end()) {
        *at = setting;
    } else {
        text.settings.push_back(setting);
    }
}

/// The core of another preset in place of that of the file.
void take_core_of(HardwareText& text, const std::string& preset) {
    const HardwareText other = read_hardware_file(find_hardware_file(preset));
    for (const Setting& setting : other.settings)
        if (setting.path.rfind("clock.", 0) != 0 && setting.path != "price.hour") {
            const auto at = std::find_if(text.settings.begin(), text.settings.end(), [&](const Setting& one) { return one.path == setting.path; });
            if (at != text.settings.end()) *at = setting;
        }
}

unsigned count_of_list(const std::string& list) {
    unsigned count = 0;
    std::istringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');) {
        const std::size_t dash = part.find('-');
        count += dash == std::string::npos ? 1 : static_cast<unsigned>(std::atoi(part.c_str() + dash + 1) - std::atoi(part.c_str()) + 1);
    }
    return std::max(1u, count);
}

}  // namespace

std::string this_host_file() {
    if (const char* const file = std::getenv("HEDDLE_THIS_HOST")) return file;
    if (const char* const folder = std::getenv("XDG_CONFIG_HOME")) return std::string(folder) + "/heddle/this-host.txt";
    const char* const home = std::getenv("HOME");
    return std::string(home != nullptr ? home : ".") + "/.config/heddle/this-host.txt";
}

void add_this_host(HardwareText& text) {
    const std::string vendor = cpuinfo("vendor_id"), flags = " " + cpuinfo("flags") + " ";
    const auto has = [&](const std::string& flag) { return flags.find(" " + flag + " ") != std::string::npos; };
    if (vendor == "AuthenticAMD") take_core_of(text, has("avx512f") ? "epyc-9654" : "epyc-7763");
    if (vendor.empty()) take_core_of(text, "grace");
    const std::string info = "/proc/cpuinfo";
    if (!vendor.empty()) {
        set(text, "vector.bits", has("avx512f") ? "512" : has("avx2") ? "256" : "128", info, info);
        set(text, "vector.bf16_dot", has("avx512_bf16") ? "1" : "0", info, info);
        if (!has("amx_bf16")) set(text, "matrix.interval", "0 cycles", info, info);
        const std::string model = cpuinfo("model name");
        if (!model.empty()) text.description = "this machine: " + model;
    }
    const std::string topology = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
    const unsigned siblings = count_of_list(first_line(topology));
    const auto processors = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    set(text, "cores", std::to_string(std::max(1u, processors / siblings)), "/sys: processors that are online", topology);
    set(text, "smt", std::to_string(siblings), topology, topology);
    set(text, "sockets", "1", "all processors as one socket", topology);
    for (int i = 0; i < 6; ++i) {
        const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
        const std::string level = first_line(folder + "level"), type = first_line(folder + "type"), size = first_line(folder + "size");
        if (level.empty() || type == "Instruction" || size.empty() || size.back() != 'K') continue;
        const std::string name = "l" + level;
        if (name != "l1" && name != "l2" && name != "l3") continue;
        set(text, name + ".size", size.substr(0, size.size() - 1) + " KiB", folder + "size", folder);
        const std::string ways = first_line(folder + "ways_of_associativity");
        if (!ways.empty() && ways != "0") set(text, name + ".ways", ways, folder + "ways_of_associativity", folder);
    }
    const long long bytes = static_cast<long long>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    if (bytes > 0) set(text, "memory.size", std::to_string(bytes / (1 << 20)) + " MiB", "sysconf", "sysconf");
    const std::string measured = this_host_file();
    std::ifstream stream(measured);
    for (std::string line; std::getline(stream, line);) {
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos && line[0] != '#') set(text, line.substr(0, colon), line.substr(colon + 2), "measured on this machine", measured);
    }
}

}  // namespace heddle::sim
