/* Recognizes the keywords of utterances.h on a microcontroller: no operating system, no heap, no C library. Prints each
 * result, the flash that the program needs, the arena of the model, and the stack that it really used. */
#include "keywords.h"
#include "start.h"
#include "utterances.h"

enum { classes = 12, utterances_count = sizeof utterances / sizeof utterances[0] };

static const char *const words[classes] = {"down",  "go",   "left", "no",  "off",     "on",
                                           "right", "stop", "up",   "yes", "silence", "unknown"};

static unsigned char arena[KEYWORDS_ARENA_BYTES] __attribute__((aligned(KEYWORDS_ARENA_ALIGN)));
static int8_t scores[classes];

/* The class with the largest score. */
static int recognize(const int8_t *features) {
  const keywords_inputs inputs = {.features = features};
  const keywords_outputs outputs = {.scores = scores};
  if (keywords_run(&inputs, &outputs, arena, sizeof arena) != DLCC_OK) leave(2);
  int best = 0;
  for (int k = 1; k < classes; ++k)
    if (scores[k] > scores[best]) best = k;
  return best;
}

static void print_amount(const char *text, uint32_t bytes) {
  print(text);
  print_number(bytes);
}

int main(void) {
  uint32_t most_stack = 0;
  for (int k = 0; k < utterances_count; ++k) {
    paint_stack();
    const int word = recognize(utterances[k][0]);
    const uint32_t stack = stack_used_below(__builtin_frame_address(0));
    if (stack > most_stack) most_stack = stack;
    print_amount("utterance ", (uint32_t)k);
    print(": ");
    print(words[word]);
    print_amount(", ", (uint32_t)(scores[word] + 128) * 100 / 256);
    print(" %\n");
  }
  print_amount("flash ", flash_used());
  print_amount(" bytes, arena ", KEYWORDS_ARENA_BYTES);
  print_amount(" bytes, stack ", most_stack);
  print_amount(" of ", KEYWORDS_STACK_BYTES);
  print(" bytes\n");
  return most_stack > KEYWORDS_STACK_BYTES + 64;
}
