// Records that fit a pattern are read as the long way reads them: each file here has a twin whose first record says the
// same in another form, so that the pattern made of it does not fit the others. Both must give the same rows, or be
// refused in the same words.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "../../bindings/import/catalogue.h"
#include "../../bindings/import/failure.h"

namespace {

struct Form {
  const char* format;
  const char *first, *twin;    // the same record, in two forms
  const char *record, *other;  // records like the first
  const char *begin, *between, *end;
  bool variable_length = false;
};

// clang-format off
const Form kForms[] = {
    {"jsonl", R"({"item": 7, "sid": [3, 14, 2]})", R"({"sid": [3,14,2], "item": "7"})",
     R"({"item": 12, "sid": [0, 1047, 99]})", R"({"item": 904, "sid": [7, 7, 0]})", "", "\n", "\n"},
    {"jsonl", R"({"item": "B7", "title": "a \"b\" é", "price": 1.5, "sid": ["<a_3>", "<b_14>"]})",
     R"({"sid": ["<a_3>","<b_14>"], "item": "B7"})",
     R"({"item": "C12", "title": "", "price": -20, "sid": ["<a_1>", "<b_2>"]})",
     R"({"item": "D", "title": "\u00e9", "price": null, "sid": ["<a_11>", "<b_0>"]})", "", "\n", "\n"},
    {"jsonl", R"({"iid":"x","codes":"<|go|><s_0_3><s_1_4><|end|>","priority":-5})",
     R"({"codes":"<|go|> <s_0_3> <s_1_4> <|end|>","iid":"x","priority":-5})",
     R"({"iid":"y","codes":"<|go|><s_0_44><s_1_5><|end|>","priority":0})",
     R"({"iid":"z","codes":"<|go|><s_0_0><s_1_0><|end|>","priority":123456789012345678})", "", "\n", "\n"},
    {"records", R"({"asin": "a", "tokens": ["x1_3", "x2_4"]})", R"({"tokens": ["x1_3","x2_4"], "asin": "a"})",
     R"({"asin": "b", "tokens": ["x1_3", "x2_5"]})", R"({"asin": "c", "tokens": ["x1_4", "x2_4"]})", "[", ",", "]"},
    {"jsonl", R"({"id": 1, "sid": [3, 4, 5]})", R"({"sid": [3,4,5], "id": 1})",
     R"({"id": 2, "sid": [3, 4]})", R"({"id": 3, "sid": [6]})", "", "\n", "\n", true},
    {"records", R"({"item": "a", "sid": [3, 14, 2]})", R"({"sid":[3,14,2],"item":"a"})",
     R"({"item": "b", "sid": [0, 1047, 99]})", R"({"item": "c", "sid": [7, 7, 0]})", "[", ",\n ", "]\n"},
    {"lcrec", R"("17": ["<a_3>", "<b_14>"])", R"("17" : ["<a_3>","<b_14>"])",
     R"("18": ["<a_4>", "<b_1>"])", R"("x": ["<a_0>", "<b_2>"])", "{", ", ", "}"},
    {"lcrec", R"("17": {"sid": "3-14", "x": true})", R"("17": {"x":true, "sid":"3-14"})",
     R"("18": {"sid": "4-1", "x": 1e5})", R"("1x": {"sid": "0-0", "x": "\\"})", "{\n", ",\n", "\n}"},
    {"csv", "7,3,14,2", R"("7","3","14","2")", "12,0,1047,99", "904,7,7,0", "item,c0,c1,c2\n", "\n", "\n"},
    {"csv", R"(7,"screws, 5","[3, 14]")", R"-("7",screws,"(3, 14)")-", R"(12,"","[0, 9]")", R"(9,"x","[1, 2]")",
     "item,title,sid\n", "\n", "\n"},
    {"csv", "B7\t<a_3><b_14>\t1", "\"B7\"\t\"<a_3><b_14>\"\t1", "C12\t<a_1><b_2>\t0", "D\t<a_11><b_0>\tx",
     "item\tsid\tnote\n", "\r\n", "\r\n"},
    {"csv", "7,3.0,14.0,2", R"("7",3,14.0,2)", "12,0.0,1047.0,99", "904,7.00,7.0,0", "item,c0,c1,c2\n", "\n", "\n"},
    {"csv", "7,3,14,2", R"("7","3",14.0,2)", "12,0,1047,", "904,7,,", "item,c0,c1,c2\n", "\n", "\n", true},
};
// clang-format on

