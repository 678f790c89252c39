// SPDX-License-Identifier: Apache-2.0
#include "papers.h"

#include <cmath>

namespace oracle {
namespace {

// A row of log-probabilities.
std::vector<float> row_of(const std::vector<double>& p) {
  std::vector<float> row;
  for (const double each : p) row.push_back(static_cast<float>(std::log(each)));
  return row;
}

}  // namespace

Model figure_one() {
  // Codes: 0 soccer, 1 used, 2 shoes, 3 gloves, 4 shirts; column 5 ends a SID.
  Model model;
  model.catalogue = make_catalogue({5, 5, 5}, true, {{{0, 3}, 1}, {{1, 0, 2}, 2}, {{1, 4}, 3}});
  model.rules.columns = {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}};
  model.rules.end_column = 5;
  model.row_of = [](const Sid& prefix) {
    if (prefix.empty()) return row_of({0.6, 0.4, 0, 0, 0, 0});
    if (prefix == Sid{0}) return row_of({0, 0, 0.9, 0.1, 0, 0});
    if (prefix == Sid{1}) return row_of({0.9, 0, 0, 0, 0.1, 0});
    if (prefix == Sid{1, 0}) return row_of({0, 0, 0.9, 0.1, 0, 0});
    return row_of({0, 0, 0, 0, 0, 1});
  };
  return model;
}

Model theorem_two_one(double bad_mass, double epsilon) {
  Model model;
  model.catalogue = make_catalogue({2, 2}, false, {{{0, 0}, 1}, {{0, 1}, 2}, {{1, 0}, 3}});
  model.rules.columns = {{0, 1}, {0, 1}};
  model.row_of = [=](const Sid& prefix) {
    if (prefix.empty()) return row_of({1 - bad_mass, bad_mass});
    return prefix == Sid{0} ? row_of({0.5, 0.5}) : row_of({epsilon, 1 - epsilon});
  };
  return model;
}

}  // namespace oracle
