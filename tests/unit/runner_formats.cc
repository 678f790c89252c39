// safetensors files and the shards of an index: what is read, and every refusal.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "runner/formats/checkpoint.h"
#include "runner_folder.h"

namespace sidbeam::runner {
namespace {

// A file with these floats as tensor "w" of shape [2, 3], and two bytes "h" of type F16.
std::string good_file() {
  const float numbers[6] = {1, 2, 3, 4, 5, 6};
  std::string data(reinterpret_cast<const char*>(numbers), sizeof numbers);
  return safetensors(R"({"__metadata__":{"format":"pt"},"h":{"dtype":"F16","shape":[1],"data_offsets":[24,26]},)"
                     R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}   )",
                     data + "ab");
}

Checkpoint open_bytes(const Folder& folder, const std::string& bytes) {
  folder.write("model.safetensors", bytes);
  return Checkpoint(folder.path());
}

std::string bytes_of(const Checkpoint& checkpoint, const Weights& weights) {
  std::string bytes(static_cast<size_t>(weights.elements * size_of(weights.type)), '\0');
  checkpoint.read(weights, 0, weights.elements, bytes.data());
  return bytes;
}

void expect_corrupt_bytes(const std::string& phrase, const std::string& bytes) {
  const Folder folder;
  expect_failure(SIDBEAM_CORRUPT, phrase, [&] { open_bytes(folder, bytes); });
}
void expect_corrupt(const std::string& phrase, const std::string& header, size_t data = 8) {
  SCOPED_TRACE(header);
  expect_corrupt_bytes(phrase, safetensors(header, std::string(data, '\0')));
}
// One tensor "w" with these fields.
void expect_corrupt_tensor(const std::string& phrase, const std::string& fields, size_t data = 8) {
  expect_corrupt(phrase, "{\"w\":{" + fields + "}}", data);
}

TEST(RunnerSafetensors, GivesTensorsByName) {
  const Folder folder;
  Checkpoint checkpoint = open_bytes(folder, good_file());
  EXPECT_EQ(checkpoint.size(), 2);
  EXPECT_TRUE(checkpoint.has("w") && checkpoint.has("h") && !checkpoint.has("__metadata__") && !checkpoint.has("x"));
  const Weights w = checkpoint.tensor("w", {2, 3});
  EXPECT_EQ(w.type, StoredType::kF32);
  EXPECT_EQ(w.elements, 6);
  float numbers[6];
  checkpoint.read(w, 0, 6, numbers);
  EXPECT_EQ(numbers[0], 1.0F);
  EXPECT_EQ(numbers[5], 6.0F);
  checkpoint.read(w, 4, 1, numbers);
  EXPECT_EQ(numbers[0], 5.0F);
  EXPECT_EQ(checkpoint.path_of(w), folder.path("model.safetensors"));
  EXPECT_EQ(checkpoint.shape_of("w").size(), 2U);
  EXPECT_TRUE(checkpoint.shape_of("x").empty());
  const Weights h = checkpoint.tensor("h", {1});
  EXPECT_EQ(h.type, StoredType::kF16);
  EXPECT_EQ(bytes_of(checkpoint, h), "ab");
}

TEST(RunnerSafetensors, RefusesTensorsThatAreNotAsAskedFor) {
  const Folder folder;
  Checkpoint checkpoint = open_bytes(folder, good_file());
  expect_failure(SIDBEAM_CORRUPT, "has no tensor 'x', expected one of shape [4, 5]", [&] {
    (void)checkpoint.tensor("x", {4, 5});
  });
  expect_failure(SIDBEAM_CORRUPT, "has shape [2, 3], expected [3, 2]", [&] { (void)checkpoint.tensor("w", {3, 2}); });
  expect_failure(SIDBEAM_CORRUPT, "has shape [2, 3], expected [6]", [&] { (void)checkpoint.tensor("w", {6}); });
  expect_failure(SIDBEAM_CORRUPT, "has shape [2, 3], expected []", [&] { (void)checkpoint.tensor("w", {}); });
}

