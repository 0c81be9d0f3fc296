#include "frontends/onnx/foreign_operators.h"

#include <map>
#include <string>

#include "support/ascii.h"

namespace dlcc::frontends::onnx {
namespace {

struct Meant {
  std::string_view op, rest = "";
};

constexpr std::string_view batch_norm = "BatchNormalization";
constexpr std::string_view depthwise = "with 'group' equal to the number of channels";
constexpr std::string_view weights_by_output = "with transB=1 if the weights are (outputs, inputs)";

// ONNX operators by their names in other frameworks, in lower case and without underscores, namespace, number of axes
// and version.
const std::map<std::string, Meant, std::less<>> meanings = {
    {"adaptiveavgpool", {"GlobalAveragePool", "if each channel becomes one element"}},
    {"addmm", {"Gemm"}},
    {"arange", {"Range"}},
    {"averagepooling", {"AveragePool"}},
    {"avgpool", {"AveragePool"}},
    {"batchmatmul", {"MatMul"}},
    {"batchnorm", {batch_norm}},
    {"biasadd", {"Add", "with a bias of shape (channels, 1, 1) if axis 1 has the channels"}},
    {"bmm", {"MatMul"}},
    {"cat", {"Concat"}},
    {"concatenate", {"Concat"}},
    {"convolution", {"Conv"}},
    {"conv", {"Conv"}},
    {"convdepthwise", {"Conv", depthwise}},
    {"convtranspose", {"ConvTranspose"}},
    {"deconv", {"ConvTranspose"}},
    {"deconvolution", {"ConvTranspose"}},
    {"dense", {"Gemm", weights_by_output}},
    {"depthwiseconv", {"Conv", depthwise}},
    {"depthwiseconvnative", {"Conv", depthwise}},
    {"divide", {"Div"}},
    {"embedding", {"Gather", "with the table as its first input"}},
    {"expanddims", {"Unsqueeze"}},
    {"fullyconnected", {"Gemm", weights_by_output}},
    {"fusedbatchnorm", {batch_norm}},
    {"globalaveragepooling", {"GlobalAveragePool"}},
    {"globalavgpool", {"GlobalAveragePool"}},
    {"globalmaxpooling", {"GlobalMaxPool"}},
    {"greaterequal", {"GreaterOrEqual"}},
    {"groupnorm", {"GroupNormalization"}},
    {"hardtanh", {"Clip", "from -1 to 1"}},
    {"innerproduct", {"Gemm", weights_by_output}},
    {"instancenorm", {"InstanceNormalization"}},
    {"interpolate", {"Resize"}},
    {"layernorm", {"LayerNormalization"}},
    {"lessequal", {"LessOrEqual"}},
    {"linear", {"Gemm", weights_by_output}},
    {"logicaland", {"And"}},
    {"logicalnot", {"Not"}},
    {"logicalor", {"Or"}},
    {"maxpooling", {"MaxPool"}},
    {"maxpool", {"MaxPool"}},
    {"mirrorpad", {"Pad", "with mode=reflect"}},
    {"multiheadattention", {"Attention"}},
    {"multiply", {"Mul"}},
    {"notequal", {"Equal", "followed by Not"}},
    {"pack", {"Concat", "after an Unsqueeze of each input"}},
    {"permute", {"Transpose"}},
    {"pixelshuffle", {"DepthToSpace", "with mode=CRD"}},
    {"realdiv", {"Div"}},
    {"relu6", {"Clip", "from 0 to 6"}},
    {"resizebilinear", {"Resize", "with mode=linear"}},
    {"resizenearestneighbor", {"Resize", "with mode=nearest"}},
    {"rmsnorm", {"RMSNormalization"}},
    {"rsqrt", {"Sqrt", "followed by Reciprocal"}},
    {"scaleddotproductattention", {"Attention"}},
    {"silu", {"Swish", "of operator set 24, or Sigmoid and Mul"}},
    {"square", {"Mul", "of the value with itself"}},
    {"stack", {"Concat", "after an Unsqueeze of each input"}},
    {"stridedslice", {"Slice"}},
    {"subtract", {"Sub"}},
    {"truediv", {"Div"}},
    {"view", {"Reshape"}},
    {"zeropadding", {"Pad"}},
};

}  // namespace

std::pair<std::string_view, std::string_view> find_foreign_operator(std::string_view name) {
  name.remove_prefix(name.find_last_of(".:") + 1);  // npos + 1 is 0
  std::string word;
  for (const char c : name)
    if (c != '_') word += to_lower(c);
  // The number of axes, also in the middle as in conv2dtranspose, and the version.
  for (const std::string_view part : {"1d", "2d", "3d", "v2", "v3", "v4"})
    if (const size_t at = word.find(part); at != word.npos && at > 0) word.erase(at, part.size());
  const auto found = meanings.find(word);
  return found == meanings.end() ? std::pair<std::string_view, std::string_view>()
                                 : std::pair(found->second.op, found->second.rest);
}

}  // namespace dlcc::frontends::onnx
