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

struct Parameter {
    std::string path;     ///< "l2.size"
    std::string meaning;  ///< one sentence
    Quantity quantity = Quantity::count;
    bool integral = false;
    double minimum = 0, maximum = 0;
    std::vector<std::string> choices;  ///< not empty: a word, one of these, stored as its position
    std::string* text = nullptr;       ///< not null: a text, which may be empty and need not be given
    /// Not null: a list of numbers within the range, `[16, 18]`. Need not be given; empty is written as
    /// `none`.
    std::vector<std::uint32_t>* list = nullptr;
    std::string none;                ///< the word for an empty list
    std::vector<std::string> parts;  ///< a list is forgotten when one of these is set nearer to the user
    std::function<double()> get;
    std::function<void(double)> set;
};

class ParameterList {
  public:
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

    const std::vector<Parameter>& parameters() const { return parameters_; }

  private:
    std::vector<Parameter> parameters_;
};

}  // namespace heddle::models
