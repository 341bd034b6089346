// What a monitor asks of NVML, loaded as it loads it. It needs a C compiler alone: cc monitor.c -o monitor -ldl
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct Board *Device;
static void *library;
static int failures;

static void *find(const char *name) {
    void *found = dlsym(library, name);
    if (found == NULL) printf("there is no %s\n", name), ++failures;
    return found;
}
static void expect(int good, const char *what) {
    if (!good) printf("wrong: %s\n", what), ++failures;
}
/// A number that a function says of a board.
static unsigned ask(const char *name, Device board) {
    int (*function)(Device, unsigned *) = (int (*)(Device, unsigned *))find(name);
    unsigned value = 0;
    expect(function(board, &value) == 0, name);
    return value;
}

int main(void) {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == NULL) return printf("%s\n", dlerror()), 1;
    int (*count_of)(unsigned *) = (int (*)(unsigned *))find("nvmlDeviceGetCount_v2");
    unsigned count = 0;
    expect(count_of(&count) == 1, "before nvmlInit everything is uninitialised");
    expect(((int (*)(void))find("nvmlInit_v2"))() == 0, "nvmlInit");
    expect(count_of(&count) == 0 && count == 2, "the number of devices");
    Device board = NULL, again = NULL;
    int (*by_index)(unsigned, Device *) = (int (*)(unsigned, Device *))find("nvmlDeviceGetHandleByIndex_v2");
    expect(by_index(1, &board) == 0 && by_index(2, &again) == 2, "handles by index");
    char name[96], uuid[96], version[80], small[4];
    int (*text)(Device, char *, unsigned) = (int (*)(Device, char *, unsigned))find("nvmlDeviceGetName");
    expect(text(board, name, sizeof name) == 0 && strstr(name, "h100") != NULL, "the name");
    expect(text(board, small, sizeof small) == 7, "too little room");
    text = (int (*)(Device, char *, unsigned))find("nvmlDeviceGetUUID");
    expect(text(board, uuid, sizeof uuid) == 0 && strlen(uuid) == 40, "the UUID");
    int (*by_text)(const char *, Device *) = (int (*)(const char *, Device *))find("nvmlDeviceGetHandleByUUID");
    expect(by_text(uuid, &again) == 0 && again == board, "a handle by UUID");
    struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci;
    expect(((int (*)(Device, void *))find("nvmlDeviceGetPciInfo_v3"))(board, &pci) == 0 && pci.bus == 2, "the PCI address");
    by_text = (int (*)(const char *, Device *))find("nvmlDeviceGetHandleByPciBusId_v2");
    expect(by_text(pci.bus_id, &again) == 0 && again == board && by_text("0000:77:00.0", &again) == 6, "a handle by PCI address");
    struct { unsigned long long total, free, used; } memory;
    expect(((int (*)(Device, void *))find("nvmlDeviceGetMemoryInfo"))(board, &memory) == 0 && memory.total > 1ull << 30 && memory.total == memory.free + memory.used, "memory");
    struct { unsigned version; unsigned long long total, reserved, free, used; } more = {sizeof more | 2u << 24, 0, 0, 0, 0};
    int (*memory_v2)(Device, void *) = (int (*)(Device, void *))find("nvmlDeviceGetMemoryInfo_v2");
    expect(memory_v2(board, &more) == 0 && more.total == memory.total, "memory, in its second form");
    more.version = 7;
    expect(memory_v2(board, &more) == 25, "a form of memory that there is not");
    unsigned clock = 0, memory_clock = 0;
    int (*clock_of)(Device, unsigned, unsigned *) = (int (*)(Device, unsigned, unsigned *))find("nvmlDeviceGetClockInfo");
    expect(clock_of(board, 1, &clock) == 0 && clock_of(board, 2, &memory_clock) == 0 && clock > 100 && memory_clock > 100 && clock_of(board, 9, &clock) == 2, "clocks");
    const unsigned power = ask("nvmlDeviceGetPowerUsage", board), limit = ask("nvmlDeviceGetPowerManagementLimit", board);
    expect(power > 1000 && power <= limit && ask("nvmlDeviceGetEnforcedPowerLimit", board) == limit, "power");
    struct { unsigned gpu, memory; } rates;
    expect(((int (*)(Device, void *))find("nvmlDeviceGetUtilizationRates"))(board, &rates) == 0 && rates.gpu == 0 && rates.memory == 0, "an idle board");
    unsigned celsius = 0;
    expect(((int (*)(Device, unsigned, unsigned *))find("nvmlDeviceGetTemperature"))(board, 0, &celsius) == 0 && celsius >= 30 && celsius <= 80, "the temperature");
    int major = 0, minor = 0, cuda = 0;
    expect(((int (*)(Device, int *, int *))find("nvmlDeviceGetCudaComputeCapability"))(board, &major, &minor) == 0 && major == 9 && minor == 0, "compute capability");
    expect(((int (*)(int *))find("nvmlSystemGetCudaDriverVersion_v2"))(&cuda) == 0 && cuda >= 13000, "the version of CUDA");
    expect(((int (*)(char *, unsigned))find("nvmlSystemGetDriverVersion"))(version, sizeof version) == 0 && *version == '5', "the version of the driver");
    unsigned processes = 3;
    expect(((int (*)(Device, unsigned *, void *))find("nvmlDeviceGetComputeRunningProcesses_v3"))(board, &processes, NULL) == 0 && processes == 0, "no processes");
    expect(((int (*)(Device, unsigned *))find("nvmlDeviceGetFanSpeed"))(board, &processes) == 3, "what is missing is not supported");
    const char *(*error_text)(int) = (const char *(*)(int))find("nvmlErrorString");
    expect(strcmp(error_text(3), "Not Supported") == 0 && strcmp(error_text(12345), "Unknown Error") == 0, "texts of errors");
    expect(((int (*)(void))find("nvmlShutdown"))() == 0 && count_of(&count) == 1, "nvmlShutdown");
    printf("%s, %u MHz, %u of %u W\nmonitor: %s\n", name, clock, power / 1000, limit / 1000, failures == 0 ? "right" : "wrong");
    return failures != 0;
}