TEST(RunnerSafetensors, RefusesOtherTypesOnlyWhereTheyAreAskedFor) {
  const Folder folder;
  Checkpoint checkpoint = open_bytes(folder, safetensors(R"({"b":{"dtype":"BF16","shape":[2],"data_offsets":[3,7]},)"
                                                         R"("i":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},)"
                                                         R"("n":{"dtype":"NEW3","shape":[9,9],"data_offsets":[2,3]}})",
                                                         std::string("\1\2\3\4\5\6\7", 7)));
  expect_failure(SIDBEAM_UNSUPPORTED, "has dtype I8, expected F64, F32, F16 or BF16",
                 [&] { (void)checkpoint.tensor("i", {2}); });
  expect_failure(SIDBEAM_UNSUPPORTED, "has dtype NEW3", [&] { (void)checkpoint.tensor("n", {9, 9}); });
  const Weights b = checkpoint.tensor("b", {2});  // at an odd offset
  EXPECT_EQ(b.type, StoredType::kBf16);
  EXPECT_EQ(bytes_of(checkpoint, b), "\4\5\6\7");
}

TEST(RunnerSafetensors, TakesEmptyTensorsAndNone) {
  const Folder folder;
  Checkpoint none = open_bytes(folder, safetensors("{}", ""));
  EXPECT_EQ(none.size(), 0);
  Checkpoint empty = open_bytes(folder, safetensors(R"({"a":{"dtype":"F32","shape":[0,4],"data_offsets":[4,4]},)"
                                                    R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                                                    "1234"));
  EXPECT_EQ(empty.tensor("a", {0, 4}).elements, 0);
  EXPECT_EQ(empty.tensor("s", {}).elements, 1);
}

TEST(RunnerSafetensors, RefusesFilesThatAreNone) {
  expect_corrupt_bytes("is empty, expected a safetensors file", "");
  expect_corrupt_bytes("has 7 bytes, expected a safetensors file", "1234567");
  expect_corrupt_bytes("is a pointer of Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  expect_corrupt_bytes("not a safetensors file", std::string("PK\3\4 a zip of pickles"));
  expect_corrupt_bytes("has 10 bytes, expected 17 or more, of which 9 are its header: it is truncated, or not a",
                       std::string("\x09\0\0\0\0\0\0\0{}", 10));
  expect_corrupt_bytes("has 18446744073709551615 bytes of header", std::string(8, '\xff') + "{}");
  expect_corrupt_bytes("has a header that is not an object", safetensors("", ""));
  expect_corrupt_bytes("has a header that is not an object", safetensors(" {}", ""));
  expect_corrupt_bytes("has a header that is not an object", safetensors("[]", ""));
  expect_corrupt_bytes("is not JSON", safetensors("{", ""));
  expect_corrupt_bytes("is not JSON", safetensors("{}{}", ""));
  expect_corrupt_bytes("is not JSON: it has a NUL at byte 2", safetensors(std::string("{}\0{\"w\":3}", 10), ""));
  expect_corrupt_bytes("is not JSON: it has a NUL at byte 2", safetensors(std::string("{}\0", 3), ""));
  expect_corrupt_bytes("is not JSON", safetensors(std::string("{\"\xc0\":1}"), ""));
  const Folder folder;
  folder.write("model.safetensors", std::string("\1\xe1\xf5\5\0\0\0\0{", 9));  // 100,000,001
  std::filesystem::resize_file(folder.path("model.safetensors"), 200'000'000);
  expect_failure(SIDBEAM_CORRUPT, "has 100000001 bytes of header, expected at most 100000000",
                 [&] { Checkpoint(folder.path()); });
}

TEST(RunnerSafetensors, RefusesHeadersOfAnotherForm) {
  constexpr char kField[] = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  expect_corrupt("tensor 'w' of", R"({"w":3})");
  expect_corrupt("has an array in its header, expected an object", R"({"w":[]})");
  expect_corrupt_tensor("too few fields", R"("dtype":"F32","shape":[2])");
  expect_corrupt_tensor("too few fields", "");
  expect_corrupt_tensor("another field", std::string(kField) + R"(,"strides":[1])");
  expect_corrupt_tensor("a field twice", std::string(kField) + R"(,"shape":[2])");
  expect_corrupt_tensor("expected a string as dtype", R"("dtype":32,"shape":[2],"data_offsets":[0,8])");
  expect_corrupt_tensor("expected a string as dtype", R"("dtype":["F32"],"shape":[2],"data_offsets":[0,8])");
  expect_corrupt_tensor("expected a shape of integers", R"("dtype":"F32","shape":2,"data_offsets":[0,8])");
  expect_corrupt_tensor("expected a shape of integers", R"("dtype":"F32","shape":["2"],"data_offsets":[0,8])");
  expect_corrupt_tensor("expected a shape of integers", R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])");
  expect_corrupt_tensor("expected a shape of integers", R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])");
  expect_corrupt_tensor("expected a shape of integers",
                        R"("dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8])");
  expect_corrupt_tensor("expected a shape of integers", R"("dtype":"F32","shape":{},"data_offsets":[0,8])");
  expect_corrupt_tensor("has an array in its header, expected an integer",
                        R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])");
  expect_corrupt_tensor("more than 8 dimensions", R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8])");
  expect_corrupt_tensor("two data_offsets", R"("dtype":"F32","shape":[2],"data_offsets":[0])");
  expect_corrupt_tensor("two data_offsets", R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])");
  expect_corrupt("has tensor 'w' twice", "{\"w\":{" + std::string(kField) + R"(},"w":{"dtype":"F32","shape":[0],)" +
                                             R"("data_offsets":[8,8]}})");
  expect_corrupt("'__metadata__' of", R"({"__metadata__":{"a":1}})");
  expect_corrupt("'__metadata__' of", R"({"__metadata__":{"a":{}}})");
  expect_corrupt("__metadata__ twice", R"({"__metadata__":{},"__metadata__":{}})");
}

