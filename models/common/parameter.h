// Parameters that a hardware file may set. A configuration struct lives beside the model that it configures
// and lists its fields once, in a ParameterList: the YAML reader, `heddle hardware describe` and range checks
// all read that list.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle::models {

/// What a number measures. Values are kept in the base unit named here; files may use any unit of the same
/// quantity
/// (`1830 MHz`, `50 MiB`, `3.35 TB/s`, `29 cycles`).
enum class Quantity : std::uint8_t {
    count,      ///< a bare number
    frequency,  ///< hertz
    bytes,      ///< bytes
    bandwidth,  ///< bytes per second
    per_cycle,  ///< bytes per cycle, `64 B/cycle`
    cycles,     ///< cycles of the device's main clock
    time,       ///< seconds
    power,      ///< watts
    energy,     ///< joules
    ratio,      ///< 0..1, or per cent in files
};

/// One parameter of a hardware file: its place in the file, its range, and access to the field that holds it.
/// It refers to a field of a configuration, which must outlive it.
struct Parameter {
    std::string path;                     ///< "l2.size"
    std::string meaning;                  ///< one sentence
    Quantity quantity = Quantity::count;  ///< unit in which `get` and `set` speak
    bool integral = false;                ///< fractions are an error
    double minimum = 0, maximum = 0;      ///< inclusive, in the unit of `quantity`
    std::vector<std::string> choices;     ///< not empty: a word, one of these, stored as its position
    std::string* text = nullptr;          ///< not null: a text, which may be empty and need not be given
    /// Not null: a list of numbers within the range, `[16, 18]`. Need not be given; empty is written as
    /// `none`.
    std::vector<std::uint32_t>* list = nullptr;
    std::string none;                ///< the word for an empty list
    std::vector<std::string> parts;  ///< a list is forgotten when one of these is set nearer to the user
    /// Read and write the field as a number: the value, or for a choice its position in `choices`. Lists and
    /// texts do not use them.
    std::function<double()> get;
    std::function<void(double)> set;
};

/// The parameters of a configuration, in the order in which `heddle hardware describe` prints them.
class ParameterList {
  public:
    /// A number. Each add function declares one parameter: `path` is its key in the file, with dots between
    /// levels; `field` is read and written later and must outlive the list; `minimum` and `maximum` are
    /// inclusive.
    template <class Number>
    void add(std::string path, Number& field, Quantity quantity, double minimum, double maximum,
             std::string meaning) {
        Parameter parameter;
        parameter.path = std::move(path);
        parameter.meaning = std::move(meaning);
        parameter.quantity = quantity;
        parameter.integral = std::is_integral_v<Number>;
        parameter.minimum = minimum;
        parameter.maximum = maximum;
        parameter.get = [&field] { return static_cast<double>(field); };
        parameter.set = [&field](double value) { field = static_cast<Number>(value); };
        parameters_.push_back(std::move(parameter));
    }
    /// A word out of `choices`, which stand in the order of the values of `Enum`, from 0 up without a gap.

    /// A word out of `choices`, which stand in the order of the values of `Enum`, from 0 up without a gap.
    template <class Enum>
    void add_choice(std::string path, Enum& field, std::vector<std::string> choices, std::string meaning) {
        Parameter parameter;
        parameter.path = std::move(path);
        parameter.meaning = std::move(meaning);
        parameter.maximum = static_cast<double>(choices.size()) - 1;
        parameter.integral = true;
        parameter.choices = std::move(choices);
        parameter.get = [&field] { return static_cast<double>(static_cast<int>(field)); };
        parameter.set = [&field](double value) { field = static_cast<Enum>(static_cast<int>(value)); };
        parameters_.push_back(std::move(parameter));
    }
    /// A text without restrictions, such as a file name.

    /// A text without restrictions, such as a file name.
    void add_text(std::string path, std::string& field, std::string meaning) {
        Parameter parameter;
        parameter.path = std::move(path);
        parameter.meaning = std::move(meaning);
        parameter.text = &field;
        parameter.get = [] { return 0.0; };
        parameter.set = [](double) {};
        parameters_.push_back(std::move(parameter));
    }

    /// `none`: the word for an empty list. `parts`: parameters that the list describes in detail; a file that
    /// changes one of them and says nothing of the list means an empty one.
    void add_list(std::string path, std::vector<std::uint32_t>& field, std::string none,
                  std::vector<std::string> parts, double minimum, double maximum, std::string meaning) {
        Parameter parameter;
        parameter.path = std::move(path);
        parameter.meaning = std::move(meaning);
        parameter.integral = true;
        parameter.minimum = minimum;
        parameter.maximum = maximum;
        parameter.list = &field;
        parameter.none = std::move(none);
        parameter.parts = std::move(parts);
        parameter.get = [] { return 0.0; };
        parameter.set = [](double) {};
        parameters_.push_back(std::move(parameter));
    }

    /// In the order of the calls above.
    const std::vector<Parameter>& parameters() const { return parameters_; }

  private:
    std::vector<Parameter> parameters_;
};

}  // namespace heddle::models
