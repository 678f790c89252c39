// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>

#include "emulator_mma.h"
#include "emulator_world.h"

struct EmulatedBlas {};
struct EmulatedProduct {
  bool transposed = false;
};
struct EmulatedLayout {
  cudaDataType_t type;
  uint64_t rows, columns;  // of matrices by columns
  int64_t stride;
};
struct EmulatedPreference {};

namespace {

size_t bytes_of(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

float read(const void* at, cudaDataType_t type, int64_t i) {
  if (type == CUDA_R_32F) return static_cast<const float*>(at)[i];
  const uint16_t bits = static_cast<const uint16_t*>(at)[i];
  return type == CUDA_R_16F ? emulator::widen<false>(bits) : emulator::widen<true>(bits);
}
void write(void* at, cudaDataType_t type, int64_t i, float value) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(at)[i] = value;
  } else {
    static_cast<uint16_t*>(at)[i] = type == CUDA_R_16F ? emulator::narrow<false>(value) : emulator::narrow<true>(value);
  }
}

bool is_aligned(const void* address, const EmulatedLayout& layout) {
  return reinterpret_cast<uintptr_t>(address) % bytes_of(layout.type) == 0 &&
         layout.stride >= static_cast<int64_t>(layout.rows);
}

}  // namespace

extern "C" {

const char* cublasLtGetStatusString(cublasStatus_t) { return "the emulator refuses it"; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new EmulatedBlas;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t, cudaDataType_t) {
  *product = new EmulatedProduct;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete product;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t,
                                              const void* value, size_t) {
  product->transposed = *static_cast<const cublasOperation_t*>(value) == CUBLAS_OP_T;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
  *layout = new EmulatedLayout{type, rows, columns, stride};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new EmulatedPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* found, int* count) {
  const uint64_t m = product->transposed ? a->columns : a->rows, k = product->transposed ? a->rows : a->columns;
  const bool fits = d->rows == m && d->columns == b->columns && b->rows == k && a->type == b->type &&
                    c->type == d->type && (d->type == CUDA_R_32F || d->type == a->type);
  *found = {};
  *count = fits ? 1 : 0;
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*, size_t,
                              cudaStream_t stream) {
  const emulator::Lock lock(emulator::world().mutex);
  if (c != d || !is_aligned(a, *a_layout) || !is_aligned(b, *b_layout) || !is_aligned(d, *d_layout))
    return CUBLAS_STATUS_INVALID_VALUE;
  const cudaError_t error = emulator::enqueue(
      stream, [=, transposed = product->transposed, of_a = *a_layout, of_b = *b_layout, of_d = *d_layout,
               by = *static_cast<const float*>(alpha), before = *static_cast<const float*>(beta)] {
        const auto inner = static_cast<int64_t>(of_b.rows);
        for (int64_t column = 0; column < static_cast<int64_t>(of_d.columns); ++column)
          for (int64_t row = 0; row < static_cast<int64_t>(of_d.rows); ++row) {
            float sum = 0;
            for (int64_t k = 0; k < inner; ++k)
              sum += read(a, of_a.type, transposed ? row * of_a.stride + k : k * of_a.stride + row) *
                     read(b, of_b.type, column * of_b.stride + k);
            const int64_t at = column * of_d.stride + row;
            write(d, of_d.type, at, by * sum + (before != 0.0F ? before * read(d, of_d.type, at) : 0.0F));
          }
      });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // extern "C"
