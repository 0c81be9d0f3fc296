/* Classifies a handwritten digit with the compiled model and shows image and probabilities in the terminal.
 *
 *   digits               all built-in samples, one after another
 *   digits 7             the sample with this number
 *   digits image.pgm     a PGM image, 28 x 28, white ink on black
 *
 * This is all a program needs: the generated header, one static arena, one call. No heap, no other library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"
#include "samples.h"

enum { SIZE = 28, CLASSES = 10, SAMPLES = 10 };

static _Alignas(DIGITS_ARENA_ALIGN) unsigned char arena[DIGITS_ARENA_BYTES];

static void load_sample(int number, float *image) {
  static const char shades[] = " .:-=+*#%@";
  for (int y = 0; y < SIZE; ++y)
    for (int x = 0; x < SIZE; ++x)
      image[y * SIZE + x] = (float)(strchr(shades, samples[number][y][x]) - shades) / 9.0f;
}

/* The next number of a PGM header; comments run from '#' to the end of the line. -1 when there is none. */
static int read_number(FILE *file) {
  int c = getc(file);
  while (c == '#' || c == ' ' || c == '\t' || c == '\r' || c == '\n') {
    if (c == '#')
      while (c != '\n' && c != EOF) c = getc(file);
    else
      c = getc(file);
  }
  int value = -1;
  for (; c >= '0' && c <= '9' && value < 100000; c = getc(file)) value = (value < 0 ? 0 : value * 10) + (c - '0');
  return value; /* the one character after the number is consumed, as the format wants it */
}

/* Reads a PGM file, plain (P2) or binary (P5). Returns 0, or -1 after a message. */
static int load_pgm(const char *path, float *image) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return -1;
  }
  const int letter = getc(file), kind = getc(file);
  const int width = read_number(file), height = read_number(file), most = read_number(file);
  int good = letter == 'P' && (kind == '2' || kind == '5') && width == SIZE && height == SIZE && most > 0 && most < 256;
  for (int k = 0; good && k < SIZE * SIZE; ++k) {
    const int value = kind == '5' ? getc(file) : read_number(file);
    good = value >= 0 && value <= most;
    image[k] = (float)value / (float)most;
  }
  fclose(file);
  if (!good) fprintf(stderr, "%s: expected a PGM image of 28 x 28 pixels and at most 255 levels\n", path);
  return good ? 0 : -1;
}

static void draw_image(const float *image) {
  static const char *const blocks[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  for (int y = 0; y < SIZE; ++y) {
    for (int x = 0; x < SIZE; ++x) fputs(blocks[(int)(image[y * SIZE + x] * 4.0f + 0.5f)], stdout);
    putchar('\n');
  }
}

static void draw_probabilities(const float *probabilities) {
  static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  int best = 0;
  for (int c = 1; c < CLASSES; ++c)
    if (probabilities[c] > probabilities[best]) best = c;
  for (int c = 0; c < CLASSES; ++c) {
    const int length = (int)(probabilities[c] * 40.0f * 8.0f + 0.5f);
    printf("%c %d %6.2f %% ", c == best ? '>' : ' ', c, (double)probabilities[c] * 100.0);
    for (int k = 0; k < length / 8; ++k) fputs("█", stdout);
    puts(eighths[length % 8]);
  }
}

/* Returns 0, or -1 after a message. */
static int classify(const float *image) {
  float probabilities[CLASSES];
  const digits_inputs inputs = {image};
  const digits_outputs outputs = {probabilities};
  const dlcc_status status = digits_run(&inputs, &outputs, arena, sizeof arena);
  if (status != DLCC_OK) {
    fprintf(stderr, "digits_run returned status %d\n", (int)status);
    return -1;
  }
  draw_image(image);
  draw_probabilities(probabilities);
  return 0;
}

int main(int argc, char **argv) {
  static float image[SIZE * SIZE];
  if (argc > 2) {
    fprintf(stderr, "usage: %s [NUMBER OF A SAMPLE | IMAGE.pgm]\n", argv[0]);
    return 2;
  }
  if (argc == 2) {
    char *end;
    const long number = strtol(argv[1], &end, 10);
    if (*end != '\0' || end == argv[1]) {
      if (load_pgm(argv[1], image) != 0) return 1;
    } else if (number >= 0 && number < SAMPLES) {
      load_sample((int)number, image);
    } else {
      fprintf(stderr, "there are %d samples, counted from 0\n", (int)SAMPLES);
      return 2;
    }
    return classify(image) == 0 ? 0 : 1;
  }
  for (int k = 0; k < SAMPLES; ++k) {
    load_sample(k, image);
    if (classify(image) != 0) return 1;
  }
  return 0;
}
