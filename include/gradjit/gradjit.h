#ifndef GRADJIT_GRADJIT_H
#define GRADJIT_GRADJIT_H

/// gradjit for C11 and whatever calls C: Rust, Julia, Python's ctypes. The same calls as gradjit.hpp, which
/// describes the operations (operations.hpp) and their errors.
///
/// Status: a function that can fail returns a gradjit_status, and then leaves its outputs as they were.
/// gradjit_last_error() says why. No exception leaves a function.
///
/// Null: for a handle or an output that must be there, null is an error (GRADJIT_INVALID_ARGUMENT) that names
/// the argument. The buffers of a call follow the rules of EluBackwardArgs: null where nothing is to be done.
///
/// Ownership: what a ..._create, ..._copy or ..._shared function hands out belongs to the caller, who ends it
/// with the ..._destroy function of its type, once; null is fine there. Handles don't keep one another:
/// options and descriptions may be destroyed as soon as they were used, a factory before its kernels. Strings
/// and code bytes belong to the library.
///
/// Threads: factories and kernels may be used from any number of threads at once, also the same one; they are
/// destroyed when no call on them is running. Options and descriptions may be read by several threads at
/// once.
///
/// ABI: signatures and the values of constants stay. Attributes and buffers are fixed by the definitions of
/// the operations, so they are plain arguments and closed structs; what may grow has a function per option
/// (gradjit_factory_options) or a count (gradjit_factory_stats), so that no program holds a struct that a
/// newer library knows as longer.

#include <stddef.h>
#include <stdint.h>

#include <gradjit/export.hpp> /* one macro, valid in C */

