// SPDX-License-Identifier: Apache-2.0
#include "json_lines.h"

#include "files.h"

namespace cli {

void each_json_line(const std::string& path,
                    const std::function<void(const std::string&, simdjson::dom::element)>& take) {
  const InputFile file(path);
  TextReader text(file);
  simdjson::dom::parser parser;
  int64_t number = 0;
  for (std::string_view line; text.next_line(line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string place = "'" + path + "':" + std::to_string(number);
    simdjson::dom::element root;
    if (const auto error = parser.parse(line.data(), line.size(), false).get(root))
      throw Failure(place + ": not JSON: " + simdjson::error_message(error));
    take(place, root);
  }
}

std::string json_item(const std::string& place, simdjson::dom::element value) {
  std::string_view name;
  if (value.is_int64() || value.is_uint64()) return simdjson::minify(value);
  if (value.get(name))
    throw Failure(place + ": " + importer::shortened(simdjson::minify(value)) + ", expected a string or an integer");
  return std::string(name);
}

}  // namespace cli