// A little damage, of characters that mean something to some format.
std::string damaged(std::string text, std::mt19937_64& random) {
  static const std::vector<std::string> kPieces = {"0",
                                                   "1",
                                                   "9",
                                                   "00",
                                                   "12345678",
                                                   "-",
                                                   ".",
                                                   "e5",
                                                   "\"",
                                                   "\"\"",
                                                   "\\",
                                                   "\\u0041",
                                                   ",",
                                                   "\t",
                                                   ":",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "(",
                                                   "<",
                                                   ">",
                                                   "_",
                                                   " ",
                                                   "\n",
                                                   "\r",
                                                   "\r\n",
                                                   "\x01",
                                                   std::string(1, '\0'),
                                                   "é",
                                                   "\xff",
                                                   "a",
                                                   "null",
                                                   "x"};
  for (size_t changes = 1 + random() % 2; changes > 0; --changes) {
    const size_t at = random() % (text.size() + 1);
    const std::string& piece = kPieces[random() % kPieces.size()];
    switch (random() % 3) {
      case 0:
        text.insert(at, piece);
        break;
      case 1:
        text.erase(at, 1 + random() % 3);
        break;
      default:
        text.replace(at, std::min<size_t>(piece.size(), text.size() - at), piece);
    }
  }
  return text;
}

class Patterns : public testing::TestWithParam<size_t> {
 protected:
  // What a file of these records gives: what is seen of it and all rows, or the message.
  std::string read(const Form& form, const std::vector<std::string>& records) {
    std::string text = form.begin;
    for (size_t i = 0; i < records.size(); ++i) text += (i > 0 ? form.between : "") + records[i];
    text += form.end;
    EXPECT_EQ(::ftruncate(file_.get(), 0), 0);
    EXPECT_EQ(::pwrite(file_.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    importer::Options options;
    options.input = "/proc/self/fd/" + std::to_string(file_.get());
    options.format = form.format;
    options.shape.variable_length = form.variable_length;
    options.progress = [](int32_t, int64_t, int64_t) {};
    try {
      const importer::Catalogue catalogue(options);
      return catalogue.summary() + rows(options, catalogue.survey().shape);
    } catch (const importer::Failure& failure) {
      return failure.what();
    }
  }

  static std::string rows(const importer::Options& options, const importer::Shape& shape) {
    const importer::CatalogueFiles files(options);
    const auto source = importer::open_source(files, shape);
    std::string text;
    for (importer::Batch batch; source->next(batch);) {
      size_t at = 0;
      for (size_t row = 0; row < batch.size(); ++row) {
        text += "\n" + std::string(batch.name(row)) + ":";
        for (int32_t l = 0; l < batch.lengths[row]; ++l) text += " " + std::to_string(batch.codes[at++]);
        if (!batch.priorities.empty()) text += " priority " + std::to_string(batch.priorities[row]);
      }
    }
    return text;
  }

  sidbeam::FileDescriptor file_{::memfd_create("catalogue", MFD_CLOEXEC)};
};

TEST_P(Patterns, ReadWhatTheLongWayReads) {
  const Form& form = kForms[GetParam()];
  const uint64_t seed = 20261127 + GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string sound = read(form, {form.first, form.record, form.other});
  ASSERT_EQ(sound, read(form, {form.twin, form.record, form.other}));
  ASSERT_NE(sound.find(" 3 items"), sound.npos) << sound;
  size_t taken = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string record = damaged(form.record, random);
    const std::string seen = read(form, {form.first, record, form.other});
    ASSERT_EQ(seen, read(form, {form.twin, record, form.other})) << record;
    taken += seen.find(" items") != seen.npos ? 1 : 0;
  }
  EXPECT_GT(taken, 100u);
  EXPECT_LT(taken, 2900u);
}

INSTANTIATE_TEST_SUITE_P(, Patterns, testing::Range<size_t>(0, std::size(kForms)));

}  // namespace
