// How a comparison with the tables of the TPU v1 paper is put: its reference, its rows, its table.
#pragma once

#include <string>
#include <vector>

#include "validation/compare/result.h"
#include "validation/compare/tpu_v1_applications.h"

namespace heddle::validation::tpu_v1 {

/// Where in the paper: "table 3".
Reference paper(const std::string& place);

/// The paper's shares of cycles and operations per second beside simulated ones, application by application.
class BreakdownRows {
  public:
    /// `shares` and `rates`: categories of the rows; they may be the same.
    BreakdownRows(const std::string& title, std::string shares, std::string rates);
    /// Six rows of shares in per cent and one of TOPS, called `name`/counter, and a line of the table.
    /// `assumption` says which choices are ours.
    void add(const std::string& name, const Application& published, const std::string& assumption,
             const Breakdown& simulated, double tops);

    const std::vector<ComparisonRow>& rows() const { return rows_; }
    const ResultTable& table() const { return table_; }

  private:
    std::string shares_, rates_;
    std::vector<ComparisonRow> rows_;
    ResultTable table_;
};

}  // namespace heddle::validation::tpu_v1
