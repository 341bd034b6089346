// Textures and surfaces: filters, address modes, formats, layers, three dimensions, linear memory. Every texel is compared with what the host makes of the same
// rules (CUDA C++ Programming Guide, "Texture Fetching").
#include <cuda.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"

namespace {

struct Point {
    float x, y, z;
};

__global__ void read_2d(cudaTextureObject_t texture, const Point* points, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex2D<float>(texture, points[i].x, points[i].y);
}
__global__ void read_3d(cudaTextureObject_t texture, const Point* points, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex3D<float>(texture, points[i].x, points[i].y, points[i].z);
}
__global__ void read_layers(cudaTextureObject_t texture, const Point* points, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex2DLayered<float>(texture, points[i].x, points[i].y, static_cast<int>(points[i].z));
}
__global__ void read_linear(cudaTextureObject_t texture, float4* out, int first, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex1Dfetch<float4>(texture, first + i);
}
__global__ void read_bytes(cudaTextureObject_t texture, float4* out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height) out[y * width + x] = tex2D<float4>(texture, x + 0.5f, y + 0.5f);
}
__global__ void read_1d(cudaTextureObject_t texture, const Point* points, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex1D<float>(texture, points[i].x);
}
__global__ void read_cube(cudaTextureObject_t texture, const Point* points, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = texCubemap<float>(texture, points[i].x, points[i].y, points[i].z);
}
/// Other ways to the texel (x, y): level 0, no gradient, and the corner of four.
__global__ void read_otherwise(cudaTextureObject_t texture, const Point* points, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float x = points[i].x, y = points[i].y;
    const float level = tex2DLod<float>(texture, x, y, 0), gradient = tex2DGrad<float>(texture, x, y, make_float2(0, 0), make_float2(0, 0));
    const float4 four = tex2Dgather<float4>(texture, x + 0.25f, y + 0.25f);
    out[i] = level == gradient && level == four.w ? level : -1;
}
/// out = in turned by 90 degrees, with another number added.
__global__ void turn(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width || y >= height) return;
    const int2 value = surf2Dread<int2>(in, x * static_cast<int>(sizeof(int2)), y);
    surf2Dwrite(make_int2(value.y, value.x + 1), out, y * static_cast<int>(sizeof(int2)), x);
    surf2Dwrite(make_int2(0, 0), out, -8, x, cudaBoundaryModeZero);  // nowhere
}

/// A texel of an image of the host, by address mode; 0 outside of it where there is a border.
float texel(const std::vector<float>& image, const int (&size)[3], const int (&at)[3], cudaTextureAddressMode mode) {
    int inside[3];
    for (int d = 0; d < 3; ++d) {
        int i = at[d];
        const int n = size[d];
        if (i < 0 || i >= n) {
            if (mode == cudaAddressModeBorder) return 0;
            if (mode == cudaAddressModeWrap) i = ((i % n) + n) % n;
            else if (mode == cudaAddressModeMirror) i = ((i % (2 * n)) + 2 * n) % (2 * n), i = i < n ? i : 2 * n - 1 - i;
            else i = i < 0 ? 0 : n - 1;
        }
        inside[d] = i;
    }
    return image[(static_cast<std::size_t>(inside[2]) * size[1] + inside[1]) * size[0] + inside[0]];
}

/// Weights have 8 bits behind the point.
float filtered(const std::vector<float>& image, const int (&size)[3], const double (&u)[3], int dimensions, int plane, cudaTextureAddressMode mode) {
    int first[3] = {0, 0, plane};
    double weight[3] = {};
    for (int d = 0; d < dimensions; ++d) {
        const double b = u[d] - 0.5;
        first[d] = static_cast<int>(std::floor(b));
        weight[d] = std::floor((b - first[d]) * 256 + 0.5) / 256;
    }
    double sum = 0;
    for (int corner = 0; corner < 1 << dimensions; ++corner) {
        double part = 1;
        int at[3] = {first[0], first[1], first[2]};
        for (int d = 0; d < dimensions; ++d) {
            const int upper = corner >> d & 1;
            part *= upper ? weight[d] : 1 - weight[d];
            at[d] += upper;
        }
        sum += part * texel(image, size, at, mode);
    }
    return static_cast<float>(sum);
}