#ifdef __cplusplus
extern "C" {
#endif

/// What became of a call. Constants are enumerators, types are of fixed size: an enum's own size is the
/// compiler's affair.
typedef int32_t gradjit_status;
enum {
  GRADJIT_SUCCESS = 0,
  GRADJIT_INVALID_ARGUMENT = 1,    ///< A request or a call that breaks a documented precondition.
  GRADJIT_UNSUPPORTED = 2,         ///< A valid request that this build or this CPU cannot serve.
  GRADJIT_OUT_OF_MEMORY = 3,       ///< Memory for code or scratch could not be had.
  GRADJIT_CODE_MEMORY_DENIED = 4,  ///< The system refuses executable memory.
  GRADJIT_INTERNAL = 5             ///< A defect in the library.
};

/// Element types.
typedef int32_t gradjit_data_type;
enum {
  GRADJIT_F32 = 0,
  GRADJIT_BF16 = 1,  ///< The upper half of an IEEE binary32.
  GRADJIT_F16 = 2    ///< IEEE binary16.
};

/// Instruction sets, each including those before it.
typedef int32_t gradjit_isa;
enum {
  GRADJIT_PORTABLE = 0,  ///< Compiled C++ without generated code.
  GRADJIT_AVX2 = 1,      ///< AVX2, FMA and F16C.
  GRADJIT_AVX512 = 2,    ///< AVX-512 F, BW, DQ and VL.
  GRADJIT_AVX512_BF16 = 3
};

typedef struct gradjit_factory_options gradjit_factory_options;
typedef struct gradjit_factory gradjit_factory;
typedef struct gradjit_tensor_desc gradjit_tensor_desc;
typedef struct gradjit_kernel gradjit_kernel;

/* ---- Version, names and errors ---- */

/// The version of the library as "major.minor.patch".
GRADJIT_API const char* gradjit_version(void);

/// Why the last call of this thread that failed did so: one line that names the argument, its value and what
/// was expected, cut after 1023 bytes. Empty if none has failed yet. The next failing call of this thread
/// overwrites it; those that succeed, and other threads, leave it alone. Never null.
GRADJIT_API const char* gradjit_last_error(void);

/// "success", "invalid_argument", "unsupported", "out_of_memory", "code_memory_denied", "internal"; "invalid"
/// for what is no status.
GRADJIT_API const char* gradjit_status_name(gradjit_status status);

/// "f32", "bf16", "f16"; "invalid" for what is no data type.
GRADJIT_API const char* gradjit_data_type_name(gradjit_data_type dtype);
/// "portable", "avx2", "avx512", "avx512_bf16"; "invalid" for what is no instruction set.
GRADJIT_API const char* gradjit_isa_name(gradjit_isa isa);

/// The inverses. A wrong name is an error that lists the valid ones.
GRADJIT_API gradjit_status gradjit_parse_data_type(const char* name, gradjit_data_type* dtype);
GRADJIT_API gradjit_status gradjit_parse_isa(const char* name, gradjit_isa* isa);

/* ---- Executors ---- */

/// A task of `parallel_for`: does not throw, may run on any thread.
typedef void (*gradjit_task)(void* context, size_t index);

/// Runs independent tasks: put your own thread pool behind it. `self` is handed to both functions, which may
/// be called from several threads at once, and must outlive what uses it.
typedef struct gradjit_executor {
  /// How many tasks can run at once; less than 1 counts as 1. It does not affect results.
  int32_t (*concurrency)(void* self);
  /// Calls `task(context, index)` once for each index in [0, tasks), in any order, on any threads, and
  /// returns when all have returned. Must not throw, nor leave by longjmp.
  void (*parallel_for)(void* self, size_t tasks, gradjit_task task, void* context);
  void* self;
} gradjit_executor;

/// Runs everything on the calling thread. Lives as long as the process.
GRADJIT_API const gradjit_executor* gradjit_serial_executor(void);
/// Runs on OpenMP's threads: respects OMP_NUM_THREADS and the CPUs that the process may use, stays on the
/// calling thread inside a parallel region and in a forked child. The default. Lives as long as the process.
GRADJIT_API const gradjit_executor* gradjit_openmp_executor(void);

/* ---- Factories ---- */

/// Options with their defaults.
GRADJIT_API gradjit_status gradjit_factory_options_create(gradjit_factory_options** options);
GRADJIT_API void gradjit_factory_options_destroy(gradjit_factory_options* options);

/// The highest instruction set to use; the CPU's own highest by default. GRADJIT_MAX_ISA in the environment
/// caps it further.
GRADJIT_API gradjit_status gradjit_factory_options_set_max_isa(gradjit_factory_options* options,
                                                               gradjit_isa max_isa);
/// How many kernels the cache keeps, 1024 by default; 0 keeps none.
GRADJIT_API gradjit_status gradjit_factory_options_set_cache_capacity(gradjit_factory_options* options,
                                                                      uint64_t cache_capacity);
/// What runs use that are given no executor; gradjit_openmp_executor() by default. The struct is copied; its
/// `self` must outlive the factories made with these options and their kernels.
GRADJIT_API gradjit_status gradjit_factory_options_set_executor(gradjit_factory_options* options,
                                                                const gradjit_executor* executor);

/// Makes a factory, which makes kernels and keeps them: a second request for the same key generates nothing.
/// `options` may be null for the defaults. Fails with GRADJIT_INVALID_ARGUMENT for a wrong GRADJIT_MAX_ISA,
/// with GRADJIT_UNSUPPORTED for a max_isa that the CPU does not have.
GRADJIT_API gradjit_status gradjit_factory_create(const gradjit_factory_options* options,
                                                  gradjit_factory** factory);
/// A handle to the process-wide factory with default options, which lives until the process ends, whatever
/// becomes of its handles.
GRADJIT_API gradjit_status gradjit_factory_shared(gradjit_factory** factory);
GRADJIT_API void gradjit_factory_destroy(gradjit_factory* factory);

/// The instruction set that kernels of this factory use.
GRADJIT_API gradjit_status gradjit_factory_isa(const gradjit_factory* factory, gradjit_isa* isa);

/// Indices of gradjit_factory_stats.
enum {
  GRADJIT_STAT_HITS = 0,        ///< Kernels looked up that the cache held.
  GRADJIT_STAT_MISSES = 1,      ///< Kernels looked up that it did not hold.
  GRADJIT_STAT_EMISSIONS = 2,   ///< Kernels generated; one per key however many threads ask.
  GRADJIT_STAT_EVICTIONS = 3,   ///< Kernels that the cache let go of.
  GRADJIT_STAT_KERNELS = 4,     ///< Kernels that it holds now.
  GRADJIT_STAT_CODE_BYTES = 5,  ///< Bytes of code of the kernels that it holds now.
  GRADJIT_STAT_COUNT = 6        ///< How many this version has; later ones are added behind.
};

/// Sets `values[0]` to `values[count - 1]` to the counters since the factory was made. A request
/// looks up a kernel, or several where strides or a long axis need more than one.
/// Those that this version does not have become 0.
GRADJIT_API gradjit_status gradjit_factory_stats(const gradjit_factory* factory, uint64_t* values,
                                                 size_t count);

/* ---- Tensors ---- */

/// Describes a tensor: its element type, `rank` dims (0 to 12) and where its elements lie. `dims` and
/// `strides` are copied, in elements, outermost first; for rank 0 both may be null. Null strides mean dense
/// row-major. Element (i0, i1, ...) lies i0 * strides[0] + i1 * strides[1] + ... elements after the pointer
/// given to run; strides may be zero (an input broadcast along that dimension) or negative. That dims and
/// strides fit together is checked when a kernel is made.
GRADJIT_API gradjit_status gradjit_tensor_desc_create(gradjit_data_type dtype, int32_t rank,
                                                      const int64_t* dims, const int64_t* strides,
                                                      gradjit_tensor_desc** desc);
GRADJIT_API void gradjit_tensor_desc_destroy(gradjit_tensor_desc* desc);

/* ---- EluBackward ---- */

/// One description per tensor; they differ in strides only. Give src (use_dst = 0) or dst (use_dst = 1),
/// diff_dst, and diff_src unless in place; the others are null.
typedef struct gradjit_elu_backward_tensors {
  const gradjit_tensor_desc* src;
  const gradjit_tensor_desc* dst;
  const gradjit_tensor_desc* diff_dst;
  const gradjit_tensor_desc* diff_src;
} gradjit_elu_backward_tensors;

/// The buffers of one call: src with use_dst = 0, dst with use_dst = 1, diff_dst (read only, unless in place)
/// and diff_src (in place: null or diff_dst). Any byte alignment works. Which may overlap: see
/// EluBackwardArgs in operations.hpp.
typedef struct gradjit_elu_backward_args {
  const void* src;
  const void* dst;
  const void* diff_dst;
  void* diff_src;
} gradjit_elu_backward_args;

/// Makes the kernel of an EluBackward whose tensors are all as `desc` says. `alpha` is any float >= 0,
/// infinity included; `use_dst` (0: takes ELU's argument src; 1: takes its result dst) and `in_place` (1: the
/// result overwrites diff_dst) are 0 or 1.
GRADJIT_API gradjit_status gradjit_elu_backward_create(gradjit_factory* factory, float alpha, int32_t use_dst,
                                                       int32_t in_place, const gradjit_tensor_desc* desc,
                                                       gradjit_kernel** kernel);
/// The same, each tensor with its own strides.
GRADJIT_API gradjit_status gradjit_elu_backward_create_strided(gradjit_factory* factory, float alpha,
                                                               int32_t use_dst, int32_t in_place,
                                                               const gradjit_elu_backward_tensors* tensors,
                                                               gradjit_kernel** kernel);
/// Computes diff_src and returns when it is complete. Re-entrant. `executor` is borrowed for the call; null
/// takes the factory's. Null or wrongly overlapping buffers, and one that use_dst doesn't ask for, are an error
/// before anything is written; GRADJIT_OUT_OF_MEMORY may come when part of diff_src has been.
GRADJIT_API gradjit_status gradjit_elu_backward_run(const gradjit_kernel* kernel,
                                                    const gradjit_elu_backward_args* args,
                                                    const gradjit_executor* executor);

/* ---- LogSoftmaxBackward ---- */

/// As gradjit_elu_backward_tensors.
typedef struct gradjit_log_softmax_backward_tensors {
  const gradjit_tensor_desc* diff_dst;
  const gradjit_tensor_desc* dst;
  const gradjit_tensor_desc* diff_src;
} gradjit_log_softmax_backward_tensors;

/// As gradjit_elu_backward_args.
typedef struct gradjit_log_softmax_backward_args {
  const void* diff_dst;
  const void* dst;
  void* diff_src;
} gradjit_log_softmax_backward_args;

/// Makes the kernel of a LogSoftmaxBackward whose tensors are all as `desc` says. `axis` lies in
/// [-rank, rank - 1]; rank 0 takes 0 and -1. `in_place` is 0 or 1.
GRADJIT_API gradjit_status gradjit_log_softmax_backward_create(gradjit_factory* factory, int64_t axis,
                                                               int32_t in_place,
                                                               const gradjit_tensor_desc* desc,
                                                               gradjit_kernel** kernel);
/// The same, each tensor with its own strides.
GRADJIT_API gradjit_status gradjit_log_softmax_backward_create_strided(
    gradjit_factory* factory, int64_t axis, int32_t in_place,
    const gradjit_log_softmax_backward_tensors* tensors, gradjit_kernel** kernel);
/// As gradjit_elu_backward_run.
GRADJIT_API gradjit_status gradjit_log_softmax_backward_run(const gradjit_kernel* kernel,
                                                            const gradjit_log_softmax_backward_args* args,
                                                            const gradjit_executor* executor);

/* ---- Kernels of both ---- */

/// Another handle to the same kernel. Each keeps the code alive, whatever becomes of the factory.
GRADJIT_API gradjit_status gradjit_kernel_copy(const gradjit_kernel* kernel, gradjit_kernel** copy);
GRADJIT_API void gradjit_kernel_destroy(gradjit_kernel* kernel);

/// Names what was generated, for example "elu_backward_f32_avx512_alpha_0x1p+0_src". The string lives as long
/// as this handle.
GRADJIT_API gradjit_status gradjit_kernel_name(const gradjit_kernel* kernel, const char** name);
/// The instruction set that it uses.
GRADJIT_API gradjit_status gradjit_kernel_isa(const gradjit_kernel* kernel, gradjit_isa* isa);
/// The machine code of the kernel and its constants, which live as long as this handle; null and 0 on the
/// portable path.
GRADJIT_API gradjit_status gradjit_kernel_code(const gradjit_kernel* kernel, const uint8_t** bytes,
                                               size_t* size);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GRADJIT_GRADJIT_H */