TEST(RunnerSafetensors, RefusesPlacesThatDoNotTileTheData) {
  const auto tensor = [](const char* name, int elements, int64_t begin, int64_t end) {
    return std::string("\"") + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(elements) +
           R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  expect_corrupt("has 7 bytes of data, expected the 6 of its tensors", "{" + tensor("a", 6, 0, 6) + "}", 7);
  expect_corrupt("has 7 bytes of data, expected the 0 of its tensors", "{}", 7);
  const std::string header = "{" + tensor("a", 9, 0, 9) + "}";
  expect_corrupt("has " + std::to_string(16 + header.size()) + " bytes, expected " +
                     std::to_string(17 + header.size()) + " as its header says: it is truncated",
                 header);
  expect_corrupt("data_offsets [4, 2], expected them rising", "{" + tensor("a", 2, 4, 2) + "}");
  expect_corrupt("expected 9223372036854775807 as its header says: it is truncated",
                 "{" + tensor("a", 8, 0, 9223372036854775807) + "}");
  expect_corrupt("has a hole at byte 4 of its data", "{" + tensor("a", 4, 0, 4) + "," + tensor("b", 2, 6, 8) + "}");
  expect_corrupt("has a hole at byte 0", "{" + tensor("a", 4, 4, 8) + "}");
  expect_corrupt("has an overlap at byte 3", "{" + tensor("a", 4, 0, 4) + "," + tensor("b", 5, 3, 8) + "}");
  expect_corrupt("has an overlap at byte 0", "{" + tensor("a", 8, 0, 8) + "," + tensor("b", 8, 0, 8) + "}");
}

TEST(RunnerSafetensors, RefusesSizesUnlikeTheirShape) {
  expect_corrupt_tensor("has 8 bytes, unlike F32 [3]", R"("dtype":"F32","shape":[3],"data_offsets":[0,8])");
  expect_corrupt_tensor("has 8 bytes, unlike F64 [2]", R"("dtype":"F64","shape":[2],"data_offsets":[0,8])");
  expect_corrupt_tensor("has 8 bytes, unlike BF16 [2, 1, 3]", R"("dtype":"BF16","shape":[2,1,3],"data_offsets":[0,8])");
  expect_corrupt_tensor("unlike F4 [3]", R"("dtype":"F4","shape":[3],"data_offsets":[0,2])", 2);
  expect_corrupt_tensor("which has too many elements",
                        R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])");
  expect_corrupt_tensor("which has too many elements",
                        R"("dtype":"NEW","shape":[9223372036854775807,2,0],"data_offsets":[0,8])");
  // 2^62 elements fit, their bits do not.
  expect_corrupt_tensor("unlike F32 [4611686018427387904]",
                        R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8])");
}