unsigned next_random() {
    static unsigned state = 1;
    return state = state * 1664525u + 1013904223u;
}
float random_float(float low, float high) {
    return low + (high - low) * static_cast<float>(next_random() >> 8) / 16777216.0f;
}

template <class T>
T* on_device(const std::vector<T>& values) {
    T* to = nullptr;
    CHECK(cudaMalloc(&to, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}
template <class T>
std::vector<T> on_host(const T* from, std::size_t count) {
    std::vector<T> values(count);
    CHECK(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

cudaTextureObject_t texture_of(const cudaResourceDesc& resource, cudaTextureAddressMode mode, cudaTextureFilterMode filter, cudaTextureReadMode read, bool normalized) {
    cudaTextureDesc description = {};
    for (auto& one : description.addressMode) one = mode;
    description.filterMode = filter;
    description.readMode = read;
    description.normalizedCoords = normalized;
    cudaTextureObject_t texture = 0;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    return texture;
}
cudaResourceDesc resource_of(cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

int wrong = 0;
void compare(const char* what, const std::vector<float>& found, const std::vector<float>& expected) {
    int bad = 0;
    for (std::size_t i = 0; i < found.size(); ++i) bad += found[i] != expected[i];
    std::printf("%s: %d of %zu are wrong\n", what, bad, found.size());
    wrong += bad;
}

using Kernel = void (*)(cudaTextureObject_t, const Point*, float*, int);
std::vector<float> run(Kernel kernel, cudaTextureObject_t texture, const std::vector<Point>& points) {
    const int count = static_cast<int>(points.size());
    Point* const in = on_device(points);
    float* const out = on_device(std::vector<float>(points.size()));
    kernel<<<(count + 127) / 128, 128>>>(texture, in, out, count);
    CHECK(cudaGetLastError());
    const std::vector<float> found = on_host(out, points.size());
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return found;
}

void flat_images() {
    const int size[3] = {37, 19, 1};
    std::vector<float> image(37 * 19);
    for (float& value : image) value = random_float(-4, 4);
    cudaArray_t array = nullptr;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, size[0], size[1]));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), size[0] * sizeof(float), size[0] * sizeof(float), size[1], cudaMemcpyHostToDevice));
    cudaExtent extent = {};
    cudaChannelFormatDesc same = {};
    CHECK(cudaArrayGetInfo(&same, &extent, nullptr, array));
    wrong += extent.width != 37 || extent.height != 19 || same.x != 32 || same.y != 0 || same.f != cudaChannelFormatKindFloat;
    const struct {
        const char* name;
        cudaTextureAddressMode mode;
        bool normalized;
    } cases[] = {{"2D, linear, clamp", cudaAddressModeClamp, false},
                 {"2D, linear, border", cudaAddressModeBorder, false},
                 {"2D, linear, wrap", cudaAddressModeWrap, true}};
    for (const auto& one : cases) {
        const cudaTextureObject_t texture = texture_of(resource_of(array), one.mode, cudaFilterModeLinear, cudaReadModeElementType, one.normalized);
        std::vector<Point> points(1000);
        std::vector<float> expected;
        for (Point& point : points) {
            const float sx = one.normalized ? 1 : size[0], sy = one.normalized ? 1 : size[1];
            point = {random_float(-1.5f * sx, 2.5f * sx), random_float(-1.5f * sy, 2.5f * sy), 0};
            const double u[3] = {double{point.x} * (one.normalized ? size[0] : 1), double{point.y} * (one.normalized ? size[1] : 1), 0};
            expected.push_back(filtered(image, size, u, 2, 0, one.mode));
        }
        compare(one.name, run(read_2d, texture, points), expected);
        cudaResourceDesc resource = {};
        CHECK(cudaGetTextureObjectResourceDesc(&resource, texture));
        wrong += resource.res.array.array != array;
        CHECK(cudaDestroyTextureObject(texture));
    }
    const cudaTextureObject_t mirror = texture_of(resource_of(array), cudaAddressModeMirror, cudaFilterModePoint, cudaReadModeElementType, true);
    std::vector<Point> points(1000);
    std::vector<float> expected;
    for (Point& point : points) {
        point = {random_float(-3, 3), random_float(-3, 3), 0};
        const int at[3] = {static_cast<int>(std::floor(double{point.x} * size[0])), static_cast<int>(std::floor(double{point.y} * size[1])), 0};
        expected.push_back(texel(image, size, at, cudaAddressModeMirror));
    }
    compare("2D, nearest, mirror", run(read_2d, mirror, points), expected);
    CHECK(cudaDestroyTextureObject(mirror));
    std::vector<float> back(image.size());
    CHECK(cudaMemcpy2DFromArray(back.data(), size[0] * sizeof(float), array, 0, 0, size[0] * sizeof(float), size[1], cudaMemcpyDeviceToHost));
    compare("the array again", back, image);
    CHECK(cudaFreeArray(array));
}

