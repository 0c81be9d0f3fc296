// The parameters of a CPU in the cost models of schedules and code generation. Every target table has one Machine for
// each CPU level (targets/llvm/x86.cpp, aarch64.cpp, arm.cpp, with the sources of the values); nothing is read from the
// host. The defaults were measured on Emerald Rapids and Zen 5.
//
// The kernels of all levels of an object share the storage of their operands. The choices that affect storage
// (Winograd, packed panels, scratch) are therefore made once, for the last and best level. Each level chooses its own
// register tiles and loop order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace dlcc::tensor {

// Channels (or other indices along N) that blocked layouts and packed weights store next to each other: one vector of
// float32 of the widest level. One number for all machines, since all levels of an object share storage.
inline constexpr int64_t channel_block = 16;

// Alignment of scratch and packed constants in bytes: a whole 512-bit vector, and no vector crosses a cache line.
inline constexpr int storage_alignment = 64;

// How neighbouring products of bytes, four unless stated otherwise, are added to an int32 accumulator
// (tensor/byte_products.h).
enum class ByteProducts : uint8_t {
  none,          // each byte is widened to 32 bits
  pairs,         // even and odd bytes are widened to 16 bits; each instruction adds pairs of products (pmaddwd)
  dot,           // one instruction
  signed_dot,    // one instruction, whose data is signed
  scalar_pairs,  // like pairs, in general registers: one lane, two bytes or two products in each (smlad)
  signed_pairs,  // like pairs, with signed data (smull, sadalp)
  // One instruction for sixteen products of signed data, whose sum is in a general register (vmladava). If K is no
  // multiple of sixteen, like scalar_pairs, but with signed data.
  scalar_dot,
};

struct Machine {
  // ---- registers and arithmetic units

  int vector_bytes = 16;  // of one vector register
  int vector_registers = 16;
  int general_registers = 16;  // the stack pointer included
  bool has_fma = true;         // without, each product needs a register before it is added
  // Without, each operation on floats is a call of a function: requantizations are computed in integers
  // (tensor/passes/integer_requantization.h), with 64-bit products of 32-bit integers if the machine has them.
  bool has_fpu = true, has_long_multiply = true;
  // A multiply-add takes one factor from a lane of a vector (fmla by element): four data values of a row along K are
  // one load, and each row of a register tile holds such a vector.
  bool multiplies_by_lane = false;
  ByteProducts byte_products = ByteProducts::none;
  // Floating-point units for multiply-adds of vectors, and the independent accumulators that keep them busy: their
  // number times their latency in cycles. Two units of four cycles are what x86 has had since Skylake and Zen 3, and
  // ARM's large cores since the Cortex-A76.
  int fma_units = 2;
  int accumulators_in_flight = 8;

  // Vector registers beside accumulators and factors. Without FMA, product_registers hold products that wait to be
  // added, and paired_product_registers with K-interleaving, which also widens the factors. Products of bytes in pairs
  // need byte_pair_registers, and of unsigned bytes one more for each vector of weights, which are widened.
  // unassigned_registers are left to LLVM's register allocator. With fewer, innermost loops of the example networks
  // spill.
  int64_t product_registers = 3, paired_product_registers = 5, byte_pair_registers = 2, unassigned_registers = 1;

  // ---- caches and memory

  int64_t cache_line_bytes = 64;
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20;  // of one core
  // Cache lines at addresses that are a multiple of l1_way_bytes apart, such as those of a column of 1024 floats per
  // row, share a set of the first-level cache. A set holds l1_ways lines. A way of Intel's and AMD's cores has the size
  // of a page, 4 KiB; recent ones have 12 ways.
  int64_t l1_way_bytes = 4 << 10, l1_ways = 8;
  // Machine balance in FLOPs per byte: peak float32 operations of one core divided by its peak memory bandwidth.
  double machine_balance = 16;
  // Number of positions in the next panel from which cache lines are prefetched in turn. The hardware prefetchers
  // continue each stream for a few lines, so two streams at half the pace have more lines in flight: 7x7 layers of
  // ResNet-50 gain 5 to 14 %. 0: no prefetch instructions, for memory that keeps up with the core.
  int64_t prefetch_streams = 2;
  // Least number of channel blocks of K for which the next block's data is prefetched. With fewer blocks, most of the
  // data is in the first-level cache, and prefetching makes MobileNetV2's first projections 15 % slower.
  int64_t min_k_blocks_to_prefetch = 4;

  // ---- register tiles of contractions

