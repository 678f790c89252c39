// LC-Rec's *.index.json: one object, {"17": ["<a_236>", "<b_231>", "<c_226>"], ...}. The level is the position; the
// letter is ignored. Plain integers are taken too.
// SPDX-License-Identifier: Apache-2.0
#include <simdjson.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "../failure.h"
#include "source.h"

namespace cli {
namespace {

namespace dom = simdjson::dom;

class LcrecSource final : public Source {
 public:
  LcrecSource(const CatalogueFiles& files, const Shape& shape)
      : Source(shape), file_(files.input), text_(static_cast<size_t>(file_.size())) {
    file_.read(0, text_.data(), file_.size());
    const size_t begin = file_.head(3) == "\xef\xbb\xbf" ? 3 : 0;  // a byte order mark
    const auto error = parser_.parse(text_.data() + begin, text_.size() - begin, false).get(root_);
    if (error) throw Failure("'" + file_.path() + "': not JSON: " + simdjson::error_message(error));
    if (root_.get(object_)) {
      throw Failure("'" + file_.path() + "': expected one JSON object {\"item\": [\"<a_1>\", ...], ...}");
    }
    next_ = object_.begin();
    count_ = static_cast<int64_t>(object_.size());
  }

  IdForm id_form() const override { return IdForm::kText; }
  int64_t done() const override { return row_; }
  int64_t total() const override { return count_; }

 protected:
  bool read_row(Batch& batch) override {
    if (!(next_ != object_.end())) {
      check_items();
      return false;
    }
    item_ = next_.key();
    dom::array codes;
    if (next_.value().get(codes)) fail("expected an array of codes such as \"<a_236>\"");
    int level = 0;
    for (const dom::element code : codes) add_code(batch, parse_code(code, level++));
    end_row(batch);
    if (item_.empty()) fail("empty id");
    batch.add_name(item_);
    hashes_.push_back(std::hash<std::string_view>()(item_));
    ++next_;
    ++row_;
    return true;
  }

  std::string place() const override { return "'" + file_.path() + "': item '" + std::string(item_) + "'"; }

 private:
  // Nobody can say which of two SIDs is meant: JSON gives a key one value. Sorting numbers is fast; names are compared
  // only where two numbers are equal.
  void check_items() {
    std::sort(hashes_.begin(), hashes_.end());
    if (std::adjacent_find(hashes_.begin(), hashes_.end()) == hashes_.end()) return;
    std::vector<std::pair<std::string_view, int64_t>> items;  // with their rows
    for (const dom::key_value_pair& item : object_) items.emplace_back(item.key, static_cast<int64_t>(items.size()));
    std::sort(items.begin(), items.end());
    const auto twice =
        std::adjacent_find(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == items.end()) return;
    throw Failure("'" + file_.path() + "':" + std::to_string(line_of((twice + 1)->second)) + ": item '" +
                  std::string(twice->first) + "' comes twice, first in line " + std::to_string(line_of(twice->second)));
  }

  // The line in which key number `row` of the object begins. The parser has accepted the text but gives no positions.
  int64_t line_of(int64_t row) const {
    const std::string_view text(text_.data(), text_.size());
    int64_t line = 1, depth = 0, key = -1;
    bool expects_key = false;
    for (size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '\n') ++line;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (depth == 1 && (c == '{' || c == ',')) expects_key = true;
      if (c != '"') continue;
      key += depth == 1 && expects_key ? 1 : 0;
      if (key == row) break;
      expects_key = false;
      for (++at; text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    }
    return line;
  }

  int64_t parse_code(const dom::element& code, int level) const {
    int64_t number;
    if (code.get(number) == simdjson::SUCCESS) return number;
    std::string_view token;
    if (code.get(token) == simdjson::SUCCESS && token_code(token) >= 0) return token_code(token);
    fail(simdjson::minify(code) + " at level " + std::to_string(level) + ", expected a token such as \"<a_236>\"");
  }

  const InputFile& file_;
  simdjson::padded_string text_;
  dom::parser parser_;
  dom::element root_;
  dom::object object_;
  dom::object::iterator next_;
  std::string_view item_;
  int64_t row_ = 0, count_ = 0;
  std::vector<size_t> hashes_;  // of the items
};

}  // namespace

std::unique_ptr<Source> open_lcrec(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<LcrecSource>(files, shape);
}

}  // namespace cli