void deep_images() {
    const int size[3] = {9, 7, 5};
    std::vector<float> image(9 * 7 * 5);
    for (float& value : image) value = random_float(0, 100);
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    for (const bool layered : {false, true}) {
        cudaArray_t array = nullptr;
        CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(size[0], size[1], size[2]), layered ? cudaArrayLayered : cudaArrayDefault));
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(image.data(), size[0] * sizeof(float), size[0], size[1]);
        copy.dstArray = array;
        copy.extent = make_cudaExtent(size[0], size[1], size[2]);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
        const cudaTextureObject_t texture = texture_of(resource_of(array), cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, false);
        std::vector<Point> points(1000);
        std::vector<float> expected;
        for (Point& point : points) {
            point = {random_float(-3, 12), random_float(-3, 10), layered ? std::floor(random_float(0, 4.99f)) : random_float(-3, 8)};
            const double u[3] = {point.x, point.y, point.z};
            expected.push_back(layered ? filtered(image, size, u, 2, static_cast<int>(point.z), cudaAddressModeClamp) : filtered(image, size, u, 3, 0, cudaAddressModeClamp));
        }
        compare(layered ? "layers" : "3D", run(layered ? read_layers : read_3d, texture, points), expected);
        CHECK(cudaDestroyTextureObject(texture));
        std::vector<float> part(3 * 2 * 2);
        cudaMemcpy3DParms back = {};
        back.srcArray = array;
        back.srcPos = make_cudaPos(4, 3, 1);
        back.dstPtr = make_cudaPitchedPtr(part.data(), 3 * sizeof(float), 3, 2);
        back.extent = make_cudaExtent(3, 2, 2);
        back.kind = cudaMemcpyDeviceToHost;
        CHECK(cudaMemcpy3D(&back));
        std::vector<float> box;
        for (int z = 1; z < 3; ++z)
            for (int y = 3; y < 5; ++y)
                for (int x = 4; x < 7; ++x) box.push_back(image[(z * size[1] + y) * size[0] + x]);
        compare("a part of the array", part, box);
        CHECK(cudaFreeArray(array));
    }
}

void linear_memory() {
    const int count = 5000;
    std::vector<float4> values(count);
    for (float4& value : values) value = make_float4(random_float(0, 1), random_float(0, 1), random_float(0, 1), random_float(0, 1));
    float4* const memory = on_device(values);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<float4>();
    resource.res.linear.sizeInBytes = count * sizeof(float4);
    const cudaTextureObject_t texture = texture_of(resource, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, false);
    float4* const out = on_device(std::vector<float4>(count));
    read_linear<<<(count + 127) / 128, 128>>>(texture, out, 10, count);  // the last ten lie outside
    CHECK(cudaGetLastError());
    const std::vector<float4> found = on_host(out, count);
    std::vector<float> a, b;
    for (int i = 0; i < count; ++i) {
        const float4 expected = i + 10 < count ? values[i + 10] : make_float4(0, 0, 0, 0);
        a.insert(a.end(), {found[i].x, found[i].y, found[i].z, found[i].w});
        b.insert(b.end(), {expected.x, expected.y, expected.z, expected.w});
    }
    compare("linear memory", a, b);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFree(memory));
    CHECK(cudaFree(out));
}

