#include "validation/read/recorded_capture.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <set>

#include "isa/common/checked.h"
#include "isa/common/activity.h"
#include "isa/common/json_text.h"
#include "sim/config/gpu_names.h"

namespace heddle::validation {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{64} << 30;  // of one section
constexpr const char* kDamaged = "the capture is damaged or was cut short in copying: copy it again";

std::string text_of(const json& object, const char* key) {
    const auto member = object.find(key);
    if (member == object.end() || member->is_null()) return {};
    if (member->is_string()) return member->get<std::string>();
    return member->is_primitive() ? member->dump() : std::string();
}

template <class Input>
json parsed(Input&& input, const SourceLocation& where) {
    try {
        return parse_json<json>(input);
    } catch (const Error& error) {
        throw Error("is not a JSON object: " + error.problem(), where, kDamaged);
    }
}

json read_manifest(const std::filesystem::path& path) {
    std::ifstream stream(path);
    if (!stream)
        throw Error("there is no capture here: manifest.json is missing", {path.string()},
                    "name a folder that heddle-capture wrote");
    json manifest = parsed(stream, {path.string()});
    if (!manifest.is_object()) throw Error("the manifest is not a JSON object", {path.string()}, kDamaged);
    return manifest;
}

int schema_of(const json& manifest, const std::filesystem::path& path) {
    const auto schema = manifest.find("schema");
    if (schema == manifest.end() || !is_kind<int>(*schema))
        throw Error("the manifest does not say which schema the capture has", {path.string(), 0, "schema"},
                    kDamaged);
    return schema->get<int>();
}

/// A file of plain or gzip-compressed bytes; zlib reads both.
class BinaryFile {
  public:
    explicit BinaryFile(const std::filesystem::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
        if (file_ == nullptr) throw Error("cannot open a file of the capture", {path.string()}, kDamaged);
    }
    ~BinaryFile() { gzclose(file_); }
    BinaryFile(const BinaryFile&) = delete;
    BinaryFile& operator=(const BinaryFile&) = delete;

    std::vector<std::byte> read_all() {
        std::vector<std::byte> bytes;
        std::size_t length = 0;
        for (;;) {
            bytes.resize(length + (std::size_t{1} << 20));
            const int got = gzread(file_, bytes.data() + length, 1u << 20);
            if (got < 0) throw Error("the compressed bytes are damaged", {path_.string()}, kDamaged);
            length += static_cast<std::size_t>(got);
            if (got == 0) break;
            if (length > kMostBytes)
                throw Error("a section has more than 64 GiB of bytes", {path_.string()}, kDamaged);
        }
        int code = Z_OK;
        gzerror(file_, &code);  // a stream that ends in the middle reads as the end of the file
        if (code != Z_OK) throw Error("the compressed bytes end too early", {path_.string()}, kDamaged);
        bytes.resize(length);
        return bytes;
    }

  private:
    std::filesystem::path path_;
    gzFile file_;
};

/// The bytes of a section; none where it has no binary file. `file` becomes the name of what was read.
std::vector<std::byte> read_binary(const std::filesystem::path& folder, const std::string& section,
                                   std::string& file) {
    for (const char* ending : {".bin.gz", ".bin"}) {
        const std::filesystem::path path = folder / (section + ending);
        std::error_code ignored;
        if (!std::filesystem::exists(path, ignored)) continue;
        file = path.string();
        return BinaryFile(path).read_all();
    }
    return {};
}

void take_binary(CapturedRecord& record, const std::vector<std::byte>& binary, const std::string& file) {
    const auto place = record.values.find("binary");
    if (place == record.values.end()) return;
    if (!place->is_array() || place->size() != 2 || !(*place)[0].is_number_unsigned() ||
        !(*place)[1].is_number_unsigned())
        record.fail("binary", "is not [offset, length]");
    const auto offset = (*place)[0].get<std::uint64_t>(), length = (*place)[1].get<std::uint64_t>();
    if (offset > binary.size() || length > binary.size() - offset)
        record.fail("binary", "names bytes that are not there (" +
                                  (file.empty() ? "there is no .bin file" : file + " is too short") + ")");
    record.binary.assign(binary.begin() + static_cast<std::ptrdiff_t>(offset),
                         binary.begin() + static_cast<std::ptrdiff_t>(offset + length));
}

}  // namespace

void CapturedRecord::fail(const std::string& key, const std::string& problem) const {
    throw Error("`" + key + "` of record `" + id + "` " + problem, {where.file, where.line, key}, kDamaged);
}

double CapturedRecord::number(const std::string& key) const {
    const auto member = values.find(key);
    if (member == values.end()) fail(key, "is missing");
    if (member->is_number()) return member->get<double>();
    if (*member == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (*member == "inf") return std::numeric_limits<double>::infinity();
    if (*member == "-inf") return -std::numeric_limits<double>::infinity();
    fail(key, "is no number");
}

double CapturedRecord::measurement(const std::string& key) const {
    constexpr Gate kMeasurement{"a measurement", 0, 1e18};
    return kMeasurement.check(number(key), {where.file, where.line, key});
}

std::vector<double> CapturedRecord::times(const std::string& key) const {
    const auto times = get<std::vector<double>>(key);
    if (times.empty()) fail(key, "has no times");
    for (const double time : times) gates::kMicroseconds.check(time, {where.file, where.line, key});
    return times;
}

std::uint64_t CapturedRecord::hexadecimal(const std::string& key) const {
    const auto text = get<std::string>(key);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || end != text.data() + text.size()) fail(key, "is no hexadecimal number");
    return value;
}

