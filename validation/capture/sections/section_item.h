// The items of a section: each is a record of its own, and what goes wrong in one stays there.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "validation/capture/section.h"

namespace heddle::capture {

/// Does its work and adds the record `id` to the journal.
struct SectionItem {
    std::string id;
    std::function<void(SectionContext&, const std::string& id)> run;
};

/// Thrown by an item that does not apply here; the record is {"left_out": why}.
struct LeftOut : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Runs those that the journal lacks. An exception becomes the record {"error": ...}; a lost device also ends
/// the section, by passing its DeviceError on. Returns false when stopped before the end.
bool run_items(SectionContext& context, const std::vector<SectionItem>& items);

/// Adds the record of one item with its bytes. `work` fills both in; when it throws, what they hold by then
/// is recorded together with "error". A lost device is passed on after that, so that the next process leaves
/// the item out.
void record_item(SectionContext& context, const std::string& id, Record record,
                 const std::function<void(Record& record, std::vector<std::byte>& bytes)>& work);

}  // namespace heddle::capture
