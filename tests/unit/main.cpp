// The main program of the unit tests.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

// With DLCC_STOP_EARLY in the environment, a test program ends at its first failure.
int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  if (std::getenv("DLCC_STOP_EARLY")) context.setOption("abort-after", 1);
  return context.run();
}
