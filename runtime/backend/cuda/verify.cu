#include "backend/cuda/kernels.h"
namespace sidbeam::cuda { cudaError_t launch_verify(const IndexView*, uint64_t*, cudaStream_t) { return cudaSuccess; } }