std::string one_tensor(const char* name, const std::string& data) {
  return safetensors(std::string("{\"") + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(data.size()) +
                         R"(],"data_offsets":[0,)" + std::to_string(data.size()) + "]}}",
                     data);
}
std::string half_tensor(const char* name) {
  return safetensors(std::string("{\"") + name + R"(":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})", name);
}

constexpr char kIndex[] = "model.safetensors.index.json";

TEST(RunnerShards, AreReadThroughTheIndex) {
  const Folder folder;
  folder.write("one.safetensors", half_tensor("aa"));
  folder.write("two.safetensors", half_tensor("bb"));
  folder.write(kIndex, R"({"metadata":{"total_size":4,"deep":[{}]},"weight_map":{"bb":"two.safetensors",)"
                       R"("aa":"one.safetensors"}})");
  Checkpoint checkpoint(folder.path());
  EXPECT_EQ(checkpoint.size(), 2);
  EXPECT_EQ(bytes_of(checkpoint, checkpoint.tensor("aa", {1})), "aa");
  EXPECT_EQ(bytes_of(checkpoint, checkpoint.tensor("bb", {1})), "bb");
  expect_failure(SIDBEAM_CORRUPT, "has no tensor 'cc'", [&] { (void)checkpoint.tensor("cc", {1}); });
}

TEST(RunnerShards, AreNotReadBesideOneFile) {
  const Folder folder;
  folder.write(kIndex, "{");
  folder.write("model.safetensors", half_tensor("aa"));
  EXPECT_TRUE(Checkpoint(folder.path()).has("aa"));
}

TEST(RunnerShards, RefuseIndexesThatDoNotFit) {
  const auto refused = [](const std::string& phrase, const std::string& index,
                          sidbeam_status status = SIDBEAM_CORRUPT) {
    SCOPED_TRACE(index);
    const Folder folder;
    folder.write("one.safetensors", one_tensor("a", "xy"));
    folder.write(kIndex, index);
    expect_failure(status, phrase, [&] { Checkpoint(folder.path()); });
  };
  refused("is not JSON", "");
  refused("is not JSON: it has a NUL", std::string(R"({"weight_map":{"a":"one.safetensors"}})") + '\0' + "anything");
  refused("is not an object", "[]");
  refused("is not an object", "\"weight_map\"");
  refused("has no weight_map", "{}");
  refused("has no weight_map", R"({"weight_map":{}})");
  refused("has a weight_map that is not an object", R"({"weight_map":["a"]})");
  refused("has a weight_map that is not an object", R"({"weight_map":"a"})");
  refused("something else than names of files", R"({"weight_map":{"a":1}})");
  refused("something else than names of files", R"({"weight_map":{"a":{}}})");
  refused("has weight_map twice", R"({"weight_map":{"a":"one.safetensors"},"weight_map":{}})");
  refused("has tensor 'a' twice", R"({"weight_map":{"a":"one.safetensors","a":"one.safetensors"}})");
  refused("has no tensor 'b', which the index says it has", R"({"weight_map":{"b":"one.safetensors"}})");
  refused("two.safetensors': No such file", R"({"weight_map":{"a":"two.safetensors"}})", SIDBEAM_IO_ERROR);
  for (const char* name : {"../one.safetensors", "/etc/passwd", "", ".", "..", "x/one.safetensors", "one\\u0000"})
    refused("expected the name of a file beside it", std::string(R"({"weight_map":{"a":")") + name + "\"}}");
}

TEST(RunnerShards, MissingWeightsAreNamed) {
  const Folder folder;
  expect_failure(SIDBEAM_IO_ERROR, "has neither model.safetensors nor model.safetensors.index.json",
                 [&] { Checkpoint(folder.path()); });
}