  // Least N of a contraction's panels. With a smaller N, most lanes of a vector of N are wasted.
  int64_t min_n_of_contraction = 4;
  // Cost of a register tile for each K index besides its products, in multiply-adds of one vector: the loads of the
  // factors, and the address arithmetic of each image row but the first.
  double tile_overhead = 1.5, tile_row_overhead = 0.25;
  // Cost of the code of one more grid of equal tiles, as a share of the image's multiply-adds.
  double grid_overhead = 0.01;
  // Least K for which elements have several accumulators, if there are fewer elements than accumulators in flight. An
  // estimate: at K = 300 and 512 the speedup is 1.1 to 1.8, and the sum of the accumulators costs a few additions.
  int64_t min_k_of_split_sums = 64;
  int64_t k_unroll = 4;  // K indices between two branches; divides channel_block
  // Dot products of bytes with scalar sums between two branches: a branch costs as much as two of them.
  int64_t scalar_k_unroll = 8;
  // Least share of the taps of a tile that read padding only for which they are left out, by a branch for each row or
  // column of taps. An estimate of what the branches cost.
  double min_share_of_padding = 1. / 32;
  // Cost of copying an element of a dense image into a channel block, in multiply-adds of a vector of 16 channels. A
  // strided 1x1 convolution of 32 channels takes 7 us longer with a copy of 50176 elements (Zen 4).
  double block_copy_cost = 0.5;
  // Least number of unrolled blocks of K. A shorter loop over K, such as that over the taps of a row or the channels of
  // the input image, is not unrolled.
  int64_t min_unrolled_blocks = 4;
  int64_t tiles_per_m_block = 16;  // register tiles that reuse the operands read for an M block
  // Largest number of M blocks of an image that is computed panel by panel, each over the whole image.
  int64_t max_uncut_m_blocks = 2;
  // Rows of the blocks into which a symbolic number of rows (M) is cut, as many of each size as fit, in this order. 64
  // rows are several register tiles, which reuse each panel; the smaller blocks are for the remaining rows. Each block
  // reads all weights, and memory bandwidth limits blocks of one to three rows. The last of them are therefore one
  // block: on Zen 4, three rows times 768 x 768 weights take 31 us as one block and 73 as three.
  std::array<int64_t, 6> row_block_sizes = {64, 16, 4, 3, 2, 1};

  // ---- packed panels and blocking of contractions

  // Widths of a packed panel in N indices: the first that divides N is used. They fill register tiles of two, three or
  // five vectors of 16 floats; 32 has the most products for each load.
  std::array<int64_t, 3> panel_widths = {32, 48, 80};
  // Panels that a tile of few rows reads at the same time, since one stream does not reach the full memory bandwidth.
  // On Zen 4, four streams without prefetch instructions read 97 GB/s from the third-level cache and 23 from memory;
  // one stream reads 97 and 18, one with prefetch instructions 78 and 20.
  int64_t panels_at_once = 4;
  // Largest N for which the panel width must divide N. With a larger N, little of the last panel is wasted.
  int64_t max_n_of_exact_panels = 64;
  // Largest number of pixels for which threads share the panels. Fewer pixels have too few register tiles to divide
  // among threads.
  int64_t max_m_of_shared_panels = 64;
  // Largest M for which dot products of run-time weights as they are stored are faster than packing them. Packing takes
  // as long as the products of about five rows (1024 x 64 weights, AVX2).
  int64_t max_m_of_dot_products = 4;
  // Largest M for which large run-time weights are read as they are stored. On Zen 3, packing 3072 x 768 floats saves 6
  // % of the time with 16 rows and 45 % with 32; packing 512 x 1000 floats takes 1.7 times as long with 20.
  int64_t max_m_of_weights_in_place = 20;
  // Largest number of register tiles for which K-blocking starts at half the panel size. If there are few tiles, each
  // prefetches a large share of the next panel, for which the current panel leaves little room in the cache, as in the
  // last projection of ResNet-50.
  int64_t max_tiles_of_early_k_blocking = 4;
  // Least N for which the pixels that a 1x1 convolution with a stride reads are copied next to each other, since every
  // panel reads them again. It saves 2 to 3 % of the time of ResNet-50's two largest. With a smaller N, the copy costs
  // more than it saves.
  int64_t min_n_to_gather = 1024;
  // Kilobytes of RAM instead of megabytes. Padded copies of images of bytes hold only the rows that one row of the
  // result reads, images have no halo, and contractions store bytes and not the floats that bytes are widened to.
  // Copies of images of floats are padded as a whole, because register tiles of one row made convolutions up to 14 %
  // slower.
  bool memory_is_scarce = false;
  // K-interleaved packing in pairs is used from this K on, where the saved products outweigh the additions of lanes at
  // the end, and up to this number of half channel blocks of N, above which one wasted half matters little.
  int64_t min_k_to_interleave = 64, max_half_blocks_to_interleave = 5;

  // ---- Winograd

  // Cost of transforming one point of one channel's tile, in float32 operations; mostly loads and stores.
  double winograd_transform_cost = 40;
  // Bytes of the transformed input tiles of one block and the products of one panel. Every block reads all weights
  // again, so a block may exceed the second-level cache by a quarter. Measured with a second-level cache of 1 MiB; the
  // same for all CPUs.
  int64_t winograd_block_bytes = 5 << 18;
  // Least number of tiles per thread for which threads share the tiles although the weights do not stay in a thread's
  // cache: the weights that a thread reads are then used for several tiles.
  int64_t min_winograd_tiles_per_thread = 8;

