// The fields of a small JSON file by name, with their types and ranges checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/formats/json.h"

namespace sidbeam::runner {

// One field of the file's object, of an object within it, or one element of a list within it. What is nested deeper is
// checked to be JSON and dropped.
struct Field {
  int32_t parent = -1;  // place of the object or list in Fields; -1: the file's
  JsonKind kind = JsonKind::kNull;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0.0;
  std::string name, text;
};

class Fields {
 public:
  // Reads a file of at most 1 MiB. Throws Failure: IO_ERROR, CORRUPT (not an object, a name twice).
  explicit Fields(std::string path);

  const char* path() const { return path_.c_str(); }
  const Field* find(std::string_view name, int32_t parent = -1) const;  // nullptr: absent
  int32_t place(const Field& field) const { return static_cast<int32_t>(&field - fields_.data()); }
  const std::vector<Field>& all() const { return fields_; }

 private:
  friend class FieldsReader;
  void check_names() const;

  std::string path_;
  std::vector<Field> fields_;
};

// The fields of one object. Each method throws CORRUPT naming the file, the field, what was expected and what came.
class ObjectReader {
 public:
  explicit ObjectReader(const Fields& fields) : fields_(fields) {}
  ObjectReader within(const Field& object) const;

  const char* path() const { return fields_.path(); }
  const Field* find(std::string_view name) const { return fields_.find(name, place_); }
  // There, and not null.
  bool has(std::string_view name) const;
  int64_t integer(const char* name, int64_t lowest, int64_t highest) const;
  int64_t integer(const char* name, int64_t lowest, int64_t highest, int64_t absent) const;
  double real(const char* name, double lowest, double highest) const;
  double real(const char* name, double lowest, double highest, double absent) const;
  bool boolean(const char* name, bool absent) const;
  std::string text(const char* name) const;
  std::string text(const char* name, const char* absent) const;
  // The object of that name, or nullptr where it is absent, null or empty.
  const Field* object(const char* name) const;
  // The elements of the list of that name, which must be strings; none where it is absent or null.
  std::vector<std::string_view> texts(const char* name) const;

  // Throws UNSUPPORTED where a field is an object.
  void check_scalars() const;
  // The object has a field that begins so.
  bool has_name_like(const Field& object, std::string_view begin) const;

  // UNSUPPORTED: "'path' has NAME SETTING, which is not supported; expected ..."
  [[noreturn]] void unsupported(const char* name, const std::string& came, const char* expected) const;
  [[noreturn]] void corrupt(const char* name, const std::string& came, const char* expected) const;

 private:
  const Field& required(const char* name, const std::string& expected) const;
  [[noreturn]] void wrong(const Field& field, const std::string& expected) const;

  const Fields& fields_;
  std::string prefix_;
  int32_t place_ = -1;
};

// 'text', cut where it is long.
std::string in_quotes(std::string_view text);

}  // namespace sidbeam::runner
