// LC-Rec's *.index.json: one object, {"17": ["<a_236>", "<b_231>", "<c_226>"], ...}. The level is the position; the
// letter is not looked at. Plain integers are taken too.
// SPDX-License-Identifier: Apache-2.0
#include <simdjson.h>

#include "../failure.h"
#include "source.h"

namespace cli {
namespace {

namespace dom = simdjson::dom;

class LcrecSource final : public Source {
 public:
  LcrecSource(const CatalogueFiles& files, const Shape& shape) : Source(shape), file_(files.input) {
    const size_t begin = file_.text().substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0;  // a byte order mark
    const auto error = parser_.parse(file_.data() + begin, file_.size() - begin, false).get(root_);
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
    if (!(next_ != object_.end())) return false;
    item_ = next_.key();
    dom::array codes;
    if (next_.value().get(codes)) fail("expected an array of codes such as \"<a_236>\"");
    int level = 0;
    for (const dom::element code : codes) add_code(batch, parse_code(code, level++));
    end_row(batch);
    if (item_.empty()) fail("empty id");
    batch.add_name(item_);
    ++next_;
    ++row_;
    return true;
  }

  std::string place() const override { return "'" + file_.path() + "': item '" + std::string(item_) + "'"; }

 private:
  int64_t parse_code(const dom::element& code, int level) const {
    int64_t number;
    if (code.get(number) == simdjson::SUCCESS) return number;
    std::string_view token;
    if (code.get(token) == simdjson::SUCCESS && token_code(token) >= 0) return token_code(token);
    fail(simdjson::minify(code) + " at level " + std::to_string(level) + ", expected a token such as \"<a_236>\"");
  }

  const FileBytes& file_;
  dom::parser parser_;
  dom::element root_;
  dom::object object_;
  dom::object::iterator next_;
  std::string_view item_;
  int64_t row_ = 0, count_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_lcrec(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<LcrecSource>(files, shape);
}

}  // namespace cli
