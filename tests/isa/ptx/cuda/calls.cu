// Functions that are called for real: recursion, pointers to functions, virtual methods. calls_test.cpp holds
// the same functions for the host.
// ptx: calls.ptx -arch=compute_80

#define FUNCTION __device__ __noinline__

FUNCTION unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

// Lanes recurse to different depths.
extern "C" __global__ void fibonacci_of_thread(unsigned* out, unsigned limit) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = fibonacci(i % limit);
}

FUNCTION unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void ackermann_of_thread(unsigned* out) {
    const unsigned i = threadIdx.x;
    out[i] = ackermann(i % 3, i / 3 % 5);
}

FUNCTION bool is_odd(unsigned n);
FUNCTION bool is_even(unsigned n, unsigned long long& calls) {
    ++calls;
    return n == 0 ? true : is_odd(n - 1);
}
FUNCTION bool is_odd(unsigned n) {
    unsigned long long calls = 0;
    return n == 0 ? false : is_even(n - 1, calls) && calls == 1;
}

// In diverged code, in a loop.
extern "C" __global__ void parity(int* out, int rounds) {
    const unsigned i = threadIdx.x;
    int count = 0;
    for (int r = 0; r < rounds; ++r) {
        if ((i + r) % 3 == 0) {
            count += is_odd(i + r) ? 1 : 100;
        } else if (i % 5 != 0) {
            unsigned long long calls = 0;
            count += is_even(r + i % 7, calls) ? 10000 : 0;
        }
    }
    out[i] = count;
}

FUNCTION void quicksort(int* values, int low, int high) {
    if (low >= high) return;
    const int pivot = values[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
        while (values[i] < pivot) ++i;
        while (values[j] > pivot) --j;
        if (i <= j) {
            const int t = values[i];
            values[i++] = values[j];
            values[j--] = t;
        }
    }
    quicksort(values, low, j);
    quicksort(values, i, high);
}

// Each thread sorts an array in its local memory.
extern "C" __global__ void sort_local(int* values) {
    int own[24];
    int* mine = values + 24 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int k = 0; k < 24; ++k) own[k] = mine[k];
    quicksort(own, 0, 23);
    for (int k = 0; k < 24; ++k) mine[k] = own[k];
}

// Every frame has an array of its own.
FUNCTION int permutations(int depth, int used, int sum) {
    int order[6];
    int count = 0;
    if (depth == 6) return sum % 7 == 0;
    for (int k = 0; k < 6; ++k) order[k] = (k + depth) % 6;
    for (int k = 0; k < 6; ++k) {
        if ((used >> order[k] & 1) == 0)
            count += permutations(depth + 1, used | 1 << order[k], sum * 3 + order[k]);
    }
    for (int k = 0; k < 6; ++k) count += order[k] * 0;
    return count;
}

extern "C" __global__ void permute(int* out) { out[threadIdx.x] = permutations(2, threadIdx.x, threadIdx.x); }

struct Polynomial {
    int coefficients[5];
    double scale;
    char tag;
};

FUNCTION Polynomial derive(Polynomial p, int times) {
    if (times == 0) return p;
    for (int k = 0; k < 4; ++k) p.coefficients[k] = p.coefficients[k + 1] * (k + 1);
    p.coefficients[4] = 0;
    p.scale *= 1.5;
    p.tag += 1;
    Polynomial rest = derive(p, times - 1);
    rest.coefficients[4] += p.coefficients[0];
    return rest;
}

extern "C" __global__ void derivatives(int* out, double* scales) {
    const int i = threadIdx.x;
    Polynomial p;
    for (int k = 0; k < 5; ++k) p.coefficients[k] = i + k;
    p.scale = i;
    p.tag = static_cast<char>(i);
    p = derive(p, i % 5);
    int sum = p.tag;
    for (int k = 0; k < 5; ++k) sum = sum * 31 + p.coefficients[k];
    out[i] = sum;
    scales[i] = p.scale;
}

typedef int (*Operation)(int, int);
FUNCTION int add(int a, int b) { return a + b; }
FUNCTION int subtract(int a, int b) { return a - b; }
FUNCTION int multiply(int a, int b) { return a * b; }
FUNCTION int power(int a, int b) { return b <= 0 ? 1 : a * power(a, b - 1); }
__device__ Operation operations[4] = {add, subtract, multiply, power};
__constant__ Operation constant_operations[4] = {power, multiply, subtract, add};

// The pointers differ from lane to lane, or not.
extern "C" __global__ void operate(int* out, int uniform) {
    const int i = threadIdx.x;
    const int which = uniform >= 0 ? uniform : i % 4;
    int result = operations[which](i, i % 5);
    if (i % 3 != 1) result += constant_operations[which](result, i % 3);
    out[i] = result;
}

