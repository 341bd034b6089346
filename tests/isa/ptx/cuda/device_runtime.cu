// What kernels ask of the CUDA device runtime: printf, assert, malloc and free.
// ptx: device_runtime.ptx -arch=compute_80
#include <cassert>
#include <cstdio>
#include <cstdlib>

// printf with every conversion, flag and size, one line each; the host prints the same.
extern "C" __global__ void print_formats(int n, double x, long long wide, const char* text) {
    const char* constant = "constant";
    printf("%d|%5d|%-5d|%05d|%+d|% d\n", n, n, n, n, n, n);
    printf("%i|%u|%o|%x|%X|%#x|%#o\n", n, n, n, n, n, n, n);
    printf("%hd|%hu|%hhd|%hhu|%c%c\n", n, n, n, n, 'A', 'z');
    printf("%ld|%lu|%lld|%llu|%llx|%zu|%jd|%td\n", wide, wide, wide, wide, wide, (size_t)wide, wide, wide);
    printf("%f|%F|%e|%E|%g|%G|%a|%A\n", x, x, x, x, x, x, x, x);
    printf("%.2f|%10.3f|%-10.3f|%+.0e|%#.3g|%010.2f\n", x, x, x, x, x, x);
    printf("%s|%12s|%-12s|%.3s|100%%\n", text, constant, constant, constant);
    printf("%d %f %d %lld %c %s\n", n, x, n, wide, 'q', text);
    printf("%*d|%-*d|%.*f\n", 8, n, 6, n, 3, x);
    printf("no arguments\n");
    printf("%p\n", (void*)0x7f1234);
    printf("%f\n", (float)n);
}

extern "C" __global__ void print_results(int* results) {
    results[0] = printf("%d %d %s\n", 1, 2, "x");
    results[1] = printf("none\n");
}

// One line per thread, from diverged code.
extern "C" __global__ void print_threads(int limit) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 3 == 0 && i < limit) printf("thread %d of block %d\n", (int)threadIdx.x, (int)blockIdx.x);
}

extern "C" __global__ void check(const int* values, int limit) {
    const int value = values[threadIdx.x];
    assert(value < limit && "values must be small");
}

struct Node {
    int value;
    Node* next;
};

// Every thread builds a list in the heap, walks it and frees it.
extern "C" __global__ void lists(int* sums, int length) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Node* head = nullptr;
    for (int k = 0; k < length + i % 4; ++k) {
        Node* node = static_cast<Node*>(malloc(sizeof(Node)));
        node->value = i * k;
        node->next = head;
        head = node;
    }
    int sum = 0;
    for (Node* node = head; node != nullptr; node = node->next) sum = sum * 3 + node->value;
    while (head != nullptr) {
        Node* next = head->next;
        free(head);
        head = next;
    }
    sums[i] = sum;
}

extern "C" __global__ void exhaust(unsigned long long bytes, int* count, unsigned long long* addresses) {
    int n = 0;
    for (;;) {
        void* block = malloc(bytes);
        if (block == nullptr) break;
        addresses[n++] = reinterpret_cast<unsigned long long>(block);
    }
    *count = n;
}

extern "C" __global__ void misuse(int what, int* out) {
    int* block = static_cast<int*>(malloc(16));
    block[0] = 5;
    if (what == 0) {
        free(block);
        *out = block[0];
    } else if (what == 1) {
        free(block);
        free(block);
    } else if (what == 2) {
        free(block + 1);
    } else {
        *out = block[4];
    }
}