void bytes() {
    const int width = 50, height = 20;
    std::vector<uchar4> image(width * height);
    for (uchar4& value : image) value = make_uchar4(next_random() >> 24, next_random() >> 24, next_random() >> 24, next_random() >> 24);
    uchar4* memory = nullptr;
    std::size_t pitch = 0;
    CHECK(cudaMallocPitch(&memory, &pitch, width * sizeof(uchar4), height));
    CHECK(cudaMemcpy2D(memory, pitch, image.data(), width * sizeof(uchar4), width * sizeof(uchar4), height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    const cudaTextureObject_t texture = texture_of(resource, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeNormalizedFloat, false);
    float4* const out = on_device(std::vector<float4>(width * height));
    read_bytes<<<dim3(1, height), 64>>>(texture, out, width, height);
    CHECK(cudaGetLastError());
    const std::vector<float4> found = on_host(out, width * height);
    std::vector<float> a, b;
    for (int i = 0; i < width * height; ++i) {
        a.insert(a.end(), {found[i].x, found[i].y, found[i].z, found[i].w});
        b.insert(b.end(), {image[i].x / 255.0f, image[i].y / 255.0f, image[i].z / 255.0f, image[i].w / 255.0f});
    }
    compare("bytes as numbers", a, b);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFree(memory));
    CHECK(cudaFree(out));
}

void other_shapes() {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    std::vector<float> line(300), image(6 * 16 * 16);
    for (float& value : line) value = random_float(0, 1);
    for (float& value : image) value = random_float(0, 1);
    cudaArray_t array = nullptr, copy = nullptr;
    CHECK(cudaMallocArray(&array, &format, line.size()));
    CHECK(cudaMallocArray(&copy, &format, line.size()));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, line.data(), line.size() * sizeof(float), line.size() * sizeof(float), 1, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DArrayToArray(copy, 0, 0, array, 0, 0, line.size() * sizeof(float), 1));
    const cudaTextureObject_t one = texture_of(resource_of(copy), cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, false);
    std::vector<Point> points(500);
    std::vector<float> expected;
    const int row[3] = {300, 1, 1};
    for (Point& point : points) {
        point = {random_float(-10, 310), 0, 0};
        const double u[3] = {point.x, 0, 0};
        expected.push_back(filtered(line, row, u, 1, 0, cudaAddressModeClamp));
    }
    compare("1D", run(read_1d, one, points), expected);
    CHECK(cudaDestroyTextureObject(one));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(copy));

    // The middle of a texel of each face: +x, -x, +y, -y, +z, -z.
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(16, 16, 6), cudaArrayCubemap));
    cudaMemcpy3DParms whole = {};
    whole.srcPtr = make_cudaPitchedPtr(image.data(), 16 * sizeof(float), 16, 16);
    whole.dstArray = array;
    whole.extent = make_cudaExtent(16, 16, 6);
    whole.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&whole));
    const cudaTextureObject_t cube = texture_of(resource_of(array), cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, true);
    points.clear();
    expected.clear();
    for (int face = 0; face < 6; ++face)
        for (int t = 0; t < 16; ++t)
            for (int s = 0; s < 16; ++s) {
                const float a = (s + 0.5f) / 8 - 1, b = (t + 0.5f) / 8 - 1;
                const Point directions[6] = {{1, -b, -a}, {-1, -b, a}, {a, 1, b}, {a, -1, -b}, {a, -b, 1}, {-a, -b, -1}};
                points.push_back(directions[face]);
                expected.push_back(image[(face * 16 + t) * 16 + s]);
            }
    compare("a cube", run(read_cube, cube, points), expected);
    CHECK(cudaDestroyTextureObject(cube));
    CHECK(cudaFreeArray(array));

    CHECK(cudaMallocArray(&array, &format, 16, 96, cudaArrayTextureGather));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), 16 * sizeof(float), 16 * sizeof(float), 96, cudaMemcpyHostToDevice));
    const cudaTextureObject_t flat = texture_of(resource_of(array), cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, false);
    points.clear();
    for (int y = 0; y < 96; ++y)
        for (int x = 0; x < 16; ++x) points.push_back({x + 0.5f, y + 0.5f, 0});
    compare("levels, gradients and gathers", run(read_otherwise, flat, points), image);
    CHECK(cudaDestroyTextureObject(flat));
    CHECK(cudaFreeArray(array));
}