FUNCTION int apply(Operation operation, int n, int value) {
    return n == 0 ? value : apply(operation, n - 1, operation(value, n));
}

extern "C" __global__ void apply_repeatedly(int* out) {
    const int i = threadIdx.x;
    Operation operation = i % 2 == 0 ? add : multiply;
    out[i] = apply(operation, i % 6, i);
}

extern "C" __global__ void take_address(unsigned long long* out) {
    out[0] = reinterpret_cast<unsigned long long>(&add);
    out[1] = reinterpret_cast<unsigned long long>(operations[0]);
    out[2] = reinterpret_cast<unsigned long long>(&subtract);
}

extern "C" __global__ void call_address(int* out, Operation operation) { out[threadIdx.x] = operation(7, threadIdx.x); }

class Shape {
  public:
    __device__ explicit Shape(int size) : size_(size) {}
    __device__ virtual ~Shape() {}
    __device__ virtual int area() const = 0;
    __device__ virtual int corners() const { return 0; }
    __device__ int size() const { return size_; }

  private:
    int size_;
};
class Circle : public Shape {
  public:
    __device__ explicit Circle(int size) : Shape(size) {}
    __device__ int area() const override { return 3 * size() * size(); }
};
class Square : public Shape {
  public:
    __device__ explicit Square(int size) : Shape(size) {}
    __device__ int area() const override { return size() * size(); }
    __device__ int corners() const override { return 4; }
};
class Group : public Shape {
  public:
    __device__ Group(Shape* a, Shape* b) : Shape(2), a_(a), b_(b) {}
    __device__ ~Group() override {
        delete a_;
        delete b_;
    }
    __device__ int area() const override { return a_->area() + b_->area(); }
    __device__ int corners() const override { return a_->corners() + b_->corners(); }

  private:
    Shape *a_, *b_;
};

FUNCTION Shape* make_shape(int kind, int size) {
    if (kind % 3 == 0) return new Circle(size);
    if (kind % 3 == 1) return new Square(size);
    return new Group(make_shape(kind / 3, size), make_shape(kind / 9 + 1, size + 1));
}

// Virtual methods, which call virtual methods; objects in the heap.
extern "C" __global__ void shapes(int* out) {
    const int i = threadIdx.x;
    Shape* shape = make_shape(i, i % 10);
    out[i] = shape->area() * 100 + shape->corners();
    delete shape;
}

FUNCTION int search(const int* values, int at, int* found) {
    if (values[at] < 0) {
        *found = at;
        asm volatile("exit;");
    }
    return values[at] == 0 ? at : search(values, at + values[at], found);
}

// Some threads end within the recursion.
extern "C" __global__ void end_inside(const int* values, int* found, int* out) {
    const int i = threadIdx.x;
    out[i] = search(values, i, found + i);
}

FUNCTION int endless(int n) { return endless(n + 1) * 3 + n; }
extern "C" __global__ void overflow(int* out) { *out = endless(1); }

// Lanes of one warp compete for a lock. Whoever gets it must return from the call while the others try on.
FUNCTION void acquire(int* lock) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
}
FUNCTION void release(int* lock) {
    __threadfence();
    atomicExch(lock, 0);
}
__device__ void (*lock_operations[2])(int*) = {acquire, release};
extern "C" __global__ void locks(int* lock, volatile int* value, int rounds) {
    for (int r = 0; r < rounds; ++r) {
        lock_operations[0](lock);
        *value = *value * 3 % 1009 + 1;
        lock_operations[1](lock);
    }
}

// Frames start at multiples of the alignment of what is in them.
struct alignas(64) Wide {
    float x[20];
};
FUNCTION float sum_aligned(int n, Wide wide) {
    Wide local = wide;
    local.x[n % 20] += n;
    const float* at = local.x + n % 7;
    if ((reinterpret_cast<unsigned long long>(local.x) & 63) != 0) return -1e9f;
    return n == 0 ? wide.x[3] : sum_aligned(n - 1, local) + *at;
}
extern "C" __global__ void aligned(float* out) {
    Wide wide;
    for (int k = 0; k < 20; ++k) wide.x[k] = static_cast<float>(k * threadIdx.x);
    out[threadIdx.x] = sum_aligned(threadIdx.x % 9, wide);
}

// A barrier and a shuffle within a called function.
FUNCTION int sum_of_warp(int value, int step, int* shared) {
    if (step == 0) {
        __syncthreads();
        shared[threadIdx.x] = value;
        __syncthreads();
        return shared[(threadIdx.x + 32) % blockDim.x];
    }
    return sum_of_warp(value + __shfl_xor_sync(0xFFFFFFFF, value, step), step / 2, shared);
}
extern "C" __global__ void reduce(const int* values, int* out) {
    __shared__ int shared[128];
    out[threadIdx.x] = sum_of_warp(values[threadIdx.x], 16, shared);
}