  // ---- window reductions and elementwise loops

  // Accumulator updates in straight-line code, and tiles of a row with code of their own, since they read outside of
  // the image. They bound the size of the code.
  int64_t max_unrolled_updates = 256, max_row_tiles = 6;
  // Vector registers of a window reduction for the elements that neighbouring results share.
  int64_t shared_element_registers = 3;
  // Most neighbouring results of a tile with several channel blocks. More results are enough independent accumulators
  // with one block.
  int64_t max_results_of_several_blocks = 3;
  // Bounds of a register tile over a dense image: indices of the unrolled axis, and vectors of the row. Their
  // product, 32 accumulators, fills the largest register file.
  int64_t max_unrolled_indices = 8, max_row_vectors = 4;
  // Largest distance in elements of neighbouring lanes of a load along the row of a dense image. The code generator
  // loads such vectors and shuffles them; a larger distance needs a gather.
  int64_t max_lane_stride = 3;
  // A convolution of a dense image in tiles of pixels takes longer by this factor than one in tiles of channels with as
  // many multiply-adds, since its channels are far from each other in memory. The other needs a copy of each result,
  // whose cost is in multiply-adds of one vector. Fitted to the 90 convolutions without groups of
  // tests/benchmarks/layers.py on Zen 3.
  double dense_result_overhead = 1.07, dense_copy_cost = 3;
  // Reads of each element from which on strided loads are made contiguous by a copy: an estimate of what it costs.
  double min_reads_to_copy = 4;
  // Elements of the chunks of a vector loop that threads share, and the least number of chunks: a shorter loop takes
  // about as long as a fork.
  int64_t elementwise_chunk = 4096, min_elementwise_chunks = 4;
  // Least number of elements of a result for each entry of a table (schedules/position_tables.h). An estimate: an entry
  // costs a store and a load more than the expression itself.
  int64_t min_table_uses = 8;
  // Longest rows that are repeated in groups of several vectors, as many as a row has elements. Each vector of a group
  // has a register of its own.
  int64_t max_unrolled_period = 16;
  // Most operands of symbolic size that may be broadcast along a vector loop, for which the loop has a version for each
  // of them that is; all other loops have two versions.
  int64_t max_broadcast_versions = 3;
  // Most rows and columns of a tile of 32-bit elements that is transposed in registers: 16 registers hold the tile and
  // the exchanged rows.
  int64_t max_transposed_tile = 8;
  // Accumulators of a reduction along a row, each a vector. An addition takes four cycles, in which a core with vectors
  // of 64 bytes loads four.
  int64_t row_accumulators = 4;

  // ---- costs of calls and threads, in scalar operations: about 100 per nanosecond

  double call_cost = 1 << 10;       // of a function that preserves its caller's registers: ten nanoseconds
  double fork_cost = 1 << 16;       // of a fork and a join: half a microsecond
  double min_task_cost = 1 << 19;   // four microseconds: taking a task costs little in comparison
  double max_tasks_per_thread = 8;  // enough for faster threads to take over a slower one's work
  // Estimates of a statement's cost. A store to a register is cheaper than one to memory, and a load from memory may
  // miss the cache because another thread wrote the line.
  double register_store_cost = 1, memory_store_cost = 8, memory_load_cost = 4;
  double max_call_share = 1. / 64;  // of an iteration's time that calls of outlined loop nests may take
  int registers_per_loop = 3;       // a counter and two pointers

  // ---- halos

  // Largest factor by which a halo may enlarge an image's storage. Beyond it, predicated loads cost less than the
  // memory.
  int64_t max_halo_growth = 4;

  bool operator==(const Machine&) const = default;
  int lanes(int element_bits) const { return std::max(vector_bytes * 8 / element_bits, 1); }
  // Whether addresses at multiples of this distance share a set of the first-level cache.
  bool share_cache_set(int64_t distance_bits) const { return distance_bits % (8 * l1_way_bytes) == 0; }

  // Least size of operands that are prefetched, in bytes. The hardware prefetchers find smaller ones in the
  // second-level cache in time.
  int64_t prefetch_threshold() const { return 4 * l1_bytes; }
  int64_t max_row_scratch() const { return l1_bytes / 4; }  // bytes of scratch of a loop that is kept on the stack
  int64_t l2_budget() const { return l2_bytes / 2; }        // bytes of an operand that stays cached while others stream
  int64_t l2_reuse_limit() const { return l2_bytes / 4; }   // a larger operand is evicted before it is read again
};

// The machine for which storage is chosen.
inline const Machine& storage_machine(const std::vector<Machine>& machines) { return machines.back(); }

}  // namespace dlcc::tensor