const CapturedRecord* CapturedSection::find(const std::string& id) const {
    const auto found = std::find_if(records.begin(), records.end(),
                                    [&](const CapturedRecord& record) { return record.id == id; });
    return found == records.end() ? nullptr : &*found;
}

RecordedCapture::RecordedCapture(std::filesystem::path folder, bool allow_simulator)
    : folder_(std::move(folder)) {
    const std::filesystem::path path = folder_ / "manifest.json";
    manifest_ = read_manifest(path);
    const int schema = schema_of(manifest_, path);
    if (schema != kCaptureSchema)
        throw Error(
            "the capture has schema " + std::to_string(schema) + ", and this program reads " +
                std::to_string(kCaptureSchema),
            {path.string(), 0, "schema"},
            schema > kCaptureSchema ? "update Heddle" : "capture again with this version's heddle-capture");
    const auto silicon = manifest_.find("silicon");
    if (silicon == manifest_.end() || !silicon->is_boolean())
        throw Error("the manifest does not say whether silicon was captured", {path.string(), 0, "silicon"},
                    kDamaged);
    silicon_ = silicon->get<bool>();
    if (!silicon_ && !allow_simulator)
        throw Error("this capture was made by the simulator, not by a GPU", {folder_.string()},
                    "to compare the simulator with itself, as a test of the tools, add --allow-simulator");
    const auto device = manifest_.find("device");
    device_ = device != manifest_.end() && device->is_object() ? *device : json::object();
}

std::string RecordedCapture::name() const {
    const std::filesystem::path whole = folder_.lexically_normal();
    return (whole.filename().empty() ? whole.parent_path() : whole).filename().string();
}

std::string RecordedCapture::device_name() const {
    return text_of(device_, "name");
}

unsigned RecordedCapture::compute_capability() const {
    const auto member = device_.find("compute_capability");
    return member != device_.end() && is_kind<unsigned>(*member) ? member->get<unsigned>() : 0;
}

std::string RecordedCapture::date() const {
    return text_of(manifest_, "date");
}

std::string RecordedCapture::driver() const {
    std::string line;
    const auto add = [&](const char* name, const char* key) {
        const std::string value = text_of(device_, key);
        if (!value.empty()) line += (line.empty() ? "" : ", ") + std::string(name) + " " + value;
    };
    add("driver", "driver_version");
    add("CUDA", "cuda_version");
    add("cublasLt", "cublaslt_version");
    return line;
}

std::string RecordedCapture::preset() const {
    const std::string device = device_name();
    if (!silicon_ && device_.contains("hardware")) return text_of(device_, "hardware");
    return sim::hardware_of_gpu(device);
}

std::vector<std::string> RecordedCapture::sections() const {
    const auto order = manifest_.find("order");
    if (order == manifest_.end() || !order->is_array()) return {};
    std::vector<std::string> names;
    for (const json& name : *order)
        if (name.is_string() && has(name.get<std::string>())) names.push_back(name.get<std::string>());
    return names;
}

bool RecordedCapture::has(const std::string& section) const {
    std::error_code ignored;
    return std::filesystem::exists(folder_ / (section + ".jsonl"), ignored);
}

const CapturedSection& RecordedCapture::section(const std::string& name) const {
    const auto known = read_.find(name);
    if (known != read_.end()) return known->second;
    const std::filesystem::path path = folder_ / (name + ".jsonl");
    std::ifstream stream(path);
    if (!stream)
        throw Error("the capture has no section `" + name + "`", {path.string()},
                    "capture it: heddle-capture --sections " + name);
    const Doing doing("reading " + path.string());
    std::string binary_file;
    const std::vector<std::byte> binary = read_binary(folder_, name, binary_file);
    CapturedSection section;
    section.name = name;
    const auto states = manifest_.find("sections");
    if (states != manifest_.end() && states->is_object() && states->contains(name)) {
        const json& state = (*states)[name];
        section.complete = state.is_object() && state.contains("complete") && state["complete"] == true;
    }
    std::string line;
    std::set<std::string> ids;
    for (std::int64_t number = 1; std::getline(stream, line); ++number) {
        const SourceLocation where{path.string(), number};
        CapturedRecord record;
        record.values = parsed(line, where);
        record.where = where;
        if (!record.values.is_object()) throw Error("a line is not a JSON object", where, kDamaged);
        record.id = record.get<std::string>("id");
        if (!ids.insert(record.id).second) record.fail("id", "stands there twice");
        take_binary(record, binary, binary_file);
        section.records.push_back(std::move(record));
    }
    return read_.emplace(name, std::move(section)).first->second;
}

std::vector<std::filesystem::path> captures_in(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (std::filesystem::exists(entry.path() / "manifest.json", ignored)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace heddle::validation
