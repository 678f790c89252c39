// The bias of plain constrained sampling, and what DISC leaves of it: DISC-PPV's figure 1 and theorems 2.1 and 3.1, by
// the oracle's enumeration of every outcome. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "laws.h"
#include "papers.h"
#include "tables.h"

namespace bench {
namespace {

constexpr int kRounds[] = {1, 2, 4, 8};
constexpr const char* kTitles[] = {"soccer gloves", "used soccer shoes", "used shirts"};

oracle::Laws laws_of(const oracle::Model& model) { return oracle::enumerate(oracle::make_sampler(model)); }

oracle::DiscLaw disc_of(const oracle::Laws& laws, int rounds) {
  return oracle::disc_law(laws.plain, laws.x, laws.dead, rounds);
}

// From the exact law; what rounding leaves below 0 is 0.
double kl_of(const oracle::Laws& laws, const oracle::Law& law) {
  return std::max(0.0, oracle::kl(oracle::exact_law(laws), law));
}

std::string disc_name(int rounds) { return "DISC, K=" + std::to_string(rounds); }

// A bad mass as the case of a measurement names it.
std::string text_of(double value) {
  char text[16];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// The claims that the tables are there for.
void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("bias: " + what + " does not hold");
}

void add(Context& context, const Case& where, const std::string& name, const char* unit, double value) {
  context.json.add({"bias", where, name, unit, exactly(value), "by enumeration"});
}

void figure_one(Context& context) {
  const oracle::Laws laws = laws_of(oracle::figure_one());
  TextTable table;
  std::vector<std::string> head = {"figure 1: probability"};
  for (const char* title : kTitles) head.emplace_back(title);
  head.insert(head.end(), {"KL, nats", "its bound", "draws"});
  table.row(head);
  const auto row = [&](const std::string& name, const oracle::Law& law, const std::string& bound, double draws) {
    std::vector<std::string> cells = {name};
    for (size_t i = 0; i < law.size(); ++i) {
      cells.push_back(figure(law[i]));
      add(context, {{"example", "figure 1"}, {"title", kTitles[i]}}, name, "probability", law[i]);
    }
    cells.insert(cells.end(), {figure(kl_of(laws, law)), bound, figure(draws)});
    table.row(cells);
  };
  row("exact", oracle::exact_law(laws), "", 0);
  row("plain", laws.plain, "", 1);
  expect(laws.plain[0] > laws.plain[1] && laws.p[0] < laws.p[1], "that plain sampling prefers the less likely");
  for (const int rounds : kRounds) {
    const oracle::DiscLaw disc = disc_of(laws, rounds);
    const double kl = kl_of(laws, disc.law);
    const double bound = oracle::kl_bound(1 - oracle::mass_of(laws), rounds);
    row(disc_name(rounds), disc.law, figure(bound), disc.draws);
    expect(kl < bound, "theorem 3.1, K = " + std::to_string(rounds));
    const Case where = {{"example", "figure 1"}, {"K", int64_t{rounds}}};
    add(context, where, "DISC", "nats", kl);
    add(context, where, "its bound", "nats", bound);
    add(context, where, "DISC", "draws per result", disc.draws);
    add(context, where, "plain", "nats", kl_of(laws, laws.plain));
  }
  table.print();
}

void theorem_two_one(Context& context) {
  constexpr double kEpsilon = 1e-9;
  constexpr int kMost[] = {1, 4, 16, 64};
  TextTable table;
  std::vector<std::string> head = {"theorem 2.1: KL, nats", "ln 1/(1-p_b)", "plain"};
  for (const int rounds : kMost) head.push_back(disc_name(rounds));
  table.row(head);
  for (const double bad : {0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99}) {
    const oracle::Laws laws = laws_of(oracle::theorem_two_one(bad, kEpsilon));
    std::vector<std::string> cells = {"p_b " + text_of(bad)};
    const auto column = [&](const std::string& name, double kl) {
      cells.push_back(figure(kl));
      add(context, {{"example", "theorem 2.1"}, {"p_b", text_of(bad)}}, name, "nats", kl);
    };
    column("ln 1/(1-p_b)", -std::log1p(-bad));
    column("plain", kl_of(laws, laws.plain));
    expect(std::fabs(kl_of(laws, laws.plain) + std::log1p(-bad)) < 1e-4, "theorem 2.1, p_b = " + text_of(bad));
    for (const int rounds : kMost) column(disc_name(rounds), kl_of(laws, disc_of(laws, rounds).law));
    table.row(cells);
  }
  table.print();
}

}  // namespace

void bias_table(Context& context) {
  std::printf("\nbias\n");
  figure_one(context);
  std::printf("\n");
  theorem_two_one(context);
}

}  // namespace bench
