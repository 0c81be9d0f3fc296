// The schedule of sums of products (matrix products, convolutions, dense layers): register tiles over packed panels of
// weights (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
//
// Axes: M are the pixels of the image (or the rows of a matrix), N the output channels, K the input channels times the
// taps of the kernel; batch axes appear in both factors. The loop nest, for weights that stay in the cache:
//
//   for batch:
//     parallel panel < N / panel_width:                  # 32, 48 or 80 if one divides N
//       parallel tile of the image:                      # height x width pixels, rows of the register tile
//         acc[height, width, vectors, lanes] = 0         # registers; vectors * lanes divides panel_width
//         for K block, tap, channel within the block:    # contraction_k_loops.h
//           acc[y, x, v, lane] += data[pixel(y, x), k] * panels[panel, k, v * lanes + lane]
//           prefetch a share of the next panel, and of the next tile's operands
//         result[pixel, panel * panel_width + ..] = epilogue(acc)
//
// An image that does not stay in the cache is cut into M blocks, each of which meets all panels:
//
//   for batch: parallel M block: parallel panel: parallel tile of the block: ..
//
// Where memory is scarce (Machine::memory_is_scarce), a padded copy of the data holds the rows that one row of the
// result reads:
//
//   for row of the image: copy rows; parallel panel: parallel tile of the row: ..
//
// K-blocking, for panels of at least Machine::l2_reuse_limit (half of it for few tiles) and for accuracy: several K
// blocks, a range of K, are multiplied at a time into `acc`, whose partial sums are added to `total`, a buffer of one M
// block and one panel. The epilogue then runs over `total`.
//
//   parallel panel: parallel M block:
//     total = 0
//     for range of K: for tile: acc = sums over the range; total += acc
//     for tile: result = epilogue(total)
//
// Weights are packed as [axes without K] [N / panel_width] [K blocks, taps] [channels of a block] [panel_width]: a
// constant packed at compile time, or scratch that the kernel fills. With K-interleaved packing (VNNI packing), pairs
// of neighbouring K indices share a vector: [channels of a block / 2] [panel_width] [2].
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "tensor/analysis.h"
#include "tensor/machine.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// Decisions about memory, shared by all machines: how weights are packed, which operands are copied.
struct ContractionPlan {
  TensorFunction function;
  Contraction contraction;
  int n_axis = -1;                      // position in the stage's axes; the data depends on its group index at most
  std::vector<int> m_axes;              // axes that only the data has; the last two are the image that is tiled
  std::vector<int> batch_axes;          // axes of both factors: one product for each index
  bool blocked_result = false;          // the result is stored in blocks of N, so that whole blocks may be written
  int64_t panel_width = channel_block;  // N indices of a packed panel
  // Neighbouring pixels of the data are a multiple of Machine::l1_way_bytes apart. In a tile of Machine::l1_ways pixels
  // or more, each line of data would be evicted before its next K index is read.
  bool pixels_share_cache_set = false;
  // Neighbouring K indices that share a vector: lane l has N index l / k_interleave and K index l % k_interleave. With
  // 2, no lane is wasted if N ends with half a channel block. The lanes of an N index are added when a tile is stored.
  int64_t k_interleave = 1;
  // Bytes are multiplied by dot products of four or more neighbouring K indices (tensor/byte_products.h): k_interleave
  // is their number, but the accumulators have one lane for each N index.
  bool byte_products = false;
  // Lanes of an accumulator for each N index.
  int64_t lanes_of_n() const { return byte_products ? 1 : k_interleave; }
  Layout weights_layout;              // of the packed weights
  bool threads_share_panels = false;  // several threads run the loop over panels
  // The packed weights: a constant in place of the weights, or scratch. Null: the weights are read as they are.
  Buffer panels;
  bool packs_at_run_time = false;
  // Scratch copy of the data, or null. It adds a halo of zeros that the data's storage lacks, stores the channels in
  // blocks, or has only the elements whose index in each dimension is a multiple of `data_strides`.
  Buffer data_copy;
  Layout data_layout;
  std::vector<int64_t> data_strides;
  Expr fill;  // the value of the copy's halo; null if nothing outside of the data is read
  // The dimension of the data's rows, if the copy has only those rows that row y of the result reads, and the first of
  // them, an expression of y; else -1 (Machine::memory_is_scarce).
  int rows_dim = -1;
  Expr first_row;
  // For machines that multiply 16-bit numbers (schedules/inner_products.h): scratch for the data in words, which take
  // the place of its copy, and for the products of neighbours along K, [batch axes, M axes]. Null if there are none.
  Buffer data_words, row_products;
  Layout words_layout;
  int blocked_k = -1;             // the reduced axis that the data's storage splits into blocks, or -1
  int64_t k_block = 1;            // K indices of such a block
  int64_t k_per_accumulator = 0;  // upper bound of the products added in one accumulator; 0: none
};

