#include "sim/explore/parquet.h"

#include <cstring>

namespace heddle::explore {
namespace {

// Numbers of the specification (parquet.thrift).
enum Type : std::int32_t { kBoolean = 0, kInt64 = 2, kDouble = 5, kByteArray = 6 };
enum Repetition : std::int32_t { kRequired = 0, kOptional = 1 };
enum Encoding : std::int32_t { kPlain = 0, kRle = 3 };
constexpr std::int32_t kUtf8 = 0, kUncompressed = 0, kDataPage = 0, kVersion = 1;
constexpr const char* kMagic = "PAR1";

void add_little_endian(std::string& to, std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}

void add_varint(std::string& to, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
    to += static_cast<char>(value);
}

/// A struct of Thrift's compact protocol: fields in rising order of their numbers, which are small here.
class Struct {
  public:
    Struct& number(int field, std::int64_t value, bool wide = false) {
        begin(field, wide ? 6 : 5);
        add_zigzag(value);
        return *this;
    }
    Struct& text(int field, const std::string& value) {
        begin(field, kBinary);
        add_text(value);
        return *this;
    }
    Struct& structure(int field, const Struct& value) {
        begin(field, kStruct);
        bytes_ += value.bytes();
        return *this;
    }
    Struct& structures(int field, const std::vector<Struct>& values) {
        begin_list(field, kStruct, values.size());
        for (const Struct& value : values) bytes_ += value.bytes();
        return *this;
    }
    Struct& numbers(int field, const std::vector<std::int32_t>& values) {
        begin_list(field, 5, values.size());
        for (const std::int32_t value : values) add_zigzag(value);
        return *this;
    }
    Struct& texts(int field, const std::vector<std::string>& values) {
        begin_list(field, kBinary, values.size());
        for (const std::string& value : values) add_text(value);
        return *this;
    }
    /// With its end.
    std::string bytes() const { return bytes_ + '\0'; }

  private:
    static constexpr int kBinary = 8, kList = 9, kStruct = 12;

    void begin(int field, int type) {
        bytes_ += static_cast<char>((field - last_) << 4 | type);
        last_ = field;
    }
    void begin_list(int field, int type, std::size_t size) {
        begin(field, kList);
        if (size < 15) {
            bytes_ += static_cast<char>(size << 4 | static_cast<unsigned>(type));
        } else {
            bytes_ += static_cast<char>(0xf0 | type);
            add_varint(bytes_, size);
        }
    }
    void add_zigzag(std::int64_t value) {
        add_varint(bytes_, static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
    }
    void add_text(const std::string& value) {
        add_varint(bytes_, value.size());
        bytes_ += value;
    }

    std::string bytes_;
    int last_ = 0;
};

std::string packed_bits(const std::vector<bool>& bits) {
    std::string bytes((bits.size() + 7) / 8, '\0');
    for (std::size_t i = 0; i < bits.size(); ++i)
        if (bits[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << i % 8);
    return bytes;
}

/// Which values are there: one run of bits, behind its length.
std::string definition_levels(const std::vector<bool>& there) {
    std::string run;
    add_varint(run, (there.size() + 7) / 8 << 1 | 1);
    run += packed_bits(there);
    std::string bytes;
    add_little_endian(bytes, run.size(), 4);
    return bytes + run;
}

struct Encoded {
    Type type = kInt64;
    Repetition repetition = kRequired;
    bool utf8 = false;
    std::size_t rows = 0;
    std::string page;  ///< levels and values
};

struct Encoder {
    Encoded operator()(const std::vector<std::int64_t>& values) const {
        Encoded encoded{kInt64, kRequired, false, values.size(), {}};
        for (const std::int64_t value : values)
            add_little_endian(encoded.page, static_cast<std::uint64_t>(value), 8);
        return encoded;
    }
    Encoded operator()(const std::vector<bool>& values) const {
        return {kBoolean, kRequired, false, values.size(), packed_bits(values)};
    }
    Encoded operator()(const std::vector<std::optional<double>>& values) const {
        Encoded encoded{kDouble, kOptional, false, values.size(), {}};
        std::vector<bool> there;
        there.reserve(values.size());
        for (const auto& value : values) there.push_back(value.has_value());
        encoded.page = definition_levels(there);
        for (const auto& value : values) {
            if (!value) continue;
            std::uint64_t bits = 0;
            std::memcpy(&bits, &*value, sizeof bits);
            add_little_endian(encoded.page, bits, 8);
        }
        return encoded;
    }
    Encoded operator()(const std::vector<std::string>& values) const {
        Encoded encoded{kByteArray, kRequired, true, values.size(), {}};
        for (const std::string& value : values) {
            add_little_endian(encoded.page, value.size(), 4);
            encoded.page += value;
        }
        return encoded;
    }
};

std::string page_header(const Encoded& column) {
    Struct data;
    data.number(1, static_cast<std::int64_t>(column.rows)).number(2, kPlain).number(3, kRle).number(4, kRle);
    const auto size = static_cast<std::int64_t>(column.page.size());
    return Struct{}.number(1, kDataPage).number(2, size).number(3, size).structure(5, data).bytes();
}

}  // namespace

std::string parquet_file(const std::vector<ParquetColumn>& columns) {
    std::string file = kMagic;
    std::vector<Struct> schema{
        Struct{}.text(4, "points").number(5, static_cast<std::int64_t>(columns.size()))};
    std::vector<Struct> chunks;
    std::size_t rows = 0;
    for (const ParquetColumn& column : columns) {
        const Encoded encoded = std::visit(Encoder{}, column.values);
        rows = encoded.rows;
        const auto offset = static_cast<std::int64_t>(file.size());
        file += page_header(encoded) + encoded.page;
        const std::int64_t size = static_cast<std::int64_t>(file.size()) - offset;
        Struct element;
        element.number(1, encoded.type).number(3, encoded.repetition).text(4, column.name);
        if (encoded.utf8) element.number(6, kUtf8);
        schema.push_back(element);
        Struct meta;
        meta.number(1, encoded.type)
            .numbers(2, {kPlain, kRle})
            .texts(3, {column.name})
            .number(4, kUncompressed);
        meta.number(5, static_cast<std::int64_t>(encoded.rows), true)
            .number(6, size, true)
            .number(7, size, true);
        meta.number(9, offset, true);
        chunks.push_back(Struct{}.number(2, offset, true).structure(3, meta));
    }
    const auto count = static_cast<std::int64_t>(rows), data = static_cast<std::int64_t>(file.size()) - 4;
    const Struct group = Struct{}.structures(1, chunks).number(2, data, true).number(3, count, true);
    const std::string footer = Struct{}
                                   .number(1, kVersion)
                                   .structures(2, schema)
                                   .number(3, count, true)
                                   .structures(4, {group})
                                   .text(6, "heddle")
                                   .bytes();
    file += footer;
    add_little_endian(file, footer.size(), 4);
    return file + kMagic;
}

}  // namespace heddle::explore
