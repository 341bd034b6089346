#include "sim/run/numerics/checkpoint.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>

#include "isa/common/checked.h"
#include "isa/common/whole_file.h"
#include "sim/run/time/kernel_cache.h"

namespace heddle::sim {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints hold numbers of this order of bytes");

constexpr const char* kMagic = "heddle checkpoint 1\n";
constexpr std::size_t kHash = 32;

class Writer {
  public:
    void text(const std::string& value) {
        number(value.size());
        bytes_ += value;
    }
    void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void list(const std::vector<double>& values) {
        number(values.size());
        bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    }
    void lists(const std::map<trace::TensorId, std::vector<double>>& all) {
        number(all.size());
        for (const auto& [id, values] : all) {
            number(id);
            list(values);
        }
    }
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

[[noreturn]] void damaged(const std::string& path) {
    throw Error("the checkpoint is damaged", {path, 0, ""}, "leave --resume out to begin anew");
}

/// The hash of the whole has been checked: what is wrong here was written so, by no version of Heddle.
class Reader {
  public:
    Reader(const std::string& bytes, std::size_t at, const std::string& path)
        : bytes_(bytes), at_(at), path_(path) {}
    std::string text() {
        const std::uint64_t size = number();
        need(size);
        at_ += size;
        return bytes_.substr(at_ - size, size);
    }
    std::uint64_t number() {
        need(sizeof(std::uint64_t));
        std::uint64_t value;
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::vector<double> list() {
        const std::uint64_t count = number();
        if (count > bytes_.size()) need(bytes_.size() + 1);
        need(count * sizeof(double));
        std::vector<double> values(count);
        if (count > 0) std::memcpy(values.data(), bytes_.data() + at_, count * sizeof(double));
        at_ += count * sizeof(double);
        return values;
    }
    std::map<trace::TensorId, std::vector<double>> lists() {
        std::map<trace::TensorId, std::vector<double>> all;
        for (std::uint64_t left = number(); left > 0; --left) {
            const auto id = narrowed<trace::TensorId>(number());
            if (!id) damaged(path_);
            all[*id] = list();
        }
        return all;
    }

  private:
    void need(std::uint64_t bytes) const {
        if (bytes > bytes_.size() - at_) damaged(path_);
    }
    const std::string& bytes_;
    std::size_t at_;
    const std::string& path_;
};

}  // namespace

void write_checkpoint(const Checkpoint& checkpoint, const std::string& path) {
    Writer writer;
    writer.text(checkpoint.identity);
    writer.number(checkpoint.steps);
    writer.list(checkpoint.device_loss);
    writer.list(checkpoint.reference_loss);
    writer.lists(checkpoint.device);
    writer.lists(checkpoint.reference);

    write_whole_file(path, kMagic + hash_text(writer.bytes()) + writer.bytes());
}

Checkpoint read_checkpoint(const std::string& path, const std::string& identity) {
    std::ifstream in(path, std::ios::binary);
    if (!in)
        throw Error("cannot open the checkpoint", {path, 0, ""}, "leave --resume out to begin a training");
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const std::size_t magic = std::strlen(kMagic);
    if (bytes.compare(0, magic, kMagic) != 0) throw Error("this is no checkpoint", {path, 0, ""}, "");
    if (bytes.size() < magic + kHash || bytes.substr(magic, kHash) != hash_text(bytes.substr(magic + kHash)))
        damaged(path);
    Reader reader(bytes, magic + kHash, path);
    Checkpoint checkpoint;
    checkpoint.identity = reader.text();
    if (checkpoint.identity != identity)
        throw Error("the checkpoint is of another training", {path, 0, ""},
                    "give the model, its options, the device and the data of the run that wrote it");
    const auto steps = narrowed<unsigned>(reader.number());
    if (!steps) damaged(path);
    checkpoint.steps = *steps;
    checkpoint.device_loss = reader.list();
    checkpoint.reference_loss = reader.list();
    checkpoint.device = reader.lists();
    checkpoint.reference = reader.lists();
    return checkpoint;
}

void check_values(const Checkpoint& checkpoint, const std::map<trace::TensorId, std::size_t>& elements,
                  const std::string& path) {
    if (checkpoint.device_loss.size() != checkpoint.steps ||
        checkpoint.reference_loss.size() != checkpoint.steps)
        damaged(path);
    for (const auto* values : {&checkpoint.device, &checkpoint.reference}) {
        for (const auto& [id, count] : elements) {
            const auto found = values->find(id);
            if (found == values->end() || found->second.size() != count) damaged(path);
        }
    }
}

}  // namespace heddle::sim
