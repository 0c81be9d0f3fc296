/* Classifies the ten samples of examples/digits on a microcontroller: no operating system, no heap, no C library. Prints
 * each result, and the stack that the model really used. */
#include "../digits/samples.h"
#include "digits.h"
#include "start.h"

enum { size = 28, classes = 10, samples_count = 10 };

static unsigned char arena[DIGITS_ARENA_BYTES] __attribute__((aligned(DIGITS_ARENA_ALIGN)));
static float image[size * size], probabilities[classes];

static void load_sample(int number) {
  static const char shades[] = " .:-=+*#%@";
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) {
      int shade = 0;
      while (shades[shade] != samples[number][y][x]) ++shade;
      image[y * size + x] = (float)shade / 9.0f;
    }
}

static int classify(void) {
  const digits_inputs inputs = {.image = image};
  const digits_outputs outputs = {.probabilities = probabilities};
  if (digits_run(&inputs, &outputs, arena, sizeof arena) != DLCC_OK) leave(2);
  int best = 0;
  for (int k = 1; k < classes; ++k)
    if (probabilities[k] > probabilities[best]) best = k;
  return best;
}

int main(void) {
  int wrong = 0;
  uint32_t most_stack = 0;
  for (int k = 0; k < samples_count; ++k) {
    load_sample(k);
    paint_stack();
    const int digit = classify();
    const uint32_t stack = stack_used_below(__builtin_frame_address(0));
    if (stack > most_stack) most_stack = stack;
    wrong += digit != k;
    print("sample ");
    print_number((uint32_t)k);
    print(": ");
    print_number((uint32_t)digit);
    print(", ");
    print_number((uint32_t)(probabilities[digit] * 100.0f + 0.5f));
    print(" %\n");
  }
  print("arena ");
  print_number(DIGITS_ARENA_BYTES);
  print(" bytes, stack ");
  print_number(most_stack);
  print(" of ");
  print_number(DIGITS_STACK_BYTES);
  print(" bytes\n");
  return wrong > 0 || most_stack > DIGITS_STACK_BYTES + 64;
}
