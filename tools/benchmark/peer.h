/* What the bench and a peer say to each other. A peer is another library that has the same operations: a
 * module gradjit_peer_NAME.so beside the tool, written against this header alone, which the bench loads when
 * it is asked for. Plain C, so that a module may be built with any compiler.
 *
 * Everything happens on one thread. Nothing throws. */
#ifndef GRADJIT_TOOLS_BENCHMARK_PEER_H
#define GRADJIT_TOOLS_BENCHMARK_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gradjit_peer_operation { gradjit_peer_elu_backward, gradjit_peer_log_softmax_backward };
enum gradjit_peer_type { gradjit_peer_f32, gradjit_peer_bf16, gradjit_peer_f16 };

/* One operation on given buffers, which outlive what is made of it. */
struct gradjit_peer_request {
  enum gradjit_peer_operation operation;
  enum gradjit_peer_type type;
  int rank;
  const int64_t* dims;
  /* In elements, of each tensor. */
  const int64_t* input_strides;
  const int64_t* diff_dst_strides;
  const int64_t* diff_src_strides;
  int64_t axis;      /* log_softmax_backward's, counted from the front */
  float alpha;       /* elu_backward's */
  int use_dst;       /* elu_backward's: whether `input` is dst and not src */
  int threads;       /* how many to run on */
  const void* input; /* src or dst */
  const void* diff_dst;
  void* diff_src; /* diff_dst when in place */
};

struct gradjit_peer {
  const char* version; /* "2.6.3" */
  /* Everything that a careful user does once, so that `run` does nothing else than the operation. Null
   * where the library does not do what is asked; `reason` then holds why, in at most `size` bytes. */
  void* (*create)(const struct gradjit_peer_request* request, char* reason, size_t size);
  /* The operation, complete on return, in the cheapest way that the library has. */
  void (*run)(void* created);
  void (*destroy)(void* created);
  /* Makes the kernel for a request as if it was the first such request, and drops it: what a user waits for
   * before the first call. 0 when it cannot. A null pointer where the library makes no kernels. */
  int (*make_kernel)(const struct gradjit_peer_request* request);
};

/* The one symbol of a module. */
__attribute__((visibility("default"))) const struct gradjit_peer* gradjit_peer_module(void);

#ifdef __cplusplus
}
#endif

#endif
