// The linear transformations of Winograd's algorithm F(m x m, 3 x 3), m = 2 or 4 (Lavin and Gray, section 4.1): with
// matrices B, G and A for the interpolation points 0, 1, -1, (2, -2,) infinity, a tile of m x m outputs Y of the input
// tile d and the weights g is
//
//   Y = A^T [(G g G^T) * (B^T d B)] A           * elementwise; both factors are (m + 2) x (m + 2)
#pragma once

#include <functional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

using Matrix = std::vector<std::vector<double>>;

// B^T, G and A^T. Rows of B^T and columns of A^T for opposite points are neighbours.
struct WinogradMatrices {
  Matrix input, weights, output;
};
const WinogradMatrices& winograd_matrices(int64_t tile);

// Code for products of B^T and A^T with a column of m + 2 scalars. The results for opposite points p and -p share their
// even and their odd part: the sum of the parts is the result for p, the difference is the result for -p.
class WinogradTransforms {
 public:
  using Body = std::function<Stmt(const std::vector<Expr>&)>;
  // A pointer to `input` or `output`.
  using Transform = Stmt (WinogradTransforms::*)(const std::vector<Expr>&, const Body&) const;

  WinogradTransforms(int64_t tile, const Machine& machine) : matrices_(winograd_matrices(tile)), machine_(machine) {}

  Stmt input(const std::vector<Expr>& x, const Body&) const;   // body(B^T x)
  Stmt output(const std::vector<Expr>& x, const Body&) const;  // body(A^T x)

 private:
  Expr scaled_sum(const Expr& sum, double factor, const Expr& x) const;
  Expr combination(const std::vector<double>& factors, const std::vector<Expr>& x, int64_t parity = -1) const;

  const WinogradMatrices& matrices_;
  const Machine& machine_;
};

// Binds each expression to a variable by a `let` and returns the lets around body(variables).
Stmt bind_values(const std::vector<Expr>& values, const std::string& name, const WinogradTransforms::Body&);

}  // namespace dlcc::tensor
