// Names for programs whose default stream is one of the calling thread's own (nvcc --default-stream per-thread): FUNCTION_ptsz and FUNCTION_ptds are FUNCTION,
// and where it names no stream, or the null stream, the thread's stream is meant.
#pragma once

extern "C" {
/// What the null stream means in this thread from now on: 1: the thread's own default stream; 0: the legacy one. Returns what it meant before.
__attribute__((visibility("default"))) int heddle_default_stream(int per_thread);
}

namespace heddle::driver {

template <auto function>
struct PerThread;

template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct PerThread<function> {
    static Result call(Arguments... arguments) {
        const struct Scope {
            int before = heddle_default_stream(1);
            Scope() = default;
            Scope(const Scope&) = delete;
            Scope& operator=(const Scope&) = delete;
            ~Scope() { heddle_default_stream(before); }
        } scope;
        return function(arguments...);
    }
};

}  // namespace heddle::driver

/// Defines NAME and SUFFIX as such a name of NAME, which has been declared. The linker resolves it to an instance of PerThread.
#define HEDDLE_PER_THREAD(NAME, SUFFIX) HEDDLE_PER_THREAD_NAME(NAME, SUFFIX)
#define HEDDLE_PER_THREAD_NAME(NAME, SUFFIX)                                                                                 \
    extern "C" decltype(&(NAME)) heddle_resolve_##NAME() { return &heddle::driver::PerThread<&(NAME)>::call; }               \
    extern "C" __attribute__((visibility("default"), ifunc("heddle_resolve_" #NAME))) decltype(NAME) NAME##SUFFIX;
