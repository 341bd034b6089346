// libFuzzer: any bytes as what an interrupted heddle-capture left: a manifest, then, after a line of `---`,
// the lines of a section whose bytes are right.
#include "folder.h"
#include "validation/capture/manifest.h"
#include "validation/capture/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const heddle::test::Folder folder("capture-folder");
    namespace capture = heddle::capture;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    folder.write("manifest.json", heddle::test::next_part(rest));
    folder.write("numerics.jsonl", rest);
    folder.write("numerics.bin", "xyz12");
    heddle::test::refuse_or_read([&] {
        if (auto manifest = capture::read_manifest(folder.path()))
            capture::write_manifest(*manifest, folder.path());
    });
    heddle::test::refuse_or_read([&] {
        capture::Journal journal(folder.path(), "numerics");
        if (!journal.has("new")) journal.add("new", {}, {});
    });
    return 0;
}
