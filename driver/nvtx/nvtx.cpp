// NVTX, version 3: ranges that a program marks. NVTX is a header alone; the copy of it in a program loads the library that NVTX_INJECTION64_PATH
// names, calls InitializeInjectionNvtx2() and gets functions put into its tables. Marks, categories and names of threads are not asked for.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

extern "C" unsigned heddle_range(unsigned action, std::uint64_t id, const char* name);

namespace {

// Actions of heddle_range().
constexpr unsigned kPush = 0, kPop = 1, kStart = 2, kEnd = 3;

/// nvtxEventAttributes_t as far as it is read: the message is 8 bytes before its end.
struct EventAttributes {
    std::uint16_t version, size;
    std::uint32_t category;
    std::int32_t color_type;
    std::uint32_t color;
    std::int32_t payload_type, reserved;
    std::uint64_t payload;
    std::int32_t message_type;  ///< 1: text, 2: wide characters, 3: a registered text
    const void* message;
};

std::string narrow(const wchar_t* text) {
    std::string result;
    for (; text != nullptr && *text != 0; ++text) result += *text < 128 ? static_cast<char>(*text) : '?';
    return result;
}

std::string message_of(const EventAttributes* event) {
    if (event == nullptr || event->message == nullptr) return "range";
    if (event->message_type == 2) return narrow(static_cast<const wchar_t*>(event->message));
    return static_cast<const char*>(event->message);  // a registered text is a copy of it: register_text()
}

thread_local int depth = 0;
std::uint64_t next_range = 1;

int push(const std::string& name) {
    heddle_range(kPush, 0, name.c_str());
    return depth++;
}
std::uint64_t start(const std::string& name) {
    const std::uint64_t id = __atomic_fetch_add(&next_range, 1, __ATOMIC_RELAXED);
    heddle_range(kStart, id, name.c_str());
    return id;
}

int push_text(const char* text) { return push(text == nullptr ? "range" : text); }
int push_wide(const wchar_t* text) { return push(narrow(text)); }
int push_event(const EventAttributes* event) { return push(message_of(event)); }
int push_in_domain(void*, const EventAttributes* event) { return push(message_of(event)); }
int pop() {
    if (depth == 0) return -1;
    heddle_range(kPop, 0, "");
    return --depth;
}
int pop_in_domain(void*) { return pop(); }
std::uint64_t start_text(const char* text) { return start(text == nullptr ? "range" : text); }
std::uint64_t start_wide(const wchar_t* text) { return start(narrow(text)); }
std::uint64_t start_event(const EventAttributes* event) { return start(message_of(event)); }
std::uint64_t start_in_domain(void*, const EventAttributes* event) { return start(message_of(event)); }
void end(std::uint64_t id) { heddle_range(kEnd, id, ""); }
void end_in_domain(void*, std::uint64_t id) { end(id); }
/// Domains are not told apart; a handle that is not null says that there is one.
void* create_domain(const char*) { return &next_range; }
/// Programs keep registered texts until they end.
void* register_text(void*, const char* text) { return strdup(text == nullptr ? "range" : text); }

using Function = void (*)();
/// Pointers to the places of the program's functions, by number; the table ends with a null pointer.
using FunctionTable = Function**;
struct Callbacks {
    std::size_t bytes;
    int (*function_table)(int module, FunctionTable* table, unsigned* count);
};

template <class Call>
void put(FunctionTable table, unsigned count, unsigned number, Call* call) {
    if (number < count && table[number] != nullptr) *table[number] = reinterpret_cast<Function>(call);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void* (*table_of)(std::uint32_t)) {
    constexpr std::uint32_t kCallbacks = 1;
    constexpr int kCore = 1, kDomains = 5;
    const auto* const callbacks = static_cast<const Callbacks*>(table_of(kCallbacks));
    if (callbacks == nullptr || callbacks->bytes < sizeof(Callbacks)) return 0;
    FunctionTable table = nullptr;
    unsigned count = 0;
    if (callbacks->function_table(kCore, &table, &count) != 0) {
        put(table, count, 4, start_event);
        put(table, count, 5, start_text);
        put(table, count, 6, start_wide);
        put(table, count, 7, end);
        put(table, count, 8, push_event);
        put(table, count, 9, push_text);
        put(table, count, 10, push_wide);
        put(table, count, 11, pop);
    }
    if (callbacks->function_table(kDomains, &table, &count) != 0) {
        put(table, count, 2, start_in_domain);
        put(table, count, 3, end_in_domain);
        put(table, count, 4, push_in_domain);
        put(table, count, 5, pop_in_domain);
        put(table, count, 10, register_text);
        put(table, count, 12, create_domain);
    }
    return 1;
}