template <class Function>
Function* entry(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    return reinterpret_cast<Function*>(found);
}

/// The driver's own names, and copies in streams and graphs.
void copies() {
    const std::size_t width = 10, height = 6, bytes = width * height * sizeof(short);
    std::vector<short> image(width * height), back(width * height), rows(width * height);
    for (short& value : image) value = static_cast<short>(next_random() >> 16);
    CUDA_ARRAY_DESCRIPTOR description = {width, height, CU_AD_FORMAT_SIGNED_INT16, 1}, same = {};
    CUarray array = nullptr, other = nullptr;
    bool good = entry<decltype(cuArrayCreate)>("cuArrayCreate")(&array, &description) == CUDA_SUCCESS;
    good = good && entry<decltype(cuArrayCreate)>("cuArrayCreate")(&other, &description) == CUDA_SUCCESS;
    good = good && entry<decltype(cuArrayGetDescriptor)>("cuArrayGetDescriptor")(&same, array) == CUDA_SUCCESS && same.Width == width && same.Height == height &&
           same.Format == CU_AD_FORMAT_SIGNED_INT16 && same.NumChannels == 1;
    // Bytes in the order of rows, in two parts that end and begin within a row.
    const std::size_t cut = 27 * sizeof(short);
    const auto to_array = entry<decltype(cuMemcpyHtoA)>("cuMemcpyHtoA");
    good = good && to_array(array, 0, image.data(), cut) == CUDA_SUCCESS && to_array(array, cut, image.data() + 27, bytes - cut) == CUDA_SUCCESS;
    good = good && to_array(array, cut, image.data(), bytes) == CUDA_ERROR_INVALID_VALUE;
    good = good && entry<decltype(cuMemcpyAtoA)>("cuMemcpyAtoA")(other, 0, array, 0, bytes) == CUDA_SUCCESS;
    good = good && entry<decltype(cuMemcpyAtoH)>("cuMemcpyAtoH")(back.data(), other, 0, bytes) == CUDA_SUCCESS && back == image;
    CUDA_MEMCPY3D box = {};
    box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    box.srcArray = other;
    box.srcXInBytes = 2 * sizeof(short);
    box.srcY = 1;
    box.dstMemoryType = CU_MEMORYTYPE_HOST;
    box.dstHost = rows.data();
    box.dstPitch = 8 * sizeof(short);
    box.WidthInBytes = 8 * sizeof(short);
    box.Height = 5;
    box.Depth = 1;
    good = good && entry<decltype(cuMemcpy3D)>("cuMemcpy3D")(&box) == CUDA_SUCCESS;
    for (int y = 0; y < 5; ++y)
        for (int x = 0; x < 8; ++x) good = good && rows[y * 8 + x] == image[(y + 1) * width + x + 2];

    // A graph: what the host holds goes through the array, and comes back.
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    const auto runtime_array = reinterpret_cast<cudaArray_t>(array);
    CHECK(cudaMemcpy2DToArrayAsync(runtime_array, 0, 0, rows.data(), width * sizeof(short), width * sizeof(short), height, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpy2DFromArrayAsync(back.data(), width * sizeof(short), runtime_array, 0, 0, width * sizeof(short), height, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (short& value : rows) value = static_cast<short>(next_random() >> 16);
    good = good && back == image;
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    good = good && back == rows;
    good = good && entry<decltype(cuArrayDestroy)>("cuArrayDestroy")(array) == CUDA_SUCCESS && entry<decltype(cuArrayDestroy)>("cuArrayDestroy")(other) == CUDA_SUCCESS;
    good = good && entry<decltype(cuArrayDestroy)>("cuArrayDestroy")(other) == CUDA_ERROR_INVALID_HANDLE;
    std::printf("copies: %s\n", good ? "right" : "WRONG");
    wrong += !good;
}

/// What is wrong comes back as an error. The last one stays, as after any kernel that failed.
void mistakes() {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>(), three = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
    cudaArray_t array = nullptr, none = nullptr;
    CHECK(cudaMallocArray(&array, &format, 8, 8));
    bool good = cudaMallocArray(&none, &three, 8, 8) != cudaSuccess;
    int row[9] = {};
    good = good && cudaMemcpy2DToArray(array, 0, 0, row, sizeof row, sizeof row, 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue;
    const cudaResourceDesc resource = resource_of(array);
    cudaTextureDesc description = {};
    description.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t texture = 0;
    cudaSurfaceObject_t surface = 0;
    good = good && cudaCreateTextureObject(&texture, &resource, &description, nullptr) == cudaErrorInvalidValue;  // a filter of integers
    good = good && cudaCreateSurfaceObject(&surface, &resource) == cudaErrorInvalidValue;                          // no flag for surfaces
    description.filterMode = cudaFilterModePoint;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    CHECK(cudaDestroyTextureObject(texture));
    Point* const points = on_device(std::vector<Point>(1));
    float* const out = on_device(std::vector<float>(1));
    read_2d<<<1, 1>>>(texture, points, out, 1);
    good = good && cudaDeviceSynchronize() != cudaSuccess;
    std::printf("mistakes: %s\n", good ? "found" : "NOT FOUND");
    wrong += !good;
}

void surfaces() {
    const int width = 40, height = 24;
    std::vector<int2> image(width * height);
    for (int i = 0; i < width * height; ++i) image[i] = make_int2(i, -i);
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<int2>();
    cudaArray_t in = nullptr, out = nullptr;
    CHECK(cudaMallocArray(&in, &format, width, height, cudaArraySurfaceLoadStore));
    CHECK(cudaMallocArray(&out, &format, height, width, cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpy2DToArray(in, 0, 0, image.data(), width * sizeof(int2), width * sizeof(int2), height, cudaMemcpyHostToDevice));
    cudaSurfaceObject_t from = 0, to = 0;
    const cudaResourceDesc from_resource = resource_of(in), to_resource = resource_of(out);
    CHECK(cudaCreateSurfaceObject(&from, &from_resource));
    CHECK(cudaCreateSurfaceObject(&to, &to_resource));
    turn<<<dim3(1, height), 64>>>(from, to, width, height);
    CHECK(cudaGetLastError());
    std::vector<int2> turned(width * height);
    CHECK(cudaMemcpy2DFromArray(turned.data(), height * sizeof(int2), out, 0, 0, height * sizeof(int2), width, cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const int2 before = image[y * width + x], after = turned[x * height + y];
            bad += after.x != before.y || after.y != before.x + 1;
        }
    std::printf("surfaces: %d of %d are wrong\n", bad, width * height);
    wrong += bad;
    CHECK(cudaDestroySurfaceObject(from));
    CHECK(cudaDestroySurfaceObject(to));
    CHECK(cudaFreeArray(in));
    CHECK(cudaFreeArray(out));
}

}  // namespace

int main() {
    flat_images();
    deep_images();
    linear_memory();
    bytes();
    surfaces();
    other_shapes();
    copies();
    mistakes();
    return verdict(wrong == 0, "textures and surfaces");
}
