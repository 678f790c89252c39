// SPDX-License-Identifier: Apache-2.0
#include "index/index.h"

#include "index/attributes/sections.h"
#include "index/header.h"
#include "support/output_file.h"

namespace sidbeam {

IndexMemory::IndexMemory(const Allocator& allocator, int64_t bytes) : allocator_(allocator), bytes_(bytes) {
  data_ = static_cast<uint8_t*>(allocator_.allocate(bytes, kIndexAlignment));
}

IndexMemory::~IndexMemory() {
  if (data_ != nullptr) allocator_.release(data_, bytes_, kIndexAlignment);
}

void IndexMemory::discard(int64_t offset, int64_t bytes) {
  if (is_default(allocator_)) discard_pages(data_ + offset, bytes);
}

IndexBytes IndexMemory::release() {
  const Allocator allocator = allocator_;
  uint8_t* data = data_;
  const int64_t size = bytes_;
  IndexBytes bytes(data, size, [allocator, data, size] { allocator.release(data, size, kIndexAlignment); });
  data_ = nullptr;
  return bytes;
}

Index make_index(const FileHeader& header, IndexBytes bytes) {
  Index index;
  index.header = header_info(header);
  index.view = view_of(header, bytes.data());
  for (const AttributeShape& shape : index.header.attributes)
    index.attributes.push_back(view_of(shape, header.sections, header.shape.items, bytes.data()));
  index.priorities = priorities_of(header.shape, header.sections, bytes.data());
  index.bytes = std::move(bytes);
  return index;
}

void write_index(const Index& index, const char* path) {
  OutputFile file(path, /*allow_attribute_loss=*/false);
  file.reserve(index.bytes.size());
  // Of a mapping whose file was cut short, this is EFAULT and not a signal.
  file.write(index.bytes.data(), index.bytes.size());
  file.sync();
  file.commit();
}

}  // namespace sidbeam
