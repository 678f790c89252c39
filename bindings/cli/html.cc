// SPDX-License-Identifier: Apache-2.0
#include "html.h"

#include <algorithm>
#include <cmath>

#include "terminal.h"

namespace cli {
namespace {

constexpr int kWidth = 720;  // of a picture, in its own units

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>
:root { --ink: #1c2430; --soft: #5d6878; --line: #d9dee6; --paper: #ffffff; --bar: #2f6fb5; --mark: #c2571a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --soft: #9aa5b5; --line: #333c49; --paper: #14181e; --bar: #6aa5e0; --mark: #f0955c; }
}
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 48rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere;
}
.number { text-align: right; font-variant-numeric: tabular-nums; } th { color: var(--soft); font-weight: normal; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.bar { fill: var(--bar); } .mark { fill: var(--mark); } p { color: var(--soft); }
</style>
)";

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string page(const std::string& title, const std::string& body) {
  return std::string(kHead) + "<title>" + escape(title) + "</title>\n</head>\n<body>\n<h1>" + escape(title) +
         "</h1>\n" + body + "</body>\n</html>\n";
}

std::string facts(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string html = "<table>\n";
  for (const auto& [name, value] : rows)
    html += "<tr><th scope=\"row\">" + escape(name) + "</th><td>" + escape(value) + "</td></tr>\n";
  return html + "</table>\n";
}

std::string bar_chart(const char* title, const std::vector<Bar>& bars, bool logarithmic) {
  constexpr int kRow = 24, kLabel = 170, kText = 190;
  const auto scaled = [logarithmic](double value) { return logarithmic ? std::log10(1 + value) : value; };
  double most = 1e-9;
  for (const Bar& bar : bars) most = std::max({most, scaled(bar.value), scaled(std::max(bar.mark, 0.0))});
  const double unit = (kWidth - kLabel - kText) / most;
  std::string svg = "<svg role=\"img\" aria-label=\"" + std::string(title) + "\" viewBox=\"0 0 " +
                    std::to_string(kWidth) + " " + std::to_string(kRow * bars.size() + 4) + "\">\n";
  for (size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const std::string y = std::to_string(kRow * i + 4), middle = std::to_string(kRow * i + 18);
    const double length = std::max(1.0, unit * scaled(bar.value)), end = std::max(length, unit * scaled(bar.mark));
    svg += "<text x=\"0\" y=\"" + middle + "\">" + escape(bar.label) + "</text><rect class=\"bar\" x=\"" +
           std::to_string(kLabel) + "\" y=\"" + y + "\" width=\"" + fixed(length, 1) + "\" height=\"18\"/>";
    if (bar.mark >= 0) {
      svg += "<rect class=\"mark\" x=\"" + fixed(kLabel + unit * scaled(bar.mark) - 2, 1) + "\" y=\"" + y +
             "\" width=\"4\" height=\"18\"/>";
    }
    svg += "<text x=\"" + fixed(kLabel + end + 8, 1) + "\" y=\"" + middle + "\">" + escape(bar.text) + "</text>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace cli
