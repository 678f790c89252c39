// Pages that inspect --html writes: self-contained, inline pictures, nothing fetched, light and dark.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_HTML_H
#define SIDBEAM_CLI_HTML_H

#include <string>
#include <utility>
#include <vector>

namespace cli {

std::string escape(const std::string& text);
// A whole page; the title is text, the body is HTML.
std::string page(const std::string& title, const std::string& body);
// A table of names and values.
std::string facts(const std::vector<std::pair<std::string, std::string>>& rows);

// One bar of a chart: a label, a length, what to print at its end, and perhaps a second value marked on the same axis.
struct Bar {
  std::string label;
  double value;
  std::string text;
  double mark = -1;
};

// Horizontal bars, one below the other. With `logarithmic` a length is the logarithm of 1 + value.
std::string bar_chart(const char* title, const std::vector<Bar>& bars, bool logarithmic);

}  // namespace cli

#endif