// Pixels (M) and vectors of N whose accumulators are computed together. The chosen shape has the most products per load
// among those that fit the registers. Its vectors divide the panel. A tile needs registers for
//   rows * vectors accumulators,
//   `vectors` vectors of weights,
//   the data: one broadcast element, or one vector of K for each row (Machine::multiplies_by_lane),
//   without FMA: the product, and the two factors of the next product, which the instruction scheduler loads early;
//     with K-interleaving, the four factors of the next two products,
//   products of bytes by 16-bit numbers: the odd bytes of weights and data, and the products; without vectors, all of
//     these are general registers,
//   Machine::unassigned_registers for LLVM's register allocator.
// It has at most `max_rows` pixels.
struct RegisterTile {
  int64_t rows = 1, vectors = 1;
};
RegisterTile choose_register_tile(const Machine&, int64_t n_per_vector, int64_t panel_width, int64_t k_interleave = 1,
                                  bool byte_products = false, int64_t max_rows = std::numeric_limits<int64_t>::max());

// Whether a tile of that shape fits the registers with `accumulators_of_element` accumulators for each of its elements.
bool fits_registers(const Machine&, const RegisterTile&, int64_t accumulators_of_element, int64_t k_interleave = 1,
                    bool byte_products = false);

// The register tile of a product with few rows (M). It has all rows, so that the weights are read once, and spans as
// many whole panels as are needed to read memory at full speed (Machine::panels_at_once). Empty if a tile within one
// panel keeps the arithmetic units busy.
std::optional<RegisterTile> tile_of_few_rows(const Machine&, int64_t rows, int64_t n_per_vector, int64_t panel_width);

// The plan of a contraction; empty when this schedule does not handle the function. `layouts` and `constant` as in
// ScheduleRequest; the machine is the storage machine. `whole_blocks`: panels must consist of whole channel blocks of
// N.
std::optional<ContractionPlan> plan_contraction(const TensorFunction&, const std::vector<Layout>& layouts,
                                                const std::vector<bool>& constant, const ScheduleOptions&,
                                                const Machine&, bool whole_blocks, const TuningConfig& = {});

// The copies of operands and the loop nest, for one machine.
Stmt schedule_contraction(const ContractionPlan&, const Machine&, const TuningConfig& = {});

// Image rows [top, top + tall), all pixels of each, of the N indices [first_n, first_n + n) of one panel. All of it
// lies inside the result, the padding of the storage's last block included.
struct ContractionArea {
  Expr first_n;
  int64_t n = 0;
  Expr top;
  int64_t tall = 0;
};

// The schedule in two parts, for line-buffer fusion. schedule_copies copies and packs operands, once. schedule_area is
// the loop nest of one area, in which the variables of batch axes and of M axes outside the image are free.
Stmt schedule_copies(const ContractionPlan&, const Machine&);
Stmt schedule_area(const ContractionPlan&, const ContractionArea&, const Machine&, const TuningConfig& = {});

}  // namespace dlcc::tensor