// The line names the class that opens the model, and the file that it reads.
TEST(RunnerFormats, OtherFormatsAreRefusedWithTheLineThatConvertsThem) {
  const auto refused = [](const std::string& phrase, const std::string& folder) {
    expect_failure(SIDBEAM_UNSUPPORTED, phrase, [&] { refuse_other_formats(folder.c_str()); });
  };
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    const Folder folder;
    EXPECT_NO_THROW(refuse_other_formats(folder.path()));
    folder.write(name, "");
    refused(
        "pytorch_model.bin alone, which is not read; in it, convert that: python3 -c \"from transformers import "
        "AutoModelForCausalLM as M; M.from_pretrained('.').save_pretrained('.')\"",
        folder.path());
    folder.write("config.json", R"({"model_type":"umt5"})");
    refused("AutoModelForSeq2SeqLM as M;", folder.path());
    folder.write("model.safetensors", "");
    EXPECT_NO_THROW(refuse_other_formats(folder.path()));
  }
  const Folder folder;
  folder.write("q8.gguf", "");
  folder.write("q4.gguf", "");
  refused(
      "GGUF weights, which are not read; in its folder, convert them: python3 -c \"from transformers import "
      "AutoModelForCausalLM as M; M.from_pretrained('.', gguf_file='q4.gguf').save_pretrained('.')\"",
      folder.path());
  refused("gguf_file='q8.gguf'", folder.path("q8.gguf"));
  EXPECT_NO_THROW(refuse_other_formats(folder.path("none.gguf").c_str()));
  for (const std::string& name : {std::string("a'; $(x).gguf"), std::string(200, 'a') + ".gguf"}) {
    const Folder other;
    other.write(name, "");
    refused("gguf_file='FILE.gguf').save_pretrained('.')\"", other.path());
  }
}

TEST(RunnerFormats, AdaptersOfOldPeftAreRefusedWithTheLineThatConvertsThem) {
  const Folder folder;
  for (const char* name : {"adapter_model.bin", "model.safetensors"}) folder.write(name, "");
  EXPECT_NO_THROW(refuse_other_formats(folder.path()));
  folder.write("adapter_config.json", "{}");
  expect_failure(SIDBEAM_UNSUPPORTED,
                 "has adapter_model.bin alone, which is not read; in it, convert that: python3 -c \"from torch import "
                 "load; from safetensors.torch import save_file as s; s(load('adapter_model.bin', weights_only=True), "
                 "'adapter_model.safetensors')\"",
                 [&] { refuse_other_formats(folder.path()); });
  folder.write("adapter_model.safetensors", "");
  EXPECT_NO_THROW(refuse_other_formats(folder.path()));
}

// What is there when the table is read may be gone when its numbers are.
TEST(RunnerSafetensors, FilesThatEndWhileTheyAreReadAreAnError) {
  const Folder folder;
  const Checkpoint checkpoint = open_bytes(folder, good_file());
  const Weights w = checkpoint.tensor("w", {2, 3});
  const auto size = static_cast<int64_t>(std::filesystem::file_size(folder.path("model.safetensors")));
  std::filesystem::resize_file(folder.path("model.safetensors"), static_cast<uintmax_t>(size - 10));
  float numbers[6];
  expect_failure(SIDBEAM_IO_ERROR, "it ended at byte " + std::to_string(size - 10) + " while it was read",
                 [&] { checkpoint.read(w, 0, 6, numbers); });
  checkpoint.read(w, 0, 4, numbers);
  EXPECT_EQ(numbers[3], 4.0F);
}

// A file of which every byte is damaged in turn is refused, or its tensors are as large as its data.
TEST(RunnerSafetensors, SurvivesAnyByte) {
  const std::string good = good_file();
  int taken = 0;
  for (size_t at = 0; at < good.size() - 26; ++at) {
    for (const char value : {'\0', '\xff', '0', '9', '"', '{', ']'}) {
      std::vector<uint8_t> bytes(good.begin(), good.end());
      bytes[at] = static_cast<uint8_t>(value);
      try {
        const Safetensors table("damaged", bytes, std::ssize(bytes));
        ++taken;
        int64_t total = 0;
        for (int64_t i = 0; i < table.size(); ++i) total += table.at(i).bytes;
        EXPECT_EQ(total, 26);
      } catch (const Failure& failure) {
        EXPECT_EQ(failure.status, SIDBEAM_CORRUPT) << failure.message;
      }
    }
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace sidbeam::runner
