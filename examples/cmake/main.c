/* classify IMAGE.pgm: prints the digit in a binary PGM image of 28 x 28 pixels, white ink on black. The output of the
 * model `prepare` is the input of the model `digits`. The models run one after the other, so they share one arena. */
#include <stdio.h>

#include "digits.h"
#include "prepare.h"

enum { SIZE = 28, CLASSES = 10 };

static union {
  _Alignas(PREPARE_ARENA_ALIGN) unsigned char prepare[PREPARE_ARENA_BYTES];
  _Alignas(DIGITS_ARENA_ALIGN) unsigned char digits[DIGITS_ARENA_BYTES];
} arena;

static dlcc_status classify(const uint8_t *image, float *probabilities) {
  static float prepared[SIZE * SIZE];
  const prepare_inputs camera = {image};
  const prepare_outputs brightness = {prepared};
  const digits_inputs digit = {prepared};
  const digits_outputs classes = {probabilities};
  const dlcc_status status = prepare_run(&camera, &brightness, arena.prepare, sizeof arena.prepare);
  return status == DLCC_OK ? digits_run(&digit, &classes, arena.digits, sizeof arena.digits) : status;
}

/* Returns 0, or -1 if the file does not have such an image. */
static int read_image(const char *path, uint8_t *image) {
  FILE *file = fopen(path, "rb");
  int width = 0, height = 0, good;
  if (!file) return -1;
  good = fscanf(file, "P5 %d %d 255", &width, &height) == 2 && width == SIZE && height == SIZE;
  good = good && getc(file) != EOF && fread(image, SIZE * SIZE, 1, file) == 1;
  fclose(file);
  return good ? 0 : -1;
}

int main(int argc, char **argv) {
  static uint8_t image[SIZE * SIZE];
  float probabilities[CLASSES];
  dlcc_status status;
  int best = 0;
  if (argc != 2 || read_image(argv[1], image) != 0) {
    fputs("usage: classify IMAGE.pgm (binary, 28 x 28 pixels, 255 levels)\n", stderr);
    return 2;
  }
  status = classify(image, probabilities);
  if (status != DLCC_OK) {
    fprintf(stderr, "the models return status %d\n", (int)status);
    return 1;
  }
  for (int digit = 1; digit < CLASSES; ++digit)
    if (probabilities[digit] > probabilities[best]) best = digit;
  printf("%d (%.0f %%)\n", best, 100.0 * (double)probabilities[best]);
  return 0;
}
