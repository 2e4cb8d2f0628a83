#pragma once

#include <cstdint>

namespace gradjit::detail {

/// The caches that a plan is made for. They affect speed, never results.
struct CacheSizes {
  std::int64_t l2 = 1 << 20;
  std::int64_t l3 = 8 << 20;
};

/// Tensors that take more than so many times the second-level cache, or more than the last level, are
/// streamed: see `jit::KernelSpec::streaming`. The last level alone is no measure: others use it too, and a
/// virtual machine may report that of the whole socket. (Measured with f32 on 2 MiB of second level:
/// streaming brings 20 to 30 % from 3 times that on. But who reads diff_src right after the kernel then waits
/// for it: both together lose 12 % at 3 times, 7 % at 6, nothing at 12 and more.)
inline constexpr std::int64_t streamed_l2_caches = 5;

/// Shorter runs are streamed only where they are whole cache lines: the partial vectors at their ends would
/// take too long. (Streaming brings 30 to 40 % with f32 rows of 300 elements on both instruction sets, and 10
/// % with bf16 rows of 500; it would cost 30 % with bf16 rows of 300 and f32 rows of 100 on AVX2. Of whole
/// lines, f32 rows of 64 elements, and slabs in 2 columns, gain 25 to 35 %, bf16 up to 10 %.)
inline constexpr std::int64_t least_streamed_run = 1024;

/// Work that touches fewer bytes stays on the calling thread. EluBackward in f32 on two threads ran at 0.83
/// of one thread's speed with 256 KiB, 0.95 with 512 KiB, 1.07 with 768 KiB, 1.25 with 1.5 MiB.
inline constexpr std::int64_t parallel_threshold = 640 << 10;

/// Work is cut into blocks of about so many bytes; a task is one or more of them. (With 16 KiB, rows of 10⁶
/// elements took up to 15 % longer on two threads, with 256 KiB rows of 10 up to 10 %.)
inline constexpr std::int64_t block_bytes = 64 << 10;

/// Tasks for each thread, so that a thread that is held up does not hold up the rest. (On two cores, 1 to 16
/// made no difference that could be measured.)
inline constexpr std::int64_t tasks_per_thread = 4;

/// Elements of one tensor in a staged tile, so that the tiles of a call stay in the first-level cache.
/// (Halves of that took 5 to 30 % longer with transposed tensors: each tile costs some hundred nanoseconds by
/// itself.)
inline constexpr std::int64_t usual_tile = 4096;

/// Tiles of LogSoftmaxBackward hold rows or columns of their whole length, and at least so many of them:
/// whole cache lines of a transposed tensor, lanes of a register. (32 rows instead of 16 brought 4 % in f32,
/// where that is two lines, and 15 % in bf16, where it is one.)
inline constexpr std::int64_t least_tile_rows = 32;
inline constexpr std::int64_t least_tile_columns = 16;

/// Where tiles cut a loop, they do evenly, at multiples of so many steps: a vector of f32. (Even cuts brought
/// a third in channels-last tensors of 21 channels, 28 × 28.)
inline constexpr std::int64_t cut_tiles = 16;

/// Sums are split from updates where that makes tiles of at least so many elements. (Channels-last images of
/// 10, 21 and 64 classes took 3.1 to 3.3 times as long as dense ones before, 1.7 times since; transposed
/// matrices 3.2 and 2.0.)
inline constexpr std::int64_t least_split_tile = 1024;

/// The most elements of a tile: what is longer is staged in fewer rows, and columns in parts of their length.
/// (No case of the bench tells 16,384 from 262,144.)
inline constexpr std::int64_t greatest_tile = 65536;

/// The most elements of a tile that has all there are, in 2 to 7 columns; more are staged in segments.
/// (30,340 x 3, with two tensors transposed, took 3.5 times as long as dense, in segments 8 times.)
inline constexpr std::int64_t greatest_few_columns_tile = 131072;

/// And the fewest elements where the kernel for many columns could take them as they lie. (f32 in rows with
/// gaps: 170 x 3 took 4.9 times as long as dense before, 2.0 times since; with 128 elements that was 4.4 and
/// 2.5 times for 3 columns, 2.9 and 2.6 for 5, but 2.2 and 2.6 for 7.)
inline constexpr std::int64_t least_few_columns_tile = 192;

/// Runs of fewer adjacent elements are staged together rather than passed to a kernel one by one. (With 24 in
/// place of 12, bf16 images of 21 channels, channels last, took 1.3 to 1.5 times as long; with 6 nothing
/// changed.)
inline constexpr std::int64_t short_run = 12;

/// The same for fewer adjacent columns or packed rows, which leave most lanes of a register unused. (Tiles
/// bring 15 % with six f32 columns and a third with six bf16 ones; with seven f32 ones they would take half
/// more.)
inline constexpr std::int64_t few_lanes = 7;

/// Slabs of fewer elements in few columns go through tiles. (Along axes of 2 to 7 steps, the kernel for few
/// columns took 0.4 to 0.9 times as long as tiles with 9 elements and more, 1.2 to 1.6 times with 4 and 6.)
inline constexpr std::int64_t least_few_columns_slab = 8;

/// Dense slabs of up to so many columns are updated as one run, if the axis has some steps or columns fill
/// two vectors. (20 columns of f32 took 2.0 times as long as rows before, 1.3 times since; 49 columns 1.6 and
/// 1.1 times. Of 784 columns and more, partial vectors take nothing that could be measured.)
inline constexpr std::int64_t most_slab_columns = 1024;
inline constexpr std::int64_t least_slab_axis = 5;

/// Two columns of elements of 2 bytes go through tiles where the axis is shorter. (With 21 steps on AVX2, the
/// kernel for few columns ran at 0.65 of the speed along a last axis, tiles at 0.74; with 32 steps it was
/// 0.80 and 0.73, on AVX-512 0.67 and 0.58. f32, and three columns or more, gain with any axis.)
inline constexpr std::int64_t least_axis_of_two = 32;

/// Tiles that are shaped like one tensor have at most `longest_whole_run` steps of its innermost loop, about
/// `whole_runs` such runs (for columns, whose axis is whole, `cut_tiles`) and at most `greatest_whole_runs`
/// elements. (From 32 to 256 runs, no difference could be measured.)
inline constexpr std::int64_t longest_whole_run = 1024;
inline constexpr std::int64_t whole_runs = 64;
inline constexpr std::int64_t greatest_whole_runs = 4 * usual_tile;

/// A run of fewer positions takes the loops that it goes on along as well, if the tile still holds
/// `least_runs` runs then. (No case of the bench tells 16 from 256 positions, or 4 runs from 64.)
inline constexpr std::int64_t long_run = 64;
inline constexpr std::int64_t least_runs = 16;

/// Of loops that copies transpose together, each side has up to so many steps: a table on the stack may have
/// their places.
inline constexpr std::int64_t greatest_copy_chain = 256;

/// How many columns are worked on side by side: as many as keep what is read twice in the second-level
/// cache, within these limits. Their sums stay in the first level. (With 16,384 in place of 2048, 4 to 16
/// steps of 8192 columns and more took 1.1 to 1.4 times as long, in bf16 and on AVX2 1.0 to 1.2 times. From
/// 64 to 1024, the lower limit made no difference beyond noise.)
inline constexpr std::int64_t narrowest_column_tile = 256;
inline constexpr std::int64_t widest_column_tile = 2048;

/// The same for axes that are cut into segments, where the sums are kept on the stack.
inline constexpr std::int64_t segmented_columns = 512;

/// And where they are staged: two cache lines of f32. (With one, 8 columns took 7 % longer, 16 to 50 columns
/// 2 to 4 %; four changed nothing.)
inline constexpr std::int64_t segmented_tile_columns = 32;

/// Cuts are at multiples of so many elements, which are whole cache lines of dense, aligned tensors.
inline constexpr std::int64_t cut_elements = 64;

/// Cuts between packed rows are at multiples of so many rows: a register full of each element of a row, and
/// whole cache lines in every type.
inline constexpr std::int64_t cut_packed_rows = 32;

}  // namespace gradjit::detail
