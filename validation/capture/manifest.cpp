#include "validation/capture/manifest.h"

#include <ctime>

#include "isa/common/error.h"
#include "validation/capture/files.h"
#include "validation/capture/json_value.h"

namespace heddle::capture {
namespace {

constexpr const char* kFormat = "heddle-capture";

/// Members of an object as they were. Lists are of texts or of numbers.
Record record_of(const JsonValue& object) {
    Record record;
    for (const auto& [key, value] : object.members) {
        switch (value.kind) {
            case JsonValue::Kind::null:
                break;
            case JsonValue::Kind::boolean:
                record.flag(key, value.boolean);
                break;
            case JsonValue::Kind::number:
                record.number(key, object.number_or(key, 0));
                break;
            case JsonValue::Kind::text:
                record.text(key, value.text);
                break;
            case JsonValue::Kind::object:
                record.object(key, record_of(value));
                break;
            case JsonValue::Kind::list: {
                std::vector<std::string> texts;
                for (const JsonValue& element : value.elements) texts.push_back(element.text);
                record.texts(key, texts);
                break;
            }
        }
    }
    return record;
}

Record record_member(const JsonValue& object, std::string_view key) {
    const JsonValue* member = object.find(key);
    return member == nullptr ? Record{} : record_of(*member);
}

void take_device_texts(Manifest& manifest) {
    const auto device = parse_json(manifest.device.json());
    if (!device) return;
    manifest.device_name = device->text_or("name", "");
    manifest.driver_version = device->text_or("driver_version", "");
    manifest.library_version = device->text_or("cublaslt_version", "");
}

/// 0 for what is no count of records.
std::size_t count_in(const JsonValue& object, std::string_view key) {
    constexpr double kMost = 0x1p53;
    const double count = object.number_or(key, 0);
    return count >= 0 && count < kMost ? static_cast<std::size_t>(count) : 0;
}

SectionState section_of(const JsonValue& value) {
    SectionState state;
    state.complete = value.boolean_or("complete", false);
    state.records = count_in(value, "records");
    state.errors = count_in(value, "errors");
    state.seconds = value.number_or("seconds", 0);
    state.failure = value.text_or("failure", "");
    state.telemetry_before = record_member(value, "telemetry_before");
    state.telemetry_after = record_member(value, "telemetry_after");
    return state;
}

Record section_record(const SectionState& state) {
    Record record;
    record.flag("complete", state.complete);
    record.integer("records", static_cast<std::int64_t>(state.records));
    record.integer("errors", static_cast<std::int64_t>(state.errors));
    record.number("seconds", state.seconds);
    if (!state.failure.empty()) record.text("failure", state.failure);
    record.object("telemetry_before", state.telemetry_before);
    record.object("telemetry_after", state.telemetry_after);
    return record;
}

}  // namespace

const char* tool_version() {
    return HEDDLE_CAPTURE_VERSION;
}

const char* name_of(Extent extent) {
    return extent == Extent::full ? "full" : "quick";
}

std::string date_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

std::string Manifest::json() const {
    Record all;
    all.text("format", kFormat).integer("schema", kSchema);
    all.text("tool", std::string("heddle-capture ") + tool_version()).flag("silicon", silicon);
    all.text("extent", name_of(extent)).text("date", date).text("updated", updated);
    all.object("device", device);
    Record states;
    for (const std::string& name : order) states.object(name, section_record(sections.at(name)));
    all.texts("order", order).object("sections", states);
    std::vector<Record> lines;
    for (const RunState& run : runs) {
        Record& line = lines.emplace_back();
        line.text("date", run.date).text("command_line", run.command_line);
        line.number("seconds", run.seconds).text("outcome", run.outcome);
    }
    return all.objects("runs", lines).json();
}

Manifest manifest_of(const Device& device, Extent extent) {
    Manifest manifest;
    manifest.silicon = device.is_silicon();
    manifest.extent = extent;
    manifest.date = date_now();
    manifest.device = device.describe();
    take_device_texts(manifest);
    return manifest;
}

std::optional<Manifest> read_manifest(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / "manifest.json";
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::nullopt;
    const auto value = parse_json(read_file(path));
    if (!value || value->text_or("format", "") != kFormat)
        throw Error("this is not the manifest of a capture", {path.string()}, "choose another --output");
    if (value->number_or("schema", 0) != kSchema)
        throw Error("the capture there has another schema than this program writes",
                    {path.string(), 0, "schema"}, "choose another --output");
    Manifest manifest;
    manifest.silicon = value->boolean_or("silicon", false);
    manifest.extent = value->text_or("extent", "") == name_of(Extent::quick) ? Extent::quick : Extent::full;
    manifest.date = value->text_or("date", "");
    manifest.updated = value->text_or("updated", "");
    manifest.device = record_member(*value, "device");
    take_device_texts(manifest);
    if (const JsonValue* sections = value->find("sections")) {
        for (const auto& [name, state] : sections->members) {
            manifest.order.push_back(name);
            manifest.sections[name] = section_of(state);
        }
    }
    if (const JsonValue* runs = value->find("runs")) {
        for (const JsonValue& run : runs->elements)
            manifest.runs.push_back({run.text_or("date", ""), run.text_or("command_line", ""),
                                     run.text_or("outcome", ""), run.number_or("seconds", 0)});
    }
    return manifest;
}

void check_same_capture(const Manifest& there, const Manifest& now, const std::filesystem::path& folder) {
    const auto differs = [&](const char* what, const std::string& old_value, const std::string& new_value) {
        if (old_value == new_value) return;
        throw Error("the capture there has " + std::string(what) + " `" + old_value + "`, this run has `" +
                        new_value + "`",
                    {folder.string()}, "choose another --output: a capture is of one device in one state");
    };
    differs("device", there.device_name, now.device_name);
    differs("driver", there.driver_version, now.driver_version);
    differs("cublasLt", there.library_version, now.library_version);
    differs("extent", name_of(there.extent), name_of(now.extent));
}

void write_manifest(Manifest& manifest, const std::filesystem::path& folder) {
    manifest.updated = date_now();
    write_file(folder / "manifest.json", manifest.json() + "\n");
}

}  // namespace heddle::capture
