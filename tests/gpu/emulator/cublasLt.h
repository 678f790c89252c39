// The part of cuBLASLt that the runner's plugin calls: products by a plain loop, in the order of the stream. Types and
// values have NVIDIA's names. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

enum cublasStatus_t : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cudaDataType_t : int { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasComputeType_t : int { CUBLAS_COMPUTE_32F = 68 };
enum cublasLtMatmulDescAttributes_t : int { CUBLASLT_MATMUL_DESC_TRANSA = 3 };
enum cublasLtMatmulPreferenceAttributes_t : int {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5
};

struct EmulatedBlas;
struct EmulatedProduct;
struct EmulatedLayout;
struct EmulatedPreference;
using cublasLtHandle_t = EmulatedBlas*;
using cublasLtMatmulDesc_t = EmulatedProduct*;
using cublasLtMatrixLayout_t = EmulatedLayout*;
using cublasLtMatmulPreference_t = EmulatedPreference*;
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
};

extern "C" {
SIDBEAM_EMULATOR_API const char* cublasLtGetStatusString(cublasStatus_t status);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                                             cudaDataType_t scale);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                                                   cublasLtMatmulDescAttributes_t attribute,
                                                                   const void* value, size_t bytes);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                                               uint64_t rows, uint64_t columns, int64_t stride);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                                         cublasLtMatmulPreferenceAttributes_t attribute,
                                                                         const void* value, size_t bytes);
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                                                   cublasLtMatmulDesc_t product,
                                                                   cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                                   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                                   cublasLtMatmulPreference_t preference, int wanted,
                                                                   cublasLtMatmulHeuristicResult_t* found, int* count);
// D = alpha op(A) B + beta C, where C is D.
SIDBEAM_EMULATOR_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                                   const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                                   const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                                                   const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                                   cublasLtMatrixLayout_t d_layout,
                                                   const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                                   size_t workspace_bytes, cudaStream_t stream);
}
